package demorelay_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentmux/agentmux-go/relayclient/demorelay"
	"github.com/agentmux/agentmux-go/wire"
)

func TestRequestsAreHandledInOrder(t *testing.T) {
	serve(t, func(t *testing.T, r *demorelay.Relay) {
		c := connect(t, r, "you@demo", wire.SocketTrust)
		for i := range 100 {
			c.say(fmt.Sprintf(`{"frame":"request","request_id":"%d","request":{"operation":"raww","requester_session":"you","target_session":"builder@demo","text":"%d"}}`, i, i))
		}
		for i := range 100 {
			line, err := c.lines.ReadLine()
			if err != nil || !strings.Contains(string(line), fmt.Sprintf(`"request_id":"%d"`, i)) {
				t.Fatalf("answer %d: got %s, %v", i, line, err)
			}
		}
		var got []string
		for _, op := range r.Requests() {
			got = append(got, op.(*wire.Raww).Text)
		}
		pane := r.Pane("builder@demo")
		if len(got) != 100 || got[0] != "0" || got[99] != "99" || pane[2] != "$ 0" || pane[101] != "$ 99" {
			t.Errorf("handled %v, typed %v", got, pane)
		}
	})
}

// A client has 2 s for each line until its hello.
func TestSilentClient(t *testing.T) {
	serve(t, func(t *testing.T, r *demorelay.Relay) {
		c := dial(t, r)
		start := time.Now()
		<-time.After(time.Second) // of the bubble's clock
		c.ask(request(`{"operation":"up"}`))
		if got := c.hear(); got != "closed" {
			t.Errorf("got %s, want closed", got)
		}
		if took := time.Since(start); took != 3*time.Second {
			t.Errorf("hung up after %v, want 2s after its last line", took)
		}
	})
}

// After its hello a client may be silent for as long as it likes.
func TestIdleClient(t *testing.T) {
	serve(t, func(t *testing.T, r *demorelay.Relay) {
		c := connect(t, r, "you@demo", wire.SocketTrust)
		<-time.After(time.Hour)
		if got, want := c.ask(in("other", `{"operation":"choices_list"}`)), `choices_list {"pending_requests":[]}`; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	})
}

// A client that does not read holds up nobody, and is dropped after 5 s.
func TestClientThatDoesNotRead(t *testing.T) {
	serve(t, func(t *testing.T, r *demorelay.Relay) {
		you := connect(t, r, "you@demo", wire.SocketTrust)
		ours, theirs := net.Pipe()
		dropped := make(chan error)
		go func() { dropped <- r.ServeConn(context.Background(), theirs) }()
		board := newClient(t, ours)
		board.ask(hello("dashboard@demo", wire.SocketTrust))

		start := time.Now()
		for range 3 {
			you.ask(request(`{"operation":"send","requester_session":"you","message":"hi","broadcast":false,"targets":["dashboard@demo"]}`))
		}
		if took := time.Since(start); took != 0 {
			t.Errorf("the sender waited for %v", took)
		}
		if err := <-dropped; err != nil {
			t.Error(err)
		}
		if took := time.Since(start); took != 5*time.Second {
			t.Errorf("dropped after %v, want 5s", took)
		}
		connect(t, r, "dashboard@demo", wire.SocketTrust)
	})
}

func TestClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := demorelay.New(testWorld())
		ours, theirs := net.Pipe()
		go r.ServeConn(context.Background(), theirs)
		c := newClient(t, ours)
		c.ask(hello("you@demo", wire.SocketTrust))
		r.Close()
		if err := theirs.SetDeadline(time.Time{}); err != io.ErrClosedPipe {
			t.Errorf("the connection is still open: %v", err)
		}
		if got := c.hear(); got != "closed" {
			t.Errorf("got %s, want closed", got)
		}
		r.Close()
		l := &failingListener{}
		if err := r.Serve(t.Context(), l); !errors.Is(err, net.ErrClosed) || !l.closed {
			t.Errorf("a listener afterwards: %v, closed: %t", err, l.closed)
		}
		_, theirs = net.Pipe()
		if err := r.ServeConn(t.Context(), theirs); !errors.Is(err, net.ErrClosed) {
			t.Errorf("a connection afterwards: %v", err)
		}
		if _, err := theirs.Write([]byte("x")); err != io.ErrClosedPipe {
			t.Errorf("it is still open: %v", err)
		}
		if got := len(r.Inbox("you@demo")) + len(r.Decisions()); got != 1 {
			t.Errorf("a closed relay shows %d things, want its decision", got)
		}
	})
}

func TestContextEndsConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := demorelay.New(testWorld())
		defer r.Close()
		ours, theirs := net.Pipe()
		defer ours.Close()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := r.ServeConn(ctx, theirs); err != nil {
			t.Error(err)
		}
	})
}

// socketPath is short enough for every system.
func socketPath(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "relay")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return filepath.Join(dir, "relay.sock")
}

func TestSocket(t *testing.T) {
	path := socketPath(t)
	l, err := demorelay.Listen(path)
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 || info.Mode().Type() != os.ModeSocket {
		t.Fatalf("socket: %v, %v, want mode 0600", info.Mode(), err)
	}
	r := demorelay.New(testWorld())
	served := make(chan error, 1)
	go func() { served <- r.Serve(t.Context(), l) }()

	conn, err := net.Dial("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	c := newClient(t, conn)
	if got, want := c.ask(hello("you@demo", wire.SocketTrust)), "hello_ack you@demo"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	r.Close()
	if err := <-served; err != nil {
		t.Errorf("Serve: %v", err)
	}
	if got := c.hear(); got != "closed" {
		t.Errorf("got %s, want closed", got)
	}
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the socket is still there: %v", err)
	}
}

func TestListenFails(t *testing.T) {
	if l, err := demorelay.Listen(filepath.Join(socketPath(t), "relay.sock")); err == nil {
		l.Close()
		t.Error("listening in a directory that is not there")
	}
}

func TestServeEndsWithContext(t *testing.T) {
	l, err := demorelay.Listen(socketPath(t))
	if err != nil {
		t.Fatal(err)
	}
	r := demorelay.New(testWorld())
	defer r.Close()
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- r.Serve(ctx, l) }()
	conn, err := net.Dial("unix", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	c := newClient(t, conn)
	c.ask(hello("you@demo", wire.SocketTrust))
	cancel()
	if err := <-served; err != nil {
		t.Errorf("Serve: %v", err)
	}
	if got := c.hear(); got != "closed" {
		t.Errorf("got %s, want closed", got)
	}
}

// A listener that fails ends the connections it accepted.
func TestServeEndsWithItsListener(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := demorelay.New(testWorld())
		defer r.Close()
		ours, theirs := net.Pipe()
		l := &failingListener{conns: []net.Conn{theirs}}
		start := time.Now()
		if err := r.Serve(t.Context(), l); err != io.ErrNoProgress || !time.Now().Equal(start) {
			t.Errorf("Serve: %v after %v", err, time.Since(start))
		}
		if _, err := ours.Read(make([]byte, 1)); err != io.EOF {
			t.Errorf("the accepted connection: %v", err)
		}
		if !l.closed {
			t.Error("the listener is still open")
		}
	})
}

type failingListener struct {
	conns  []net.Conn
	closed bool
}

func (l *failingListener) Accept() (net.Conn, error) {
	if len(l.conns) == 0 {
		return nil, io.ErrNoProgress
	}
	conn := l.conns[0]
	l.conns = l.conns[1:]
	return conn, nil
}

func (l *failingListener) Close() error { l.closed = true; return nil }

func (l *failingListener) Addr() net.Addr { return nil }
