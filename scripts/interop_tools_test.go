package scripts_test

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// testTools shows each tool at work: what it answers, and what it does.
func (p programs) testTools(t *testing.T) {
	t.Parallel()
	w := p.start(t)
	alpha := w.connect(t, "alpha")
	for _, tool := range []struct {
		name string
		test func(*testing.T, *world, *client)
	}{
		{"list", testList},
		{"help", testHelp},
		{"send", testSend},
		{"send of a long text", testSendLong},
		{"look at a terminal", testLookTerminal},
		{"look at an agent", testLookAgent},
		{"raww into a terminal", testRawwTerminal},
		{"raww to an agent", testRawwAgent},
		{"choose", testChoose},
	} {
		t.Run(tool.name, func(t *testing.T) { tool.test(t, w, alpha) })
	}
}

func testList(t *testing.T, w *world, alpha *client) {
	var answer object
	eventually(t, "all sessions are ready", func() bool {
		answer = alpha.call(t, "list", object{"command": "principals", "args": object{"namespace": "*"}})
		return answer["bundles"].([]any)[0].(object)["startup_health"] == "healthy"
	})
	w.expect(t, answer, `{
		"schema_version": "1",
		"bundles": [
			{"id": "demo", "hosted": true, "state": "up", "startup_health": "healthy", "startup_failure_count": 0, "recent_startup_failures": [],
			 "principals": [
				{"id": "alpha@demo", "name": "Alpha", "transport": "tmux", "ready": true},
				{"id": "bravo@demo", "transport": "tmux", "ready": true},
				{"id": "coder@demo", "transport": "acp", "ready": true}]},
			{"id": "GLOBAL", "hosted": false, "state": "down", "startup_failure_count": 0, "recent_startup_failures": [],
			 "principals": [{"id": "user@GLOBAL", "transport": "ui", "ready": false}]}]}`)
}

func testHelp(t *testing.T, w *world, alpha *client) {
	help := alpha.call(t, "help", nil)
	w.expect(t, help["association"], `{"status": "associated", "bundle": "demo", "session": "alpha", "reason": null}`)
}

func testSend(t *testing.T, w *world, alpha *client) {
	answer := alpha.call(t, "send", object{"message": "the build is <green> & done", "targets": []string{"bravo", "coder@demo"}, "request_id": "r-1"})
	w.expect(t, answer, `{
		"schema_version": "1", "request_id": "r-1", "requester_session": "alpha@demo", "sender_display_name": "Alpha",
		"results": [
			{"target_session": "bravo@demo", "message_id": "<uuid>", "outcome": "queued"},
			{"target_session": "coder@demo", "message_id": "<uuid>", "outcome": "queued"}]}`)
	w.awaitMessage(t, "the build is <green> & done")
	w.awaitPrompt(t, "\nthe build is <green> & done\n")

	alpha.call(t, "send", object{"message": "all hands", "broadcast": true})
	w.awaitMessage(t, "all hands")
	w.awaitPrompt(t, "\nall hands\n")
}

// A long text arrives byte for byte, with what HTML, JavaScript and UTF-16 would change. One that is too long
// for the relay is refused.
func testSendLong(t *testing.T, w *world, alpha *client) {
	const piece = "a <b> & \u2028 \x7f \U0001F389 \"c\" \\\t"
	size := 1 << 20
	if w.longest > 0 {
		size = w.longest
		refusal := alpha.refused(t, "validation_payload_too_large", "send", object{"message": strings.Repeat("y", size+1), "targets": []string{"coder"}})
		w.expect(t, refusal["details"], fmt.Sprintf(`{
			"target_session": "coder", "session_type": "acp", "canonical_bytes": %d, "canonical_bytes_max": %d}`, size+1, size))
	}
	text := strings.Repeat(piece, size/len(piece))
	alpha.call(t, "send", object{"message": text, "targets": []string{"coder"}})
	// The relay puts a head in front of the text, and a line behind it.
	prompt := w.awaitPrompt(t, piece+piece)
	_, body, found := strings.Cut(prompt, "\n\n--agentmux-")
	_, body, _ = strings.Cut(body, "\n\n")
	body = body[:strings.LastIndex(body, "\n--agentmux-")]
	if !found || body != text {
		t.Errorf("sent %d bytes, of which arrived %d, the first %d unchanged", len(text), len(body), commonPrefix(text, body))
	}
}

