package demorelay

import (
	"slices"

	"github.com/agentmux/agentmux-go/wire"
)

// The methods below show the relay's state from outside. A principal is session@namespace; one that the
// world does not have gives nil.

// Inbox returns the messages that a session got, the latest 1000. To a session of a bundle that was down
// nothing was delivered.
func (r *Relay) Inbox(principal string) []Message {
	return inspect(r, principal, func(s *session) []Message { return s.inbox })
}

// Pane returns the lines of a tmux session's terminal, its prompt last. It is nil while the bundle is down.
func (r *Relay) Pane(principal string) []string {
	return inspect(r, principal, func(s *session) []string { return s.pane })
}

// Entries returns the replay buffer of an ACP session, the oldest entry first.
func (r *Relay) Entries(principal string) []wire.SnapshotEntry {
	return inspect(r, principal, func(s *session) []wire.SnapshotEntry { return s.Entries })
}

func inspect[T any](r *Relay, principal string, of func(*session) []T) []T {
	r.mu.Lock()
	defer r.mu.Unlock()
	id, namespace, _ := split(principal)
	s := r.session(id, namespace)
	if s == nil {
		return nil
	}
	return slices.Clone(of(s))
}

// Decisions returns the decisions that wait, in all bundles.
func (r *Relay) Decisions() []wire.PendingRequest {
	r.mu.Lock()
	defer r.mu.Unlock()
	var waiting []wire.PendingRequest
	for _, b := range r.bundles {
		for _, d := range b.pending {
			waiting = append(waiting, d.request)
		}
	}
	return waiting
}

// Requests returns the operations that clients asked for, refused ones too, in the order in which they were
// handled, the latest 1000. What they point to must not be changed.
func (r *Relay) Requests() []wire.Operation {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.requests)
}
