package mcptools

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/agentmux/agentmux-go/wire"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// calls are good calls of all tools that need the relay, with what it answers and the prefix of their records.
var calls = []struct{ tool, arguments, response, prefix string }{
	{"list", `{"command":"principals"}`, `{"kind":"list","bundle":{"id":"x"}}`, "mcp.tool.list"},
	{"list", `{"command":"decisions"}`, `{"kind":"choices_list","pending_requests":[]}`, "mcp.tool.list.decisions"},
	{"send", `{"message":"hi","targets":["bravo"]}`, `{"kind":"send","results":[]}`, "mcp.tool.send"},
	{"look", `{"target_session":"bravo@demo"}`, lookResponse, "mcp.tool.look"},
	{"raww", `{"target_session":"bravo@demo","text":""}`, `{"kind":"raww","status":"queued"}`, "mcp.tool.raww"},
	{"choose", `{"choice_request_id":"c","outcome":"cancelled"}`, `{"kind":"choices_pick","status":"resolved"}`, "mcp.tool.choose"},
	{"updown", `{"command":"up"}`, `{"kind":"bundle_transition","bundles":[]}`, "mcp.tool.updown.up"},
	{"updown", `{"command":"down"}`, `{"kind":"bundle_transition","bundles":[]}`, "mcp.tool.updown.down"},
	{"new", `{"command":"peer","args":{"principal_id":"bob@demo"}}`, `{"kind":"new_peer","principal_id":"bob@demo","psk":"s3cret"}`, "mcp.tool.new.peer"},
	{"change", `{"command":"psk","args":{"principal_id":"bob@demo"}}`, `{"kind":"change_psk","principal_id":"bob@demo","psk":"s3cret"}`, "mcp.tool.change.psk"},
}

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
	for _, test := range tests {
		for _, call := range calls {
			t.Run(test.name+" "+call.prefix, func(t *testing.T) {
				s := newSurface(t, relay, as(test.standing))
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
}

// The request is inscribed before the relay is asked, and its ending after the relay has answered.
func TestInscriptionsAroundTheRelay(t *testing.T) {
	for _, call := range calls {
		t.Run(call.prefix, func(t *testing.T) {
			var s *surface
			s = newSurface(t, answering(func(context.Context, string, wire.Operation) (string, error) {
				sameEvents(t, s.log, call.prefix+".request")
				return call.response, nil
			}))
			if _, refusal := s.do(t, call.tool, call.arguments); refusal != nil {
				t.Fatal(refusal)
			}
			sameEvents(t, s.log, call.prefix+".request", call.prefix+".success")
		})
	}
}

// Whatever a relay does instead of answering, a request gets one ending, and it is the right one.
func TestOneEnding(t *testing.T) {
	for _, end := range []struct {
		event string
		relay func() *fakeRelay
	}{
		{"relay_error", func() *fakeRelay { return answers(relayError("runtime_x", "no", "null")) }},
		{"unexpected_response", func() *fakeRelay { return answers(`{"kind":"later"}`) }},
		{"io_error", func() *fakeRelay { return fails(errSilence) }},
	} {
		for _, call := range calls {
			t.Run(end.event+" "+call.prefix, func(t *testing.T) {
				s := newSurface(t, end.relay())
				if a, refusal := s.do(t, call.tool, call.arguments); refusal == nil {
					t.Fatalf("got %s", a)
				}
				sameEvents(t, s.log, call.prefix+".request", call.prefix+"."+end.event)
			})
		}
	}
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
