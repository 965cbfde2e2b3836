package scripts_test

import (
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/agentmux/agentmux-go/agentmux-mcp/command"
)

// TestMain lets scripts run the command in the test binary, so that a change of the code is a change of the test.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"agentmux-mcp": func() { os.Exit(command.Main()) },
	})
}

var update = flag.Bool("update", false, "rewrite the golden sections of scripts with what came")

// TestScripts runs testdata/*.txtar: one case a file, named for its case. Beside what testscript brings, there are
// these commands:
//
//	relay FILE            a scripted relay plays FILE on the socket of $STATE: see package relaytest. Where the file has
//	                      requests in frames and no hello, alpha@demo says hello first, and silence ends it.
//	relay05 FILE [BUNDLE] the same for relay 0.5, on the socket of a bundle, demo if none is named
//	relay stop            ends the relays; a line that was not played fails the script, here or at its end
//	received N            waits until the scripted relay that was started last has received N lines, and prints them
//	demorelay             a live sample relay serves the socket: see package demorelay
//	server ARG...         the server is started with these arguments, in place of the usual ones; ... stands for
//	                      those, where it comes first
//	[!] call TOOL ARGS    calls a tool, on a server that is started at the first call, and prints its answer, or
//	                      the error that it fails with
//	request FILE          sends the lines of FILE to that server and prints the next line that comes
//	tell FILE             sends the lines of FILE to that server
//	server stop           ends the input of the server, which must exit with status 0 and say nothing more, and prints
//	                      its standard error
//	inscriptions [FILE]   prints the event log of alpha, or FILE in the inscriptions directory, without times
//	mask FILE             prints FILE
//	after                 waits until a fault is looked at again: a second
//
// In what they print, times and random ids are masked, and so are $STATE and $WORK.
//
// A script finds the configuration of a bundle demo with the sessions alpha and bravo in $WORK/config, unless it has
// its own, and empty directories in $HOME and $STATE.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata",
		UpdateScripts:       *update,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup:               func(env *testscript.Env) error { return setup(t, env) },
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"relay":        relayCommand,
			"relay05":      relay05Command,
			"demorelay":    demorelayCommand,
			"server":       serverCommand,
			"call":         callCommand,
			"request":      requestCommand,
			"tell":         tellCommand,
			"received":     receivedCommand,
			"mask":         maskCommand,
			"inscriptions": inscriptionsCommand,
			"after":        afterCommand,
		},
	})
}

const usualCoders = `format-version = 1
[[coders]]
id = "sh"
[coders.tmux]
initial-command = "sh"
resume-command = "sh"
`

const usualBundle = `format-version = 1
[[sessions]]
id = "alpha"
name = "Alpha"
directory = "/src/alpha"
coder = "sh"
[[sessions]]
id = "bravo"
directory = "/src/bravo"
coder = "sh"
`

func setup(t *testing.T, env *testscript.Env) error {
	// Not in $WORK: a socket's path is bounded.
	state, err := os.MkdirTemp("", "amx")
	if err != nil {
		return err
	}
	home := filepath.Join(env.WorkDir, "home")
	config := filepath.Join(env.WorkDir, "config")
	for path, text := range map[string]string{
		filepath.Join(config, "coders.toml"):          usualCoders,
		filepath.Join(config, "bundles", "demo.toml"): usualBundle,
	} {
		if _, err := os.Lstat(path); err == nil {
			continue
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			return err
		}
	}
	env.Setenv("HOME", home)
	env.Setenv("STATE", state)
	env.Setenv("GIT_CONFIG_NOSYSTEM", "1")
	// With the race detector a process sleeps for a second before it ends, and each script starts one.
	env.Setenv("GORACE", "atexit_sleep_ms=0 "+os.Getenv("GORACE"))
	program, err := programIn(env.Getenv("PATH"))
	if err != nil {
		return err
	}
	usual := []string{
		"--bundle", "demo", "--session-name", "alpha", "--config-directory", config, "--state-directory", state,
	}
	w := &scene{state: state, program: program, usual: usual, args: usual, relays: make(map[string]io.Closer)}
	env.Values[sceneKey{}] = w
	env.Defer(func() {
		// Too late for the script to fail by itself.
		if err := errors.Join(w.end(), os.RemoveAll(state)); err != nil {
			t.Errorf("%s: %v", filepath.Base(env.WorkDir), err)
		}
	})
	return os.MkdirAll(home, 0o700)
}
