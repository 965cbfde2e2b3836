package mcptools

import "testing"

func TestSend05(t *testing.T) {
	testExchanges(t, Surface05, []exchangeTest{
		{
			name:      "targets, bare and whole, and the message stay as they are",
			tool:      "send",
			arguments: `{"message":"  <é> & \n","targets":[" bravo ","bravo","ops@demo","user@GLOBAL"],"request_id":" m1 ","quiescence_timeout_ms":1}`,
			request: `demo {"operation":"chat","request_id":" m1 ","sender_session":"alpha","message":"  <é> & \n","targets":["bravo","bravo","ops@demo","user@GLOBAL"],"broadcast":false,` +
				`"quiet_window_ms":null,"quiescence_timeout_ms":1,"acp_turn_timeout_ms":null}`,
			response: `{"kind":"chat","schema_version":"1","bundle_name":"demo","request_id":" m1 ","sender_session":"alpha@demo","sender_display_name":"Alpha",
				"results":[{"target_session":"bravo@demo","message_id":"m","outcome":"queued","later":true},{"target_session":"user@GLOBAL","message_id":"n","outcome":"failed","reason_code":"c","reason":"r","details":{"n":1.0}}],"later":[1e400]}`,
			answer: `{"schema_version":"1","bundle_name":"demo","request_id":" m1 ","sender_session":"alpha@demo","sender_display_name":"Alpha",
				"results":[{"target_session":"bravo@demo","message_id":"m","outcome":"queued","later":true},{"target_session":"user@GLOBAL","message_id":"n","outcome":"failed","reason_code":"c","reason":"r","details":{"n":1.0}}],"later":[1e400]}`,
			log: []string{
				`mcp.tool.send.request {"bundle_name":"demo","request_id":" m1 ","targets":["bravo","bravo","ops@demo","user@GLOBAL"],"broadcast":false,"message_length":10,"quiescence_timeout_ms":1,"acp_turn_timeout_ms":null}`,
				`mcp.tool.send.success {"bundle_name":"demo","result_count":2}`,
			},
		},
		{
			name:      "broadcast, and a sender without a name",
			tool:      "send",
			arguments: `{"message":"hi","broadcast":true,"targets":[],"request_id":"","acp_turn_timeout_ms":15000.0}`,
			request: `demo {"operation":"chat","request_id":"","sender_session":"alpha","message":"hi","targets":[],"broadcast":true,` +
				`"quiet_window_ms":null,"quiescence_timeout_ms":null,"acp_turn_timeout_ms":15000}`,
			response: `{"kind":"chat","schema_version":"1","bundle_name":"demo","request_id":"","sender_session":"alpha@demo","results":[]}`,
			answer:   `{"schema_version":"1","bundle_name":"demo","request_id":"","sender_session":"alpha@demo","sender_display_name":null,"results":[]}`,
			log: []string{
				`mcp.tool.send.request {"bundle_name":"demo","request_id":"","targets":[],"broadcast":true,"message_length":2,"quiescence_timeout_ms":null,"acp_turn_timeout_ms":15000}`,
				`mcp.tool.send.success {"bundle_name":"demo","result_count":0}`,
			},
		},
		{
			name:      "a mark that the relay does not return",
			tool:      "send",
			arguments: `{"message":"hi","targets":["bravo"]}`,
			request: `demo {"operation":"chat","request_id":null,"sender_session":"alpha","message":"hi","targets":["bravo"],"broadcast":false,` +
				`"quiet_window_ms":null,"quiescence_timeout_ms":null,"acp_turn_timeout_ms":null}`,
			response: `{"kind":"chat","results":[{"target_session":"bravo@demo"}]}`,
			answer:   `{"request_id":null,"sender_display_name":null,"results":[{"target_session":"bravo@demo"}]}`,
			log: []string{
				`mcp.tool.send.request {"bundle_name":"demo","request_id":null,"targets":["bravo"],"broadcast":false,"message_length":2,"quiescence_timeout_ms":null,"acp_turn_timeout_ms":null}`,
				`mcp.tool.send.success {"bundle_name":"demo","result_count":1}`,
			},
		},
	})
}

// A timeout of 0 is one that was given, and an agent is told of faults in the order of these.
func TestSend05Refusals(t *testing.T) {
	const quiescence, acp = "validation_invalid_quiescence_timeout", "validation_invalid_acp_turn_timeout"
	timeouts := func(name, timeouts, code string) refusalTest {
		return refusalTest{name, "send", `{"message":"hi","targets":["bravo"],` + timeouts + `}`, code, `null`}
	}
	testRefusals(t, Surface05, []refusalTest{
		{"a blank message", "send", `{"message":" \n","targets":["bravo"]}`, "validation_invalid_arguments", `null`},
		{"a blank message before conflicting targets", "send", `{"message":"","broadcast":true,"targets":["bravo"]}`, "validation_invalid_arguments", `null`},
		{"broadcast and targets", "send", `{"message":"hi","broadcast":true,"targets":["bravo"],"quiescence_timeout_ms":0}`, "validation_conflicting_targets", `null`},
		{"neither", "send", `{"message":"hi","acp_turn_timeout_ms":0}`, "validation_empty_targets", `null`},
		{"neither, spelt out", "send", `{"message":"hi","broadcast":false,"targets":[]}`, "validation_empty_targets", `null`},
		{"a blank target", "send", `{"message":"hi","targets":["bravo"," "]}`, "validation_unknown_target", `null`},
		timeouts("no quiescence", `"quiescence_timeout_ms":0`, quiescence),
		timeouts("no quiescence, as a fraction", `"quiescence_timeout_ms":-0.0`, quiescence),
		timeouts("less than none", `"quiescence_timeout_ms":-1e400`, quiescence),
		timeouts("no turn", `"acp_turn_timeout_ms":0`, acp),
		timeouts("less than no turn", `"acp_turn_timeout_ms":-1`, acp),
		timeouts("neither of both", `"quiescence_timeout_ms":0,"acp_turn_timeout_ms":0`, quiescence),
		timeouts("one of both", `"quiescence_timeout_ms":5,"acp_turn_timeout_ms":0`, acp),
		timeouts("both", `"quiescence_timeout_ms":5,"acp_turn_timeout_ms":1e400`, "validation_conflicting_timeout_fields"),
	})
}