func commonPrefix(a, b string) int {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return n
}

func testLookTerminal(t *testing.T, w *world, alpha *client) {
	alpha.call(t, "raww", object{"target_session": "bravo@demo", "text": "first line"})
	w.awaitTyped(t, "first line\n")
	alpha.call(t, "raww", object{"target_session": "bravo@demo", "text": "second line"})
	w.awaitTyped(t, "second line\n")
	var answer object
	eventually(t, "the screen shows both lines", func() bool {
		answer = alpha.call(t, "look", object{"target_session": "bravo@demo", "lines": 2})
		lines, _ := answer["snapshot_lines"].([]any)
		return slices.Equal(lines, []any{"first line", "second line"})
	})
	w.expect(t, answer, `{
		"schema_version": "1", "requester_session": "alpha@demo", "target_session": "bravo@demo", "captured_at": "<time>",
		"snapshot_format": "lines", "snapshot_lines": ["first line", "second line"]}`)
}

func testLookAgent(t *testing.T, w *world, alpha *client) {
	alpha.call(t, "send", object{"message": "look here", "targets": []string{"coder"}})
	w.awaitPrompt(t, "\nlook here\n")
	var answer object
	eventually(t, "the agent's answer is in its history", func() bool {
		answer = alpha.call(t, "look", object{"target_session": "coder@demo", "lines": 3})
		text := fmt.Sprint(answer["snapshot_entries"])
		return strings.Contains(text, "look here") && strings.Contains(text, "Noted.")
	})
	delete(answer, "entries_total") // depends on the tests before
	w.expect(t, answer, `{
		"schema_version": "1", "requester_session": "alpha@demo", "target_session": "coder@demo", "captured_at": "<time>",
		"snapshot_format": "structured_entries_v1", "freshness": "fresh", "snapshot_source": "live_buffer", "returned_entries_count": 3,
		"snapshot_entries": [
			{"kind": "agent", "lines": ["Noted."]},
			{"kind": "cognition", "lines": ["What was I told?"]},
			{"kind": "user", "lines": ["--agentmux-<uuid>", "Message-Id: <uuid>", "Date: <time>", "From: Alpha <session:alpha@demo>",
				"To: coder@demo <session:coder@demo>", "--agentmux-<uuid>", "Content-Type: text/plain; charset=utf-8", "look here", "--agentmux-<uuid>--"]}]}`)

	older := alpha.call(t, "look", object{"target_session": "coder@demo", "lines": 1, "offset": 1})
	if want := answer["snapshot_entries"].([]any)[1:2]; !reflect.DeepEqual(older["snapshot_entries"], any(want)) {
		t.Errorf("got %v, want the last entry but one, %v", older["snapshot_entries"], want)
	}
}

func testRawwTerminal(t *testing.T, w *world, alpha *client) {
	answer := alpha.call(t, "raww", object{"target_session": "bravo@demo", "text": "make ", "no_enter": true})
	w.expect(t, answer, `{
		"schema_version": "1", "status": "queued", "target_session": "bravo@demo", "transport": "tmux", "request_id": null, "message_id": "<uuid>"}`)
	w.awaitTyped(t, "make ")
	alpha.call(t, "raww", object{"target_session": "bravo@demo", "text": "test <&> $HOME \U0001F389"})
	w.awaitTyped(t, "make test <&> $HOME \U0001F389\n")
}

func testRawwAgent(t *testing.T, w *world, alpha *client) {
	answer := alpha.call(t, "raww", object{"target_session": "coder@demo", "text": "as it is", "request_id": "r-2"})
	w.expect(t, answer, `{
		"schema_version": "1", "status": "queued", "target_session": "coder@demo", "transport": "acp", "request_id": "r-2", "message_id": "<uuid>"}`)
	if prompt := w.awaitPrompt(t, "as it is"); prompt != "as it is" {
		t.Errorf("the agent was told %q, want the text without a head", prompt)
	}
}

func testChoose(t *testing.T, w *world, alpha *client) {
	w.expectDecisions(t, alpha, decisions{
		call:      func(args object) toolCall { return toolCall{"choose", args} },
		answer:    `{"schema_version": "1", "status": "resolved", "choice_request_id": "<uuid>", "decided_by": "alpha@demo", `,
		cancelled: `"reason_code": "runtime_choices_request_cancelled", "reason": "choice request was cancelled by UI decision"`,
		none:      `{"schema_version": "1", "pending_requests": []}`,
	})
}

