package mcptools

import (
	"github.com/agentmux/agentmux-go/wire"
	"github.com/agentmux/agentmux-go/wire/wire05"
)

type send05Params struct {
	Message             string  `json:"message" doc:"the text to deliver, taken as it is"`
	Targets             []text  `json:"targets,omitempty" doc:"who gets it: session ids of your bundle"`
	Broadcast           bool    `json:"broadcast,omitempty" doc:"true sends to every other session of your bundle; leave targets out then"`
	RequestID           *string `json:"request_id,omitempty" doc:"your own mark, returned in the answer"`
	QuiescenceTimeoutMS *whole  `json:"quiescence_timeout_ms,omitempty" min:"1" doc:"terminal sessions only: how long to wait for the screen to come to rest, in milliseconds"`
	ACPTurnTimeoutMS    *whole  `json:"acp_turn_timeout_ms,omitempty" min:"1" doc:"ACP sessions only: how long the agent's turn may take, in milliseconds"`
}

func send05() tool {
	return tool{
		name:  "send",
		title: "Send a message to other agents",
		description: "Delivers a message to other agents' sessions; it arrives in their prompt as text from you. " +
			"Use it to ask, answer, hand over or report. Name targets by their session ids (list shows them), or broadcast to your whole bundle. " +
			`Example: {"message":"The build is green.","targets":["reviewer"]}. ` +
			"The answer says for each target that the message is queued; delivery follows.",
		hints: hints{},
		output: properties{
			{"bundle_name", schema{Type: "string"}},
			{"request_id", schema{Description: "string or null"}},
			{"sender_session", schema{Type: "string"}},
			{"sender_display_name", schema{Description: "string or null"}},
			{"results", schema{Type: "array", Items: &schema{Type: "object"}, Description: "one per target: target_session, message_id, outcome, and why"}},
		},
		commands: []command{exchange[send05Params, *wire05.ChatResponse]{
			prefix: "mcp.tool.send",
			check:  send05Params.check,
			request: func(s Standing, p send05Params) map[string]any {
				return map[string]any{
					"bundle_name": optional(s.Bundle), "request_id": p.RequestID, "targets": append([]text{}, p.Targets...), // never null
					"broadcast": p.Broadcast, "message_length": len(p.Message),
					"quiescence_timeout_ms": p.QuiescenceTimeoutMS.int64(), "acp_turn_timeout_ms": p.ACPTurnTimeoutMS.int64(),
				}
			},
			operation: func(s Standing, p send05Params) (wire.Operation, error) {
				targets := make([]string, len(p.Targets)) // never null
				for i, target := range p.Targets {
					targets[i] = string(target)
				}
				return &wire05.Chat{
					RequestID: p.RequestID, SenderSession: s.Session,
					Message: p.Message, Targets: targets, Broadcast: p.Broadcast,
					QuiescenceTimeoutMS: p.QuiescenceTimeoutMS.int64(), ACPTurnTimeoutMS: p.ACPTurnTimeoutMS.int64(),
				}, nil
			},
			nulls: []string{"request_id", "sender_display_name"},
			success: func(s Standing, r *wire05.ChatResponse) map[string]any {
				return map[string]any{"bundle_name": s.Bundle, "result_count": len(r.Results)}
			},
		}.command("", "", map[string]any{"message": "The build is green.", "targets": []string{"reviewer"}})},
		open: true,
	}
}

func (p send05Params) check() error {
	if err := checkRecipients(p.Message, p.Targets, p.Broadcast, "its session id"); err != nil {
		return err
	}
	switch {
	case p.QuiescenceTimeoutMS != nil && p.QuiescenceTimeoutMS.value < 1:
		return refuse(CodeInvalidQuiescenceTimeout, "quiescence_timeout_ms must be 1 or more", nil)
	case p.ACPTurnTimeoutMS != nil && p.ACPTurnTimeoutMS.value < 1:
		return refuse(CodeInvalidACPTurnTimeout, "acp_turn_timeout_ms must be 1 or more", nil)
	case p.QuiescenceTimeoutMS != nil && p.ACPTurnTimeoutMS != nil:
		return refuse(CodeConflictingTimeouts,
			"quiescence_timeout_ms is for terminal sessions and acp_turn_timeout_ms for ACP sessions: give one of them, or none", nil)
	}
	return nil
}
