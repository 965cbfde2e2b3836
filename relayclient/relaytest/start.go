package relaytest

import (
	"os"
	"path/filepath"
	"testing"
)

// Start begins to play a script on a Unix socket in a folder of its own. A failure of the script is an error
// of the test at once, so that it is seen even if the test then hangs. The relay is closed when the test has
// ended.
func Start(t testing.TB, text string) *Relay {
	t.Helper()
	r := reporting(t, text)
	// Not t.TempDir: the path holds the name of the test, and a socket's path is bounded (107 bytes on
	// Linux).
	dir, err := os.MkdirTemp("", "amx")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	if r, err = listen(filepath.Join(dir, "relay.sock"), r); err != nil {
		t.Fatal(err)
	}
	closeAfter(t, r)
	return r
}

// InMemory is [Start] without a socket: clients connect by [Relay.Dial]. It can be used in a bubble of
// testing/synctest.
func InMemory(t testing.TB, text string) *Relay {
	t.Helper()
	r := reporting(t, text)
	closeAfter(t, r)
	return r
}

// reporting returns a relay that reports its failure to t.
func reporting(t testing.TB, text string) *Relay {
	t.Helper()
	script, err := Parse(t.Name(), []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	r := New(script)
	r.report = func(err error) { t.Error(err) }
	return r
}

func closeAfter(t testing.TB, r *Relay) {
	t.Cleanup(func() { _ = r.Close() }) // the failure has been reported
}
