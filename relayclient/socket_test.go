package relayclient

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/agentmux/agentmux-go/relayclient/relaytest"
	"github.com/agentmux/agentmux-go/wire"
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

// A relay that accepts nobody, because it hangs or was stopped, may do so again: connecting is worth another try.
func TestFullBacklog(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("elsewhere a full backlog refuses connections")
	}
	path := filepath.Join(shortDir(t), "relay.sock")
	fd, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	check(t, err)
	defer syscall.Close(fd)
	check(t, syscall.Bind(fd, &syscall.SockaddrUnix{Name: path}))
	check(t, syscall.Listen(fd, 0))
	first, err := dialTrusted(t.Context(), path)
	check(t, err)
	defer first.Close()
	second, err := dialTrusted(t.Context(), path)
	if err == nil {
		_ = second.Close()
		t.Fatal("the backlog is longer than it was to be")
	}
	if !errors.Is(err, syscall.EAGAIN) || !transient(err) {
		t.Errorf("got %v, which is not tried again", err)
	}
}

// A relay that does not read fills the socket's buffer. The answers that it gives meanwhile arrive, calls that give up
// are not held up, and what was begun is written once, when the relay reads again.
func TestFullSocketBuffer(t *testing.T) {
	socket := filepath.Join(shortDir(t), "relay.sock")
	l, err := net.Listen("unix", socket)
	check(t, err)
	defer l.Close()
	c := New(Config{Socket: socket, Principal: "alpha@demo"})
	defer c.Close()
	ask := func(ctx context.Context, target string) <-chan error {
		result := make(chan error, 1)
		go func() {
			_, err := c.Do(ctx, "", &wire.Look{RequesterSession: "alpha", TargetSession: target})
			result <- err
		}()
		return result
	}
	waiting := ask(t.Context(), "waiting")
	stream, err := l.Accept()
	check(t, err)
	defer stream.Close()
	r := bufio.NewReader(stream)
	read := func() (id, target string) {
		t.Helper()
		line, err := r.ReadBytes('\n')
		check(t, err)
		frame, err := wire.Decode(line)
		check(t, err)
		request, ok := frame.(*wire.RequestFrame)
		if !ok {
			return "", ""
		}
		return request.RequestID, request.Request.(*wire.Look).TargetSession
	}
	answer := func(id string) {
		t.Helper()
		_, err := fmt.Fprintf(stream, `{"frame":"response","request_id":%q,"response":{"kind":"look","snapshot_format":"x"}}`+"\n", id)
		check(t, err)
	}
	read()
	_, err = io.WriteString(stream, `{"frame":"hello_ack","schema_version":"1","principal_id":"alpha@demo"}`+"\n")
	check(t, err)
	id, _ := read()

	gone := errors.New("the client went away")
	ctx, cancel := context.WithCancelCause(t.Context())
	large := strings.Repeat("x", 4<<20) // more than a socket buffers
	begun := ask(ctx, large)
	_, err = r.Peek(1)
	check(t, err)
	queued := ask(ctx, "queued")
	answer(id)
	if err := <-waiting; err != nil {
		t.Errorf("the call that waited for its answer failed: %v", err)
	}
	cancel(gone)
	for _, result := range []<-chan error{begun, queued} {
		if err := <-result; err != gone {
			t.Errorf("a call that was given up ended with %v", err)
		}
	}

	last := ask(t.Context(), "last")
	if _, target := read(); target != large {
		t.Errorf("the request that was begun came as %d bytes", len(target))
	}
	id, target := read()
	answer(id)
	if err := <-last; err != nil || target != "last" {
		t.Errorf("the request for %q came next, and the call ended with %v", target, err)
	}

	begun = ask(t.Context(), large)
	_, err = r.Peek(1)
	check(t, err)
	c.Close()
	if e, ok := errors.AsType[*Error](<-begun); !ok || e.IO != NotConnected || !e.Written {
		t.Errorf("closed while it wrote, the call ended with %v", e)
	}
	rest, err := io.ReadAll(r)
	check(t, err)
	if bytes.Contains(rest, []byte("\n")) {
		t.Error("something was sent after the client was closed")
	}
}

// A connection is kept while it lives, also when another relay has taken the path of its socket. Once it has ended, that
// other one is connected to.
func TestReplacedSocket(t *testing.T) {
	const played = `
		> {"frame":"hello","schema_version":"1","principal_id":"alpha@demo","identity_token":"socket-trust"}
		< {"frame":"hello_ack","schema_version":"1","principal_id":"alpha@demo"}
		> {"frame":"request","request_id":"$1","request":{"operation":"send","message":"RELAY 1","...":""}}
		< {"frame":"response","request_id":"$1","response":{"kind":"send","results":[]}}
		> {"frame":"request","request_id":"$2","request":{"operation":"send","message":"RELAY 2","...":""}}
		< {"frame":"response","request_id":"$2","response":{"kind":"send","results":[]}}
		silence`
	dir := shortDir(t)
	socket := filepath.Join(dir, "relay.sock")
	// Not made in its place: a listener that is closed removes what is at the path that it was made at.
	serve := func(name string) *relaytest.Relay {
		script, err := relaytest.Parse(name, []byte(strings.ReplaceAll(played, "RELAY", name)))
		check(t, err)
		relay, err := relaytest.Listen(filepath.Join(dir, name), script)
		check(t, err)
		check(t, os.Rename(relay.Socket(), socket))
		return relay
	}
	var reasons []string
	c := New(Config{Socket: socket, Principal: "alpha@demo", Reconnecting: func(reason string) { reasons = append(reasons, reason) }})
	defer c.Close()
	send := func(message string) {
		t.Helper()
		_, err := c.Do(t.Context(), "", &wire.Send{RequesterSession: "alpha", Message: message})
		check(t, err)
	}
	first := serve("first")
	send("first 1")
	second := serve("second")
	send("first 2")
	check(t, first.Close())
	send("second 1")
	send("second 2")
	if !slices.Equal(reasons, []string{"eof"}) {
		t.Errorf("connected anew for %q", reasons)
	}
	c.Close()
	check(t, second.Close())
}
