package demorelay

import (
	"encoding/json"
	"io"
	"net"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/agentmux/agentmux-go/wire"
)

const (
	// helloTimeout is how long a connection may take for each line until its hello.
	helloTimeout = 2 * time.Second
	// writeTimeout is how long a client may leave a line unread before it is dropped.
	writeTimeout = 5 * time.Second
)

// A connection is one client. Lines for it are queued, so that no client holds up another's request.
type connection struct {
	conn net.Conn
	id   string

	// Guarded by the relay's mutex.
	principal     string // "" until hello
	home          string // namespace of principal
	authenticated bool   // by a registered key, not by trust in the socket
	revoked       bool   // hang up once the request at hand is answered

	mu       sync.Mutex
	changed  sync.Cond // queue or finished
	queue    [][]byte
	finished bool // hang up once the queue is written
}

func (r *Relay) newConnection(conn net.Conn) *connection {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := &connection{conn: conn, id: r.newID()}
	c.changed.L = &c.mu
	return c
}

// push queues f for the client.
func (c *connection) push(f wire.Frame) error {
	line, err := wire.Encode(f)
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.queue = append(c.queue, line)
	c.changed.Signal()
	return nil
}

// respond queues the answer to the request with that id, nil for an answer to none.
func (c *connection) respond(id *string, response wire.Response) {
	if err := c.push(&wire.ResponseFrame{RequestID: id, Response: response}); err != nil {
		// The world holds a raw value that is not JSON. The refusal holds none, so it can be encoded.
		_ = c.push(&wire.ResponseFrame{RequestID: id, Response: refusal(unexpected("no answer can be encoded", err))})
	}
}

// identity is what the answers say of an authenticated requester: nil where the socket is trusted.
func (c *connection) identity() json.RawMessage {
	if !c.authenticated {
		return nil
	}
	return jsonOf(c.principal)
}

// finish lets the connection end once everything queued is written.
func (c *connection) finish() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.finished = true
	c.changed.Signal()
}

// next waits for queued lines; none means the end.
func (c *connection) next() [][]byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	for len(c.queue) == 0 && !c.finished {
		c.changed.Wait()
	}
	lines := c.queue
	c.queue = nil
	return lines
}

// write writes what is queued, then hangs up.
func (c *connection) write() {
	defer c.conn.Close()
	for lines := c.next(); len(lines) > 0; lines = c.next() {
		for _, line := range lines {
			_ = c.conn.SetWriteDeadline(time.Now().Add(writeTimeout))
			if _, err := c.conn.Write(line); err != nil {
				return // nobody reads any more
			}
		}
	}
}

// read handles the client's lines in their order, until one side hangs up.
func (r *Relay) read(c *connection) error {
	lines := wire.NewLineReader(c.conn, wire.DefaultMaxLine)
	for {
		var deadline time.Time // none, once there was a hello
		if c.principal == "" {
			deadline = time.Now().Add(helloTimeout)
		}
		_ = c.conn.SetReadDeadline(deadline) // a connection that is broken says so when it is read
		line, err := lines.ReadLine()
		unterminated := err == io.ErrUnexpectedEOF // a line all the same
		if err != nil && !unterminated {
			return err
		}
		if !r.handle(c, line) || unterminated {
			return nil
		}
	}
}

// handle answers one line and reports whether the connection goes on.
func (r *Relay) handle(c *connection, line []byte) bool {
	if !utf8.Valid(line) {
		return false
	}
	hello, request, err := parse(line)
	if err != nil {
		c.respond(nil, refusal(unparsable(err)))
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if hello != nil {
		if refused := r.hello(c, hello); refused != nil {
			c.respond(nil, refusal(refused))
			return false
		}
		return true
	}
	r.requests = newest(append(r.requests, request.Request))
	response, refused := r.answer(c, request)
	if refused != nil {
		response = refusal(refused)
	}
	var id *string
	if request.RequestID != "" {
		id = &request.RequestID
	}
	c.respond(id, response)
	return !c.revoked
}
