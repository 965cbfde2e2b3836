package mcptools

import "testing"

func TestRaww05(t *testing.T) {
	testExchanges(t, Surface05, []exchangeTest{
		{
			name:      "text as it is",
			tool:      "raww",
			arguments: `{"target_session":" bravo ","text":" /compact \u0000é\n","no_enter":true,"request_id":" m1 "}`,
			request:   `demo {"operation":"raww","request_id":" m1 ","sender_session":"alpha","target_session":"bravo","text":" /compact \u0000é\n","no_enter":true,"bundle_name":null}`,
			response:  `{"kind":"raww","schema_version":"1","status":"accepted","target_session":"bravo@demo","transport":"tmux","request_id":" m1 ","message_id":"x","details":{"delivery_phase":"accepted_dispatched","n":1.0},"later":{}}`,
			answer:    `{"schema_version":"1","status":"accepted","target_session":"bravo@demo","transport":"tmux","request_id":" m1 ","message_id":"x","details":{"delivery_phase":"accepted_dispatched","n":1.0},"later":{}}`,
			log: []string{
				`mcp.tool.raww.request {"bundle_name":"demo","request_id":" m1 ","target_session":"bravo","text_length":14,"no_enter":true}`,
				`mcp.tool.raww.success {"bundle_name":"demo","status":"accepted","target_session":"bravo@demo","transport":"tmux"}`,
			},
		},
		{
			name:      "Enter alone",
			tool:      "raww",
			arguments: `{"target_session":"bravo@demo","text":""}`,
			request:   `demo {"operation":"raww","request_id":null,"sender_session":"alpha","target_session":"bravo@demo","text":"","no_enter":false,"bundle_name":null}`,
			response:  `{"kind":"raww","schema_version":"1","status":"accepted","target_session":"bravo@demo","transport":"acp"}`,
			answer:    `{"schema_version":"1","status":"accepted","target_session":"bravo@demo","transport":"acp","request_id":null,"message_id":null,"details":null}`,
			log: []string{
				`mcp.tool.raww.request {"bundle_name":"demo","request_id":null,"target_session":"bravo@demo","text_length":0,"no_enter":false}`,
				`mcp.tool.raww.success {"bundle_name":"demo","status":"accepted","target_session":"bravo@demo","transport":"acp"}`,
			},
		},
	})
}

func TestRaww05Refusals(t *testing.T) {
	const invalid = "validation_invalid_params"
	testRefusals(t, Surface05, []refusalTest{
		{"a blank target", "raww", `{"target_session":" ","text":"x"}`, "validation_unknown_target", `null`},
		{"no text", "raww", `{"target_session":"bravo"}`, invalid, `{"field":"text","expected":"a string","got":"nothing"}`},
		{"a bundle", "raww", `{"target_session":"bravo","text":"x","bundle_name":"demo"}`, invalid, `{"fields":["bundle_name"]}`},
		{"who types, every way to say it, and nothing else", "raww",
			`{"target_session":"bravo","text":"x","zeta":1,"sender":1,"sender_id":1,"sender_name":1,"sender_session":1,"sender_session_id":1,"requester":1,"requester_session":1,"requester_session_id":1,"as_session":null,"alpha":2}`, invalid,
			`{"fields":["as_session","requester","requester_session","requester_session_id","sender","sender_id","sender_name","sender_session","sender_session_id"]}`},
		{"who decides is no such way", "raww", `{"target_session":"bravo","text":"x","decided_by":1,"senders":2}`, invalid, `{"fields":["decided_by","senders"]}`},
	})
}
