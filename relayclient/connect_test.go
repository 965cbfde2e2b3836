package relayclient_test

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentmux/agentmux-go/relayclient"
	"github.com/agentmux/agentmux-go/relayclient/relaytest"
	"github.com/agentmux/agentmux-go/wire"
)

func refusal(code string) string {
	return `< {"frame":"response","response":{"kind":"error","error":{"code":"` + code + `","message":"said the relay"}}}` + "\n"
}

func TestHelloRefused(t *testing.T) {
	tests := []struct{ name, script, want, text string }{
		{"unknown credential", hello + refusal("validation_unrecognized_credential"),
			"hello unexpected Other", "validation_unrecognized_credential: said the relay"},
		{"another schema version", hello + `< {"frame":"hello_ack","schema_version":"2","principal_id":"alpha@demo"}`,
			"hello unexpected InvalidData", "schema_version"},
		{"another principal", hello + `< {"frame":"hello_ack","schema_version":"1","principal_id":"eve@demo"}`,
			"hello unexpected InvalidData", "alpha@demo"},
		{"not JSON", hello + "<< \"hello?\\n\"", "hello unexpected InvalidData", "broken JSON"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			play(t, test.script, func(t *testing.T, c *relayclient.Client, _ *relaytest.Relay) {
				start := time.Now()
				_, err := c.Do(t.Context(), "", look("b"))
				wantFailure(t, err, test.want)
				if !strings.Contains(err.Error(), test.text) {
					t.Errorf("%v does not say %q", err, test.text)
				}
				if time.Since(start) != 0 {
					t.Error("it was tried again")
				}
			})
		})
	}
}

// What passes by itself is tried again for a second, with pauses that grow, then reported as what it is.
func TestConnectingIsTriedAgain(t *testing.T) {
	tests := []struct{ name, script, want string }{
		{"claim conflict", "serve\n" + hello + refusal("runtime_identity_claim_conflict"), "hello timeout TimedOut"},
		{"connection limit", "serve\n" + hello + refusal("runtime_connection_limit_reached"), "hello timeout TimedOut"},
		{"hang-up before the ack", "serve\n" + hello, "hello unavailable UnexpectedEof"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			play(t, test.script, func(t *testing.T, c *relayclient.Client, relay *relaytest.Relay) {
				start := time.Now()
				_, err := c.Do(t.Context(), "", look("b"))
				wantFailure(t, err, test.want)
				if took := time.Since(start); took != relayclient.ConnectBudget {
					t.Errorf("gave up after %v, want %v", took, relayclient.ConnectBudget)
				}
			})
		})
	}
}

func TestConflictNamesThePrincipal(t *testing.T) {
	play(t, "serve\n"+hello+refusal("runtime_identity_claim_conflict"), func(t *testing.T, c *relayclient.Client, _ *relaytest.Relay) {
		_, err := c.Do(t.Context(), "", look("b"))
		for _, want := range []string{"alpha@demo is connected elsewhere", "runtime_identity_claim_conflict: said the relay"} {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%v does not say %q", err, want)
			}
		}
	})
}

func TestConnectingSucceedsWhenTheCauseHasPassed(t *testing.T) {
	play(t, hello+refusal("runtime_identity_claim_conflict")+"connection\n"+hello+"connection\n"+hello+ack+ask+answerLook+"silence",
		func(t *testing.T, c *relayclient.Client, _ *relaytest.Relay) {
			reply, err := c.Do(t.Context(), "", look("b"))
			wantLook(t, reply, err)
		})
}

// dials is a Dial whose attempts end with the given errors, the last of them for ever.
func dials(attempts *[]time.Time, causes ...error) func(context.Context, string) (net.Conn, error) {
	return func(context.Context, string) (net.Conn, error) {
		*attempts = append(*attempts, time.Now())
		return nil, &net.OpError{Op: "dial", Net: "unix", Addr: &net.UnixAddr{Name: "/run/relay.sock"}, Err: causes[min(len(*attempts), len(causes))-1]}
	}
}

