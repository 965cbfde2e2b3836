package relayclient

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/agentmux/agentmux-go/wire"
)

// farewellLimit is how long a connection that can't be written to is read for what the relay still had
// to say.
const farewellLimit = 500 * time.Millisecond

// A conn is one connection. Its reader and its writer are goroutines of the client's; both end when the
// connection dies, which fail brings about.
type conn struct {
	stream  net.Conn
	socket  string
	dialect *Dialect
	token   wire.Secret
	events  *feed
	writes  chan *outgoing  // unbuffered: what is handed over is being written
	first   chan wire.Frame // takes the answer to what opened the connection
	dead    chan struct{}   // closed by fail

	mu         sync.Mutex
	opened     bool                                // first has been given its value
	waiting    map[string]chan *wire.ResponseFrame // by request id; each takes one answer
	unanswered []string                            // ids of requests, in the order in which they were written
	farewell   *farewell                           // the last thing that the relay said to nobody
	silence    int                                 // requests that timed out since the relay was last heard
	cause      error                               // what it died of; set before dead is closed
}

// A farewell is a refusal that answers no request. The relay hangs up after it, when it has answered what it still will.
type farewell struct {
	refusal *wire.Error
	pending []string // ids of the requests that had no answer then, the oldest first
}

// A request is one that can be written to any connection.
type request struct {
	id        string
	operation string
	frame     []byte
	limit     time.Duration // of the wait for its answer
}

// outgoing is a frame for the writer.
type outgoing struct {
	id     string // of the request; "" for what opens the connection
	frame  []byte
	result chan written // takes one value
}

type written struct {
	n   int // bytes that the kernel took
	err error
}

// An unsentError means that a connection died before anything of the request was written to it.
type unsentError struct{ cause error }

func (e *unsentError) Error() string { return e.cause.Error() }

// errSilent is what a connection dies of when the relay no longer answers.
var errSilent = timeoutError("the last requests got no answer")

// start begins reading and writing stream.
func (c *Client) start(stream net.Conn, token wire.Secret) *conn {
	conn := &conn{
		stream:  stream,
		socket:  c.cfg.Socket,
		dialect: c.cfg.Dialect,
		token:   token,
		events:  c.feed,
		writes:  make(chan *outgoing),
		first:   make(chan wire.Frame, 1),
		dead:    make(chan struct{}),
		waiting: make(map[string]chan *wire.ResponseFrame),
	}
	c.wg.Go(func() { conn.read(c.cfg.MaxFrame) })
	c.wg.Go(conn.write)
	return conn
}

// open says what opens the connection and returns the relay's answer to it. The error is late if none came in time.
func (c *conn) open(ctx context.Context, frame []byte, late error) (wire.Frame, error) {
	select {
	case c.writes <- &outgoing{"", frame, make(chan written, 1)}:
	case <-c.dead:
	}
	select {
	case answer := <-c.first:
		return answer, nil
	case <-ctx.Done():
		if ctx.Err() == context.Canceled {
			return nil, net.ErrClosed // by Close
		}
		return nil, late
	case <-c.dead:
	}
	select { // the relay may have answered before it hung up
	case answer := <-c.first:
		return answer, nil
	default:
		return nil, c.cause
	}
}

// call writes a request and waits for its answer. The error is an [*unsentError] if nothing was written.
func (c *conn) call(ctx context.Context, req *request) (*wire.ResponseFrame, error) {
	answer := make(chan *wire.ResponseFrame, 1)
	c.expect(req.id, answer)
	defer c.forget(req.id)
	timer := time.NewTimer(req.limit)
	defer timer.Stop()

	out := &outgoing{req.id, req.frame, make(chan written, 1)}
	select {
	case c.writes <- out:
	case <-c.dead:
		return nil, &unsentError{c.lost()}
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	case <-timer.C:
		c.timedOut(req.id)
		return nil, newError("send", c.socket, timeoutError(fmt.Sprintf("the request was not taken within %v", req.limit)))
	}

	select {
	case a := <-answer:
		return a, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	case <-timer.C:
		c.timedOut(req.id)
		e := newError("receive", c.socket, timeoutError(fmt.Sprintf("no answer came within %v", req.limit)))
		e.Written = true
		return nil, e
	case <-c.dead:
	}
	select { // the answer may have been the last thing that came
	case a := <-answer:
		return a, nil
	default:
	}
	if w := <-out.result; w.n == 0 {
		return nil, &unsentError{c.lost()}
	}
	return nil, c.lostWritten(req)
}

// lost is the error of a request that the connection died before.
func (c *conn) lost() *Error { return newError("receive", c.socket, c.cause) }

// lostWritten is the error of a request that was written and not answered before the connection died: what
// the relay said before it hung up, if anything.
func (c *conn) lostWritten(req *request) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.lost()
	e.Written = true
	if c.farewell == nil || e.Kind != Unavailable {
		return e
	}
	refusal := c.farewell.refusal
	switch i := slices.Index(c.farewell.pending, req.id); {
	case i < 0: // it was written after that
		return e
	case refusal.Code != codeUnreadable:
		return &FarewellError{refusal}
	case i == 0:
		return &UnsupportedError{req.operation, refusal}
	default:
		e.Err = fmt.Errorf("the relay could not read another request: %w", c.cause)
		return e
	}
}

