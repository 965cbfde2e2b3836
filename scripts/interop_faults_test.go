package scripts_test

import (
	"strings"
	"syscall"
	"testing"
)

// testRefusals shows what the relay refuses, in its own words.
func (p programs) testRefusals(t *testing.T) {
	t.Parallel()
	w := p.start(t)
	servers := map[string]*client{"alpha": w.connect(t, "alpha"), "bravo": w.connect(t, "bravo")}
	servers["alpha"].call(t, "new", object{"command": "peer", "args": object{"principal_id": "eve@GLOBAL"}})
	w.expectRefusals(t, servers, []refusedCall{
		{"a bare target", "alpha", "look", object{"target_session": "bravo"},
			"validation_unqualified_target", `{"target": "bravo"}`},
		{"an unknown target", "alpha", "send", object{"message": "hello", "targets": []string{"nobody"}},
			"validation_unknown_target", `{"unknown_targets": ["nobody@demo"]}`},
		{"an offset into a terminal", "alpha", "look", object{"target_session": "bravo@demo", "offset": 1},
			"validation_offset_unsupported", `{"code": "validation_offset_unsupported", "details": {"offset": 1}, "target_session": "bravo"}`},
		{"more than 32 KiB of raw text", "alpha", "raww", object{"target_session": "bravo@demo", "text": strings.Repeat("y", 32<<10+1)},
			"validation_invalid_params", `{"field": "text", "bytes": 32769, "max_bytes": 32768}`},
		{"a decision that does not wait", "alpha", "choose", object{"choice_request_id": "gone", "outcome": "cancelled"},
			"internal_unexpected_failure", `{"relay_code": "runtime_choices_request_already_resolved", "relay_details": {"choice_request_id": "gone"}}`},
		{"a principal that is registered", "alpha", "new", object{"command": "peer", "args": object{"principal_id": "eve@GLOBAL"}},
			"validation_principal_exists", `{"principal_id": "eve@GLOBAL"}`},
		{"a principal that is not registered", "alpha", "change", object{"command": "psk", "args": object{"principal_id": "nobody@GLOBAL"}},
			"validation_unknown_principal", `{"principal_id": "nobody@GLOBAL"}`},
		{"raww by a guest", "bravo", "raww", object{"target_session": "alpha@demo", "text": "rm -rf"},
			"authorization_forbidden", `{"capability": "raww.write", "namespace": "demo", "requester_session": "bravo", "target_session": "alpha@demo",
				"reason": "policy scope does not permit this access"}`},
		{"updown by a guest", "bravo", "updown", object{"command": "down"},
			"authorization_forbidden", `{"capability": "updown", "namespace": "demo", "requester_session": "bravo",
				"reason": "updown policy scope does not allow bundle up/down transitions"}`},
	})
}

// A refusedCall is one that the relay refuses.
type refusedCall struct {
	name    string
	session string // alpha may do everything, bravo is a guest: see policies.toml in testdata
	tool    string
	args    object
	code    string
	details string
}

func (w *world) expectRefusals(t *testing.T, servers map[string]*client, calls []refusedCall) {
	for _, call := range calls {
		t.Run(call.name, func(t *testing.T) {
			refusal := servers[call.session].refused(t, call.code, call.tool, call.args)
			w.expect(t, refusal["details"], call.details)
		})
	}
}

// A relay that went and came back between two calls is found again, and the log tells of it once.
func (p programs) testRelayRestarts(t *testing.T) {
	t.Parallel()
	for _, end := range []struct {
		signal syscall.Signal
		reason string
	}{
		{syscall.SIGTERM, "eof"},
		{syscall.SIGKILL, "eof"},
	} {
		t.Run(end.signal.String(), func(t *testing.T) {
			t.Parallel()
			w := p.start(t)
			alpha := w.connect(t, "alpha")
			alpha.ask(t, w.surface.decisions)
			w.endRelay(t, end.signal)
			w.startRelay(t)
			for range 2 {
				alpha.ask(t, w.surface.decisions)
			}
			told := w.inscriptions(t, "alpha", "mcp.relay.reconnecting")
			if len(told) != 1 {
				t.Fatalf("got %v, want one inscription", told)
			}
			w.expect(t, told[0].Details, `{"namespace": "demo", "session_id": "alpha", "reason": "`+end.reason+`"}`)
		})
	}
}

