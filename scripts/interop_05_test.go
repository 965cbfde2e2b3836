package scripts_test

import (
	"fmt"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/agentmux/agentmux-go/wire/wire05"
)

// surface05 is that of relay 0.5, which has a socket for each bundle.
var surface05 = surface{
	reference: versionless,
	flags:     []string{"--surface", "0.5"},
	words:     wire05.Vocabulary(),
	interop:   []string{"testdata/interop", "testdata/interop05"},
	recorded:  []string{"testdata/recorded", "testdata/recorded05"},
	ready:     socketsAccept,
	socket:    "bundles/demo/relay.sock",
	decisions: toolCall{"grant", object{"command": "list"}},
	choice:    "permission_request_id",
	drops:     true,

	tests: []interopTest{
		{"tools", programs.testTools05},
		{"automatic surface", programs.testAutomaticSurface},
		{"busy agent", programs.testBusyAgent},
		{"busy workers", programs.testBusyWorkers},
		{"reference", programs.testReference},
		{"refusals", programs.testRefusals05},
		{"relay restarts", programs.testRelayRestarts},
		{"relay hangs", programs.testRelayHangs},
		{"relay is down", programs.testRelayDown05},
		{"session is taken", programs.testSessionTaken},
	},
	parts:               recordedParts05,
	comparedCalls:       comparedCalls05,
	intendedDifferences: intendedDifferences05,

	connect:    connect05,
	ask:        &wire05.PermissionList{},
	unplayable: unplayable05,
	tools:      toolReplay05,
}

// socketsAccept reports whether the socket of each bundle that is configured accepts connections.
func socketsAccept(w *world) bool {
	files, err := filepath.Glob(w.path("config", "bundles", "*.toml"))
	if err != nil || len(files) == 0 {
		return false
	}
	for _, file := range files {
		bundle := strings.TrimSuffix(filepath.Base(file), ".toml")
		if bundle == "example" { // the relay made it; there are no sessions in it
			continue
		}
		conn, err := net.Dial("unix", w.path("state", "bundles", bundle, "relay.sock"))
		if err != nil {
			return false
		}
		_ = conn.Close()
	}
	return true
}

// testTools05 shows each tool at work: what it answers, and what it does.
func (p programs) testTools05(t *testing.T) {
	t.Parallel()
	w := p.start(t)
	alpha := w.connect(t, "alpha")
	for _, tool := range []struct {
		name string
		test func(*testing.T, *world, *client)
	}{
		{"list", testList05},
		{"help", testHelp},
		{"send", testSend05},
		{"send of a long text", testSendLong},
		{"look at a terminal", testLookTerminal05},
		{"look at an agent", testLookAgent05},
		{"raww into a terminal", testRawwTerminal05},
		{"raww to an agent", testRawwAgent05},
		{"grant", testGrant},
	} {
		t.Run(tool.name, func(t *testing.T) { tool.test(t, w, alpha) })
	}
}

func testList05(t *testing.T, w *world, alpha *client) {
	const (
		demo = `{"id": "demo", "state": "up", "startup_health": "healthy", "startup_failure_count": 0, "recent_startup_failures": [],
			"sessions": [
				{"id": "alpha@demo", "name": "Alpha", "transport": "tmux"},
				{"id": "bravo@demo", "transport": "tmux"},
				{"id": "coder@demo", "transport": "acp"}]}`
		annex = `{"id": "annex", "state": "down",
			"state_reason_code": "runtime_startup_failed", "state_reason": "zero configured sessions are currently ready",
			"startup_failure_count": 0, "recent_startup_failures": [],
			"sessions": [{"id": "alpha@annex", "transport": "tmux"}, {"id": "delta@annex", "name": "Delta", "transport": "tmux"}]}`
	)
	var answer object
	eventually(t, "all sessions are ready", func() bool {
		answer = alpha.call(t, "list", object{"command": "sessions"})
		return answer["bundle"].(object)["startup_health"] == "healthy"
	})
	w.expect(t, answer, `{"schema_version": "1", "bundle": `+demo+`}`)
	answer = alpha.call(t, "list", object{"command": "sessions", "args": object{"bundle_name": "annex"}})
	w.expect(t, answer, `{"schema_version": "1", "bundle": `+annex+`}`)
	answer = alpha.call(t, "list", object{"command": "sessions", "args": object{"all": true}})
	w.expect(t, answer, `{"schema_version": "1", "bundles": [`+annex+`, `+demo+`]}`)
}

