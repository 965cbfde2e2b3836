package relayclient

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
)

// shortDir is a directory whose path leaves room in a socket address.
func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "amx")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

func listen(t *testing.T, path string) {
	t.Helper()
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
}

func TestWhatIsAtTheSocketsPath(t *testing.T) {
	tests := []struct {
		name string
		make func(t *testing.T, path string)
		want IOKind
	}{
		{"nothing", func(*testing.T, string) {}, NotFound},
		{"a socket", listen, ""},
		{"a stale socket", func(t *testing.T, path string) {
			l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
			if err != nil {
				t.Fatal(err)
			}
			l.SetUnlinkOnClose(false)
			_ = l.Close()
		}, ConnectionRefused},
		{"a regular file", func(t *testing.T, path string) { check(t, os.WriteFile(path, nil, 0o600)) }, ConnectionRefused},
		{"a directory", func(t *testing.T, path string) { check(t, os.Mkdir(path, 0o700)) }, ConnectionRefused},
		{"a FIFO", func(t *testing.T, path string) { check(t, syscall.Mkfifo(path, 0o600)) }, ConnectionRefused},
		{"a link to nothing", func(t *testing.T, path string) { check(t, os.Symlink("nothing", path)) }, NotFound},
		{"a link to itself", func(t *testing.T, path string) { check(t, os.Symlink(path, path)) }, Other},
		{"a link to a socket", func(t *testing.T, path string) {
			listen(t, path+"x")
			check(t, os.Symlink(path+"x", path))
		}, ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			path := filepath.Join(shortDir(t), "relay.sock")
			test.make(t, path)
			stream, err := dialTrusted(t.Context(), path)
			if err == nil {
				_ = stream.Close()
			}
			switch {
			case test.want == "" && err != nil:
				t.Errorf("failed: %v", err)
			case test.want != "" && (err == nil || ioKind(err) != test.want):
				t.Errorf("got %v (%v), want %v", err, ioKind(err), test.want)
			}
		})
	}
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// A path that does not fit a socket address is reached all the same where the system allows it.
func TestLongSocketPath(t *testing.T) {
	dir := filepath.Join(shortDir(t), strings.Repeat("a", 100), strings.Repeat("b", 100))
	check(t, os.MkdirAll(dir, 0o700))
	short := filepath.Join(shortDir(t), "relay.sock")
	listen(t, short)
	path := filepath.Join(dir, "relay.sock")
	check(t, os.Symlink(short, path))
	stream, err := dialTrusted(t.Context(), path)
	if runtime.GOOS != "linux" {
		if err == nil || ioKind(err) != InvalidInput {
			t.Errorf("got %v, want InvalidInput", err)
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	_ = stream.Close()

	_, err = dialTrusted(t.Context(), filepath.Join(dir, "nowhere", "relay.sock"))
	if ioKind(err) != NotFound {
		t.Errorf("a missing directory: got %v, want NotFound", err)
	}
	_, err = dialTrusted(t.Context(), filepath.Join(dir, strings.Repeat("s", 200)))
	if ioKind(err) != InvalidInput || !strings.Contains(err.Error(), "107") {
		t.Errorf("a long name: got %v, want InvalidInput", err)
	}
}

// No credential goes to a stranger.
func TestJudgePeer(t *testing.T) {
	const me = 1000
	tests := []struct {
		name string
		uid  uint32
		err  error
		ok   bool
	}{
		{"the same user", me, nil, true},
		{"root", 0, nil, true},
		{"another user", 1001, nil, false},
		{"a system that does not tell", me, errors.ErrUnsupported, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			err := judgePeer(test.uid, test.err, me)
			if test.ok != (err == nil) || err != nil && ioKind(err) != PermissionDenied {
				t.Errorf("got %v", err)
			}
		})
	}
	ours, theirs := net.Pipe()
	defer ours.Close()
	defer theirs.Close()
	if err := checkPeer(ours); ioKind(err) != PermissionDenied {
		t.Errorf("a stream without a peer: got %v", err)
	}
}

func TestTokenFile(t *testing.T) {
	tests := []struct {
		name, want, warning string
		make                func(t *testing.T, path string)
	}{
		{"missing", "socket-trust", "", func(*testing.T, string) {}},
		{"white space around it", "the-key", "", func(t *testing.T, path string) { check(t, os.WriteFile(path, []byte(" \tthe-key\r\n\n"), 0o600)) }},
		{"blank", "socket-trust", "", func(t *testing.T, path string) { check(t, os.WriteFile(path, []byte(" \n"), 0o600)) }},
		{"readable by others", "the-key", "chmod 600", func(t *testing.T, path string) {
			check(t, os.WriteFile(path, []byte("the-key"), 0o600))
			check(t, os.Chmod(path, 0o644))
		}},
		{"a link", "the-key", "", func(t *testing.T, path string) {
			check(t, os.WriteFile(path+"x", []byte("the-key"), 0o600))
			check(t, os.Symlink(path+"x", path))
		}},
		{"huge", "socket-trust", "", func(t *testing.T, path string) { check(t, os.WriteFile(path, make([]byte, maxToken+1), 0o600)) }},
		{"a FIFO", "socket-trust", "", func(t *testing.T, path string) { check(t, syscall.Mkfifo(path, 0o600)) }},
		{"a directory", "socket-trust", "", func(t *testing.T, path string) { check(t, os.Mkdir(path, 0o700)) }},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "identity.psk")
			test.make(t, path)
			var warnings []string
			token := TokenFile(path, func(text string) { warnings = append(warnings, text) })
			for range 2 {
				if got := token().Reveal(); got != test.want {
					t.Errorf("got %q, want %q", got, test.want)
				}
			}
			if text := strings.Join(warnings, "\n"); strings.Count(text, "chmod") != strings.Count(test.warning, "chmod") ||
				strings.Contains(text, "the-key") {
				t.Errorf("warned %q", text)
			}
		})
	}
}

func TestTokenFileIsReadAnew(t *testing.T) {
	path := filepath.Join(t.TempDir(), "identity.psk")
	token := TokenFile(path, nil)
	for _, want := range []string{"one", "two"} {
		check(t, os.WriteFile(path, []byte(want), 0o600))
		if got := token().Reveal(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
