package demorelay

import (
	"slices"
	"strings"

	"github.com/agentmux/agentmux-go/wire"
)

// newDecision returns the decision as it is listed: call is the agent's own number for its question.
func (r *Relay) newDecision(d Decision, call int, agent *session) *decision {
	if d.ID == "" {
		d.ID = r.newID()
	}
	options := []details{}  // as the relay shows them
	original := []details{} // as the agent gave them
	for _, o := range d.Options {
		options = append(options, details{"option_id": o.ID, "name": o.Name, "kind": o.Kind})
		original = append(original, details{"optionId": o.ID, "name": o.Name, "kind": o.Kind})
	}
	return &decision{Decision: d, agent: agent, request: wire.PendingRequest{
		MessageID:       r.newID(),
		ChoiceRequestID: d.ID,
		TargetSession:   agent.principal(),
		RequestedKind:   "other",
		RequestedDetails: jsonOf(details{
			"acp_request_id":  call,
			"tool_call_title": d.Title,
			"options":         options,
			"raw":             details{"toolCall": details{"title": d.Title, "status": "pending"}, "options": original},
		}),
		EnqueuedAt: r.timestamp(),
	}}
}

func (r *Relay) choicesList(c *connection, namespace string) (wire.Response, *wire.Error) {
	b, refused := r.routed(c, namespace)
	if refused != nil {
		return nil, refused
	}
	response := &wire.ChoicesListResponse{SchemaVersion: wire.SchemaVersion}
	for _, d := range b.pending {
		response.PendingRequests = append(response.PendingRequests, d.request)
	}
	return response, nil
}

func (r *Relay) choicesPick(c *connection, namespace string, op *wire.ChoicesPick) (wire.Response, *wire.Error) {
	b, refused := r.routed(c, namespace)
	if refused != nil {
		return nil, refused
	}
	if refused := checkPick(op); refused != nil {
		return nil, refused
	}
	i := slices.IndexFunc(b.pending, func(d *decision) bool { return d.ID == op.ChoiceRequestID })
	if i < 0 {
		return nil, refuse("runtime_choices_request_already_resolved", "no decision of that id waits",
			details{"choice_request_id": op.ChoiceRequestID})
	}
	d := b.pending[i]
	b.pending = slices.Delete(b.pending, i, i+1) // whatever the option: a relay forgets it here, too

	response := &wire.ChoicesPickResponse{
		SchemaVersion:   wire.SchemaVersion,
		Status:          "resolved",
		ChoiceRequestID: d.ID,
		Outcome:         op.Outcome,
		DecidedBy:       jsonOf(c.principal),
	}
	if op.Outcome == wire.OutcomeCancelled {
		response.ReasonCode = new("runtime_choices_request_cancelled")
		response.Reason = new("the decision was cancelled")
		d.agent.record("agent", d.Cancelled)
	} else {
		o := slices.IndexFunc(d.Options, func(o Option) bool { return o.ID == *op.OptionID })
		if o < 0 {
			return nil, invalid("option_id", "the decision has no such option", details{"value": *op.OptionID})
		}
		d.agent.record("agent", d.Options[o].Reply)
	}
	return response, nil
}

func checkPick(op *wire.ChoicesPick) *wire.Error {
	selected := op.Outcome == wire.OutcomeSelected
	switch {
	case strings.TrimSpace(op.ChoiceRequestID) == "":
		return invalid("choice_request_id", "the id is blank", nil)
	case op.OptionID != nil && strings.TrimSpace(*op.OptionID) == "":
		return invalid("option_id", "the option is blank", nil)
	case !selected && op.Outcome != wire.OutcomeCancelled:
		return invalid("outcome", "the outcome is selected or cancelled", details{"value": op.Outcome})
	case selected && op.OptionID == nil:
		return invalid("option_id", "selected needs an option", details{"outcome": op.Outcome})
	case !selected && op.OptionID != nil:
		return invalid("option_id", "cancelled takes no option", details{"outcome": op.Outcome})
	}
	return nil
}
