package relayclient_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentmux/agentmux-go/relayclient"
	"github.com/agentmux/agentmux-go/relayclient/relaytest"
	"github.com/agentmux/agentmux-go/wire"
)

func TestAsk(t *testing.T) {
	const (
		asked    = `> {"operation":"list","requester_session":"alpha"}` + "\n"
		answered = `< {"kind":"list","bundle":{"id":"demo"},"later":1}` + "\n"
		refused  = `< {"kind":"error","error":{"code":"validation_unknown_sender","message":"who?"}}` + "\n"
		full     = `< {"kind":"error","error":{"code":"runtime_connection_queue_full","message":"full"}}` + "\n"
	)
	tests := []struct {
		name   string
		script string
		want   string // "" for an answer
		took   time.Duration
	}{
		{"answered", asked + answered + "silence", "", 0},
		{"answered in a frame", asked + `< {"frame":"response","request_id":"1","response":{"kind":"list","bundle":{"id":"demo"}}}` + "\nsilence",
			"receive timeout TimedOut written", relayclient.HelloTimeout},
		{"refused", asked + refused, "refused validation_unknown_sender", 0},
		{"silent", asked + "silence", "receive timeout TimedOut written", relayclient.HelloTimeout},
		{"hung up again and again", "serve\n" + asked, "receive unavailable UnexpectedEof written", relayclient.ConnectBudget},
		{"full for ever", "serve\n" + asked + full, "receive timeout TimedOut", relayclient.ConnectBudget},
		{"refused by a relay that knows no bare requests",
			asked + `< {"frame":"response","response":{"kind":"error","error":{"code":"validation_invalid_arguments","message":"what?"}}}` + "\n",
			"receive unexpected Other", 0},
		{"greeted", asked + `< {"frame":"hello_ack","schema_version":"1","principal_id":"alpha@demo"}` + "\nsilence", "receive unexpected InvalidData written", 0},
		{"nonsense", asked + "<< \"{bad\\n\"\nsilence", "receive unexpected InvalidData written", 0},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				relay := relaytest.InMemory(t, test.script)
				alpha := "alpha"
				start := time.Now()
				reply, err := relayclient.Ask(t.Context(), relayclient.Config{Dial: relay.Dial}, &wire.List{RequesterSession: &alpha})
				if took := time.Since(start); took != test.took {
					t.Errorf("took %v, want %v", took, test.took)
				}
				if test.want != "" {
					wantFailure(t, err, test.want)
					return
				}
				if err != nil {
					t.Fatal(err)
				}
				if got, want := string(reply.Raw), `{"kind":"list","bundle":{"id":"demo"},"later":1}`; got != want {
					t.Errorf("got %s, want %s", got, want)
				}
			})
		})
	}
}

// A caller who gives up is told so, and nothing is left behind.
func TestAskCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		relay := relaytest.InMemory(t, `> {"operation":"up"}`+"\nsilence")
		gone := errors.New("gone")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { cancel(gone) })
		start := time.Now()
		if _, err := relayclient.Ask(ctx, relayclient.Config{Dial: relay.Dial}, &wire.Up{}); err != gone {
			t.Errorf("got %v", err)
		}
		if took := time.Since(start); took != time.Second {
			t.Errorf("took %v", took)
		}
	})
}
