package scripts_test

import (
	"os"
	"strings"
	"testing"
)

// testEnvironment starts the server as an agent within a session does: with the session's environment and
// nothing else, neither flags nor a directory that tells.
func (p programs) testEnvironment(t *testing.T) {
	t.Parallel()
	if !p.layered {
		t.Skipf("relay %s tells its sessions nothing", p.version)
	}
	w := p.start(t)
	var environment []string
	eventually(t, "alpha's terminal is there", func() bool {
		environment = strings.Split(strings.TrimSuffix(w.read(t, "environment"), "\x00"), "\x00")
		return len(environment) > 1
	})
	server := w.command(w.server)
	server.Dir = os.TempDir()
	server.Env = environment
	alpha := connectTo(t, newestRevision, server)
	w.expect(t, alpha.call(t, "help", nil)["association"], `{"status": "associated", "bundle": "demo", "session": "alpha", "reason": null}`)
	answer := alpha.call(t, "send", object{"message": "found you", "targets": []string{"bravo"}})
	w.expect(t, answer["requester_session"], `"alpha@demo"`)
	w.awaitMessage(t, "found you")
	// The configuration is found too: * asks for each bundle that it has.
	answer = alpha.call(t, "list", object{"command": "principals", "args": object{"namespace": "*"}})
	w.expect(t, answer["bundles"].([]any)[0].(object)["id"], `"demo"`)
}

// testLayers puts a second configuration root in front of the first, with what only newer releases have: an
// association file, and new keys in a bundle.
func (p programs) testLayers(t *testing.T) {
	t.Parallel()
	if !p.layered {
		t.Skipf("relay %s has one configuration root", p.version)
	}
	w := p.newWorld(t)
	w.layers = []string{"upper", "config"}
	if err := os.MkdirAll(w.path("upper", "bundles"), 0o700); err != nil {
		t.Fatal(err)
	}
	w.write(t, `
format-version = 1
autostart = true
`+p.bundleKeys+`
[[sessions]]
id = "delta"
directory = "${ROOT}"
coder = "idle"
`+p.sessionKeys, "upper", "bundles", "annex.toml")
	w.write(t, `
bundle_name = "annex"
session_name = "delta"
`, "upper", "mcp.toml")
	w.startRelay(t)

	server := w.command(w.server, w.roots()...)
	server.Dir = os.TempDir()
	delta := connectTo(t, newestRevision, server)
	w.expect(t, delta.call(t, "help", nil)["association"], `{"status": "associated", "bundle": "annex", "session": "delta", "reason": null}`)
	var found []any
	for _, bundle := range delta.call(t, "list", object{"command": "principals", "args": object{"namespace": "*"}})["bundles"].([]any) {
		found = append(found, bundle.(object)["id"])
	}
	w.expect(t, found, `["annex", "demo", "GLOBAL"]`)
	delta.call(t, "send", object{"message": "hello down there", "targets": []string{"bravo@demo"}})
	w.awaitMessage(t, "hello down there")
}