func (c *conn) expect(id string, answer chan *wire.ResponseFrame) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.waiting[id] = answer
}

func (c *conn) forget(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.waiting, id)
}

// timedOut notes that a request got no answer. A connection on which the relay was silent throughout
// [Dialect.Timeouts] of them in a row is given up, unless another request still has time: while the relay works on
// that one, the silence means nothing, and a new hello would be refused.
func (c *conn) timedOut(id string) {
	c.mu.Lock()
	delete(c.waiting, id)
	c.silence++
	silent := c.silence >= c.dialect.Timeouts && len(c.waiting) == 0
	c.mu.Unlock()
	if silent {
		c.fail(errSilent)
	}
}

// heard notes that something came from the relay.
func (c *conn) heard() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.silence = 0
}

func (c *conn) alive() bool {
	select {
	case <-c.dead:
		return false
	default:
		return true
	}
}

// fail ends the connection. The first cause counts.
func (c *conn) fail(cause error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.alive() {
		return
	}
	c.cause = cause
	close(c.dead)
	_ = c.stream.Close() // whatever it says, nothing can be done about it
}

// reason is what [Config.Reconnecting] is told about a dead connection.
func (c *conn) reason() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case ioKind(c.cause) != UnexpectedEOF:
		return "io_error"
	case c.farewell != nil:
		return "peer_hup"
	default:
		return "eof"
	}
}

// write writes what calls hand over, until the connection dies.
func (c *conn) write() {
	for {
		select {
		case out := <-c.writes:
			c.writing(out.id)
			n, err := c.stream.Write(out.frame)
			out.result <- written{n, err}
			if err != nil {
				c.awaitFarewell(err)
				return
			}
		case <-c.dead:
			return
		}
	}
}

// writing notes that a request is about to be written.
func (c *conn) writing(id string) {
	if id == "" {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.unanswered = append(c.unanswered, id)
}

// awaitFarewell leaves the reader time to read what the relay said before it hung up, and to find the end.
func (c *conn) awaitFarewell(err error) {
	limit := time.NewTimer(farewellLimit)
	defer limit.Stop()
	select {
	case <-c.dead:
	case <-limit.C:
		c.fail(err)
	}
}

// read hands on what the relay says, until the connection dies.
func (c *conn) read(maxFrame int) {
	lines := wire.NewLineReader(hearing{c}, maxFrame)
	for {
		line, err := lines.ReadLine()
		if err == nil {
			err = c.receive(line)
		}
		if err != nil {
			c.fail(err)
			return
		}
	}
}

// hearing reads the stream and tells the connection that something came.
type hearing struct{ c *conn }

func (h hearing) Read(p []byte) (int, error) {
	n, err := h.c.stream.Read(p)
	if n > 0 {
		h.c.heard()
	}
	return n, err
}

// receive hands one line on. An error is a broken protocol, of which the connection dies.
func (c *conn) receive(line []byte) error {
	frame, err := c.dialect.Vocabulary.Decode(line)
	if err != nil {
		return err
	}
	switch frame := frame.(type) {
	case *wire.EventFrame:
		c.events.offer(frame.Event)
	case *wire.ResponseFrame:
		return c.answer(frame)
	default:
		if frame.FrameKind() == "hello_ack" {
			c.acknowledge(frame)
		}
	}
	return nil
}

// acknowledge hands on the answer to what opened the connection. There is one; what comes later answers nothing,
// and acknowledge returns false.
func (c *conn) acknowledge(frame wire.Frame) bool {
	c.mu.Lock()
	later := c.opened
	c.opened = true
	c.mu.Unlock()
	if !later {
		c.first <- frame
	}
	return !later
}

// answer hands a response to the call that waits for it, if one does.
func (c *conn) answer(frame *wire.ResponseFrame) error {
	refusal := refusalIn(frame)
	if refusal != nil {
		c.hideToken(refusal)
	}
	switch {
	case frame.RequestID != nil:
		if answer := c.take(*frame.RequestID); answer != nil {
			answer <- frame
		}
	case refusal != nil:
		c.mu.Lock()
		c.farewell = &farewell{refusal, slices.Clone(c.unanswered)}
		c.mu.Unlock()
		c.acknowledge(frame)
	case frame.Bare && !c.acknowledge(frame):
		return &wire.DecodeError{Key: "frame", Want: "a string", Got: "nothing"}
	}
	return nil
}

// take returns where the answer to a request is to go, nil if nobody waits for it. A second answer to the same
// request is nobody's.
func (c *conn) take(id string) chan *wire.ResponseFrame {
	c.mu.Lock()
	defer c.mu.Unlock()
	answer := c.waiting[id]
	delete(c.waiting, id)
	c.unanswered = slices.DeleteFunc(c.unanswered, func(written string) bool { return written == id })
	return answer
}

// hideToken masks the identity token, should the relay repeat it in a refusal.
func (c *conn) hideToken(refusal *wire.Error) {
	token := c.token.Reveal()
	if token == "" || token == wire.SocketTrust {
		return
	}
	refusal.Message = strings.ReplaceAll(refusal.Message, token, wire.SecretMask)
	refusal.Details = []byte(strings.ReplaceAll(string(refusal.Details), token, wire.SecretMask))
	if len(refusal.Details) == 0 {
		refusal.Details = nil
	}
}
