package scripts_test

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// TestClients serves MCP clients of other makers: programs made with the Python and TypeScript SDKs, and coding
// agents. Each meets the sample relay, so that none of them needs a relay.
//
// It looks for them in the directory that AGENTMUX_CLIENTS names, where .ci/run installs what the directories of
// scripts/clients list. A client that is not there is skipped.
func TestClients(t *testing.T) {
	directory := os.Getenv("AGENTMUX_CLIENTS")
	if directory == "" {
		t.Skip("AGENTMUX_CLIENTS names no directory with clients of other makers")
	}
	python := filepath.Join(directory, "python/bin/python")
	modules := filepath.Join(directory, "typescript/node_modules")
	for _, c := range []struct {
		name     string
		needs    string // a path
		program  []string
		revision string
	}{
		{"python handshake", python, []string{python, "python/client.py", "legacy"}, handshakeRevision},
		{"python", python, []string{python, "python/client.py", "auto"}, statelessRevision},
		{"typescript 1", modules, []string{"node", "typescript/client.cjs", "1"}, handshakeRevision},
		{"typescript 2", modules, []string{"node", "typescript/client.cjs", "2"}, statelessRevision},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			skipWithout(t, c.needs)
			source, err := filepath.Abs(filepath.Join("clients", c.program[1]))
			if err != nil {
				t.Fatal(err)
			}
			// A change of a file that the test looked at ends the life of a cached result.
			if _, err := os.Stat(source); err != nil {
				t.Fatal(err)
			}
			cmd := newClient(t, t.TempDir(), c.program[0], source, c.program[2], "agentmux-mcp", "--demo")
			cmd.Env = append(cmd.Env, "NODE_PATH="+modules)
			cmd.Stdin = bytes.NewReader(encode(t, clientCalls))
			var stderr bytes.Buffer
			cmd.Stderr = &stderr
			out, err := cmd.Output()
			if err != nil || stderr.Len() > 0 { // what an SDK finds odd, it says there
				t.Fatalf("%v: %v\n%s", cmd, err, &stderr)
			}
			var report clientReport
			if err := json.Unmarshal(out, &report); err != nil {
				t.Fatalf("%v in %s", err, out)
			}
			report.check(t, c.revision)
		})
	}
	for _, c := range agents {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			program := filepath.Join(directory, "agents/node_modules/.bin", c.name)
			skipWithout(t, program)
			c.test(t, agent{program, t.TempDir()})
		})
	}
}

// Revisions of MCP that differ in how clients connect, and in what they get for a failure.
const (
	handshakeRevision = "2025-11-25" // the last one with initialize: an error of JSON-RPC
	statelessRevision = "2026-07-28" // the first one without: a result
)

// A clientCall is a call that each client makes, and what must come of it: an answer, or the code, message and
// details of a refusal.
type clientCall struct {
	Tool      string          `json:"tool"`
	Arguments json.RawMessage `json:"arguments"`
	answer    string
	refusal   string
}

var clientCalls = []clientCall{
	{
		Tool: "list", Arguments: json.RawMessage(`{"command":"principals","args":{"namespace":"GLOBAL"}}`),
		answer: `{"schema_version":"1","bundles":[{"id":"GLOBAL","hosted":false,"state":"down","startup_failure_count":0,
			"recent_startup_failures":[],"principals":[{"id":"operator@GLOBAL","transport":"ui","ready":false}]}]}`,
	},
	{
		Tool: "look", Arguments: json.RawMessage(`{"target_session":"builder@demo","lines":2}`),
		answer: `{"schema_version":"1","requester_session":"you@demo","target_session":"builder@demo","captured_at":"<time>",
			"snapshot_format":"lines","snapshot_lines":["build finished: 0 errors, 1 warning","$"]}`,
	},
	{
		Tool: "send", Arguments: json.RawMessage(`{"message":"grüße\n","targets":["tester"],"request_id":"r1"}`),
		answer: `{"schema_version":"1","requester_session":"you@demo","sender_display_name":"You","request_id":"r1",
			"results":[{"target_session":"tester@demo","message_id":"<uuid>","outcome":"queued"}]}`,
	},
	{
		Tool: "look", Arguments: json.RawMessage(`{"target_session":"nobody@demo"}`),
		refusal: `{"code":"validation_unknown_target","message":"there is no such session",
			"details":{"target_session":"nobody@demo"}}`,
	},
	{
		Tool: "look", Arguments: json.RawMessage(`{"target_session":"builder@demo","lines":"2"}`),
		refusal: `{"code":"validation_invalid_params",
			"message":"lines must be an integer from 1 to 1000, and a value of type string was given",
			"details":{"field":"lines","expected":"an integer from 1 to 1000","got":"string"}}`,
	},
}

// A clientReport is what a client has seen.
type clientReport struct {
	Revision string
	Server   string
	Tools    []string
	Outcomes []json.RawMessage // of clientCalls: an object with an answer, a refusal (a result), or an error
}

// check makes sure that a client has seen what is right for a revision.
func (r clientReport) check(t *testing.T, revision string) {
	t.Helper()
	if r.Revision != revision || r.Server != "agentmux-mcp" {
		t.Errorf("the client speaks %q with %q, want %q with agentmux-mcp", r.Revision, r.Server, revision)
	}
	want := []string{"change", "choose", "help", "list", "look", "new", "raww", "send", "updown"}
	if slices.Sort(r.Tools); !slices.Equal(r.Tools, want) {
		t.Errorf("got tools %q, want %q", r.Tools, want)
	}
	if len(r.Outcomes) != len(clientCalls) {
		t.Fatalf("got %d outcomes of %d calls", len(r.Outcomes), len(clientCalls))
	}
	for i, call := range clientCalls {
		want := `{"answer":` + call.answer + `}`
		switch {
		case call.refusal != "" && revision == statelessRevision:
			want = `{"refusal":` + call.refusal + `}`
		case call.refusal != "":
			want = `{"error":{"code":-32602,"data":` + call.refusal + `}}`
		}
		if got, want := masked(string(r.Outcomes[i])), laidOut(want); got != want {
			t.Errorf("%s %s: got\n%s\nwant\n%s", call.Tool, call.Arguments, got, want)
		}
	}
}

// newClient is the program of a client, not started yet. The agentmux-mcp that it finds on the PATH is this test
// binary: see TestMain. One that outlives its test by far is killed, which fails the test.
func newClient(t *testing.T, home, program string, args ...string) *exec.Cmd {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir = home
	cmd.Env = []string{"HOME=" + home, "PATH=" + os.Getenv("PATH")}
	cmd.WaitDelay = time.Second // for what a killed client leaves behind
	return cmd
}

// skipWithout skips a client that is not there.
func skipWithout(t *testing.T, path string) {
	t.Helper()
	if _, err := os.Stat(path); err != nil {
		t.Skip(err)
	}
}
