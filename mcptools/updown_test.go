package mcptools

import "testing"

func TestUpdown(t *testing.T) {
	testExchanges(t, Surface08, []exchangeTest{
		{
			name:      "up, with what newer relays add",
			tool:      "updown",
			arguments: `{"command":" up ","args":{}}`,
			request:   `demo {"operation":"up"}`,
			response: `{"kind":"bundle_transition","schema_version":"1","action":"up","bundles":[{"bundle_name":"demo","outcome":"degraded","reason_code":"runtime_startup_failed","details":{"failed_sessions":[]}}],
				"changed_bundle_count":1,"degraded_bundle_count":4,"skipped_bundle_count":2,"failed_bundle_count":3,"changed_any":true}`,
			answer: `{"schema_version":"1","action":"up","bundles":[{"bundle_name":"demo","outcome":"degraded","reason_code":"runtime_startup_failed","details":{"failed_sessions":[]}}],
				"changed_bundle_count":1,"degraded_bundle_count":4,"skipped_bundle_count":2,"failed_bundle_count":3,"changed_any":true}`,
			log: []string{
				`mcp.tool.updown.up.request {"namespace":"demo","command":"up"}`,
				`mcp.tool.updown.up.success {"namespace":"demo","action":"up","changed_bundle_count":1,"skipped_bundle_count":2,"failed_bundle_count":3}`,
			},
		},
		{
			name:      "down",
			tool:      "updown",
			arguments: `{"command":"down"}`,
			request:   `demo {"operation":"down"}`,
			response:  `{"kind":"bundle_transition","schema_version":"1","action":"down","bundles":[],"changed_bundle_count":0,"skipped_bundle_count":1,"failed_bundle_count":0,"changed_any":false}`,
			answer:    `{"schema_version":"1","action":"down","bundles":[],"changed_bundle_count":0,"skipped_bundle_count":1,"failed_bundle_count":0,"changed_any":false}`,
			log: []string{
				`mcp.tool.updown.down.request {"namespace":"demo","command":"down"}`,
				`mcp.tool.updown.down.success {"namespace":"demo","action":"down","changed_bundle_count":0,"skipped_bundle_count":1,"failed_bundle_count":0}`,
			},
		},
	})
}

func TestUpdownRefusals(t *testing.T) {
	testRefusals(t, Surface08, []refusalTest{
		{"another command", "updown", `{"command":"restart"}`, "validation_invalid_params", `{"command":"restart"}`},
		{"a bundle can't be named", "updown", `{"command":"up","args":{"namespace":"Other"}}`, "validation_invalid_params", `{"fields":["args.namespace"]}`},
	})
}