// decisions say how a surface takes them.
type decisions struct {
	call func(args object) toolCall

	answer    string // its first members
	cancelled string // its members that say why, where the decision was cancelled
	none      string // what is answered to [surface.decisions] where nothing waits
}

// expectDecisions lets coder ask, takes the decision, and looks at what coder learned of it.
func (w *world) expectDecisions(t *testing.T, alpha *client, d decisions) {
	t.Helper()
	for _, decision := range []struct {
		args    object
		reasons string
		learned object // by the agent
	}{
		{object{"outcome": "selected", "option_id": "yes-once"}, `"reason_code": null, "reason": null`, object{"outcome": "selected", "optionId": "yes-once"}},
		{object{"outcome": "cancelled"}, d.cancelled, object{"outcome": "cancelled"}},
	} {
		alpha.call(t, "send", object{"message": "please ask for permission", "targets": []string{"coder"}})
		pending := alpha.awaitDecision(t, w.surface.decisions)
		details := pending["requested_details"].(object)
		delete(details, "acp_request_id") // a number, counted up
		delete(details, "raw")            // the agent's request as it came
		w.expect(t, pending, `{
			"`+w.surface.choice+`": "<uuid>", "message_id": "<uuid>", "target_session": "coder@demo", "enqueued_at": "<time>", "requested_kind": "other",
			"requested_details": {
				"tool_call_title": "delete everything",
				"options": [
					{"option_id": "yes-once", "name": "Yes, once", "kind": "allow_once"},
					{"option_id": "no", "name": "No", "kind": "reject_once"}]}}`)

		decision.args[w.surface.choice] = pending[w.surface.choice]
		w.expect(t, alpha.ask(t, d.call(decision.args)), fmt.Sprintf(`%s "outcome": %q, %s}`, d.answer, decision.args["outcome"], decision.reasons))
		w.awaitOutcome(t, decision.learned)
		w.expect(t, alpha.ask(t, w.surface.decisions), d.none)
	}
}

