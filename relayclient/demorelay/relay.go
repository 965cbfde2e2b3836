// Package demorelay is a small agentmux relay that lives in the process: sessions, inboxes, panes, replay
// buffers, decisions and credentials, all in memory. It is there so that a tour needs no relay installed,
// and so that tests can look at what a request did, where package relaytest only plays what it was told.
//
// It speaks the relay's side of protocol version 1 as relay 0.8 does (PROTOCOL.md), refusals and their order
// included, with these differences: what can be delivered is delivered at once and never later; no policy
// forbids anything; decisions make no events; bundles start without failures but for those that the world
// gives; blank lines are skipped and others bounded by [wire.DefaultMaxLine]; an empty namespace counts as
// none; a key is never written over an existing file.
package demorelay

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"time"

	"github.com/agentmux/agentmux-go/wire"
)

// kept is how many lines of a pane, entries of a replay buffer, messages of an inbox and requests a relay
// remembers: the newest.
const kept = 1000

// A Relay serves one [World]. Its methods may be called concurrently.
type Relay struct {
	now   func() time.Time
	newID func() string

	life    context.Context // ends with Close: what everything that serves has in common
	end     context.CancelFunc
	serving sync.WaitGroup

	mu         sync.Mutex // guards what follows, and the bundles and sessions in it
	bundles    []*bundle
	users      []*session
	registered map[string]credential  // by principal id
	claims     map[string]*connection // by principal id
	requests   []wire.Operation
}

// New returns a relay that starts as the world says; the world must not be changed afterwards. [Relay.Close]
// ends it.
func New(world World) *Relay {
	r := &Relay{
		now:        world.Now,
		newID:      world.NewID,
		registered: map[string]credential{},
		claims:     map[string]*connection{},
	}
	if r.now == nil {
		r.now = time.Now
	}
	if r.newID == nil {
		r.newID = randomUUID
	}
	r.life, r.end = context.WithCancel(context.Background())
	for _, b := range world.Bundles {
		r.bundles = append(r.bundles, r.newBundle(b))
	}
	for _, user := range world.Users {
		user.Transport = wire.TransportUI
		r.users = append(r.users, newSession(user, wire.NamespaceGlobal, nil))
	}
	return r
}

// Listen opens a Unix socket at path with mode 0600. Only the mode of the directory protects the socket
// until it has its own, so the directory has to be the caller's alone. Closing the listener removes the
// socket.
func Listen(path string) (net.Listener, error) {
	l, err := net.Listen("unix", path)
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(path, 0o600); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

// Serve serves the connections that l accepts until ctx ends or the relay is closed; then it closes l and
// those connections, waits for their goroutines, and returns nil. It does the same where l fails, and
// returns the failure. On a closed relay it returns [net.ErrClosed].
func (r *Relay) Serve(ctx context.Context, l net.Listener) error {
	defer l.Close()
	if !r.enter() {
		return net.ErrClosed
	}
	defer r.serving.Done()
	closeListener := func() { l.Close() }
	defer context.AfterFunc(ctx, closeListener)()
	defer context.AfterFunc(r.life, closeListener)()

	var connections sync.WaitGroup
	defer connections.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	for {
		conn, err := l.Accept()
		if err != nil && (ctx.Err() != nil || r.life.Err() != nil) {
			return nil
		}
		if err != nil {
			return err
		}
		connections.Go(func() {
			_ = r.ServeConn(ctx, conn) // a connection that breaks concerns its client alone
		})
	}
}

// ServeConn serves one connection, a [net.Pipe] for instance, and closes it. It returns nil once the client
// or the relay has hung up, ctx has ended or the relay was closed, and the error where reading failed
// otherwise. On a closed relay it returns [net.ErrClosed].
func (r *Relay) ServeConn(ctx context.Context, conn net.Conn) error {
	if !r.enter() {
		conn.Close()
		return net.ErrClosed
	}
	defer r.serving.Done()
	hangUp := func() { conn.Close() }
	defer context.AfterFunc(ctx, hangUp)()
	defer context.AfterFunc(r.life, hangUp)()

	c := r.newConnection(conn)
	var writer sync.WaitGroup
	writer.Go(c.write)
	err := r.read(c)
	r.mu.Lock()
	r.release(c) // before the client can see the end, so that it can come back at once
	r.mu.Unlock()
	c.finish()
	writer.Wait()
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, net.ErrClosed), errors.Is(err, io.ErrClosedPipe),
		errors.Is(err, os.ErrDeadlineExceeded):
		return nil
	}
	return err
}

// enter reports whether the relay still serves; if so, the caller owes a serving.Done.
func (r *Relay) enter() bool {
	r.mu.Lock() // so that Close never waits while the first one enters
	defer r.mu.Unlock()
	if r.life.Err() != nil {
		return false
	}
	r.serving.Add(1)
	return true
}

// Close closes all listeners and connections that are being served and waits for their goroutines. What
// happened can still be looked at. Closing a closed relay does nothing.
func (r *Relay) Close() {
	r.mu.Lock()
	r.end()
	r.mu.Unlock()
	r.serving.Wait()
}
