package mcptools

import "testing"

func TestRaww(t *testing.T) {
	testExchanges(t, Surface08, []exchangeTest{
		{
			name:      "text as it is, and no target is qualified here",
			tool:      "raww",
			arguments: `{"target_session":" bravo ","text":" /compact \u0000é\n","no_enter":true,"request_id":"m1"}`,
			request:   `demo {"operation":"raww","request_id":"m1","requester_session":"alpha","target_session":"bravo","text":" /compact \u0000é\n","no_enter":true}`,
			response:  `{"kind":"raww","schema_version":"1","status":"queued","target_session":"bravo@demo","transport":"pty","request_id":"m1","message_id":"x","later":{}}`,
			answer:    `{"schema_version":"1","status":"queued","target_session":"bravo@demo","transport":"pty","request_id":"m1","message_id":"x","later":{}}`,
			log: []string{
				`mcp.tool.raww.request {"namespace":"demo","request_id":"m1","target_session":"bravo","text_length":14,"no_enter":true}`,
				`mcp.tool.raww.success {"namespace":"demo","status":"queued","target_session":"bravo@demo","transport":"pty"}`,
			},
		},
		{
			name:      "Enter alone",
			tool:      "raww",
			arguments: `{"target_session":"bravo@demo","text":"","no_enter":null}`,
			request:   `demo {"operation":"raww","request_id":null,"requester_session":"alpha","target_session":"bravo@demo","text":"","no_enter":false}`,
			response:  `{"kind":"raww","schema_version":"1","status":"queued","target_session":"bravo@demo","transport":"tmux"}`,
			answer:    `{"schema_version":"1","status":"queued","target_session":"bravo@demo","transport":"tmux","request_id":null,"message_id":null}`,
			log: []string{
				`mcp.tool.raww.request {"namespace":"demo","request_id":null,"target_session":"bravo@demo","text_length":0,"no_enter":false}`,
				`mcp.tool.raww.success {"namespace":"demo","status":"queued","target_session":"bravo@demo","transport":"tmux"}`,
			},
		},
	})
}

func TestRawwRefusals(t *testing.T) {
	testRefusals(t, Surface08, []refusalTest{
		{"a blank target", "raww", `{"target_session":" ","text":"x"}`, "validation_unknown_target", `null`},
		{"no text", "raww", `{"target_session":"bravo@demo"}`, "validation_invalid_params", `{"field":"text","expected":"a string","got":"nothing"}`},
	})
}
