package mcptools

import (
	"fmt"
	"slices"
	"strings"

	"github.com/agentmux/agentmux-go/wire"
)

type sendParams struct {
	Message   string  `json:"message" doc:"the text to deliver, taken as it is"`
	Targets   []text  `json:"targets,omitempty" doc:"who gets it: session@bundle, or session for one of your own bundle"`
	Broadcast bool    `json:"broadcast,omitempty" doc:"true sends to every other session of your bundle; leave targets out then"`
	RequestID *string `json:"request_id,omitempty" doc:"your own mark, returned in the answer"`
}

func send() tool {
	return tool{
		name:  "send",
		title: "Send a message to other agents",
		description: "Delivers a message to other agents' sessions; it arrives in their prompt as text from you. " +
			"Use it to ask, answer, hand over or report. Name targets as session@bundle (list shows them), or broadcast to your whole bundle. " +
			`Example: {"message":"The build is green.","targets":["reviewer@demo"]}. ` +
			"The answer tells the outcome for each target; delivery itself may follow later.",
		hints: hints{},
		output: properties{
			{"request_id", schema{Description: "string or null"}},
			{"requester_session", schema{Type: "string"}},
			{"sender_display_name", schema{Description: "string or null"}},
			{"results", schema{Type: "array", Items: &schema{Type: "object"}, Description: "one per target: target_session, message_id, outcome, and why"}},
		},
		commands: []command{exchange[sendParams, *wire.SendResponse]{
			prefix: "mcp.tool.send",
			check:  sendParams.check,
			request: func(s Standing, p sendParams) map[string]any {
				return map[string]any{
					"namespace": optional(s.Bundle), "request_id": p.RequestID, "targets": append([]text{}, p.Targets...), // never null
					"broadcast": p.Broadcast, "message_length": len(p.Message),
				}
			},
			operation: func(s Standing, p sendParams) (wire.Operation, error) {
				targets, err := p.qualified(s.Bundle)
				return &wire.Send{
					RequestID: p.RequestID, RequesterSession: s.Session,
					Message: p.Message, Targets: targets, Broadcast: p.Broadcast,
				}, err
			},
			nulls: []string{"request_id", "sender_display_name"},
			success: func(_ Standing, r *wire.SendResponse) map[string]any {
				return map[string]any{"result_count": len(r.Results)}
			},
		}.command("", "", map[string]any{"message": "The build is green.", "targets": []string{"reviewer@demo"}})},
	}
}

func (p sendParams) check() error {
	return checkRecipients(p.Message, p.Targets, p.Broadcast, "session@bundle")
}

// checkRecipients refuses a message that says nothing or goes to nobody. name is how to name a session.
func checkRecipients(message string, targets []text, broadcast bool, name string) error {
	switch {
	case strings.TrimSpace(message) == "":
		return refuse(CodeInvalidArguments, "message is blank: say something", nil)
	case broadcast && len(targets) > 0:
		return refuse(CodeConflictingTargets, "broadcast reaches every session of the bundle: leave targets out, or broadcast", nil)
	case !broadcast && len(targets) == 0:
		return refuse(CodeEmptyTargets, "nobody to send to: name targets (list shows them), or set broadcast to true", nil)
	case slices.Contains(targets, ""):
		return refuse(CodeUnknownTarget, fmt.Sprintf("a target is blank: name it by %s (list shows them)", name), nil)
	}
	return nil
}

// qualified returns the targets with their namespaces.
func (p sendParams) qualified(home string) ([]string, error) {
	targets := make([]string, len(p.Targets))
	for i, target := range p.Targets {
		if home == "" && !strings.Contains(string(target), "@") {
			return nil, refuse(CodeUnqualifiedTarget,
				fmt.Sprintf("target %q names no bundle and this server has none of its own: write session@bundle", target),
				map[string]any{"target": target})
		}
		targets[i] = wire.PrincipalID(string(target), home)
	}
	return targets, nil
}
