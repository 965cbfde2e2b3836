package stdio

import (
	"errors"
	"fmt"
	"io"
	"syscall"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// refuse answers a line that is no request. An error with the id of a call in flight would be taken for that
// call's answer, so it goes without.
func (c *conn) refuse(r *refusal) {
	c.update(func() {
		id := r.id.raw
		if c.calls.has(r.id) {
			id = nil
		}
		c.send(answer{ID: id, Error: r.err}.line())
	})
}

// respond writes the engine's answer to a call.
func (c *conn) respond(response *jsonrpc.Response) {
	call, ok := c.inFlight(response.ID)
	if !ok {
		return
	}
	a := answer{ID: call.id.raw, Result: response.Result}
	switch {
	case response.Error != nil:
		a.Error = protocolError(response.Error, call.method)
	case call.method == listenMethod:
		a.Result, _ = c.nameSubscription(a.Result)
	}
	line := a.line()
	c.update(func() {
		// In one step with the end of the call: the client may use the id again as soon as it reads the line,
		// and the end of the input must not come between.
		if c.calls.finish(response.ID) {
			c.send(line)
		}
	})
}

// notify writes a notification of the engine.
func (c *conn) notify(n *jsonrpc.Request) error {
	params, subscription := c.nameSubscription(n.Params)
	line, err := jsonrpc.EncodeMessage(&jsonrpc.Request{ID: n.ID, Method: n.Method, Params: params})
	if err != nil {
		return fmt.Errorf("encode %s: %w", n.Method, err)
	}
	c.update(func() {
		if parks(n) {
			c.calls.park(subscription)
		}
		c.send(append(line, '\n'))
	})
	return nil
}

// writeLines writes the queue, one line after the other.
func (c *conn) writeLines() {
	for {
		line := c.next()
		if line == nil {
			select {
			case <-c.wake:
				continue
			case <-c.ended:
				return
			}
		}
		if _, err := c.writer.Write(line); err != nil {
			c.end(writeError(err))
			return
		}
		c.update(func() {
			c.queue[0] = nil
			c.queue = c.queue[1:]
		})
	}
}

// next returns the first line of the queue, nil if there is none.
func (c *conn) next() (line []byte) {
	c.update(func() {
		if len(c.queue) > 0 {
			line = c.queue[0]
		}
	})
	return line
}

// writeError returns io.EOF for the error of a client that is gone, which is an end like any other.
func writeError(err error) error {
	if errors.Is(err, syscall.EPIPE) || errors.Is(err, io.ErrClosedPipe) {
		return io.EOF
	}
	return err
}

// send queues a line. It is called within update.
func (c *conn) send(line []byte) {
	c.queue = append(c.queue, line)
	select {
	case c.wake <- struct{}{}:
	default:
	}
}