func testSend05(t *testing.T, w *world, alpha *client) {
	answer := alpha.call(t, "send", object{"message": "the build is <green> & done", "targets": []string{"bravo", "coder@demo"}, "request_id": "r-1"})
	w.expect(t, answer, `{
		"schema_version": "1", "bundle_name": "demo", "request_id": "r-1", "sender_session": "alpha@demo", "sender_display_name": "Alpha",
		"results": [
			{"target_session": "bravo@demo", "message_id": "<uuid>", "outcome": "queued"},
			{"target_session": "coder@demo", "message_id": "<uuid>", "outcome": "queued"}]}`)
	w.awaitMessage(t, "the build is <green> & done")
	w.awaitPrompt(t, "\nthe build is <green> & done\n")

	alpha.call(t, "send", object{"message": "all hands", "broadcast": true})
	w.awaitMessage(t, "all hands")
	w.awaitPrompt(t, "\nall hands\n")

	alpha.call(t, "send", object{"message": "when you rest", "targets": []string{"bravo"}, "quiescence_timeout_ms": 5000})
	w.awaitMessage(t, "when you rest")
	alpha.call(t, "send", object{"message": "take your time", "targets": []string{"coder"}, "acp_turn_timeout_ms": 5000})
	w.awaitPrompt(t, "\ntake your time\n")
}

func testLookTerminal05(t *testing.T, w *world, alpha *client) {
	alpha.call(t, "raww", object{"target_session": "bravo", "text": "first line"})
	w.awaitTyped(t, "first line\n")
	alpha.call(t, "raww", object{"target_session": "bravo@demo", "text": "second line"})
	w.awaitTyped(t, "second line\n")
	var answer object
	eventually(t, "the screen shows both lines", func() bool {
		answer = alpha.call(t, "look", object{"target_session": "bravo", "lines": 2})
		lines, _ := answer["snapshot_lines"].([]any)
		return slices.Equal(lines, []any{"first line", "second line"})
	})
	w.expect(t, answer, `{
		"schema_version": "1", "bundle_name": "demo", "requester_session": "alpha@demo", "target_session": "bravo@demo", "captured_at": "<time>",
		"snapshot_format": "lines", "snapshot_lines": ["first line", "second line"]}`)
}

func testLookAgent05(t *testing.T, w *world, alpha *client) {
	alpha.call(t, "send", object{"message": "look here", "targets": []string{"coder"}})
	w.awaitPrompt(t, "\nlook here\n")
	var answer object
	eventually(t, "the agent's answer is in its history", func() bool {
		answer = alpha.call(t, "look", object{"target_session": "coder", "lines": 3, "bundle_name": "demo"})
		text := fmt.Sprint(answer["snapshot_entries"])
		return strings.Contains(text, "look here") && strings.Contains(text, "Noted.")
	})
	w.expect(t, answer, `{
		"schema_version": "1", "bundle_name": "demo", "requester_session": "alpha@demo", "target_session": "coder@demo", "captured_at": "<time>",
		"snapshot_format": "acp_entries_v1", "freshness": "fresh", "snapshot_source": "live_buffer",
		"snapshot_entries": [
			{"kind": "agent", "lines": ["Noted."]},
			{"kind": "cognition", "lines": ["What was I told?"]},
			{"kind": "user", "lines": ["--agentmux-<uuid>", "Message-Id: <uuid>", "Date: <time>", "From: Alpha <session:alpha>",
				"To: coder <session:coder>", "--agentmux-<uuid>", "Content-Type: text/plain; charset=utf-8", "look here", "--agentmux-<uuid>--"]}]}`)
}

func testRawwTerminal05(t *testing.T, w *world, alpha *client) {
	answer := alpha.call(t, "raww", object{"target_session": "bravo", "text": "make ", "no_enter": true})
	w.expect(t, answer, `{
		"schema_version": "1", "status": "accepted", "target_session": "bravo@demo", "transport": "tmux", "request_id": null, "message_id": "<uuid>",
		"details": {"delivery_phase": "accepted_dispatched"}}`)
	w.awaitTyped(t, "make ")
	alpha.call(t, "raww", object{"target_session": "bravo", "text": "test <&> $HOME \U0001F389"})
	w.awaitTyped(t, "make test <&> $HOME \U0001F389\n")
}

