package demorelay_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/agentmux/agentmux-go/relayclient/demorelay"
	"github.com/agentmux/agentmux-go/wire"
)

func TestDelivery(t *testing.T) {
	serve(t, func(t *testing.T, r *demorelay.Relay) {
		c := connect(t, r, "you@demo", wire.SocketTrust)
		before := r.Pane("builder@demo")
		c.ask(request(`{"operation":"send","requester_session":"you","message":"one\n\n<two>","broadcast":false,"targets":["builder@demo","reviewer@demo","you@other"]}`))

		wantPane := []string{
			"one", "two", "$ --agentmux-id3",
			"Message-Id: id-3",
			"Date: 2000-01-01T00:00:00Z",
			"From: You <session:you@demo>",
			"To: Builder <session:builder@demo>",
			"Cc: reviewer@demo <session:reviewer@demo>, you@other <session:you@other>",
			"",
			"--agentmux-id3",
			"Content-Type: text/plain; charset=utf-8",
			"",
			"one", "", "<two>",
			"--agentmux-id3--",
			"",
			"$ ",
		}
		if got := r.Pane("builder@demo"); !slices.Equal(got, wantPane) {
			t.Errorf("pane: got %q, want %q", got, wantPane)
		}

		if !slices.Equal(before, []string{"one", "two", "$ "}) {
			t.Errorf("the pane as it was before: got %q", before)
		}

		entries := r.Entries("reviewer@demo")
		if len(entries) != 3 {
			t.Fatalf("replay buffer: got %v, want three entries", entries)
		}
		wantLines := []string{
			"--agentmux-id4",
			"Message-Id: id-4",
			"Date: 2000-01-01T00:00:00Z",
			"From: You <session:you@demo>",
			"To: reviewer@demo <session:reviewer@demo>",
			"Cc: Builder <session:builder@demo>, you@other <session:you@other>",
			"--agentmux-id4",
			"Content-Type: text/plain; charset=utf-8",
			"one", "<two>",
			"--agentmux-id4--",
		}
		if got := entries[1]; got.Kind != "user" || !slices.Equal(got.Lines, wantLines) {
			t.Errorf("what the agent got: %+v, want %q", got, wantLines)
		}
		if got := entries[2]; got.Kind != "agent" || !slices.Equal(got.Lines, []string{"seen"}) {
			t.Errorf("what the agent replied: %+v", got)
		}

		want := demorelay.Message{ID: "id-3", Sender: "you@demo", Body: "one\n\n<two>",
			CC: []string{"reviewer@demo", "you@other"}, SentAt: time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)}
		inbox := r.Inbox("builder@demo")
		if len(inbox) != 1 || fmt.Sprintf("%+v", inbox[0]) != fmt.Sprintf("%+v", want) {
			t.Errorf("inbox: got %+v, want %+v", inbox, want)
		}
		if got := r.Inbox("you@other"); got != nil {
			t.Errorf("inbox of a bundle that is down: got %+v", got)
		}
	})
}

// A message for one target has no Cc line, and an agent without a reply says nothing.
func TestDeliveryToOne(t *testing.T) {
	serve(t, func(t *testing.T, r *demorelay.Relay) {
		c := connect(t, r, "you@demo", wire.SocketTrust)
		c.ask(in("other", `{"operation":"up"}`))
		c.ask(request(`{"operation":"send","requester_session":"you","message":"hi","broadcast":false,"targets":["agent@other"]}`))
		want := []string{
			"--agentmux-id3",
			"Message-Id: id-3",
			"Date: 2000-01-01T00:00:00Z",
			"From: You <session:you@demo>",
			"To: agent@other <session:agent@other>",
			"--agentmux-id3",
			"Content-Type: text/plain; charset=utf-8",
			"hi",
			"--agentmux-id3--",
		}
		if got := r.Entries("agent@other"); len(got) != 1 || !slices.Equal(got[0].Lines, want) {
			t.Errorf("got %+v, want one entry of %q", got, want)
		}
	})
}

func TestEvents(t *testing.T) {
	serve(t, func(t *testing.T, r *demorelay.Relay) {
		you := connect(t, r, "you@demo", wire.SocketTrust)
		board := connect(t, r, "dashboard@demo", wire.SocketTrust)
		you.ask(request(`{"operation":"send","requester_session":"you","message":"<hi>","broadcast":false,"targets":["dashboard@demo"]}`))
		you.ask(request(`{"operation":"send","requester_session":"you","message":"hi","broadcast":false,"targets":["dashboard@demo","builder@demo"]}`))
		for _, want := range []string{
			`delivery_outcome dashboard@demo {"message_id":"id-4","outcome":null,"phase":"routed"}`,
			`incoming_message dashboard@demo {"body":"<hi>","cc_sessions":null,"message_id":"id-4","sender_session":"you@demo"}`,
			`delivery_outcome dashboard@demo {"message_id":"id-4","outcome":"success","phase":"delivered"}`,
			`delivery_outcome dashboard@demo {"message_id":"id-5","outcome":null,"phase":"routed"}`,
			`incoming_message dashboard@demo {"body":"hi","cc_sessions":["builder@demo"],"message_id":"id-5","sender_session":"you@demo"}`,
			`delivery_outcome dashboard@demo {"message_id":"id-5","outcome":"success","phase":"delivered"}`,
		} {
			if got := board.hear(); got != want {
				t.Errorf("got %s, want %s", got, want)
			}
		}
		board.say(request(`{"operation":"send","requester_session":"dashboard","message":"hi","broadcast":false,"targets":["builder@demo"]}`))
		heard := []string{board.hear(), board.hear()}
		want := `delivery_outcome builder@demo {"message_id":"id-7","outcome":"success","phase":"delivered"}`
		if !slices.Contains(heard, want) {
			t.Errorf("got %s, want %s among it", heard, want)
		}
	})
}

func TestDecisions(t *testing.T) {
	for option, want := range map[string]string{`"outcome":"selected","option_id":"yes"`: "ran it", `"outcome":"cancelled"`: "not asked"} {
		serve(t, func(t *testing.T, r *demorelay.Relay) {
			if got := r.Decisions(); len(got) != 1 || got[0].ChoiceRequestID != "choice" {
				t.Errorf("before: got %+v", got)
			}
			c := connect(t, r, "you@demo", wire.SocketTrust)
			c.ask(request(`{"operation":"choices_pick","choice_request_id":"choice",` + option + `}`))
			if got := r.Decisions(); len(got) != 0 {
				t.Errorf("afterwards: got %+v", got)
			}
			entries := r.Entries("reviewer@demo")
			if last := entries[len(entries)-1]; last.Kind != "agent" || !slices.Equal(last.Lines, []string{want}) {
				t.Errorf("%s: the agent said %+v, want %s", option, last, want)
			}
		})
	}
}
