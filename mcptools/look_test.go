package mcptools

import "testing"

const lookResponse = `{"kind":"look","schema_version":"1","requester_session":"alpha@demo","target_session":"bravo@demo","captured_at":"2026-01-01T00:00:00.000000001Z","snapshot_format":"lines","snapshot_lines":["$ <b>","\u001b[31mred"]}`

func TestLook(t *testing.T) {
	const lookAnswer = `{"schema_version":"1","requester_session":"alpha@demo","target_session":"bravo@demo","captured_at":"2026-01-01T00:00:00.000000001Z","snapshot_format":"lines","snapshot_lines":["$ <b>","\u001b[31mred"]}`
	const success = `mcp.tool.look.success {"requester_session":"alpha@demo","target_session":"bravo@demo","snapshot_format":"lines","snapshot_count":2}`
	testExchanges(t, Surface08, []exchangeTest{
		{
			name:      "the relay chooses the window, and no target is qualified here",
			tool:      "look",
			arguments: `{"target_session":" bravo\t"}`,
			request:   `demo {"operation":"look","requester_session":"alpha","target_session":"bravo","lines":null,"offset":null}`,
			response:  lookResponse,
			answer:    lookAnswer,
			log: []string{
				`mcp.tool.look.request {"namespace":"demo","requester_session":"alpha","target_session":"bravo","lines":null,"offset":null}`,
				success,
			},
		},
		{
			name:      "null stands for absent",
			tool:      "look",
			arguments: `{"target_session":"bravo@demo","lines":null,"offset":null}`,
			request:   `demo {"operation":"look","requester_session":"alpha","target_session":"bravo@demo","lines":null,"offset":null}`,
			response:  lookResponse,
			answer:    lookAnswer,
			log: []string{
				`mcp.tool.look.request {"namespace":"demo","requester_session":"alpha","target_session":"bravo@demo","lines":null,"offset":null}`,
				success,
			},
		},
		{
			name:      "the least window",
			tool:      "look",
			arguments: `{"target_session":"bravo@demo","lines":1,"offset":0}`,
			request:   `demo {"operation":"look","requester_session":"alpha","target_session":"bravo@demo","lines":1,"offset":0}`,
			response:  lookResponse,
			answer:    lookAnswer,
			log: []string{
				`mcp.tool.look.request {"namespace":"demo","requester_session":"alpha","target_session":"bravo@demo","lines":1,"offset":0}`,
				success,
			},
		},
		{
			name:      "entries of an ACP session, numbers and unknown keys as they came",
			tool:      "look",
			arguments: `{"target_session":"bravo@demo","lines":1000,"offset":7}`,
			request:   `demo {"operation":"look","requester_session":"alpha","target_session":"bravo@demo","lines":1000,"offset":7}`,
			response: `{"kind":"look","schema_version":"1","requester_session":"alpha@demo","target_session":"bravo@demo","captured_at":"t","authenticated_identity":null,"on_behalf_of":{"n":12345678901234567890},
				"snapshot_format":"structured_entries_v1","snapshot_entries":[{"kind":"user","lines":["hi"]},{"kind":"later","x":1.0},{"kind":"agent"}],
				"entries_total":1.0,"returned_entries_count":3,"freshness":"fresh","snapshot_source":"live_buffer","later":{"psk":"shown"}}`,
			answer: `{"schema_version":"1","requester_session":"alpha@demo","target_session":"bravo@demo","captured_at":"t","authenticated_identity":null,"on_behalf_of":{"n":12345678901234567890},
				"snapshot_format":"structured_entries_v1","snapshot_entries":[{"kind":"user","lines":["hi"]},{"kind":"later","x":1.0},{"kind":"agent"}],
				"entries_total":1.0,"returned_entries_count":3,"freshness":"fresh","snapshot_source":"live_buffer","later":{"psk":"shown"}}`,
			log: []string{
				`mcp.tool.look.request {"namespace":"demo","requester_session":"alpha","target_session":"bravo@demo","lines":1000,"offset":7}`,
				`mcp.tool.look.success {"requester_session":"alpha@demo","target_session":"bravo@demo","snapshot_format":"structured_entries_v1","snapshot_count":3}`,
			},
		},
	})
}

func TestLookRefusals(t *testing.T) {
	bounds := func(lines string) string { return `{"lines":` + lines + `,"min":1,"max":1000}` }
	test := func(name, arguments, code, details string) refusalTest {
		return refusalTest{name, "look", `{"target_session":"bravo@demo",` + arguments + `}`, code, details}
	}
	testRefusals(t, Surface08, []refusalTest{
		{"a blank target", "look", `{"target_session":" "}`, "validation_unknown_target", `null`},
		{"a blank target before lines", "look", `{"target_session":"","lines":0}`, "validation_unknown_target", `null`},
		test("no lines", `"lines":0`, "validation_invalid_lines", bounds("0")),
		test("no lines, as a fraction", `"lines":0.0`, "validation_invalid_lines", bounds("0.0")),
		test("negative lines", `"lines":-1`, "validation_invalid_lines", bounds("-1")),
		test("a line too many", `"lines":1001`, "validation_invalid_lines", bounds("1001")),
		test("a line too many, with an exponent", `"lines":1.001e3`, "validation_invalid_lines", bounds("1.001e3")),
		test("more than int64", `"lines":99999999999999999999`, "validation_invalid_lines", bounds("99999999999999999999")),
		test("more than float64", `"lines":1e400`, "validation_invalid_lines", bounds("1e400")),
		test("less than float64", `"lines":-1e400`, "validation_invalid_lines", bounds("-1e400")),
		test("lines before offset", `"lines":0,"offset":-1`, "validation_invalid_lines", bounds("0")),
		test("a negative offset", `"offset":-1`, "validation_invalid_params", `{"field":"offset","expected":"an integer of 0 or more","got":-1}`),
		test("a hugely negative offset", `"offset":-1e400`, "validation_invalid_params", `{"field":"offset","expected":"an integer of 0 or more","got":-1e400}`),
	})
}

// An answer that is nested deeply, or not what a look is answered with, ends in an answer or an error.
func TestLookOddResponses(t *testing.T) {
	deep := nested(5000)
	t.Run("deep", func(t *testing.T) {
		s := newSurface(t, answers(lookResponse[:len(lookResponse)-1]+`,"later":`+deep+`}`))
		a, refusal := s.do(t, "look", `{"target_session":"bravo@demo"}`)
		if refusal != nil {
			t.Fatal(refusal)
		}
		sameJSON(t, "answer", a, lookResponse[:1]+lookResponse[len(`{"kind":"look",`):len(lookResponse)-1]+`,"later":`+deep+`}`)
	})
	for _, response := range []string{
		`{}`, `null`, `[]`, `7`, deep, `{"kind":7}`, `{"kind":null}`, `{"kind":"look"}`,
		`{"kind":"look","snapshot_format":"lines"}`,
		`{"kind":"look","snapshot_format":"lines","snapshot_lines":null}`,
		`{"kind":"look","snapshot_format":"lines","snapshot_lines":"x"}`,
		`{"kind":"look","snapshot_format":"lines","snapshot_lines":[7]}`,
	} {
		t.Run(response[:min(len(response), 60)], func(t *testing.T) {
			s := newSurface(t, answers(response))
			_, refusal := s.do(t, "look", `{"target_session":"bravo@demo"}`)
			if refusal == nil || refusal.Code != "internal_unexpected_failure" {
				t.Fatalf("got %v, want internal_unexpected_failure", refusal)
			}
			if stderr := s.stderr.String(); stderr != "" {
				t.Errorf("a panic: %s", stderr)
			}
		})
	}
}
