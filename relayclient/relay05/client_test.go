package relay05_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentmux/agentmux-go/relayclient"
	"github.com/agentmux/agentmux-go/relayclient/relay05"
	"github.com/agentmux/agentmux-go/relayclient/relaytest"
	"github.com/agentmux/agentmux-go/wire"
	"github.com/agentmux/agentmux-go/wire/wire05"
)

const (
	hello = `> {"frame":"hello","schema_version":"1","bundle_name":"demo","session_id":"alpha"}
`
	ack = `< {"frame":"hello_ack","schema_version":"1","bundle_name":"demo","session_id":"alpha"}
`
	ask = `> {"frame":"request","request_id":"$id","request":{"operation":"permission_list","bundle_name":null}}
`
	askInVain = `> {"frame":"request","request_id":"$_","request":{"operation":"permission_list","bundle_name":null}}
`
	answer = `< {"frame":"response","request_id":"$id","response":{"kind":"permission_list","bundle_name":"demo","pending_requests":[]}}
`
	askList = `> {"operation":"list","sender_session":"alpha"}
`
	answerList = `< {"kind":"list","schema_version":"1","bundle":{"id":"demo","sessions":[{"id":"alpha@demo","transport":"tmux"}]}}
`
)

// play runs a test against a scripted relay for every bundle, in a bubble, where time costs nothing.
func play(t *testing.T, script string, test func(t *testing.T, c *relay05.Client, relay *relaytest.Relay)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		relay := relaytest.InMemory(t, script)
		c := newClient(relay.Dial)
		defer c.Close()
		test(t, c, relay)
	})
}

func newClient(dial func(context.Context, string) (net.Conn, error)) *relay05.Client {
	return relay05.New(relay05.Config{
		Bundle: "demo", Session: "alpha", Dial: dial,
		Socket: func(bundle string) string { return "/run/" + bundle + ".sock" },
	})
}

func permissions(t *testing.T, c *relay05.Client) error {
	t.Helper()
	reply, err := c.Do(t.Context(), "demo", &wire05.PermissionList{})
	if err != nil {
		return err
	}
	if _, ok := reply.Response.(*wire05.PermissionListResponse); !ok {
		t.Errorf("answered with %T", reply.Response)
	}
	return nil
}

func list(t *testing.T, c *relay05.Client) error {
	t.Helper()
	alpha := "alpha"
	reply, err := c.Do(t.Context(), "", &wire05.List{SenderSession: &alpha})
	if err != nil {
		return err
	}
	response, ok := reply.Response.(*wire05.ListResponse)
	if !ok || len(response.Bundle.Sessions) != 1 {
		t.Errorf("answered with %#v", reply.Response)
	}
	return nil
}

func failure(err error) string {
	if e, ok := errors.AsType[*relayclient.Error](err); ok {
		return fmt.Sprintf("%s %s %s", e.Op, e.Kind, e.IO)
	}
	if e, ok := errors.AsType[*wire.Error](err); ok {
		return "refused " + e.Code
	}
	return fmt.Sprint(err)
}

func TestOneConnectionForTheSessionAndOneForEachList(t *testing.T) {
	play(t, hello+ack+ask+answer+ask2+answer2+"silence\nconnection\n"+askList+answerList+"silence\nconnection\n"+askList+answerList+"silence",
		func(t *testing.T, c *relay05.Client, _ *relaytest.Relay) {
			for _, call := range []func(*testing.T, *relay05.Client) error{permissions, list, list, permissions} {
				if err := call(t, c); err != nil {
					t.Error(err)
				}
			}
		})
}

const (
	ask2 = `> {"frame":"request","request_id":"$id2","request":{"operation":"permission_list","bundle_name":null}}
`
	answer2 = `< {"frame":"response","request_id":"$id2","response":{"kind":"permission_list","bundle_name":"demo","pending_requests":[]}}
`
)

// A list is about the bundle whose socket is asked; everything else is about the session's own.
func TestSockets(t *testing.T) {
	var dialled []string
	c := newClient(func(_ context.Context, socket string) (net.Conn, error) {
		dialled = append(dialled, socket)
		return nil, net.UnknownNetworkError("none")
	})
	defer c.Close()
	for _, call := range []struct {
		bundle string
		op     wire.Operation
	}{{"", &wire05.List{}}, {"demo", &wire05.List{}}, {"annex", &wire05.List{}}, {"annex", &wire05.PermissionList{}}} {
		if _, err := c.Do(t.Context(), call.bundle, call.op); err == nil {
			t.Error("no error")
		}
	}
	if got, want := strings.Join(dialled, " "), "/run/demo.sock /run/demo.sock /run/annex.sock /run/demo.sock"; got != want {
		t.Errorf("dialled %s, want %s", got, want)
	}
}

