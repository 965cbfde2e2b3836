package scripts_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	// So that a change of the server ends the life of a cached result; it runs as a process of its own.
	_ "github.com/agentmux/agentmux-go/agentmux-mcp/command"
)

// TestInterop drives the finished command against a real relay, as an MCP client, and looks at what came of
// it where it was to arrive: in a terminal, at an agent, in a file.
//
// It needs agentmux 0.8 and tmux, and is skipped where one of them is missing. With AGENTMUX_INTEROP=required
// in the environment, as in continuous integration, it fails instead.
func TestInterop(t *testing.T) {
	p := findPrograms(t)
	t.Run("tools", p.testTools)
	t.Run("credentials", p.testCredentials)
	t.Run("transition", p.testTransition)
	t.Run("reference", p.testReference)
	t.Run("refusals", p.testRefusals)
	t.Run("relay restarts", p.testRelayRestarts)
	t.Run("relay hangs", p.testRelayHangs)
	t.Run("relay is down", p.testRelayDown)
	t.Run("session is taken", p.testSessionTaken)
}

// programs are the paths of what runs as a process of its own.
type programs struct {
	agentmux string // the relay, and the MCP server that ours is measured against
	server   string // agentmux-mcp
	agent    string // acpagent
}

// findPrograms finds the relay and builds the rest. What it builds lives as long as t.
func findPrograms(t *testing.T) programs {
	agentmux, err := exec.LookPath("agentmux")
	if err != nil {
		missing(t, "agentmux is not on the PATH")
	}
	version, err := exec.Command(agentmux, "--version").Output()
	if err != nil || !strings.HasPrefix(string(version), "agentmux 0.8.") {
		missing(t, "%s is not version 0.8: it says %q (%v)", agentmux, version, err)
	}
	if _, err := exec.LookPath("tmux"); err != nil {
		missing(t, "tmux is not on the PATH")
	}
	const agent = "./acpagent"
	// A change of a file that the test looked at ends the life of a cached result too.
	if _, err := os.Stat(filepath.Join(agent, "main.go")); err != nil {
		t.Fatal(err)
	}
	built := t.TempDir()
	build := exec.Command("go", "build", "-o", built+"/", "github.com/agentmux/agentmux-go/agentmux-mcp", agent)
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", build, err, out)
	}
	return programs{
		agentmux: agentmux,
		server:   filepath.Join(built, "agentmux-mcp"),
		agent:    filepath.Join(built, "acpagent"),
	}
}

// missing ends a test that lacks what it needs.
func missing(t *testing.T, format string, args ...any) {
	t.Helper()
	if os.Getenv("AGENTMUX_INTEROP") == "required" {
		t.Fatalf(format, args...)
	}
	t.Skipf(format, args...)
}
