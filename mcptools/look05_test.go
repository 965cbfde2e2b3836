package mcptools

import "testing"

func TestLook05(t *testing.T) {
	testExchanges(t, Surface05, []exchangeTest{
		{
			name:      "the relay chooses the window",
			tool:      "look",
			arguments: `{"target_session":" bravo\t"}`,
			request:   `demo {"operation":"look","requester_session":"alpha","target_session":"bravo","lines":null,"bundle_name":null}`,
			response:  `{"kind":"look","schema_version":"1","bundle_name":"demo","requester_session":"alpha@demo","target_session":"bravo@demo","captured_at":"t","snapshot_format":"lines","snapshot_lines":["$ <b>","\u001b[31mred"],"later":1.0}`,
			answer:    `{"schema_version":"1","bundle_name":"demo","requester_session":"alpha@demo","target_session":"bravo@demo","captured_at":"t","snapshot_format":"lines","snapshot_lines":["$ <b>","\u001b[31mred"],"later":1.0}`,
			log: []string{
				`mcp.tool.look.request {"bundle_name":"demo","requested_bundle_name":null,"requester_session":"alpha","target_session":"bravo","lines":null}`,
				`mcp.tool.look.success {"bundle_name":"demo","requester_session":"alpha@demo","target_session":"bravo@demo","snapshot_format":"lines","snapshot_count":2}`,
			},
		},
		{
			name:      "the least window, and a bundle that is the relay's to judge",
			tool:      "look",
			arguments: `{"target_session":"bravo@demo","lines":1,"bundle_name":" Other "}`,
			request:   `demo {"operation":"look","requester_session":"alpha","target_session":"bravo@demo","lines":1,"bundle_name":" Other "}`,
			response:  `{"kind":"look","bundle_name":"demo","snapshot_format":"lines","snapshot_lines":[]}`,
			answer:    `{"bundle_name":"demo","snapshot_format":"lines","snapshot_lines":[]}`,
			log: []string{
				`mcp.tool.look.request {"bundle_name":"demo","requested_bundle_name":" Other ","requester_session":"alpha","target_session":"bravo@demo","lines":1}`,
				`mcp.tool.look.success {"bundle_name":"demo","requester_session":"","target_session":"","snapshot_format":"lines","snapshot_count":0}`,
			},
		},
		{
			name:      "entries of an ACP session, numbers and nulls as they came",
			tool:      "look",
			arguments: `{"target_session":"bravo","lines":1000,"bundle_name":""}`,
			request:   `demo {"operation":"look","requester_session":"alpha","target_session":"bravo","lines":1000,"bundle_name":""}`,
			response: `{"kind":"look","schema_version":"1","bundle_name":"demo","requester_session":"alpha@demo","target_session":"bravo@demo","captured_at":"t","snapshot_format":"acp_entries_v1",
				"snapshot_entries":[{"kind":"cognition","lines":["hm"]},{"kind":"invocation","call_id":"c","status":"Pending","invocation":{"n":1.0},"result":null},{"kind":"update","update_kind":"plan","lines":[]}],
				"freshness":"stale","snapshot_source":"live_buffer","stale_reason_code":"acp_worker_recovering","snapshot_age_ms":12345678901234567}`,
			answer: `{"schema_version":"1","bundle_name":"demo","requester_session":"alpha@demo","target_session":"bravo@demo","captured_at":"t","snapshot_format":"acp_entries_v1",
				"snapshot_entries":[{"kind":"cognition","lines":["hm"]},{"kind":"invocation","call_id":"c","status":"Pending","invocation":{"n":1.0},"result":null},{"kind":"update","update_kind":"plan","lines":[]}],
				"freshness":"stale","snapshot_source":"live_buffer","stale_reason_code":"acp_worker_recovering","snapshot_age_ms":12345678901234567}`,
			log: []string{
				`mcp.tool.look.request {"bundle_name":"demo","requested_bundle_name":"","requester_session":"alpha","target_session":"bravo","lines":1000}`,
				`mcp.tool.look.success {"bundle_name":"demo","requester_session":"alpha@demo","target_session":"bravo@demo","snapshot_format":"acp_entries_v1","snapshot_count":3}`,
			},
		},
	})
}

func TestLook05Refusals(t *testing.T) {
	lines := func(name, lines string) refusalTest {
		return refusalTest{name, "look", `{"target_session":"bravo","lines":` + lines + `}`, "validation_invalid_lines", `{"lines":` + lines + `,"min":1,"max":1000}`}
	}
	testRefusals(t, Surface05, []refusalTest{
		{"a blank target", "look", `{"target_session":" "}`, "validation_unknown_target", `null`},
		{"a blank target before lines", "look", `{"target_session":"","lines":0}`, "validation_unknown_target", `null`},
		lines("no lines", "0"),
		lines("negative lines", "-1"),
		lines("a line too many", "1001"),
		lines("more than int64", "99999999999999999999"),
	})
}
