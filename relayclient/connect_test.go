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

// A refusal that outlasts the budget says what is in the way, in words and in the relay's own.
func TestRefusalThatLasts(t *testing.T) {
	tests := []struct{ code, text string }{
		{"runtime_identity_claim_conflict", "alpha@demo is connected elsewhere"},
		{"runtime_connection_limit_reached", "the relay stayed full"},
	}
	for _, test := range tests {
		t.Run(test.code, func(t *testing.T) {
			play(t, "serve\n"+hello+refusal(test.code), func(t *testing.T, c *relayclient.Client, _ *relaytest.Relay) {
				_, err := c.Do(t.Context(), "", look("b"))
				for _, want := range []string{test.text, test.code + ": said the relay"} {
					if !strings.Contains(err.Error(), want) {
						t.Errorf("%v does not say %q", err, want)
					}
				}
			})
		})
	}
}

func TestConnectingSucceedsWhenTheCauseHasPassed(t *testing.T) {
	tests := []struct{ name, lines string }{
		{"claim conflict", refusal("runtime_identity_claim_conflict")},
		{"connection limit", refusal("runtime_connection_limit_reached")},
		{"hang-up", ""},
		{"hang-up inside the acknowledgement", "<< `{\"frame\":\"hello_`\n"},
		{"each of them", refusal("runtime_identity_claim_conflict") + "connection\n" + hello + refusal("runtime_connection_limit_reached") + "connection\n" + hello},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			play(t, hello+test.lines+"connection\n"+hello+ack+ask+answerLook+"silence", func(t *testing.T, c *relayclient.Client, _ *relaytest.Relay) {
				reply, err := c.Do(t.Context(), "", look("b"))
				wantLook(t, reply, err)
			})
		})
	}
}

// The acknowledgement counts, whatever comes before it, and also if it comes before the hello.
func TestWhatComesBeforeTheAcknowledgement(t *testing.T) {
	tests := []struct{ name, lines string }{
		{"in pieces", hello + "<< `{\"frame\":\"hello_ack\",\"schema_ver`\npause 1s\n<< `sion\":\"1\",\"principal_id\":\"alpha@demo\"}`\npause 900ms\n<< \"\\r\\n\"\n"},
		{"blank lines", hello + `<< "\r\n\n  \n"` + "\n" + ack},
		{"events", hello + `<* 1000 {"frame":"event","event":{"event_type":"x"}}` + "\n" + ack},
		{"an unknown kind of frame", hello + `< {"frame":"banner"}` + "\n" + ack},
		{"an answer to nobody", hello + `< {"frame":"response","request_id":"x","response":{"kind":"error","error":{"code":"x"}}}` + "\n" + ack},
		{"nothing, not even the hello", ack + hello},
		{"nothing, and it comes again", hello + strings.Repeat(ack, 4)},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			play(t, test.lines+ask+answerLook+next+"silence", func(t *testing.T, c *relayclient.Client, _ *relaytest.Relay) {
				reply, err := c.Do(t.Context(), "", look("b"))
				wantLook(t, reply, err)
				if _, err := c.Do(t.Context(), "", &wire.ChoicesList{}); err != nil {
					t.Errorf("the next call failed: %v", err)
				}
			})
		})
	}
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
		start := time.Now()
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
		if took := time.Since(start); len(attempts) != 1 || took != relayclient.HelloTimeout {
			t.Errorf("%d attempts in %v", len(attempts), took)
		}
		_, err := c.Do(t.Context(), "", look("b"))
		wantFailure(t, err, "connect timeout TimedOut")
		if len(attempts) != 2 {
			t.Errorf("the next call made %d attempts", len(attempts)-1)
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
