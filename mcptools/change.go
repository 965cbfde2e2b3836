package mcptools

import "github.com/agentmux/agentmux-go/wire"

type changePSKParams struct {
	PrincipalID text `json:"principal_id" doc:"whose key to change: session@bundle"`
}

func change() tool {
	return tool{
		name:  "change",
		title: "Change a principal's key",
		description: "Gives a principal a new pre-shared key (command psk). The old one stops working and its connections end, so the new one must reach its owner. The key is in the answer: do not repeat it elsewhere. " +
			`Example: {"command":"psk","args":{"principal_id":"bob@demo"}}.`,
		hints: hints{destructive: true},
		output: properties{
			{"principal_id", schema{Type: "string"}},
			{"psk", schema{Description: "the new key"}},
		},
		commands: []command{exchange[changePSKParams, *wire.ChangePSKResponse]{
			prefix: "mcp.tool.change.psk",
			check:  func(p changePSKParams) error { return checkPrincipal(p.PrincipalID) },
			request: func(s Standing, p changePSKParams) map[string]any {
				return map[string]any{"namespace": optional(s.Bundle), "principal_id": p.PrincipalID}
			},
			operation: func(_ Standing, p changePSKParams) (wire.Operation, error) {
				return &wire.ChangePSK{PrincipalID: string(p.PrincipalID)}, nil
			},
			nulls: []string{"psk"},
			success: func(_ Standing, r *wire.ChangePSKResponse) map[string]any {
				return map[string]any{"principal_id": r.PrincipalID}
			},
		}.command("psk", "makes a new key for principal_id", map[string]any{"principal_id": "bob@demo"})},
	}
}
