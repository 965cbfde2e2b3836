package scripts_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/agentmux/agentmux-go/wire"
)

// A release is a version of agentmux and all that the tests must know of it: everything else is expected to be
// as it is in the others.
type release struct {
	version string // the tests run with any relay whose first two numbers are the same
	surface *surface

	// configuration is the flag that names a configuration root. Our server takes both spellings.
	configuration string
	// finds: policies have the control find, which later releases refuse.
	finds bool
	// layered: there can be several configuration roots, and the relay tells its sessions in their
	// environment which ones, and who they are.
	layered bool
	// bundleKeys and sessionKeys are lines of a bundle file with keys that earlier releases lack.
	bundleKeys, sessionKeys string

	// longest is how many bytes a message can have; 0: any number.
	longest int
	// agentsStay: ACP agents outlive the down of their bundle, which therefore stays hosted.
	agentsStay bool

	// Members that answers have over those of the first release, each with a comma behind it.
	undegraded string // of a transition in which all went well
	written    string // of a new peer whose key was written to the file of session bravo

	// startFailure is what up answers where bravo starts and coder, whose command is not there, does not.
	startFailure string
}

// A surface is what the relay and the MCP server of a generation of releases are like, which is how ours is then,
// and what is to be tested of it.
type surface struct {
	reference string   // the version of the release whose server ours is measured against
	flags     []string // of our server, which ask for the surface; nil: it is the default one
	words     *wire.Vocabulary

	// interop and recorded are directories of configurations for worlds; see [programs.newWorldFrom].
	interop, recorded []string
	// ready reports whether the relay of a world is.
	ready func(*world) bool
	// socket is the path below the state root of the socket that serves bundle demo, among others or alone.
	socket string
	// decisions is the call that asks what waits to be decided, on the connection of the session, and choice the
	// member of each that holds its id.
	decisions toolCall
	choice    string
	// drops: a request that times out ends the connection, which the relay would keep waiting too.
	drops bool

	tests               []interopTest
	parts               []recordedPart
	comparedCalls       []comparedCall
	intendedDifferences []difference

	// How transcripts are replayed.
	connect    func(hello wire.Frame, dial dialFunc) relayClient // nil: of no particular session
	ask        wire.Operation                                    // a question that makes a client connect
	unplayable map[string]string                                 // transcripts, by name, and why
	tools      toolReplay
}

// A toolCall is a call of a tool.
type toolCall struct {
	tool string
	args object
}

// An interopTest is one that is made with each release of a surface.
type interopTest struct {
	name string
	test func(programs, *testing.T)
}

// A recordedPart is recorded with a relay of its own.
type recordedPart struct {
	name   string
	record func(*recorder)
}

// surface08 is that of releases from 0.8.
var surface08 = surface{
	reference: "0.8.0",
	words:     wire.Current(),
	interop:   []string{"testdata/interop"},
	recorded:  []string{"testdata/recorded"},
	ready: func(w *world) bool {
		_, err := os.Stat(w.path("state", readyFile))
		return err == nil
	},
	socket:    "relay.sock",
	decisions: toolCall{"list", object{"command": "decisions"}},
	choice:    "choice_request_id",

	tests: []interopTest{
		{"tools", programs.testTools},
		{"credentials", programs.testCredentials},
		{"transition", programs.testTransition},
		{"start failures", programs.testStartFailures},
		{"environment", programs.testEnvironment},
		{"layers", programs.testLayers},
		{"reference", programs.testReference},
		{"refusals", programs.testRefusals},
		{"relay restarts", programs.testRelayRestarts},
		{"relay hangs", programs.testRelayHangs},
		{"relay is down", programs.testRelayDown},
		{"session is taken", programs.testSessionTaken},
	},
	parts:               recordedParts,
	comparedCalls:       comparedCalls,
	intendedDifferences: intendedDifferences,

	connect:    connect08,
	ask:        &wire.ChoicesList{},
	unplayable: unplayable08,
	tools:      toolReplay08,
}

// readyFile is below the state root while a relay from 0.8 is ready.
const readyFile = "relay.ready"

