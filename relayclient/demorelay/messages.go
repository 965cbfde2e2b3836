package demorelay

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/agentmux/agentmux-go/wire"
)

// maxRaww is how many bytes a raww may type.
const maxRaww = 32 << 10

func (r *Relay) send(c *connection, op *wire.Send) (wire.Response, *wire.Error) {
	switch {
	case strings.TrimSpace(op.Message) == "":
		return nil, refuse("validation_invalid_arguments", "the message is blank", nil)
	case op.Broadcast && len(op.Targets) > 0:
		return nil, refuse("validation_conflicting_targets", "a broadcast takes no targets", nil)
	case !op.Broadcast && len(op.Targets) == 0:
		return nil, refuse("validation_empty_targets", "there is no target", nil)
	}
	sender, refused := r.qualifiedRequester(c, op.RequesterSession)
	if refused != nil {
		return nil, refused
	}
	var targets []*session
	if op.Broadcast {
		if sender.bundle == nil {
			return nil, refuse("validation_invalid_arguments", "only a member of a bundle can broadcast", nil)
		}
		targets = slices.DeleteFunc(slices.Clone(sender.bundle.sessions), func(s *session) bool { return s == sender })
	} else if targets, refused = r.targets(op.Targets); refused != nil {
		return nil, refused
	}

	response := &wire.SendResponse{
		SchemaVersion:         wire.SchemaVersion,
		RequestID:             op.RequestID,
		RequesterSession:      sender.principal(),
		AuthenticatedIdentity: c.identity(),
	}
	if sender.Name != "" {
		response.SenderDisplayName = &sender.Name
	}
	for i, target := range targets {
		id := r.newID()
		r.deliver(id, op.Message, sender, target, slices.Concat(targets[:i], targets[i+1:]))
		response.Results = append(response.Results, wire.SendResult{
			TargetSession: target.principal(),
			MessageID:     id,
			Outcome:       "queued",
		})
	}
	return response, nil
}

// targets returns the sessions of those ids, users last: all or none.
func (r *Relay) targets(names []string) ([]*session, *wire.Error) {
	var members, users []*session
	var unknown []string
	for _, name := range names {
		id, namespace, refused := qualified(name)
		if refused != nil {
			return nil, refused
		}
		switch s := r.session(id, namespace); {
		case s == nil:
			unknown = append(unknown, strings.TrimSpace(name))
		case s.bundle == nil:
			users = append(users, s)
		default:
			members = append(members, s)
		}
	}
	if unknown != nil {
		return nil, refuse("validation_unknown_target", "there are no such sessions", details{"unknown_targets": unknown})
	}
	return slices.Concat(members, users), nil
}

// deliver hands a message over. What is sent to a bundle that is down is lost, though the answer to the
// sender was "queued".
func (r *Relay) deliver(id, body string, sender, target *session, others []*session) {
	if target.bundle != nil && !target.bundle.up {
		return
	}
	m := Message{ID: id, Sender: sender.principal(), Body: body, SentAt: r.now().UTC()}
	for _, s := range others {
		m.CC = append(m.CC, s.principal())
	}
	target.inbox = newest(append(target.inbox, m))
	switch target.Transport {
	case wire.TransportTmux:
		target.enter(envelope(m, sender, target, others), true)
	case wire.TransportACP:
		target.prompt(envelope(m, sender, target, others))
	case wire.TransportUI:
		r.notify(target, target, "delivery_outcome", details{"message_id": id, "phase": "routed", "outcome": nil})
		r.notify(target, target, "incoming_message", details{
			"message_id": id, "sender_session": m.Sender, "body": body, "cc_sessions": m.CC,
		})
		r.notify(target, target, "delivery_outcome", delivered(id))
		return
	}
	if sender.Transport == wire.TransportUI {
		r.notify(sender, target, "delivery_outcome", delivered(id))
	}
}

func delivered(id string) details {
	return details{"message_id": id, "phase": "delivered", "outcome": "success"}
}

// notify tells a session, if it is connected, what happened to another one or itself.
func (r *Relay) notify(to, about *session, eventType string, payload details) {
	c := r.claims[to.principal()]
	if c == nil {
		return
	}
	_ = c.push(&wire.EventFrame{Event: wire.Event{ // the payload is our own JSON
		EventType:     eventType,
		TargetSession: about.principal(),
		CreatedAt:     r.timestamp(),
		Payload:       jsonOf(payload),
	}})
}

func (r *Relay) raww(c *connection, op *wire.Raww) (wire.Response, *wire.Error) {
	if strings.TrimSpace(op.TargetSession) == "" {
		return nil, invalid("target_session", "the target is blank", nil)
	}
	if len(op.Text) > maxRaww {
		return nil, invalid("text", "the text is too long", details{"bytes": len(op.Text), "max_bytes": maxRaww})
	}
	if _, refused := r.qualifiedRequester(c, op.RequesterSession); refused != nil {
		return nil, refused
	}
	target, refused := r.target(op.TargetSession, "can_be_written")
	if refused != nil {
		return nil, refused
	}
	if target.bundle.up {
		if target.Transport == wire.TransportACP {
			target.prompt(op.Text)
		} else {
			target.enter(op.Text, !op.NoEnter)
		}
	}
	id := r.newID()
	return &wire.RawwResponse{
		SchemaVersion: wire.SchemaVersion,
		Status:        "queued",
		TargetSession: target.principal(),
		Transport:     target.Transport,
		RequestID:     op.RequestID,
		MessageID:     &id,
	}, nil
}

// enter types text at the end of the pane's last line.
func (s *session) enter(text string, enter bool) {
	lines := strings.Split(text, "\n")
	if last := len(s.pane) - 1; last >= 0 {
		s.pane[last] += lines[0]
		lines = lines[1:]
	}
	s.pane = append(s.pane, lines...)
	if enter {
		s.pane = append(s.pane, s.Prompt)
	}
	s.pane = newest(s.pane)
}

// prompt gives text to the agent, which answers at once.
func (s *session) prompt(text string) {
	s.record("user", text)
	s.record("agent", s.Reply)
}

// record adds an entry with the lines of text that are not empty, if there are any.
func (s *session) record(kind, text string) {
	lines := slices.DeleteFunc(strings.Split(text, "\n"), func(line string) bool { return line == "" })
	if len(lines) > 0 {
		s.Entries = newest(append(s.Entries, wire.SnapshotEntry{Kind: kind, Lines: lines}))
	}
}

// envelope is a message as it reaches a terminal or an agent.
func envelope(m Message, sender, target *session, others []*session) string {
	boundary := "--agentmux-" + strings.ReplaceAll(m.ID, "-", "")
	var b strings.Builder
	fmt.Fprintln(&b, boundary)
	fmt.Fprintln(&b, "Message-Id:", m.ID)
	fmt.Fprintln(&b, "Date:", m.SentAt.Format(time.RFC3339Nano))
	fmt.Fprintln(&b, "From:", address(sender))
	fmt.Fprintln(&b, "To:", address(target))
	if len(others) > 0 {
		var cc []string
		for _, s := range others {
			cc = append(cc, address(s))
		}
		fmt.Fprintln(&b, "Cc:", strings.Join(cc, ", "))
	}
	fmt.Fprintf(&b, "\n%s\nContent-Type: text/plain; charset=utf-8\n\n%s\n%s--\n", boundary, m.Body, boundary)
	return b.String()
}

func address(s *session) string {
	name := s.Name
	if name == "" {
		name = s.principal()
	}
	return fmt.Sprintf("%s <session:%s>", name, s.principal())
}
