package demorelay

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/agentmux/agentmux-go/wire"
)

// A World is what a relay serves. Its zero value is an empty one.
type World struct {
	Bundles []Bundle
	Users   []Session // of the namespace GLOBAL; whatever their Transport says, it is ui

	// Now is the clock, and NewID makes the ids of messages, decisions and connections. The relay calls them
	// one at a time. Nil stands for time.Now and for random UUIDs.
	Now   func() time.Time
	NewID func() string
}

// A Bundle is a namespace of sessions.
type Bundle struct {
	Name     string
	Sessions []Session
	Down     bool                  // not started yet
	Failures []wire.StartupFailure // makes the bundle "degraded" while it is up
}

// A Session is a member of a bundle, or a user.
type Session struct {
	ID        string
	Name      string // for people; may be empty
	Transport string // [wire.TransportTmux], which "" stands for, TransportACP, TransportUI or TransportPubSub

	// With tmux.
	Pane   []string // lines that each start shows; what is typed appears at the end of the last one
	Prompt string   // what a new line after Enter starts with

	// With ACP.
	Entries   []wire.SnapshotEntry // the replay buffer, oldest entry first
	Reply     string               // what the agent answers to every message; nothing where it is empty
	Decisions []Decision           // what the agent waits for
}

// A Decision is a permission that an agent asks for.
type Decision struct {
	ID        string // choice_request_id; "" has the relay make one
	Title     string // the tool call in question
	Options   []Option
	Cancelled string // what the agent says when the decision is cancelled; nothing where it is empty
}

// An Option is one outcome of a [Decision].
type Option struct {
	ID    string
	Name  string // for people
	Kind  string // ACP's: "allow_once", "reject_once", …
	Reply string // what the agent says once the option is selected; nothing where it is empty
}

// A Message is what a session was sent.
type Message struct {
	ID     string
	Sender string // principal id
	Body   string
	CC     []string // principal ids of the other targets
	SentAt time.Time
}

const sampleDecision = "Remove the variable 'start' in lexer.c"

// Sample returns a world to be shown around in: a bundle "demo" with the sessions "you", "builder" and
// "tester" (tmux), and "reviewer" (ACP), who waits for a decision; and a user "operator".
func Sample() World {
	const prompt = "$ "
	return World{
		Users: []Session{{ID: "operator"}},
		Bundles: []Bundle{{Name: "demo", Sessions: []Session{
			{ID: "you", Name: "You", Pane: []string{prompt}, Prompt: prompt},
			{ID: "builder", Name: "Builder", Prompt: prompt, Pane: []string{
				prompt + "make",
				"compile  parser",
				"compile  lexer",
				"lexer.c:88: warning: unused variable 'start'",
				"link     demo",
				"build finished: 0 errors, 1 warning",
				prompt,
			}},
			{ID: "tester", Name: "Tester", Prompt: prompt, Pane: []string{
				prompt + "make test",
				"parser   41 passed",
				"lexer    17 passed, 1 failed: keeps_trailing_comment",
				prompt,
			}},
			{
				ID: "reviewer", Name: "Reviewer", Transport: wire.TransportACP,
				Entries: sampleReview(),
				Reply:   "Noted. I will take it up when the lexer is reviewed.",
				Decisions: []Decision{{
					Title: sampleDecision,
					Options: []Option{
						{ID: "allow-once", Name: "Allow once", Kind: "allow_once", Reply: "Removed. The build has no warning left."},
						{ID: "reject-once", Name: "Reject", Kind: "reject_once", Reply: "Left as it is."},
					},
					Cancelled: "No answer, so I leave lexer.c as it is.",
				}},
			},
		}}},
	}
}

// sampleReview has an entry of every kind.
func sampleReview() []wire.SnapshotEntry {
	call := func(id, title, kind string) wire.SnapshotEntry {
		return wire.SnapshotEntry{
			Kind: "invocation", CallID: &id, Status: new("Pending"),
			Invocation: jsonOf(details{
				"sessionUpdate": "tool_call", "toolCallId": id, "title": title, "kind": kind, "status": "pending",
			}),
			Result: json.RawMessage("null"),
		}
	}
	read := call("read-1", "Read lexer.c", "read")
	read.Status = new("Completed")
	read.Result = jsonOf(details{"sessionUpdate": "tool_call_update", "toolCallId": "read-1", "status": "completed"})
	return []wire.SnapshotEntry{
		{Kind: "user", Lines: []string{"Please review the change to the lexer."}},
		{Kind: "cognition", Lines: []string{"The build warns about lexer.c. I should read it first."}},
		{Kind: "update", UpdateKind: new("plan"), Lines: []string{"read lexer.c", "remove what is unused"}},
		read,
		{Kind: "agent", Lines: []string{"The variable 'start' on line 88 is never read.", "I would like to remove it."}},
		call("edit-1", sampleDecision, "edit"),
	}
}

// A bundle is a [Bundle] that is being served.
type bundle struct {
	name     string
	up       bool
	failures []wire.StartupFailure
	sessions []*session
	pending  []*decision
}

// A session is a [Session] that is being served.
type session struct {
	Session   // as the world gave it; Entries grow
	namespace string
	bundle    *bundle // nil for a user
	pane      []string
	inbox     []Message
}

// A decision is a [Decision] that waits.
type decision struct {
	Decision
	request wire.PendingRequest
	agent   *session
}

func (r *Relay) newBundle(world Bundle) *bundle {
	b := &bundle{name: world.Name, failures: world.Failures}
	for _, s := range world.Sessions {
		s := newSession(s, b.name, b)
		b.sessions = append(b.sessions, s)
		for i, d := range s.Decisions {
			b.pending = append(b.pending, r.newDecision(d, i+1, s))
		}
	}
	if !world.Down {
		b.start()
	}
	return b
}

func newSession(world Session, namespace string, b *bundle) *session {
	if world.Transport == "" {
		world.Transport = wire.TransportTmux
	}
	world.Entries = slices.Clip(world.Entries) // what is appended is the relay's
	return &session{Session: world, namespace: namespace, bundle: b}
}

// start opens a fresh pane for every session.
func (b *bundle) start() {
	b.up = true
	for _, s := range b.sessions {
		s.pane = slices.Clone(s.Pane)
	}
}

// stop closes the panes. Replay buffers and decisions outlive it.
func (b *bundle) stop() {
	b.up = false
	for _, s := range b.sessions {
		s.pane = nil
	}
}

func (s *session) principal() string { return s.ID + "@" + s.namespace }

// newest returns the last items of s that a relay keeps.
func newest[T any](s []T) []T { return s[max(0, len(s)-kept):] }

// randomUUID returns a UUID of version 4.
func randomUUID() string {
	var b [16]byte
	rand.Read(b[:]) // never fails
	b[6] = b[6]&0x0f | 0x40
	b[8] = b[8]&0x3f | 0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}