func testRawwAgent05(t *testing.T, w *world, alpha *client) {
	answer := alpha.call(t, "raww", object{"target_session": "coder", "text": "as it is", "request_id": "r-2"})
	w.expect(t, answer, `{
		"schema_version": "1", "status": "accepted", "target_session": "coder@demo", "transport": "acp", "request_id": "r-2", "message_id": "<uuid>",
		"details": {"delivery_phase": "accepted_in_progress"}}`)
	if prompt := w.awaitPrompt(t, "as it is"); prompt != "as it is" {
		t.Errorf("the agent was told %q, want the text without a head", prompt)
	}
}

func testGrant(t *testing.T, w *world, alpha *client) {
	w.expectDecisions(t, alpha, decisions{
		call:      func(args object) toolCall { return toolCall{"grant", object{"command": "resolve", "args": args}} },
		answer:    `{"schema_version": "1", "status": "resolved", "permission_request_id": "<uuid>", `,
		cancelled: `"reason_code": "runtime_permission_request_cancelled", "reason": "permission request was cancelled by UI decision"`,
		none:      `{"schema_version": "1", "bundle_name": "demo", "pending_requests": []}`,
	})
}

// testAutomaticSurface lets the server find out which relay there is.
func (p programs) testAutomaticSurface(t *testing.T) {
	t.Parallel()
	w := p.start(t)
	alpha := connectTo(t, newestRevision, w.command(w.server, append(w.serverFlags("demo", "alpha"), "--surface", "auto")...))
	listed, err := alpha.session.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, tool := range listed.Tools {
		names = append(names, tool.Name)
	}
	slices.Sort(names)
	if want := []string{"grant", "help", "list", "look", "raww", "send"}; !slices.Equal(names, want) {
		t.Errorf("got tools %v, want %v", names, want)
	}
	alpha.call(t, "list", object{"command": "sessions"})
	alpha.ask(t, w.surface.decisions)
}

// testBusyAgent types to an agent that is in a turn. The relay answers when the turn is over and keeps the connection
// waiting as long: what ends the turn has to find another way.
func (p programs) testBusyAgent(t *testing.T) {
	t.Parallel()
	w := p.start(t)
	alpha := w.connect(t, "alpha")
	alpha.call(t, "send", object{"message": "please ask for permission", "targets": []string{"coder"}})
	permission := alpha.awaitDecision(t, w.surface.decisions)["permission_request_id"]
	refusal := alpha.refused(t, "relay_timeout", "raww", object{"target_session": "coder", "text": "go on"})
	w.expect(t, refusal["details"], `{
		"relay_socket": "<root>/state/bundles/demo/relay.sock", "io_error_kind": "TimedOut", "cause": "no answer came within 5s"}`)
	alpha.call(t, "grant", object{"command": "resolve", "args": object{"permission_request_id": permission, "outcome": "cancelled"}})
	if prompt := w.awaitPrompt(t, "go on"); prompt != "go on" {
		t.Errorf("the agent was told %q, want the text that was typed", prompt)
	}
}

// testBusyWorkers lets the relay have two workers, one of which serves a server's connection for good. New connections
// are dealt to both in turn, so that every other is never looked at.
func (p programs) testBusyWorkers(t *testing.T) {
	t.Parallel()
	w := p.newWorld(t)
	w.variables = []string{"AGENTMUX_RELAY_CONNECTION_WORKERS=2"}
	w.startRelay(t)
	alpha, bravo := w.connect(t, "alpha"), w.connect(t, "bravo")
	alpha.ask(t, w.surface.decisions)
	for range 2 {
		alpha.call(t, "list", object{"command": "sessions"})
	}
	bravo.call(t, "send", object{"message": "still here", "targets": []string{"alpha"}})
}

