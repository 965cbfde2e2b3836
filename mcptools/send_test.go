package mcptools

import (
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

func TestSend(t *testing.T) {
	testExchanges(t, Surface08, []exchangeTest{
		{
			name:      "bare targets get the home bundle, the message stays as it is",
			tool:      "send",
			arguments: `{"message":"  <é> & \n","targets":[" bravo ","ops@Other"],"request_id":" m1 "}`,
			request:   `demo {"operation":"send","request_id":" m1 ","requester_session":"alpha","message":"  <é> & \n","targets":["bravo@demo","ops@Other"],"broadcast":false}`,
			response: `{"kind":"send","schema_version":"1","request_id":" m1 ","requester_session":"alpha@demo","sender_display_name":"Alpha","authenticated_identity":{"id":1.0},"on_behalf_of":"x",
				"results":[{"target_session":"bravo@demo","message_id":"m","outcome":"queued","later":true},{"target_session":"ops@Other","message_id":"n","outcome":"submission_unknown"}],"later":[1e400]}`,
			answer: `{"schema_version":"1","request_id":" m1 ","requester_session":"alpha@demo","sender_display_name":"Alpha","authenticated_identity":{"id":1.0},"on_behalf_of":"x",
				"results":[{"target_session":"bravo@demo","message_id":"m","outcome":"queued","later":true},{"target_session":"ops@Other","message_id":"n","outcome":"submission_unknown"}],"later":[1e400]}`,
			log: []string{
				`mcp.tool.send.request {"namespace":"demo","request_id":" m1 ","targets":["bravo","ops@Other"],"broadcast":false,"message_length":10}`,
				`mcp.tool.send.success {"result_count":2}`,
			},
		},
		{
			name:      "broadcast, and keys that a newer relay leaves out",
			tool:      "send",
			arguments: `{"message":"hi","broadcast":true,"request_id":null}`,
			request:   `demo {"operation":"send","request_id":null,"requester_session":"alpha","message":"hi","targets":[],"broadcast":true}`,
			response:  `{"kind":"send","schema_version":"1","requester_session":"alpha@demo","results":[]}`,
			answer:    `{"schema_version":"1","request_id":null,"requester_session":"alpha@demo","sender_display_name":null,"results":[]}`,
			log: []string{
				`mcp.tool.send.request {"namespace":"demo","request_id":null,"targets":[],"broadcast":true,"message_length":2}`,
				`mcp.tool.send.success {"result_count":0}`,
			},
		},
	})
}

func TestSendRefusals(t *testing.T) {
	testRefusals(t, Surface08, []refusalTest{
		{"a blank message", "send", `{"message":" \n","targets":["bravo"]}`, "validation_invalid_arguments", `null`},
		{"a blank message before conflicting targets", "send", `{"message":"","broadcast":true,"targets":["bravo"]}`, "validation_invalid_arguments", `null`},
		{"broadcast and targets", "send", `{"message":"hi","broadcast":true,"targets":["bravo"]}`, "validation_conflicting_targets", `null`},
		{"neither", "send", `{"message":"hi"}`, "validation_empty_targets", `null`},
		{"neither, spelt out", "send", `{"message":"hi","broadcast":false,"targets":[]}`, "validation_empty_targets", `null`},
		{"a blank target", "send", `{"message":"hi","targets":["bravo"," "]}`, "validation_unknown_target", `null`},
	})
}

// A server that has a session and no bundle can't qualify a target, which is found after the sender check.
func TestSendBareTargetWithoutBundle(t *testing.T) {
	relay := answers(`{}`)
	s := newSurface(t, relay, as(Standing{Session: "alpha", Relay: relay}))
	_, refusal := s.do(t, "send", `{"message":"hi","targets":["ops@Other"," bravo"]}`)
	sameRefusal(t, refusal, jsonrpc.CodeInvalidParams, "validation_unqualified_target", `{"target":"bravo"}`)
	sameLines(t, "requests", relay.requests(), nil)
	sameLog(t, s.log,
		`mcp.tool.send.request {"namespace":null,"request_id":null,"targets":["ops@Other","bravo"],"broadcast":false,"message_length":2}`,
		endedHere("mcp.tool.send", refusal),
	)
}