func TestDialFailures(t *testing.T) {
	sys := func(errno syscall.Errno) error { return os.NewSyscallError("connect", errno) }
	tests := []struct {
		cause error
		want  string
		again bool
	}{
		{sys(syscall.ENOENT), "connect unavailable NotFound", false},
		{sys(syscall.EACCES), "connect unexpected PermissionDenied", false},
		{sys(syscall.ENAMETOOLONG), "connect unexpected InvalidInput", false},
		{sys(syscall.EPROTOTYPE), "connect unexpected Other", false},
		{sys(syscall.ENOTSUP), "connect unexpected Other", false},
		{sys(syscall.ECONNREFUSED), "connect unavailable ConnectionRefused", true},
		{sys(syscall.ECONNRESET), "connect unavailable ConnectionReset", true},
		{sys(syscall.ECONNABORTED), "connect unavailable ConnectionAborted", true},
		{sys(syscall.EPIPE), "connect unavailable BrokenPipe", true},
		{sys(syscall.ENOTCONN), "connect unexpected NotConnected", true},
		{sys(syscall.ETIMEDOUT), "connect timeout TimedOut", true},
		{sys(syscall.EAGAIN), "connect unexpected Other", true},
		{sys(syscall.EINTR), "connect unexpected Other", true},
		{fs.ErrPermission, "connect unexpected PermissionDenied", false},
	}
	for _, test := range tests {
		t.Run(test.cause.Error(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var attempts []time.Time
				c := relayclient.New(relayclient.Config{Socket: "/run/relay.sock", Principal: "a@b", Dial: dials(&attempts, test.cause)})
				defer c.Close()
				_, err := c.Do(t.Context(), "", look("b"))
				wantFailure(t, err, test.want)
				if n := strings.Count(err.Error(), "/run/relay.sock"); n != 1 {
					t.Errorf("%v names the path %d times", err, n)
				}
				if again := len(attempts) > 1; again != test.again {
					t.Errorf("%d attempts", len(attempts))
				}
			})
		})
	}
}

func TestPausesBetweenAttempts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var attempts []time.Time
		c := relayclient.New(relayclient.Config{Principal: "a@b", Dial: dials(&attempts, syscall.ECONNREFUSED)})
		defer c.Close()
		start := time.Now()
		_, err := c.Do(t.Context(), "", look("b"))
		wantFailure(t, err, "connect unavailable ConnectionRefused")
		longest := 50 * time.Millisecond
		for i := 1; i < len(attempts); i++ {
			pause := attempts[i].Sub(attempts[i-1])
			last := attempts[i].Sub(start) == relayclient.ConnectBudget // cut short by the budget
			if pause > longest || pause < longest/2 && !last {
				t.Errorf("pause %d was %v, want between %v and %v", i, pause, longest/2, longest)
			}
			longest = min(2*longest, 400*time.Millisecond)
		}
		if len(attempts) < 5 || time.Since(start) != relayclient.ConnectBudget {
			t.Errorf("%d attempts in %v", len(attempts), time.Since(start))
		}
	})
}

// Calls that need a connection at the same time share the attempt, and its failure.
func TestOneAttemptForAllCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var attempts []time.Time
		c := relayclient.New(relayclient.Config{Principal: "a@b", Dial: func(ctx context.Context, _ string) (net.Conn, error) {
			attempts = append(attempts, time.Now())
			<-ctx.Done()
			return nil, ctx.Err()
		}})
		defer c.Close()
		failures := make(chan error)
		for range 20 {
			go func() {
				_, err := c.Do(t.Context(), "", look("b"))
				failures <- err
			}()
		}
		for range 20 {
			wantFailure(t, <-failures, "connect timeout TimedOut")
		}
		if len(attempts) != 1 {
			t.Errorf("%d attempts", len(attempts))
		}
	})
}

func TestTokenIsReadForEachHelloAndNeverShown(t *testing.T) {
	tokens := []string{"first-psk", "second-psk"}
	cfg := relayclient.Config{Token: func() wire.Secret {
		token := tokens[0]
		tokens = tokens[1:]
		return wire.NewSecret(token)
	}}
	playAs(t, cfg, `
		> {"frame":"hello","schema_version":"1","principal_id":"alpha@demo","identity_token":"first-psk"}
		< {"frame":"response","response":{"kind":"error","error":{"code":"validation_unrecognized_credential","message":"first-psk is unknown","details":{"token":"first-psk"}}}}
		connection
		> {"frame":"hello","schema_version":"1","principal_id":"alpha@demo","identity_token":"second-psk"}
		`+ack+ask+answerLook+"silence", func(t *testing.T, c *relayclient.Client, _ *relaytest.Relay) {
		_, err := c.Do(t.Context(), "", look("b"))
		refused, ok := errors.AsType[*wire.Error](err)
		if !ok || strings.Contains(err.Error()+string(refused.Details), "first-psk") {
			t.Errorf("the token shows in %v (%s)", err, refused.Details)
		}
		reply, err := c.Do(t.Context(), "", look("b"))
		wantLook(t, reply, err)
	})
}
