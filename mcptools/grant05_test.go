package mcptools

import (
	"strings"
	"testing"
)

func TestGrantList(t *testing.T) {
	const pending = `"pending_requests":[{"message_id":"m","permission_request_id":"p","target_session":"bravo@demo","requested_kind":"other","requested_details":{"acp_request_id":5.0,"options":[{"option_id":"allow"}],"raw":{"n":1e400}},"enqueued_at":"t"},{"permission_request_id":"q"}]`
	testExchanges(t, Surface05, []exchangeTest{
		{
			name:      "as the relay shows them",
			tool:      "grant",
			arguments: `{"command":" list "}`,
			request:   `demo {"operation":"permission_list","bundle_name":null}`,
			response:  `{"kind":"permission_list","schema_version":"1","bundle_name":"demo",` + pending + `,"later":0}`,
			answer:    `{"schema_version":"1","bundle_name":"demo",` + pending + `,"later":0}`,
			log: []string{
				`mcp.tool.grant.list.request {"bundle_name":"demo"}`,
				`mcp.tool.grant.list.success {"bundle_name":"demo","pending_count":2}`,
			},
		},
		{
			name:      "a bundle that is the relay's to judge",
			tool:      "grant",
			arguments: `{"command":"list","args":{"bundle_name":" Other "}}`,
			request:   `demo {"operation":"permission_list","bundle_name":" Other "}`,
			response:  `{"kind":"permission_list","schema_version":"1","bundle_name":"demo","pending_requests":[]}`,
			answer:    `{"schema_version":"1","bundle_name":"demo","pending_requests":[]}`,
			log: []string{
				`mcp.tool.grant.list.request {"bundle_name":"demo"}`,
				`mcp.tool.grant.list.success {"bundle_name":"demo","pending_count":0}`,
			},
		},
	})
}

func TestGrantResolve(t *testing.T) {
	testExchanges(t, Surface05, []exchangeTest{
		{
			name:      "selected",
			tool:      "grant",
			arguments: `{"command":"resolve","args":{"permission_request_id":" p-1 ","outcome":"\tselected","option_id":" allow\n","bundle_name":" demo"}}`,
			request:   `demo {"operation":"permission_resolve","permission_request_id":"p-1","outcome":"selected","option_id":"allow","bundle_name":" demo","ui_session_id":null}`,
			response:  `{"kind":"permission_decision","schema_version":"1","status":"resolved","permission_request_id":"p-1","outcome":"selected","later":1.0}`,
			answer:    `{"schema_version":"1","status":"resolved","permission_request_id":"p-1","outcome":"selected","reason_code":null,"reason":null,"later":1.0}`,
			log: []string{
				`mcp.tool.grant.resolve.request {"bundle_name":"demo","permission_request_id":"p-1","outcome":"selected","has_option_id":true}`,
				`mcp.tool.grant.resolve.success {"bundle_name":"demo","permission_request_id":"p-1","status":"resolved","outcome":"selected"}`,
			},
		},
		{
			name:      "cancelled",
			tool:      "grant",
			arguments: `{"command":"resolve","args":{"permission_request_id":"p-1","outcome":"cancelled","option_id":null}}`,
			request:   `demo {"operation":"permission_resolve","permission_request_id":"p-1","outcome":"cancelled","option_id":null,"bundle_name":null,"ui_session_id":null}`,
			response:  `{"kind":"permission_decision","schema_version":"1","status":"resolved","permission_request_id":"p-2","outcome":"timeout","reason_code":"c","reason":"r"}`,
			answer:    `{"schema_version":"1","status":"resolved","permission_request_id":"p-2","outcome":"timeout","reason_code":"c","reason":"r"}`,
			log: []string{
				`mcp.tool.grant.resolve.request {"bundle_name":"demo","permission_request_id":"p-1","outcome":"cancelled","has_option_id":false}`,
				`mcp.tool.grant.resolve.success {"bundle_name":"demo","permission_request_id":"p-2","status":"resolved","outcome":"timeout"}`,
			},
		},
	})
}

func TestGrantRefusals(t *testing.T) {
	const invalid = "validation_invalid_params"
	resolve := func(name, args, details string) refusalTest {
		return refusalTest{name, "grant", `{"command":"resolve","args":{` + args + `}}`, invalid, details}
	}
	const selected, cancelled = `{"field":"option_id","outcome":"selected"}`, `{"field":"option_id","outcome":"cancelled"}`
	testRefusals(t, Surface05, []refusalTest{
		{"another command", "grant", `{"command":" pick "}`, invalid, `{"command":"pick"}`},
		{"a blank bundle", "grant", `{"command":"list","args":{"bundle_name":" \t"}}`, invalid, `null`},
		{"no args", "grant", `{"command":"resolve"}`, invalid, `{"field":"permission_request_id"}`},
		resolve("no id", `"outcome":"maybe"`, `{"field":"permission_request_id"}`),
		resolve("a blank id", `"permission_request_id":" ","outcome":"maybe"`, `{"field":"permission_request_id"}`),
		resolve("no outcome", `"permission_request_id":"p","option_id":"x"`, `{"field":"outcome"}`),
		resolve("a blank outcome", `"permission_request_id":"p","outcome":" "`, `{"field":"outcome"}`),
		resolve("another outcome", `"permission_request_id":"p","outcome":" Selected ","option_id":"x"`, `{"field":"outcome","value":"Selected"}`),
		resolve("selected without an option", `"permission_request_id":"p","outcome":"selected"`, selected),
		resolve("selected with a blank option", `"permission_request_id":"p","outcome":"selected","option_id":" ","bundle_name":""`, selected),
		resolve("cancelled with an option", `"permission_request_id":"p","outcome":"cancelled","option_id":"x"`, cancelled),
		resolve("cancelled with a blank option", `"permission_request_id":"p","outcome":"cancelled","option_id":""`, cancelled),
		resolve("a blank bundle for a decision", `"permission_request_id":"p","outcome":"cancelled","bundle_name":" "`, `null`),
		resolve("who decides, every way to say it, and nothing else",
			`"decided_by":1,"ui_session_id":null,"operator_session_id":1,"decider":1,"decider_session":1,"alpha":1,"zeta":2`,
			`{"fields":["decided_by","decider","decider_session","operator_session_id","ui_session_id"]}`),
		resolve("who sends is no such way", `"sender_session":1,"decide":2`, `{"fields":["decide","sender_session"]}`),
		{"who decides, for a list", "grant", `{"command":"list","args":{"decided_by":"eve","x":1}}`, invalid, `{"fields":["decided_by"]}`},
	})
}

// An agent that says who acts is told that it can't, which is more than that there is no such argument.
func TestMessagesOfIdentities(t *testing.T) {
	for _, test := range []struct{ tool, arguments, want string }{
		{"raww", `{"sender":"eve","x":1}`, "sender can't be given: who acts is"},
		{"raww", `{"x":1,"a":2}`, "unknown arguments: a, x."},
		{"grant", `{"command":"resolve","args":{"decided_by":"eve","decider":"eve"}}`, "decided_by, decider can't be given: who acts is"},
		{"grant", `{"command":"resolve","args":{"sender":"eve"}}`, "unknown arguments: sender."},
	} {
		_, refusal := newSurface(t, answers(`{}`), of(Surface05)).do(t, test.tool, test.arguments)
		if refusal == nil || !strings.HasPrefix(refusal.Message, test.want) {
			t.Errorf("%s %s: got %v, want %s", test.tool, test.arguments, refusal, test.want)
		}
	}
}
