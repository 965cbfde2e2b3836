package scripts_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// agents are coding agents. Each is wired up as the README says, in a home of its own, and none is logged in: so
// each is asked for what it does without a model, which is to connect to its servers.
var agents = []struct {
	name string
	test func(*testing.T, agent)
}{
	{"claude", testClaudeCode},
	{"gemini", testGeminiCLI},
	{"opencode", testOpencode},
	{"codex", testCodex},
}

// An agent is the program of a coding agent, and its home.
type agent struct{ program, home string }

func testClaudeCode(t *testing.T, a agent) {
	a.run(t, "mcp add agentmux -- agentmux-mcp --demo")
	a.says(t, "agentmux: agentmux-mcp --demo - ✔ Connected", "mcp list")
}

func testGeminiCLI(t *testing.T, a agent) {
	a.run(t, "mcp add -s user agentmux agentmux-mcp -- --demo")
	a.says(t, "✓ agentmux: agentmux-mcp --demo (stdio) - Connected", "mcp list")
}

func testOpencode(t *testing.T, a agent) {
	const config = `{"mcp":{"agentmux":{"type":"local","command":["agentmux-mcp","--demo"],"enabled":true}}}`
	if err := os.WriteFile(filepath.Join(a.home, "opencode.json"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	a.says(t, "✓ agentmux", "mcp list")
}

// says makes sure that the agent prints a text.
func (a agent) says(t *testing.T, text, args string) {
	t.Helper()
	if out := a.run(t, args); !strings.Contains(out, text) {
		t.Errorf("%s said\n%s\nwant %q in it", args, out, text)
	}
}

// run runs the agent to its end, and returns what it prints.
func (a agent) run(t *testing.T, args string) string {
	t.Helper()
	cmd := a.command(t, args)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %v\n%s", cmd, err, out)
	}
	return string(out)
}

// command is the agent with some arguments, not started yet.
func (a agent) command(t *testing.T, args string) *exec.Cmd {
	t.Helper()
	cmd := newClient(t, a.home, a.program, strings.Fields(args)...)
	cmd.Env = append(cmd.Env,
		"GEMINI_CLI_TRUST_WORKSPACE=true", // it starts no server in a directory that nobody trusts
		"DISABLE_AUTOUPDATER=1",           // Claude Code
		"OPENCODE_DISABLE_AUTOUPDATE=1",
	)
	return cmd
}
