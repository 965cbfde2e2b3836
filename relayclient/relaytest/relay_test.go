package relaytest

import (
	"bufio"
	"errors"
	"io/fs"
	"net"
	"os"
	"strings"
	"testing"
)

func dialSocket(t *testing.T, r *Relay) *client {
	t.Helper()
	conn, err := net.Dial("unix", r.Socket())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return &client{t, conn, bufio.NewReader(conn)}
}

func TestStart(t *testing.T) {
	r := Start(t, `
		> {"frame":"hello","principal_id":"$me","...":""}
		< {"frame":"hello_ack","principal_id":"$me"}
		half-close
		> "more"
		silence
		connection
		<<* 3000000 "x"
		hangup
		connection
		> 3
		< 3
		stall`)
	one := dialSocket(t, r)
	one.send(`{"frame":"hello","principal_id":"a@b"}`)
	one.hearsEnd(`{"frame":"hello_ack","principal_id":"a@b"}` + "\n")
	one.send(`"more"`)
	one.hangUp()

	dialSocket(t, r).hearsEnd(strings.Repeat("x", 3000000))

	three := dialSocket(t, r)
	three.send("3")
	three.hears("3")
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(r.Socket()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the socket after Close: %v, want none", err)
	}
}

// What a client has sent is played even if the relay is closed before it has read it.
func TestCloseAfterSend(t *testing.T) {
	for range 100 {
		r := Start(t, "> 1\n< 1\n> 2\n> 3\nsilence")
		c := dialSocket(t, r)
		c.send("1")
		c.hears("1") // the relay has accepted the connection
		c.send("2", "3")
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestSocketSurplusConnection(t *testing.T) {
	s, err := Parse("s", nil)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	t.Chdir(dir) // keeps the path short
	r, err := Listen("relay.sock", s)
	if err != nil {
		t.Fatal(err)
	}
	dialSocket(t, r).hearsEnd("")
	const want = "s:1: connection 1: the script has no connection"
	if err := r.Close(); err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestListenTaken(t *testing.T) {
	r := Start(t, "")
	s, err := Parse("s", nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Listen(r.Socket(), s); err == nil {
		t.Error("listened on a socket that another relay holds")
	}
}

// A recorder is a test that notes what becomes of it.
type recorder struct {
	testing.TB
	failed  chan string
	cleanup []func()
}

func (r *recorder) Name() string     { return "TestThis" }
func (r *recorder) Helper()          {}
func (r *recorder) Cleanup(f func()) { r.cleanup = append(r.cleanup, f) }
func (r *recorder) Error(args ...any) {
	r.failed <- args[0].(error).Error()
}
func (r *recorder) Fatal(args ...any) {
	r.failed <- "fatal: " + args[0].(error).Error()
	panic(r)
}

func (r *recorder) end() {
	for len(r.cleanup) > 0 {
		last := r.cleanup[len(r.cleanup)-1]
		r.cleanup = r.cleanup[:len(r.cleanup)-1]
		last()
	}
	close(r.failed)
}

func newRecorder(t *testing.T) *recorder { return &recorder{TB: t, failed: make(chan string, 10)} }

func TestStartReportsOnce(t *testing.T) {
	for name, start := range map[string]func(testing.TB, string) *Relay{"socket": Start, "memory": InMemory} {
		test := newRecorder(t)
		r := start(test, "> 1\nconnection")
		var c *client
		if r.Socket() != "" {
			c = dialSocket(t, r)
		} else {
			c = dial(t, r)
		}
		c.send("2")
		const want = "TestThis:1: connection 1: the client sent another line\n\tgot  2\n\twant 1\n\t     (the line: want 1, got 2)"
		if got := <-test.failed; got != want { // while the test still runs
			t.Errorf("%s: reported %q, want %q", name, got, want)
		}
		test.end()
		if again, ok := <-test.failed; ok {
			t.Errorf("%s: reported %q too", name, again)
		}
	}
}

func TestStartReportsUnplayedLines(t *testing.T) {
	test := newRecorder(t)
	InMemory(test, "\n> 1")
	test.end()
	if got, want := <-test.failed, "TestThis:2: connection 1 was never made"; got != want {
		t.Errorf("reported %q, want %q", got, want)
	}
}

func TestStartRefusesABrokenScript(t *testing.T) {
	for _, start := range []func(testing.TB, string) *Relay{Start, InMemory} {
		test := newRecorder(t)
		func() {
			defer func() { _ = recover() }()
			start(test, "\nx")
		}()
		test.end()
		if got, want := <-test.failed, "fatal: TestThis:2: unknown word x"; got != want {
			t.Errorf("reported %q, want %q", got, want)
		}
	}
}
