package scripts_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	// So that a change of the server ends the life of a cached result; it runs as a process of its own.
	_ "github.com/agentmux/agentmux-go/agentmux-mcp/command"
)

// TestInterop drives the finished command against real relays, as an MCP client, and looks at what came of it
// where it was to arrive: in a terminal, at an agent, in a file.
//
// It needs tmux and relays; see [findRelays] for where they are looked for. A release without a relay is
// skipped. With AGENTMUX_INTEROP=required in the environment, as in continuous integration, the test fails
// instead where tmux or the release of the default surface is missing.
func TestInterop(t *testing.T) {
	relays := findRelays(t)
	p := buildPrograms(t)
	for _, release := range releases {
		t.Run(release.version, func(t *testing.T) {
			p := p
			p.release, p.agentmux = release, relays[release.version]
			if p.agentmux == "" {
				const where = "there is no agentmux %s on the PATH or in a directory that AGENTMUX_RELAYS lists"
				if release.version != surface08.reference {
					t.Skipf(where, release.version)
				}
				missing(t, where, release.version)
			}
			for _, test := range release.surface.tests {
				t.Run(test.name, func(t *testing.T) { test.test(p, t) })
			}
		})
	}
}

// programs are the paths of what runs as a process of its own.
type programs struct {
	release
	agentmux string // the relay of that release, and the MCP server that ours is measured against
	server   string // agentmux-mcp
	agent    string // acpagent
}

// buildPrograms builds what is ours. It lives as long as t.
func buildPrograms(t *testing.T) programs {
	t.Helper()
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
	return programs{server: filepath.Join(built, "agentmux-mcp"), agent: filepath.Join(built, "acpagent")}
}

// missing ends a test that lacks what it needs.
func missing(t *testing.T, format string, args ...any) {
	t.Helper()
	if os.Getenv("AGENTMUX_INTEROP") == "required" {
		t.Fatalf(format, args...)
	}
	t.Skipf(format, args...)
}