// Now and then a connection is dealt to a worker that never looks at it.
func TestSilentConnectionIsMadeAgain(t *testing.T) {
	tests := []struct {
		name   string
		script string
		call   func(*testing.T, *relay05.Client) error
		want   string
		took   time.Duration // and a pause less than a second
	}{
		{"hello, then answered", hello + "silence\nconnection\n" + hello + ack + ask + answer + "silence", permissions, "<nil>", 2 * time.Second},
		{"hello, twice", "serve\n" + hello + "silence", permissions, "hello timeout TimedOut", 4 * time.Second},
		{"list, then answered", askList + "silence\nconnection\n" + askList + answerList + "silence", list, "<nil>", 2 * time.Second},
		{"list, twice", "serve\n" + askList + "silence", list, "receive timeout TimedOut", 4 * time.Second},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			play(t, test.script, func(t *testing.T, c *relay05.Client, _ *relaytest.Relay) {
				start := time.Now()
				if got := failure(test.call(t, c)); got != test.want {
					t.Errorf("got %s, want %s", got, test.want)
				}
				if took := time.Since(start); took < test.took || took >= test.took+time.Second {
					t.Errorf("took %v, want %v", took, test.took)
				}
			})
		})
	}
}

func TestHelloRefused(t *testing.T) {
	tests := []struct{ name, script, want string }{
		{"another bundle", `< {"frame":"hello_ack","schema_version":"1","bundle_name":"other","session_id":"alpha"}`, "hello unexpected InvalidData"},
		{"another session", `< {"frame":"hello_ack","schema_version":"1","bundle_name":"demo","session_id":"eve"}`, "hello unexpected InvalidData"},
		{"another version", `< {"frame":"hello_ack","schema_version":"2","bundle_name":"demo","session_id":"alpha"}`, "hello unexpected InvalidData"},
		{"unknown sender", `< {"frame":"response","response":{"kind":"error","error":{"code":"validation_unknown_sender","message":"who?"}}}`, "hello unexpected Other"},
		{"a later relay", `< {"frame":"response","response":{"kind":"error","error":{"code":"validation_invalid_arguments","message":"no principal"}}}`, "hello unexpected Other"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			play(t, hello+test.script, func(t *testing.T, c *relay05.Client, _ *relaytest.Relay) {
				if got := failure(permissions(t, c)); got != test.want {
					t.Errorf("got %s, want %s", got, test.want)
				}
			})
		})
	}
}

// Conflicts and full queues pass; a probe of whether the client is there is not taken for an answer.
func TestWhatPasses(t *testing.T) {
	for name, script := range map[string]string{
		"a conflict": hello + `< {"frame":"response","response":{"kind":"error","error":{"code":"runtime_identity_claim_conflict","message":"taken"}}}
connection
` + hello + ack + ask + answer + "silence",
		"a full queue": hello + `< {"kind":"error","error":{"code":"runtime_connection_queue_full","message":"full","details":{"bundle_name":"demo"}}}
connection
` + hello + ack + ask + answer + "silence",
		"a probe": hello + ack + ask + ack + answer + ack + "silence",
	} {
		t.Run(name, func(t *testing.T) {
			play(t, script, func(t *testing.T, c *relay05.Client, _ *relaytest.Relay) {
				if err := permissions(t, c); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// A request that times out ends the connection: the relay may be busy with it for as long as an agent's turn lasts,
// and would look at nothing else on the same connection.
func TestTimeoutEndsTheConnection(t *testing.T) {
	play(t, hello+ack+askInVain+"silence\nconnection\n"+hello+ack+ask+answer+"silence",
		func(t *testing.T, c *relay05.Client, _ *relaytest.Relay) {
			if got := failure(permissions(t, c)); got != "receive timeout TimedOut" {
				t.Errorf("got %s", got)
			}
			if err := permissions(t, c); err != nil {
				t.Error(err)
			}
		})
}

// A relay that was restarted is connected to anew, and nothing is sent twice.
func TestRestart(t *testing.T) {
	play(t, hello+ack+ask+answer+"hangup\nconnection\n"+hello+ack+ask+answer+askInVain+"hangup\nconnection\n"+hello+ack+ask+answer+"silence",
		func(t *testing.T, c *relay05.Client, relay *relaytest.Relay) {
			for i, want := range []string{"<nil>", "<nil>", "receive unavailable UnexpectedEof", "<nil>"} {
				if got := failure(permissions(t, c)); got != want {
					t.Errorf("call %d: got %s, want %s", i+1, got, want)
				}
				synctest.Wait()
			}
			if n := len(relay.Received()); n != 3+4 {
				t.Errorf("the relay got %d lines", n)
			}
		})
}
