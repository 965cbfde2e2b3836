package relayclient_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentmux/agentmux-go/relayclient"
	"github.com/agentmux/agentmux-go/relayclient/relaytest"
	"github.com/agentmux/agentmux-go/wire"
)

// Lines that most scripts begin with.
const (
	hello = `> {"frame":"hello","schema_version":"1","principal_id":"alpha@demo","identity_token":"socket-trust"}
`
	ack = `< {"frame":"hello_ack","schema_version":"1","principal_id":"alpha@demo"}
`
	// ask is the request that look makes; answerLook answers it.
	ask = `> {"frame":"request","request_id":"$id","namespace":"demo","request":{"operation":"look","...":""}}
`
	// askInVain is a request that gets no answer.
	askInVain = `> {"frame":"request","request_id":"$_","namespace":"demo","request":{"operation":"look","...":""}}
`
	answerLook = `< {"frame":"response","request_id":"$id","response":{"kind":"look","snapshot_format":"lines","snapshot_lines":["$id"]}}
`
)

// play runs a test against a scripted relay in a bubble, where time costs nothing and a goroutine that is left
// over fails the test.
func play(t *testing.T, script string, test func(t *testing.T, c *relayclient.Client, relay *relaytest.Relay)) {
	t.Helper()
	playAs(t, relayclient.Config{}, script, test)
}

func playAs(t *testing.T, cfg relayclient.Config, script string, test func(t *testing.T, c *relayclient.Client, relay *relaytest.Relay)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		relay := relaytest.InMemory(t, script)
		cfg.Socket, cfg.Principal, cfg.Dial = "/run/relay.sock", "alpha@demo", relay.Dial
		c := relayclient.New(cfg)
		defer c.Close()
		test(t, c, relay)
	})
}

func look(target string) wire.Operation {
	return &wire.Look{RequesterSession: "alpha", TargetSession: target}
}

// failure is how a call failed, as a line of a table.
func failure(err error) string {
	if e, ok := errors.AsType[*relayclient.Error](err); ok {
		written := ""
		if e.Written {
			written = " written"
		}
		return fmt.Sprintf("%s %s %s%s", e.Op, e.Kind, e.IO, written)
	}
	if e, ok := errors.AsType[*wire.Error](err); ok {
		return "refused " + e.Code
	}
	return fmt.Sprint(err)
}

func wantFailure(t *testing.T, err error, want string) {
	t.Helper()
	if got := failure(err); got != want {
		t.Errorf("failure %q, want %q (%v)", got, want, err)
	}
}

func wantLook(t *testing.T, reply *relayclient.Reply, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("look failed: %v", err)
	}
	if _, ok := reply.Response.(*wire.LookResponse); !ok {
		t.Errorf("look was answered with %T", reply.Response)
	}
}

func TestAnswerComesWithTheRelaysOwnObject(t *testing.T) {
	play(t, hello+ack+ask+`
		< {"frame":"response","request_id":"$id","response":{"kind":"look","snapshot_format":"lines","snapshot_lines":["a"],"new":{"n":12345678901234567890}}}
		silence`, func(t *testing.T, c *relayclient.Client, _ *relaytest.Relay) {
		reply, err := c.Do(t.Context(), "", look("b@demo"))
		wantLook(t, reply, err)
		if !strings.Contains(string(reply.Raw), `"new":{"n":12345678901234567890}`) {
			t.Errorf("a key of a newer relay was lost: %s", string(reply.Raw))
		}
	})
}

