package mcptools

import "testing"

func TestChoose(t *testing.T) {
	testExchanges(t, Surface08, []exchangeTest{
		{
			name:      "selected",
			tool:      "choose",
			arguments: `{"choice_request_id":"c-1","outcome":" selected ","option_id":"allow_once"}`,
			request:   `demo {"operation":"choices_pick","choice_request_id":"c-1","outcome":"selected","option_id":"allow_once"}`,
			response:  `{"kind":"choices_pick","schema_version":"1","status":"resolved","choice_request_id":"c-1","outcome":"selected","decided_by":{"session":"alpha@demo"},"reason_code":"r","reason":"because","later":1}`,
			answer:    `{"schema_version":"1","status":"resolved","choice_request_id":"c-1","outcome":"selected","decided_by":{"session":"alpha@demo"},"reason_code":"r","reason":"because","later":1}`,
			log: []string{
				`mcp.tool.choose.request {"namespace":"demo","choice_request_id":"c-1","outcome":"selected","has_option_id":true}`,
				`mcp.tool.choose.success {"namespace":"demo","choice_request_id":"c-1","status":"resolved","outcome":"selected"}`,
			},
		},
		{
			name:      "cancelled",
			tool:      "choose",
			arguments: `{"choice_request_id":"c-1","outcome":"cancelled","option_id":null}`,
			request:   `demo {"operation":"choices_pick","choice_request_id":"c-1","outcome":"cancelled","option_id":null}`,
			response:  `{"kind":"choices_pick","schema_version":"1","status":"already","choice_request_id":"c-2","outcome":"timeout"}`,
			answer:    `{"schema_version":"1","status":"already","choice_request_id":"c-2","outcome":"timeout","decided_by":null,"reason_code":null,"reason":null}`,
			log: []string{
				`mcp.tool.choose.request {"namespace":"demo","choice_request_id":"c-1","outcome":"cancelled","has_option_id":false}`,
				`mcp.tool.choose.success {"namespace":"demo","choice_request_id":"c-2","status":"already","outcome":"timeout"}`,
			},
		},
	})
}

func TestChooseRefusals(t *testing.T) {
	const invalid = "validation_invalid_params"
	testRefusals(t, Surface08, []refusalTest{
		{"who decided is the relay's to say", "choose", `{"choice_request_id":"","outcome":"x","ui_session_id":"u","operator_session_id":"o","decided_by":"me"}`, invalid,
			`{"fields":["decided_by","operator_session_id","ui_session_id"]}`},
		{"a blank id", "choose", `{"choice_request_id":" ","outcome":"maybe"}`, invalid, `{"field":"choice_request_id"}`},
		{"another outcome", "choose", `{"choice_request_id":"c-1","outcome":"maybe","option_id":"x"}`, invalid, `{"field":"outcome","value":"maybe"}`},
		{"a blank outcome", "choose", `{"choice_request_id":"c-1","outcome":" "}`, invalid, `{"field":"outcome","value":""}`},
		{"selected without an option", "choose", `{"choice_request_id":"c-1","outcome":"selected"}`, invalid, `{"field":"option_id","outcome":"selected"}`},
		{"selected with a blank option", "choose", `{"choice_request_id":"c-1","outcome":"selected","option_id":" "}`, invalid, `{"field":"option_id","outcome":"selected"}`},
		{"cancelled with an option", "choose", `{"choice_request_id":"c-1","outcome":"cancelled","option_id":"x"}`, invalid, `{"field":"option_id","outcome":"cancelled"}`},
	})
}
