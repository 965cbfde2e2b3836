package relaytest

import (
	"context"
	"fmt"
	"net"
	"slices"
	"sync"
	"syscall"
)

// A Relay plays a script to the clients that connect, on a socket or over memory. Its methods may be called
// concurrently.
type Relay struct {
	script   *Script
	socket   string
	listener net.Listener   // nil without a socket
	report   func(error)    // told about the first failure; nil: nobody is
	closing  chan struct{}  // closed by Close
	wg       sync.WaitGroup // every goroutine of the relay
	mu       sync.Mutex     // for what follows
	closed   bool           // no more connections
	made     int            // connections so far
	playing  map[*play]bool // those that have not ended
	received []Line         // on all of them
	err      error          // the first failure
}

// A Line is a line that a client sent.
type Line struct {
	Connection int    // from 1, in the order of connecting
	Text       string // without the line end; the last of a connection may be torn
}

// New returns a relay without a socket, to be connected to by [Relay.Dial]. It has to be closed.
func New(s *Script) *Relay {
	return &Relay{script: s, closing: make(chan struct{}), playing: make(map[*play]bool)}
}

// Listen returns a relay on a socket that it makes at the path, which must not exist. It has to be closed.
// The error is the listener's.
func Listen(socket string, s *Script) (*Relay, error) {
	return listen(socket, New(s))
}

func listen(socket string, r *Relay) (*Relay, error) {
	listener, err := net.Listen("unix", socket)
	if err != nil {
		return nil, err
	}
	r.socket, r.listener = socket, listener
	r.wg.Go(r.accept)
	return r, nil
}

// Socket is the path of the relay's socket; "" if it has none.
func (r *Relay) Socket() string { return r.socket }

// Dial connects over memory, whether the relay has a socket or not; neither the context nor the path matters.
// Connections behave as those of a Unix socket do, but have no buffer: a write ends when it was read. The
// error, for a connection that the script does not have, is [syscall.ECONNREFUSED].
func (r *Relay) Dial(_ context.Context, _ string) (net.Conn, error) {
	client, relay := newMemory()
	if !r.begin(relay) {
		return nil, &net.OpError{Op: "dial", Net: "unix", Err: syscall.ECONNREFUSED}
	}
	return client, nil
}

// Received returns what clients have sent so far, in the order of arrival.
func (r *Relay) Received() []Line {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.received)
}

// Close hangs up on all clients, removes the socket, and waits until the relay's goroutines have ended. What
// has arrived from a client is still played. The error is the first failure, the same one however often Close
// is called: an [*Error], unless the socket itself failed.
func (r *Relay) Close() error {
	r.mu.Lock()
	first := !r.closed
	r.closed = true
	if first {
		close(r.closing)
		if r.listener != nil {
			_ = r.listener.Close() // fails only if it was closed, and nobody else does that
		}
		for p := range r.playing {
			p.end()
		}
	}
	r.mu.Unlock()
	r.wg.Wait()

	r.mu.Lock()
	made := r.made
	r.mu.Unlock()
	if n := made + 1; n <= len(r.script.sections) {
		r.fail(&Error{Script: r.script.name, Line: r.script.section(n).line, Problem: fmt.Sprintf("connection %d was never made", n)})
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.err
}

// accept begins a play for each connection to the socket, until that is closed.
func (r *Relay) accept() {
	for {
		conn, err := r.listener.Accept()
		if err != nil {
			select {
			case <-r.closing:
			default:
				r.fail(err)
			}
			return
		}
		r.begin(conn.(*net.UnixConn))
	}
}

// begin plays the next section on conn, in a goroutine. It returns false, and closes conn, if there is none
// or the relay is closed.
func (r *Relay) begin(conn stream) bool {
	r.mu.Lock()
	if r.closed {
		r.mu.Unlock()
		_ = conn.Close()
		return false
	}
	r.made++
	number := r.made
	section := r.script.section(number)
	if section == nil {
		r.mu.Unlock()
		r.fail(r.surplus(number))
		_ = conn.Close()
		return false
	}
	p := newPlay(r, section, number, conn)
	r.playing[p] = true
	r.wg.Go(func() {
		p.run()
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.playing, p)
	})
	r.mu.Unlock()
	return true
}

// surplus is the error of a connection that the script does not have.
func (r *Relay) surplus(number int) *Error {
	e := &Error{Script: r.script.name, Line: 1, Connection: number, Problem: "the script has no connection"}
	if n := len(r.script.sections); n > 0 {
		e.Line, e.Problem = r.script.sections[n-1].last, fmt.Sprintf("the script has no more than %d", n)
	}
	return e
}

func (r *Relay) record(line Line) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.received = append(r.received, line)
}

// fail notes and reports a failure, unless there was one before.
func (r *Relay) fail(err error) {
	r.mu.Lock()
	first := r.err == nil
	if first {
		r.err = err
	}
	r.mu.Unlock()
	if first && r.report != nil {
		r.report(err)
	}
}
