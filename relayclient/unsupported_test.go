package relayclient_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/agentmux/agentmux-go/relayclient"
	"github.com/agentmux/agentmux-go/relayclient/relaytest"
	"github.com/agentmux/agentmux-go/wire"
)

// unreadable is what a relay says of a request that it can't read, before it hangs up.
const unreadable = `< {"frame":"response","response":{"kind":"error","error":{"code":"validation_invalid_arguments","message":"could not parse","details":{"cause":"unknown variant"}}}}
hangup
`

func TestOperationThatTheRelayDoesNotKnow(t *testing.T) {
	for name, refusal := range map[string]string{
		"in a frame": unreadable,
		"bare, as relay 0.5 says it": `< {"kind":"error","error":{"code":"validation_invalid_arguments","message":"could not parse"}}
hangup
`,
	} {
		t.Run(name, func(t *testing.T) {
			play(t, hello+ack+ask+refusal+"connection\n"+hello+ack+ask+answerLook+"silence",
				func(t *testing.T, c *relayclient.Client, relay *relaytest.Relay) {
					_, err := c.Do(t.Context(), "", look("b"))
					e, ok := errors.AsType[*relayclient.UnsupportedError](err)
					if !ok || e.Operation != "look" || e.Refusal.Code != "validation_invalid_arguments" || e.Refusal.Message != "could not parse" {
						t.Errorf("got %#v", err)
					}
					reply, err := c.Do(t.Context(), "", look("b"))
					wantLook(t, reply, err)
					if n := submissions(t, relay)["look"]; n != 2 {
						t.Errorf("the relay got %d requests for 2 calls", n)
					}
				})
		})
	}
}

// Of several requests that wait, the relay could not read the one that it came to first: the oldest that it has not
// answered, be its caller gone or not. The others were lost with the connection.
func TestWhichOperationTheRelayDoesNotKnow(t *testing.T) {
	const raww = `> {"frame":"request","request_id":"$_","request":{"operation":"raww","...":""}}
`
	press := &wire.Raww{RequesterSession: "alpha", TargetSession: "b@demo"}
	tests := []struct {
		name          string
		script        string
		cancel        bool // of the call that was made second
		second, third string
	}{
		{"the first was answered", ask + raww + askInVain + answerLook + unreadable, false,
			"unsupported raww", "receive unavailable UnexpectedEof written"},
		{"its caller has gone", ask + raww + askInVain + answerLook + "pause 1s\n" + unreadable, true,
			"context canceled", "receive unavailable UnexpectedEof written"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			play(t, hello+ack+test.script, func(t *testing.T, c *relayclient.Client, _ *relaytest.Relay) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				failures := make([]chan error, 3)
				for i, call := range []func() error{
					func() error { _, err := c.Do(t.Context(), "", look("b")); return err },
					func() error { _, err := c.Do(ctx, "", press); return err },
					func() error { _, err := c.Do(t.Context(), "", look("c")); return err },
				} {
					failures[i] = make(chan error, 1)
					go func() { failures[i] <- call() }()
					synctest.Wait()
				}
				if test.cancel {
					cancel()
				}
				if err := <-failures[0]; err != nil {
					t.Errorf("the first: %v", err)
				}
				for i, want := range []string{test.second, test.third} {
					err := <-failures[i+1]
					got := failure(err)
					if e, ok := errors.AsType[*relayclient.UnsupportedError](err); ok {
						got = "unsupported " + e.Operation
					}
					if got != want {
						t.Errorf("call %d: got %s, want %s (%v)", i+2, got, want, err)
					}
				}
			})
		})
	}
}

// An answer without a frame is for nobody, and says that the relay speaks another protocol.
func TestAnswerWithoutAFrame(t *testing.T) {
	play(t, hello+ack+ask+`< {"kind":"look","snapshot_format":"lines","snapshot_lines":[]}`+"\nsilence\nconnection\n"+hello+ack+ask+answerLook+"silence",
		func(t *testing.T, c *relayclient.Client, _ *relaytest.Relay) {
			_, err := c.Do(t.Context(), "", look("b"))
			wantFailure(t, err, "receive unexpected InvalidData written")
			reply, err := c.Do(t.Context(), "", look("b"))
			wantLook(t, reply, err)
		})
}
