package mcptools

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/agentmux/agentmux-go/wire"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// Who the server is comes after the arguments and before configuration, disk and relay. Every call is
// inscribed with one ending.
func TestSenderCheck(t *testing.T) {
	relay := answers(`{}`)
	tests := []struct {
		name          string
		standing      Standing
		code, details string
	}{
		{"unassociated", Standing{}, "validation_unknown_sender", `null`},
		{"unassociated, and why", Standing{Reason: "no session x"}, "validation_unknown_sender", `{"reason":"no session x"}`},
		{"a start-up fault", Standing{Fault: fault, Reason: "no session x"}, "runtime_startup_failed", `{"phase":"startup","cause":"line 3","hint":"mend it"}`},
		{"a start-up fault of an associated server", Standing{Bundle: "demo", Session: "alpha", Relay: relay, Fault: fault}, "runtime_startup_failed", `{"phase":"startup","cause":"line 3","hint":"mend it"}`},
	}
	eachGeneration(t, func(t *testing.T, g *generation) {
		for _, test := range tests {
			for _, call := range g.calls {
				t.Run(test.name+" "+call.prefix, func(t *testing.T) {
					s := newSurface(t, relay, of(g.surface), as(test.standing))
					_, refusal := s.do(t, call.tool, call.arguments)
					sameRefusal(t, refusal, jsonrpc.CodeInvalidParams, test.code, test.details)
					sameLines(t, "requests", relay.requests(), nil)
					sameLines(t, "reads of the configuration", s.bundles.reads, nil)
					sameEvents(t, s.log, call.prefix+".request", call.prefix+".io_error")
					if record := s.log.all()[0]; strings.Contains(record, `:""`) {
						t.Errorf("the request shows what is not there as empty, not as null: %s", record)
					}
					if records := s.log.all(); records[1] != endedHere(call.prefix, refusal) {
						t.Errorf("ending: got %s, want %s", records[1], endedHere(call.prefix, refusal))
					}
				})
			}
		}
	})
}

// The request is inscribed before the relay is asked, and its ending after the relay has answered.
func TestInscriptionsAroundTheRelay(t *testing.T) {
	eachGeneration(t, func(t *testing.T, g *generation) {
		for _, call := range g.calls {
			t.Run(call.prefix, func(t *testing.T) {
				var s *surface
				s = newSurface(t, answering(func(context.Context, string, wire.Operation) (string, error) {
					sameEvents(t, s.log, call.prefix+".request")
					return call.response, nil
				}), of(g.surface))
				if _, refusal := s.do(t, call.tool, call.arguments); refusal != nil {
					t.Fatal(refusal)
				}
				sameEvents(t, s.log, call.prefix+".request", call.prefix+".success")
			})
		}
	})
}

// Whatever a relay does instead of answering, a request gets one ending, and it is the right one.
func TestOneEnding(t *testing.T) {
	eachGeneration(t, func(t *testing.T, g *generation) {
		for _, end := range []struct {
			event string
			relay func() *fakeRelay
		}{
			{"relay_error", func() *fakeRelay { return answers(relayError("runtime_x", "no", "null")) }},
			{"unexpected_response", func() *fakeRelay { return answers(`{"kind":"later"}`) }},
			{"io_error", func() *fakeRelay { return fails(errSilence) }},
		} {
			for _, call := range g.calls {
				t.Run(end.event+" "+call.prefix, func(t *testing.T) {
					s := newSurface(t, end.relay(), of(g.surface))
					if a, refusal := s.do(t, call.tool, call.arguments); refusal == nil {
						t.Fatalf("got %s", a)
					}
					sameEvents(t, s.log, call.prefix+".request", call.prefix+"."+end.event)
				})
			}
		}
	})
}

// The standing is looked at anew for each call, so that what was mended counts.
func TestStandingIsAskedForEachCall(t *testing.T) {
	relay := answers(lookResponse)
	standings := []Standing{{Fault: fault}, {}, associatedWith(relay)}
	asked := 0
	s := newSurface(t, relay, func(cfg *Config) {
		cfg.Standing = func(context.Context) Standing {
			asked++
			return standings[asked-1]
		}
	})
	var codes []string
	for range standings {
		_, refusal := s.do(t, "look", `{"target_session":"bravo@demo"}`)
		code := ""
		if refusal != nil {
			code = refusal.Code
		}
		codes = append(codes, code)
	}
	if want := []string{"runtime_startup_failed", "validation_unknown_sender", ""}; !slices.Equal(codes, want) {
		t.Errorf("got %q, want %q", codes, want)
	}
}

func TestAssociated(t *testing.T) {
	for _, test := range []struct {
		standing Standing
		want     bool
	}{
		{Standing{Bundle: "demo", Session: "alpha"}, true},
		{Standing{Bundle: "demo"}, false},
		{Standing{Session: "alpha"}, false},
		{Standing{Bundle: "demo", Session: "alpha", Fault: fault}, false},
	} {
		if got := test.standing.Associated(); got != test.want {
			t.Errorf("%+v: got %v", test.standing, got)
		}
	}
}

// A server without a log works.
func TestNoLog(t *testing.T) {
	s := newSurface(t, answers(lookResponse), func(cfg *Config) { cfg.Inscribe = nil })
	if _, refusal := s.do(t, "look", `{"target_session":"bravo@demo"}`); refusal != nil {
		t.Error(refusal)
	}
}