// A relay that does not answer in time costs one call. The connection is kept for when it goes on, where that is of
// use.
func (p programs) testRelayHangs(t *testing.T) {
	t.Parallel()
	w := p.start(t)
	alpha := w.connect(t, "alpha")
	alpha.ask(t, w.surface.decisions)

	w.signal(t, syscall.SIGSTOP)
	var answer object
	eventually(t, "a call fails: the relay stops some moments after the signal", func() (refused bool) {
		answer, refused = alpha.result(t, w.surface.decisions.tool, w.surface.decisions.args)
		return refused
	})
	w.expect(t, answer["code"], `"relay_timeout"`)
	w.expect(t, answer["details"], `{
		"relay_socket": "<root>/state/`+w.surface.socket+`", "io_error_kind": "TimedOut",
		"cause": "no answer came within 5s"}`)
	w.signal(t, syscall.SIGCONT)

	alpha.ask(t, w.surface.decisions)
	if told := w.inscriptions(t, "alpha", "mcp.relay.reconnecting"); (told != nil) != w.surface.drops {
		t.Errorf("the connection was replaced %d times: %v", len(told), told)
	}
}

// startRemedy is what an answer says where no relay runs.
const startRemedy = "Start a relay with: agentmux host relay --state-directory <root>/state. " +
	"The state directory comes from --state-directory: if the relay uses another one, give it with --state-directory."

// While no relay runs, list shows the home bundle as it is configured, and all says how to start one.
func (p programs) testRelayDown(t *testing.T) {
	t.Parallel()
	w := p.newWorld(t)
	alpha := w.connect(t, "alpha")
	down := func(reasonCode, ioErrorKind, cause string) {
		t.Helper()
		reason := "connect <root>/state/relay.sock: " + cause
		w.expect(t, alpha.call(t, "list", object{"command": "principals"}), `{
			"schema_version": "1",
			"bundles": [
				{"id": "demo", "hosted": false, "state": "down", "state_reason_code": "`+reasonCode+`", "state_reason": "`+reason+". "+startRemedy+`",
				 "startup_failure_count": 0, "recent_startup_failures": [],
				 "principals": [
					{"id": "alpha", "name": "Alpha", "transport": "tmux", "ready": false},
					{"id": "bravo", "transport": "tmux", "ready": false},
					{"id": "coder", "transport": "acp", "ready": false}]},
				{"id": "GLOBAL", "hosted": false, "state": "down", "state_reason_code": "relay_unavailable", "state_reason": "`+reason+`",
				 "startup_failure_count": 0, "recent_startup_failures": [], "principals": []}]}`)
		refusal := alpha.refused(t, "relay_unavailable", "send", object{"message": "hello?", "targets": []string{"bravo"}})
		w.expect(t, refusal["details"], `{"relay_socket": "<root>/state/relay.sock", "io_error_kind": "`+ioErrorKind+`", "cause": "`+cause+`"}`)
		if start := "agentmux host relay --state-directory " + w.path("state"); !strings.Contains(refusal["message"].(string), start) {
			t.Errorf("got %q, want it to name %q", refusal["message"], start)
		}
	}
	down("not_started", "NotFound", "connect: no such file or directory")

	w.startRelay(t)
	bundle := alpha.call(t, "list", object{"command": "principals"})["bundles"].([]any)[0].(object)
	w.expect(t, []any{bundle["hosted"], bundle["state"]}, `[true, "up"]`)

	w.endRelay(t, syscall.SIGKILL) // which leaves its socket
	down("relay_unavailable", "ConnectionRefused", "connect: connection refused")
}

// A session belongs to one connection: a second server is told so, and gets it when the first one has ended.
func (p programs) testSessionTaken(t *testing.T) {
	t.Parallel()
	w := p.start(t)
	first, second := w.connect(t, "alpha"), w.connect(t, "alpha")
	first.ask(t, w.surface.decisions)
	refusal := second.refused(t, "relay_timeout", w.surface.decisions.tool, w.surface.decisions.args)
	w.expect(t, refusal["details"], `{
		"relay_socket": "<root>/state/`+w.surface.socket+`", "io_error_kind": "TimedOut",
		"cause": "alpha@demo is connected elsewhere and stayed so for 1s: relay: runtime_identity_claim_conflict: stream identity is already claimed by a live connection"}`)
	first.ask(t, w.surface.decisions) // the relay may have asked in between whether it is there
	first.close(t)
	second.ask(t, w.surface.decisions)
}
