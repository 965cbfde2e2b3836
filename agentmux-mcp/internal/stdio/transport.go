// Package stdio is the transport between an MCP client and the SDK's engine: JSON-RPC messages, one a
// line, on a pair of streams.
//
// The SDK has a transport of its own. That one ends the process on a line that it can't read, forgets
// answers when the input ends, reads ids as floating point numbers, and answers cancelled calls. This one
// keeps the promises that a server has to make to clients it does not choose:
//
//   - A line that is no request is answered with an error, and the server goes on.
//   - Every call that was read is answered, once, also after the end of the input; a cancelled one never.
//   - An id comes back as it was written. The engine works with ids of ours.
//   - No error has code 0, or text about the engine's Go types.
//   - A client that does not read its answers does not keep the server from reading.
package stdio

import (
	"cmp"
	"context"
	"io"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// DefaultDrainLimit is how long calls may still be answered after the end of the input.
const DefaultDrainLimit = 5 * time.Second

// A Transport is an [mcp.Transport] over a pair of streams. It can be connected once, by a server that asks
// nothing of its client: the client's responses are ignored.
//
// [mcp.Server.Run] returns nil when the input ended or the client stopped reading, and the error of the stream
// if one of them failed for another reason.
type Transport struct {
	// Reader is the input. It is closed with the connection if it is an [io.Closer].
	Reader io.Reader
	// Writer is the output. It gets each message as one Write, its newline included, and is never closed.
	Writer io.Writer
	// DrainLimit replaces [DefaultDrainLimit] if it is not 0.
	DrainLimit time.Duration
	// MaxLine is the length of the longest line that is read, in bytes without the line end;
	// 0 stands for [mcp.DefaultMaxLineLength]. A longer line is answered with an error.
	MaxLine int
}

// Connect starts to read and to write. The connection ends with ctx, with the input, or when the output fails.
// It never fails.
func (t *Transport) Connect(ctx context.Context) (mcp.Connection, error) {
	c := &conn{
		reader:     t.Reader,
		writer:     t.Writer,
		drainLimit: cmp.Or(t.DrainLimit, DefaultDrainLimit),
		messages:   make(chan jsonrpc.Message),
		wake:       make(chan struct{}, 1),
		ended:      make(chan struct{}),
	}
	context.AfterFunc(ctx, func() { c.end(context.Cause(ctx)) })
	go c.readLines(cmp.Or(t.MaxLine, mcp.DefaultMaxLineLength))
	go c.writeLines()
	return c, nil
}

// A conn is the connection. Two goroutines belong to it, since neither a Read nor a Write on a standard stream
// can be interrupted: readLines and writeLines. Both end with the connection, or, where their stream is
// blocked, with the process.
type conn struct {
	reader     io.Reader
	writer     io.Writer
	drainLimit time.Duration

	messages chan jsonrpc.Message // from readLines, which closes it at the end of the input
	inputErr error                // what the input ended with; set before messages is closed

	mu      sync.Mutex // guards what follows; held by update
	calls   calls
	queue   [][]byte      // lines to write; the first stays until it is written
	drained chan struct{} // closed once nothing is owed to the client; nil while the input lasts

	wake chan struct{} // tells writeLines that the queue is not empty

	endOnce sync.Once
	ended   chan struct{}
	endErr  error // what the connection ended with; set before ended is closed
}

// SessionID returns "": a process has one session.
func (c *conn) SessionID() string { return "" }

// Read returns the next message for the engine. Since the engine abandons all calls when Read fails, Read
// holds the end of the input back until the calls are answered, or the drain limit is over.
func (c *conn) Read(ctx context.Context) (jsonrpc.Message, error) {
	select {
	case msg, ok := <-c.messages:
		if ok {
			return msg, nil
		}
	case <-c.ended:
		return nil, c.endErr
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}

	drained := make(chan struct{})
	c.update(func() { c.drained = drained })
	limit := time.NewTimer(c.drainLimit)
	defer limit.Stop()
	select {
	case <-drained:
	case <-limit.C:
	case <-c.ended:
	case <-ctx.Done():
	}
	c.end(c.inputErr)
	return nil, c.endErr
}

// Write queues one message of the engine. It does not wait for the client, so a failing stream is reported by
// Read, and by the writes after it.
func (c *conn) Write(_ context.Context, msg jsonrpc.Message) error {
	select {
	case <-c.ended:
		return c.endErr
	default:
	}
	switch msg := msg.(type) {
	case *jsonrpc.Response:
		c.respond(msg)
		return nil
	case *jsonrpc.Request:
		return c.notify(msg)
	}
	return nil
}

// Close ends the connection. Lines that are still queued may be lost.
func (c *conn) Close() error {
	c.end(io.EOF)
	return nil
}

func (c *conn) end(err error) {
	c.endOnce.Do(func() {
		c.endErr = err
		close(c.ended)
		if closer, ok := c.reader.(io.Closer); ok {
			_ = closer.Close() // nothing more is wanted from it
		}
	})
}

// update changes the guarded state. All changes go through it, so that none is missed that settles
// the last debt to the client.
func (c *conn) update(change func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	change()
	if c.drained != nil && c.calls.owed() == 0 && len(c.queue) == 0 {
		close(c.drained)
		c.drained = nil
	}
}

// inFlight returns a call in flight by the engine's id.
func (c *conn) inFlight(engine jsonrpc.ID) (found call, ok bool) {
	c.update(func() {
		var in *call
		if in, ok = c.calls.byEngine[engine]; ok {
			found = *in
		}
	})
	return found, ok
}
