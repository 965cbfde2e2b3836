package mcptools

import "github.com/agentmux/agentmux-go/wire"

type rawwParams struct {
	TargetSession text    `json:"target_session" doc:"the session to type into, as session@bundle"`
	Text          string  `json:"text" doc:"the characters to type, taken as they are; may be empty to press Enter alone"`
	NoEnter       bool    `json:"no_enter,omitempty" doc:"true leaves out the Enter after the text"`
	RequestID     *string `json:"request_id,omitempty" doc:"your own mark, returned in the answer"`
}

func raww() tool {
	return tool{
		name:  "raww",
		title: "Type into another agent's terminal",
		description: "Types raw text into another session's terminal and presses Enter, as if somebody sat at its keyboard. " +
			"Use it for what a message can't do: slash commands, answering a prompt, waking a stuck program. It interrupts whoever works there, so look first. " +
			`Example: {"target_session":"builder@demo","text":"/compact"}. To talk to an agent use send.`,
		hints: hints{destructive: true},
		output: properties{
			{"status", schema{Type: "string", Description: "queued"}},
			{"target_session", schema{Type: "string"}},
			{"transport", schema{Type: "string"}},
			{"request_id", schema{Description: "string or null"}},
			{"message_id", schema{Description: "string or null"}},
		},
		commands: []command{exchange[rawwParams, *wire.RawwResponse]{
			prefix: "mcp.tool.raww",
			check:  func(p rawwParams) error { return checkTarget(p.TargetSession, "as session@bundle") },
			request: func(s Standing, p rawwParams) map[string]any {
				return map[string]any{
					"namespace": optional(s.Bundle), "request_id": p.RequestID, "target_session": p.TargetSession,
					"text_length": len(p.Text), "no_enter": p.NoEnter,
				}
			},
			operation: func(s Standing, p rawwParams) (wire.Operation, error) {
				return &wire.Raww{
					RequestID: p.RequestID, RequesterSession: s.Session,
					TargetSession: string(p.TargetSession), Text: p.Text, NoEnter: p.NoEnter,
				}, nil
			},
			nulls: []string{"request_id", "message_id"},
			success: func(s Standing, r *wire.RawwResponse) map[string]any {
				return map[string]any{
					"namespace": s.Bundle, "status": r.Status, "target_session": r.TargetSession, "transport": r.Transport,
				}
			},
		}.command("", "", map[string]any{"target_session": "builder@demo", "text": "/compact"})},
	}
}