// testCredentials shows that the keys that new and change make are the ones that the relay wants.
func (p programs) testCredentials(t *testing.T) {
	t.Parallel()
	w := p.start(t)
	alpha := w.connect(t, "alpha")
	file := w.path("state", "bundles", "demo", "sessions", "bravo", "identity.psk")
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	answer := alpha.call(t, "new", object{"command": "peer", "args": object{"principal_id": "bravo@demo", "output_path": file}})
	w.expect(t, answer, `{
		"schema_version": "1", "principal_id": "bravo@demo", "principal_type": "session", "psk": null, `+p.written+`
		"output_path": "<root>/state/bundles/demo/sessions/bravo/identity.psk",
		"config_snippet": "Write the PSK to <root>/state/bundles/demo/sessions/bravo/identity.psk (mode 0600); the session presents it as identity_token at Hello."}`)
	info, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode().Perm() != 0o600 || info.Size() == 0 {
		t.Errorf("the key is in a file of mode %v and %d bytes, want 0600 and some", info.Mode(), info.Size())
	}
	written := strings.TrimSpace(w.read(t, "state", "bundles", "demo", "sessions", "bravo", "identity.psk"))
	// With the key bravo gets in.
	bravo := w.connect(t, "bravo")
	bravo.call(t, "list", object{"command": "principals"})

	// A new key puts bravo out, and the old one does not let it in again.
	answer = alpha.call(t, "change", object{"command": "psk", "args": object{"principal_id": "bravo@demo"}})
	w.expect(t, answer, `{"schema_version": "1", "principal_id": "bravo@demo", "psk": "<psk>"}`)
	key, _ := answer["psk"].(string)
	eventually(t, "bravo is put out", func() bool {
		refusal := bravo.refused(t, "internal_unexpected_failure", "list", object{"command": "principals"})
		return refusal["details"].(object)["relay_code"] == "validation_unrecognized_credential"
	})

	// The server reads the file for each hello: with the new key in it, the next call succeeds.
	if err := os.WriteFile(file, []byte(key+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	bravo.call(t, "list", object{"command": "principals"})

	// Without output_path, the key is in the answer; it is in no log.
	answer = alpha.call(t, "new", object{"command": "peer", "args": object{"principal_id": "eve@GLOBAL"}})
	w.expect(t, answer, `{
		"schema_version": "1", "principal_id": "eve@GLOBAL", "principal_type": "user", "psk": "<psk>", "output_path": null,
		"config_snippet": "Store the PSK at an operator-chosen path (mode 0600) and present it as identity_token at Hello."}`)
	for _, secret := range []string{written, key, answer["psk"].(string)} {
		for _, session := range []string{"alpha", "bravo"} {
			if strings.Contains(w.read(t, "state", "inscriptions", "bundles", "demo", "sessions", session, "mcp.log"), secret) {
				t.Errorf("a key is in the log of %s", session)
			}
		}
	}
}

// testTransition takes the bundle down and up again.
func (p programs) testTransition(t *testing.T) {
	t.Parallel()
	w := p.start(t)
	alpha := w.connect(t, "alpha")
	terminals := func() bool { return w.tmux("has-session", "-t", "=bravo").Run() == nil }
	changed := `{
		"schema_version": "1", "action": %q, "bundles": [{"bundle_name": "demo", "outcome": %q}],
		"changed_bundle_count": 1, ` + p.undegraded + `"skipped_bundle_count": 0, "failed_bundle_count": 0, "changed_any": true}`
	skipped := `{
		"schema_version": "1", "action": %q, "bundles": [{"bundle_name": "demo", "outcome": "skipped", "reason_code": %q, "reason": %q}],
		"changed_bundle_count": 0, ` + p.undegraded + `"skipped_bundle_count": 1, "failed_bundle_count": 0, "changed_any": false}`

	w.expect(t, alpha.call(t, "updown", object{"command": "down"}), fmt.Sprintf(changed, "down", "unhosted"))
	if terminals() {
		t.Error("bravo's terminal is still there")
	}
	w.expect(t, alpha.call(t, "updown", object{"command": "down"}), fmt.Sprintf(skipped, "down", "already_unhosted", "bundle runtime is already unhosted"))
	bundle := alpha.call(t, "list", object{"command": "principals"})["bundles"].([]any)[0].(object)
	w.expect(t, []any{bundle["hosted"], bundle["principals"]}, fmt.Sprintf(`[%[1]t, [
		{"id": "alpha@demo", "name": "Alpha", "transport": "tmux", "ready": false},
		{"id": "bravo@demo", "transport": "tmux", "ready": false},
		{"id": "coder@demo", "transport": "acp", "ready": %[1]t}]]`, p.agentsStay))

	w.expect(t, alpha.call(t, "updown", object{"command": "up"}), fmt.Sprintf(changed, "up", "hosted"))
	if !terminals() {
		t.Error("bravo has no terminal")
	}
	w.expect(t, alpha.call(t, "updown", object{"command": "up"}), fmt.Sprintf(skipped, "up", "already_hosted", "bundle runtime is already hosted"))
	alpha.call(t, "send", object{"message": "welcome back", "targets": []string{"bravo"}})
	w.awaitMessage(t, "welcome back")
}

// testStartFailures starts a bundle of which one member can't be started: that is an answer, not an error.
func (p programs) testStartFailures(t *testing.T) {
	t.Parallel()
	w := p.newWorld(t)
	w.write(t, `
format-version = 1
autostart = false
[[sessions]]
id = "bravo"
directory = "${ROOT}"
coder = "terminal"
[[sessions]]
id = "coder"
directory = "${ROOT}"
coder = "absent"
`, "config", "bundles", "lame.toml")
	w.startRelay(t)
	bravo := w.connectFor(t, "lame", "bravo")
	w.expect(t, bravo.call(t, "updown", object{"command": "up"}), p.startFailure)
	bundle := bravo.call(t, "list", object{"command": "principals"})["bundles"].([]any)[0].(object)
	w.expect(t, []any{bundle["state"], bundle["startup_health"], bundle["principals"]}, `["up", "degraded", [
		{"id": "bravo@lame", "transport": "tmux", "ready": true},
		{"id": "coder@lame", "transport": "acp", "ready": false}]]`)
	bravo.call(t, "updown", object{"command": "down"})
}
