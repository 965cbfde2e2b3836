package mcptools

import "testing"

func TestChangePSK(t *testing.T) {
	testExchanges(t, Surface08, []exchangeTest{
		{
			name:      "the key is in the answer and not in the log",
			tool:      "change",
			arguments: `{"command":"psk","args":{"principal_id":" bob@demo "}}`,
			request:   `demo {"operation":"change_psk","principal_id":"bob@demo"}`,
			response:  `{"kind":"change_psk","schema_version":"1","principal_id":"bob@demo","psk":"s3cret","later":true}`,
			answer:    `{"schema_version":"1","principal_id":"bob@demo","psk":"s3cret","later":true}`,
			log: []string{
				`mcp.tool.change.psk.request {"namespace":"demo","principal_id":"bob@demo"}`,
				`mcp.tool.change.psk.success {"principal_id":"bob@demo"}`,
			},
		},
		{
			name:      "a newer relay that keeps the key to itself",
			tool:      "change",
			arguments: `{"command":"psk","args":{"principal_id":"bob@demo"}}`,
			request:   `demo {"operation":"change_psk","principal_id":"bob@demo"}`,
			response:  `{"kind":"change_psk","schema_version":"1","principal_id":"bob@demo","written_path":"/k"}`,
			answer:    `{"schema_version":"1","principal_id":"bob@demo","psk":null,"written_path":"/k"}`,
			log: []string{
				`mcp.tool.change.psk.request {"namespace":"demo","principal_id":"bob@demo"}`,
				`mcp.tool.change.psk.success {"principal_id":"bob@demo"}`,
			},
		},
	})
}

func TestChangeRefusals(t *testing.T) {
	testRefusals(t, Surface08, []refusalTest{
		{"another command", "change", `{"command":"scope","args":{"principal_id":"bob@demo"}}`, "validation_invalid_params", `{"command":"scope"}`},
		{"no principal", "change", `{"command":"psk"}`, "validation_invalid_params", `{"field":"args.principal_id","expected":"a string","got":"nothing"}`},
		{"a blank principal", "change", `{"command":"psk","args":{"principal_id":"\t"}}`, "validation_invalid_params", `{"field":"args.principal_id"}`},
	})
}
