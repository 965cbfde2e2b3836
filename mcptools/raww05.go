package mcptools

import (
	"github.com/agentmux/agentmux-go/wire"
	"github.com/agentmux/agentmux-go/wire/wire05"
)

type raww05Params struct {
	TargetSession text    `json:"target_session" doc:"the session to type into: its id"`
	Text          string  `json:"text" doc:"the characters to type, taken as they are; may be empty to press Enter alone"`
	NoEnter       bool    `json:"no_enter,omitempty" doc:"true leaves out the Enter after the text"`
	RequestID     *string `json:"request_id,omitempty" doc:"your own mark, returned in the answer"`
}

func raww05() tool {
	return tool{
		name:  "raww",
		title: "Type into another agent's terminal",
		description: "Types raw text into another session's terminal and presses Enter, as if somebody sat at its keyboard. " +
			"Use it for what a message can't do: slash commands, answering a prompt, waking a stuck program. It interrupts whoever works there, so look first. " +
			`Example: {"target_session":"builder","text":"/compact"}. To talk to an agent use send. ` +
			"An ACP agent that is busy takes the text when its turn ends: a timeout then does not mean that the text is lost.",
		hints: hints{destructive: true},
		output: properties{
			{"status", schema{Type: "string", Description: "accepted"}},
			{"target_session", schema{Type: "string"}},
			{"transport", schema{Type: "string"}},
			{"request_id", schema{Description: "string or null"}},
			{"message_id", schema{Description: "string or null"}},
			{"details", schema{Description: "how far the text has come, or null"}},
		},
		commands: []command{exchange[raww05Params, *wire05.RawwResponse]{
			prefix: "mcp.tool.raww",
			check:  func(p raww05Params) error { return checkTarget(p.TargetSession, "by its id") },
			request: func(s Standing, p raww05Params) map[string]any {
				return map[string]any{
					"bundle_name": optional(s.Bundle), "request_id": p.RequestID, "target_session": p.TargetSession,
					"text_length": len(p.Text), "no_enter": p.NoEnter,
				}
			},
			operation: func(s Standing, p raww05Params) (wire.Operation, error) {
				return &wire05.Raww{
					RequestID: p.RequestID, SenderSession: s.Session,
					TargetSession: string(p.TargetSession), Text: p.Text, NoEnter: p.NoEnter,
				}, nil
			},
			nulls: []string{"request_id", "message_id", "details"},
			success: func(s Standing, r *wire05.RawwResponse) map[string]any {
				return map[string]any{
					"bundle_name": s.Bundle, "status": r.Status, "target_session": r.TargetSession, "transport": r.Transport,
				}
			},
		}.command("", "", map[string]any{"target_session": "builder", "text": "/compact"})},
		identities: []string{
			"sender", "sender_id", "sender_name", "sender_session", "sender_session_id",
			"requester", "requester_session", "requester_session_id", "as_session",
		},
	}
}
