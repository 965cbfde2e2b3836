package mcptools

import (
	"fmt"
	"strings"

	"github.com/agentmux/agentmux-go/wire"
)

type chooseParams struct {
	ChoiceRequestID string  `json:"choice_request_id" doc:"which decision: choice_request_id of list decisions"`
	Outcome         text    `json:"outcome" enum:"selected,cancelled" doc:"selected takes an option, cancelled takes none"`
	OptionID        *string `json:"option_id,omitempty" doc:"the option to take, with selected only: an id from requested_details"`
}

func choose() tool {
	return tool{
		name:  "choose",
		title: "Decide for another agent",
		description: "Answers a decision that another session waits for, such as a permission to run a command. " +
			"Find it with list decisions first, read what is asked, and decide only what you are meant to decide. " +
			`Example: {"choice_request_id":"…","outcome":"selected","option_id":"allow_once"}. Take option_id exactly as it is listed: the relay refuses any other and drops the decision with it.`,
		hints: hints{destructive: true},
		output: properties{
			{"status", schema{Type: "string"}},
			{"choice_request_id", schema{Type: "string"}},
			{"outcome", schema{Type: "string"}},
			{"decided_by", schema{Description: "who decided, or null"}},
			{"reason_code", schema{Description: "string or null"}},
			{"reason", schema{Description: "string or null"}},
		},
		commands: []command{exchange[chooseParams, *wire.ChoicesPickResponse]{
			prefix: "mcp.tool.choose",
			check:  chooseParams.check,
			request: func(s Standing, p chooseParams) map[string]any {
				return map[string]any{
					"namespace": optional(s.Bundle), "choice_request_id": p.ChoiceRequestID,
					"outcome": p.Outcome, "has_option_id": p.hasOption(),
				}
			},
			operation: func(_ Standing, p chooseParams) (wire.Operation, error) {
				return &wire.ChoicesPick{
					ChoiceRequestID: p.ChoiceRequestID, Outcome: string(p.Outcome), OptionID: unlessBlank(p.OptionID),
				}, nil
			},
			nulls: []string{"decided_by", "reason_code", "reason"},
			success: func(s Standing, r *wire.ChoicesPickResponse) map[string]any {
				return map[string]any{
					"namespace": s.Bundle, "choice_request_id": r.ChoiceRequestID, "status": r.Status, "outcome": r.Outcome,
				}
			},
		}.command("", "", map[string]any{"choice_request_id": "…", "outcome": "selected", "option_id": "allow_once"})},
	}
}

func (p chooseParams) hasOption() bool { return unlessBlank(p.OptionID) != nil }

func (p chooseParams) check() error {
	option := map[string]any{"field": "option_id", "outcome": p.Outcome}
	switch {
	case strings.TrimSpace(p.ChoiceRequestID) == "":
		return refuse(CodeInvalidParams, "choice_request_id is blank: take it from list decisions", map[string]any{"field": "choice_request_id"})
	case p.Outcome != wire.OutcomeSelected && p.Outcome != wire.OutcomeCancelled:
		return refuse(CodeInvalidParams, fmt.Sprintf("outcome must be selected or cancelled, not %q", p.Outcome),
			map[string]any{"field": "outcome", "value": p.Outcome})
	case p.Outcome == wire.OutcomeSelected && !p.hasOption():
		return refuse(CodeInvalidParams, "outcome selected needs option_id: take one from requested_details of the decision", option)
	case p.Outcome == wire.OutcomeCancelled && p.hasOption():
		return refuse(CodeInvalidParams, "outcome cancelled takes no option: leave option_id out", option)
	}
	return nil
}