// releases are those that the server is made for, oldest first.
var releases = []release{
	{version: versionless, surface: &surface05, configuration: "--config-directory"},
	{
		version: "0.8.0", surface: &surface08, configuration: "--config-directory",
		finds: true, agentsStay: true,
		startFailure: `{
			"schema_version": "1", "action": "up", "bundles": [{"bundle_name": "lame", "outcome": "hosted"}],
			"changed_bundle_count": 1, "skipped_bundle_count": 0, "failed_bundle_count": 0, "changed_any": true}`,
	},
	{
		version: "0.9.0", surface: &surface08, configuration: "--configuration-directory",
		finds: true, layered: true, longest: 256 << 10,
		bundleKeys: bundleKeys09, sessionKeys: sessionKeys09,
		undegraded: undegraded09, written: written09, startFailure: startFailure09,
	},
	{
		version: "0.10.5", surface: &surface08, configuration: "--configuration-directory",
		layered: true, longest: 256 << 10,
		bundleKeys:  bundleKeys09 + `project-name-from = "bundle-name"`,
		sessionKeys: sessionKeys09 + `project-name = "attic"`,
		undegraded:  undegraded09, written: written09, startFailure: startFailure09,
	},
}

// What came with 0.9.
const (
	bundleKeys09   = `environment = [{ name = "TEAM", value = "annex" }]` + "\n"
	sessionKeys09  = `environment = [{ name = "SHIFT", value = "night" }]` + "\n"
	undegraded09   = `"degraded_bundle_count": 0, `
	written09      = `"written_path": "<root>/state/bundles/demo/sessions/bravo/identity.psk", `
	startFailure09 = `{
		"schema_version": "1", "action": "up", "bundles": [{
			"bundle_name": "lame", "outcome": "degraded", "reason_code": "runtime_startup_failed",
			"reason": "bundle came up with failed sessions (1 failed) -- coder: spawn ACP stdio command failed: No such file or directory (os error 2)",
			"details": {"failed_sessions": [{
				"session_id": "coder", "transport": "acp", "code": "runtime_acp_spawn_permanent", "details": {"target_session": "coder"},
				"reason": "spawn ACP stdio command failed: No such file or directory (os error 2)"}]}}],
		"changed_bundle_count": 0, "degraded_bundle_count": 1, "skipped_bundle_count": 0, "failed_bundle_count": 0, "changed_any": true}`
)

// findRelays returns the path of each release's agentmux, by version. It looks on the PATH, and in the
// directories that AGENTMUX_RELAYS lists as PATH does.
func findRelays(t *testing.T) map[string]string {
	t.Helper()
	found := map[string]string{}
	if path, err := exec.LookPath("agentmux"); err == nil {
		if version, ok := releaseOf(t, path); ok {
			found[version] = path
		} else {
			t.Logf("%s on the PATH is of no release that is tested", path)
		}
	}
	for _, directory := range filepath.SplitList(os.Getenv("AGENTMUX_RELAYS")) {
		path := filepath.Join(directory, "agentmux")
		version, ok := releaseOf(t, path)
		if !ok {
			t.Fatalf("%s in AGENTMUX_RELAYS is of no release that is tested", path)
		}
		if found[version] == "" {
			found[version] = path
		}
	}
	return found
}

// versionless is the release that does not know the flag --version.
const versionless = "0.5.0"

// releaseOf returns the version of the release that an agentmux is of.
func releaseOf(t *testing.T, path string) (version string, ok bool) {
	t.Helper()
	said, err := exec.Command(path, "--version").Output()
	if _, refused := errors.AsType[*exec.ExitError](err); refused {
		return versionless, true
	}
	if err != nil {
		t.Fatalf("%s --version: %v", path, err)
	}
	i := slices.IndexFunc(releases, func(r release) bool {
		minor := r.version[:strings.LastIndex(r.version, ".")+1]
		return strings.HasPrefix(string(said), "agentmux "+minor)
	})
	if i < 0 {
		return "", false
	}
	return releases[i].version, true
}