func TestNamespaceOfTheEnvelope(t *testing.T) {
	tests := []struct{ name, namespace, want string }{
		{"own bundle", "", `"namespace":"demo",`},
		{"as asked", "GLOBAL", `"namespace":"GLOBAL",`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			play(t, hello+ack+`
				> {"frame":"request","request_id":"$id",`+test.want+`"request":{"operation":"choices_list"}}
				< {"frame":"response","request_id":"$id","response":{"kind":"choices_list","pending_requests":[]}}
				silence`, func(t *testing.T, c *relayclient.Client, _ *relaytest.Relay) {
				if _, err := c.Do(t.Context(), test.namespace, &wire.ChoicesList{}); err != nil {
					t.Error(err)
				}
			})
		})
	}
	routed := []struct {
		name, request, response string
		op                      wire.Operation
	}{
		{"none for send", `{"operation":"send","request_id":null,"requester_session":"alpha","message":"<hi> & \u2028","targets":["b@demo"],"broadcast":false}`,
			`{"kind":"send","results":[]}`, &wire.Send{RequesterSession: "alpha", Message: "<hi> & \u2028", Targets: []string{"b@demo"}}},
		{"none for raww", `{"operation":"raww","request_id":null,"requester_session":"alpha","target_session":"b@demo","text":"","no_enter":false}`,
			`{"kind":"raww","status":"queued"}`, &wire.Raww{RequesterSession: "alpha", TargetSession: "b@demo"}},
	}
	for _, test := range routed {
		t.Run(test.name, func(t *testing.T) {
			play(t, hello+ack+`
				> {"frame":"request","request_id":"$id","request":`+test.request+`}
				< {"frame":"response","request_id":"$id","response":`+test.response+`}
				silence`, func(t *testing.T, c *relayclient.Client, _ *relaytest.Relay) {
				if _, err := c.Do(t.Context(), "demo", test.op); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

func TestRefusalIsAWireError(t *testing.T) {
	play(t, hello+ack+ask+`
		< {"frame":"response","request_id":"$id","response":{"kind":"error","error":{"code":"authorization_forbidden","message":"no","details":{"a":1}}}}
		silence`, func(t *testing.T, c *relayclient.Client, _ *relaytest.Relay) {
		_, err := c.Do(t.Context(), "", look("b@demo"))
		refusal, ok := errors.AsType[*wire.Error](err)
		if !ok || refusal.Code != "authorization_forbidden" || refusal.Message != "no" || string(refusal.Details) != `{"a":1}` {
			t.Errorf("got %#v", err)
		}
	})
}

// Two calls share the connection; each gets its own answer, whichever comes first.
func TestAnswersFindTheirCallsById(t *testing.T) {
	play(t, hello+ack+`
		{
			> {"frame":"request","request_id":"$one","namespace":"demo","request":{"operation":"look","target_session":"one","...":""}}
			> {"frame":"request","request_id":"$two","namespace":"demo","request":{"operation":"look","target_session":"two","...":""}}
		}
		< {"frame":"response","request_id":"nobody's","response":{"kind":"look","snapshot_format":"lines","snapshot_lines":["nobody"]}}
		< {"frame":"response","request_id":"$two","response":{"kind":"look","snapshot_format":"lines","snapshot_lines":["two"]}}
		< {"frame":"response","request_id":"$two","response":{"kind":"look","snapshot_format":"lines","snapshot_lines":["again"]}}
		< {"frame":"response","request_id":"$one","response":{"kind":"look","snapshot_format":"lines","snapshot_lines":["one"]}}
		silence`, func(t *testing.T, c *relayclient.Client, _ *relaytest.Relay) {
		type result struct{ target, saw string }
		results := make(chan result, 2)
		for _, target := range []string{"one", "two"} {
			go func() {
				reply, err := c.Do(t.Context(), "", look(target))
				saw := fmt.Sprint(err)
				if err == nil {
					saw = reply.Response.(*wire.LookResponse).SnapshotLines[0]
				}
				results <- result{target, saw}
			}()
		}
		for range 2 {
			if r := <-results; r.target != r.saw {
				t.Errorf("the call for %s got the answer of %s", r.target, r.saw)
			}
		}
	})
}

func TestTimeouts(t *testing.T) {
	tests := []struct {
		name, script string
		op           wire.Operation
		want         string
		after        time.Duration
	}{
		{"no answer", hello + ack + ask + "silence", look("b"), "receive timeout TimedOut written", relayclient.ResponseTimeout},
		{"no answer to up", hello + ack + `> {"frame":"request","request_id":"$id","namespace":"demo","request":{"operation":"up"}}` + "\nsilence",
			&wire.Up{}, "receive timeout TimedOut written", relayclient.TransitionTimeout},
		{"no answer to down", hello + ack + `> {"frame":"request","request_id":"$id","namespace":"demo","request":{"operation":"down"}}` + "\nsilence",
			&wire.Down{}, "receive timeout TimedOut written", relayclient.TransitionTimeout},
		{"hello not acknowledged", hello + "silence", look("b"), "hello timeout TimedOut", relayclient.HelloTimeout},
		{"hello acknowledged just in time", hello + "pause 1999ms\n" + ack + ask + answerLook + "silence", look("b"), "<nil>", 1999 * time.Millisecond},
		{"answer just in time", hello + ack + ask + "pause 4999ms\n" + answerLook + "silence", look("b"), "<nil>", 4999 * time.Millisecond},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			play(t, test.script, func(t *testing.T, c *relayclient.Client, _ *relaytest.Relay) {
				start := time.Now()
				_, err := c.Do(t.Context(), "", test.op)
				wantFailure(t, err, test.want)
				if took := time.Since(start); took != test.after {
					t.Errorf("after %v, want %v", took, test.after)
				}
			})
		})
	}
}

// A call that timed out leaves the connection: its answer is dropped when it comes, and the next call is answered
// without another hello.
func TestLateAnswerIsDropped(t *testing.T) {
	play(t, hello+ack+ask+"pause 6s\n"+answerLook+`
		> {"frame":"request","request_id":"$id2","namespace":"demo","request":{"operation":"choices_list"}}
		< {"frame":"response","request_id":"$id2","response":{"kind":"choices_list","pending_requests":[]}}
		silence`, func(t *testing.T, c *relayclient.Client, _ *relaytest.Relay) {
		_, err := c.Do(t.Context(), "", look("b"))
		wantFailure(t, err, "receive timeout TimedOut written")
		if _, err := c.Do(t.Context(), "", &wire.ChoicesList{}); err != nil {
			t.Error(err)
		}
	})
}

func TestSilentRelayIsReplacedAfterTwoTimeouts(t *testing.T) {
	play(t, hello+ack+askInVain+askInVain+"silence\nconnection\n"+hello+ack+ask+answerLook+"silence",
		func(t *testing.T, c *relayclient.Client, _ *relaytest.Relay) {
			for range 2 {
				_, err := c.Do(t.Context(), "", look("b"))
				wantFailure(t, err, "receive timeout TimedOut written")
			}
			reply, err := c.Do(t.Context(), "", look("b"))
			wantLook(t, reply, err)
		})
}

// A byte between two timeouts says that the relay lives: the connection stays.
func TestRelayThatIsHeardIsKept(t *testing.T) {
	play(t, hello+ack+askInVain+"pause 6s\n"+`< {"frame":"event","event":{"event_type":"x"}}`+"\n"+askInVain+ask+answerLook+"silence",
		func(t *testing.T, c *relayclient.Client, _ *relaytest.Relay) {
			_, err := c.Do(t.Context(), "", look("b"))
			wantFailure(t, err, "receive timeout TimedOut written")
			<-afterSecond(t)
			_, err = c.Do(t.Context(), "", look("b"))
			wantFailure(t, err, "receive timeout TimedOut written")
			reply, err := c.Do(t.Context(), "", look("b"))
			wantLook(t, reply, err)
		})
}

// A relay that does not read holds up neither the deadline of the call whose request is being written nor that of
// the call that waits for it. The second one was not sent, and says so.
func TestRelayThatDoesNotRead(t *testing.T) {
	play(t, hello+ack+ask+answerLook+"stall\nconnection\n"+hello+ack+ask+answerLook+"silence",
		func(t *testing.T, c *relayclient.Client, _ *relaytest.Relay) {
			reply, err := c.Do(t.Context(), "", look("b"))
			wantLook(t, reply, err)
			results := make(chan error, 2)
			for range 2 {
				go func() {
					// Too long to be taken by the read that is under way when the relay stalls.
					_, err := c.Do(t.Context(), "", look(strings.Repeat("b", 1<<20)))
					results <- err
				}()
			}
			got := []string{failure(<-results), failure(<-results)}
			slices.Sort(got)
			if want := []string{"receive timeout TimedOut written", "send timeout TimedOut"}; !slices.Equal(got, want) {
				t.Errorf("failures %q, want %q", got, want)
			}
			reply, err = c.Do(t.Context(), "", look("b"))
			wantLook(t, reply, err)
		})
}

// While the relay may still work on one request, its silence towards others is no reason to hang up: a new hello
// would be refused.
func TestLongRequestKeepsItsConnection(t *testing.T) {
	play(t, hello+ack+`
		> {"frame":"request","request_id":"$up","namespace":"demo","request":{"operation":"up"}}
		`+askInVain+askInVain+`
		pause 20s
		< {"frame":"response","request_id":"$up","response":{"kind":"bundle_transition","bundles":[]}}
		silence`, func(t *testing.T, c *relayclient.Client, _ *relaytest.Relay) {
		up := make(chan error, 1)
		go func() {
			_, err := c.Do(t.Context(), "", &wire.Up{})
			up <- err
		}()
		synctest.Wait()
		for range 2 {
			_, err := c.Do(t.Context(), "", look("b"))
			wantFailure(t, err, "receive timeout TimedOut written")
		}
		if err := <-up; err != nil {
			t.Errorf("up failed: %v", err)
		}
	})
}

func TestCancelledCallDisturbsNoOther(t *testing.T) {
	play(t, hello+ack+`
		> {"frame":"request","request_id":"$one","namespace":"demo","request":{"operation":"look","target_session":"one","...":""}}
		> {"frame":"request","request_id":"$id","namespace":"demo","request":{"operation":"look","target_session":"two","...":""}}
		pause 1s
		< {"frame":"response","request_id":"$one","response":{"kind":"look","snapshot_format":"lines","snapshot_lines":[]}}
		`+answerLook+"silence", func(t *testing.T, c *relayclient.Client, _ *relaytest.Relay) {
		ctx, cancel := context.WithCancelCause(t.Context())
		gone := errors.New("the client went away")
		first := make(chan error, 1)
		go func() {
			_, err := c.Do(ctx, "", look("one"))
			first <- err
		}()
		synctest.Wait()
		time.AfterFunc(time.Millisecond, func() { cancel(gone) })
		reply, err := c.Do(t.Context(), "", look("two"))
		wantLook(t, reply, err)
		if err := <-first; err != gone {
			t.Errorf("the cancelled call ended with %v", err)
		}
	})
}

// A caller that gives up while the connection is being made leaves the attempt to the others.
func TestCancelledWhileConnecting(t *testing.T) {
	play(t, hello+"pause 1s\n"+ack+ask+answerLook+"silence", func(t *testing.T, c *relayclient.Client, _ *relaytest.Relay) {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
		defer cancel()
		second := make(chan error, 1)
		go func() {
			_, err := c.Do(t.Context(), "", look("b"))
			second <- err
		}()
		if _, err := c.Do(ctx, "", look("a")); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
		if err := <-second; err != nil {
			t.Errorf("the other call failed: %v", err)
		}
	})
}

func TestCloseEndsCallsAndRefusesLaterOnes(t *testing.T) {
	play(t, hello+ack+ask+"silence", func(t *testing.T, c *relayclient.Client, _ *relaytest.Relay) {
		waiting := make(chan error, 1)
		go func() {
			_, err := c.Do(t.Context(), "", look("b"))
			waiting <- err
		}()
		synctest.Wait()
		c.Close()
		wantFailure(t, <-waiting, "receive unexpected NotConnected written")
		_, err := c.Do(t.Context(), "", look("b"))
		wantFailure(t, err, "connect unexpected NotConnected")
	})
}

func TestRequestThatIsNoJSONIsNotSent(t *testing.T) {
	play(t, "", func(t *testing.T, c *relayclient.Client, _ *relaytest.Relay) {
		_, err := c.Do(t.Context(), "", &wire.UnknownOperation{Name: "x", Extra: wire.Extra{"y": []byte("{")}})
		wantFailure(t, err, "send unexpected InvalidInput")
	})
}

// Twenty calls at once are answered in the opposite order, one of them never: each gets its own answer, in its own
// time.
func TestTwentyCallsAtOnce(t *testing.T) {
	const calls, stalled = 20, 7
	var script strings.Builder
	script.WriteString(hello + ack + "{\n")
	for i := range calls {
		fmt.Fprintf(&script, `> {"frame":"request","request_id":"$r%d","namespace":"demo","request":{"operation":"look","target_session":"t%d","...":""}}`+"\n", i, i)
	}
	script.WriteString("}\n")
	for i := calls - 1; i >= 0; i-- {
		if i != stalled {
			fmt.Fprintf(&script, "pause 10ms\n"+`< {"frame":"response","request_id":"$r%d","response":{"kind":"look","target_session":"t%d","snapshot_format":"lines","snapshot_lines":[]}}`+"\n", i, i)
		}
	}
	script.WriteString("silence")
	play(t, script.String(), func(t *testing.T, c *relayclient.Client, _ *relaytest.Relay) {
		start := time.Now()
		var all sync.WaitGroup
		for i := range calls {
			all.Go(func() {
				target := fmt.Sprintf("t%d", i)
				reply, err := c.Do(t.Context(), "", look(target))
				took := time.Since(start)
				if i == stalled {
					wantFailure(t, err, "receive timeout TimedOut written")
					return
				}
				place := calls - i // among the answers
				if i < stalled {
					place--
				}
				if err != nil || reply.Response.(*wire.LookResponse).TargetSession != target || took != time.Duration(place)*10*time.Millisecond {
					t.Errorf("the call for %s: %v after %v", target, err, took)
				}
			})
		}
		all.Wait()
	})
}