// testRefusals05 shows what the relay refuses, in its own words and codes.
func (p programs) testRefusals05(t *testing.T) {
	t.Parallel()
	w := p.newWorld(t)
	w.write(t, `
format-version = 1
[[sessions]]
id = "delta"
directory = "${ROOT}"
coder = "idle"
`, "config", "bundles", "other.toml")
	w.startRelay(t)
	servers := map[string]*client{"alpha": w.connect(t, "alpha"), "bravo": w.connect(t, "bravo")}
	w.expectRefusals(t, servers, []refusedCall{
		{"an unknown target", "alpha", "send", object{"message": "hello", "targets": []string{"nobody", "bravo"}},
			"validation_unknown_target", `{"unknown_targets": ["nobody"]}`},
		{"a session of another bundle", "alpha", "look", object{"target_session": "delta@annex"},
			"validation_unknown_target", `{"target_session": "delta@annex"}`},
		{"another bundle", "alpha", "look", object{"target_session": "bravo", "bundle_name": "annex"},
			"validation_cross_bundle_unsupported", `{"associated_bundle_name": "demo", "requested_bundle_name": "annex"}`},
		{"permissions of another bundle", "alpha", "grant", object{"command": "list", "args": object{"bundle_name": "annex"}},
			"validation_cross_bundle_unsupported", `{"associated_bundle_name": "demo", "requested_bundle_name": "annex"}`},
		{"a terminal that can't be timed as an agent", "alpha", "send", object{"message": "hello", "targets": []string{"bravo"}, "acp_turn_timeout_ms": 1},
			"validation_invalid_timeout_field_for_transport", `{"field": "acp_turn_timeout_ms", "transport": "tmux"}`},
		{"raww to a user", "alpha", "raww", object{"target_session": "user@GLOBAL", "text": "y"},
			"validation_invalid_params", `{"supported_target_classes": ["tmux", "acp"], "target_class": "ui", "target_session": "user@GLOBAL"}`},
		{"more than 32 KiB of raw text", "alpha", "raww", object{"target_session": "bravo", "text": strings.Repeat("y", 32<<10+1)},
			"validation_invalid_params", `{"field": "text", "bytes": 32769, "max_bytes": 32768}`},
		{"a decision before there was one", "alpha", "grant", object{"command": "resolve", "args": object{"permission_request_id": "gone", "outcome": "cancelled"}},
			"runtime_permission_queue_unavailable", `{"permission_request_id": "gone"}`},
		{"a bundle that does not know who asks", "alpha", "list", object{"command": "sessions", "args": object{"bundle_name": "other"}},
			"validation_unknown_sender", `{"field": "sender_session", "value": "alpha"}`},
		{"all bundles, one of which does not know who asks", "alpha", "list", object{"command": "sessions", "args": object{"all": true}},
			"validation_unknown_sender", `{"field": "sender_session", "value": "alpha"}`},
		{"raww by a guest", "bravo", "raww", object{"target_session": "alpha", "text": "rm -rf"},
			"authorization_forbidden", `{"capability": "raww.write", "bundle_name": "demo", "requester_session": "bravo", "target_session": "alpha",
				"reason": "raww policy scope does not allow target write"}`},
		{"grant by a guest", "bravo", "grant", object{"command": "list"},
			"authorization_forbidden", `{"capability": "grant", "bundle_name": "demo", "requester_session": "bravo",
				"reason": "grant policy scope does not allow permission list"}`},
	})
}

// While no relay runs, list shows the home bundle as it is configured, and all says how to start one.
func (p programs) testRelayDown05(t *testing.T) {
	t.Parallel()
	w := p.newWorld(t)
	alpha := w.connect(t, "alpha")
	down := func(reasonCode, ioErrorKind, cause string) {
		t.Helper()
		w.expect(t, alpha.call(t, "list", object{"command": "sessions"}), `{
			"schema_version": "1",
			"bundle": {
				"id": "demo", "state": "down", "state_reason_code": "`+reasonCode+`",
				"state_reason": "connect <root>/state/bundles/demo/relay.sock: `+cause+". "+startRemedy+`",
				"startup_failure_count": 0, "recent_startup_failures": [],
				"sessions": [
					{"id": "alpha", "name": "Alpha", "transport": "tmux"},
					{"id": "bravo", "transport": "tmux"},
					{"id": "coder", "transport": "acp"}]}}`)
		refusal := alpha.refused(t, "relay_unavailable", "send", object{"message": "hello?", "targets": []string{"bravo"}})
		w.expect(t, refusal["details"], `{
			"relay_socket": "<root>/state/bundles/demo/relay.sock", "io_error_kind": "`+ioErrorKind+`", "cause": "`+cause+`"}`)
		if start := "agentmux host relay --state-directory " + w.path("state"); !strings.Contains(refusal["message"].(string), start) {
			t.Errorf("got %q, want it to name %q", refusal["message"], start)
		}
		refusal = alpha.refused(t, "relay_unavailable", "list", object{"command": "sessions", "args": object{"bundle_name": "annex"}})
		w.expect(t, refusal["details"].(object)["relay_socket"], `"<root>/state/bundles/annex/relay.sock"`)
	}
	down("not_started", "NotFound", "connect: no such file or directory")

	w.startRelay(t)
	bundle := alpha.call(t, "list", object{"command": "sessions"})["bundle"].(object)
	w.expect(t, bundle["state"], `"up"`)

	w.endRelay(t, syscall.SIGKILL) // which leaves its sockets
	down("relay_unavailable", "ConnectionRefused", "connect: connection refused")
}
