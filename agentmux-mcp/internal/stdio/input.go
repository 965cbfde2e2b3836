package stdio

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/agentmux/agentmux-go/wire"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

var byteOrderMark = []byte("\uFEFF")

// readLines hands the messages of the input to Read, and answers what is none.
func (c *conn) readLines(maxLine int) {
	defer close(c.messages)
	lines := wire.NewLineReader(c.reader, maxLine)
	for first := true; ; first = false {
		line, err := lines.ReadLine()
		if tooLong, ok := errors.AsType[*wire.LineTooLongError](err); ok {
			c.refuse(&refusal{err: invalidRequest(tooLong.Error() + "; send less in one message")})
			continue
		}
		if line == nil { // an error with a line is the end of the input inside of that line
			c.inputErr = err
			return
		}
		if first {
			line = bytes.TrimPrefix(line, byteOrderMark)
			if len(bytes.TrimSpace(line)) == 0 {
				continue
			}
		}
		msg := c.accept(line)
		if msg == nil {
			continue
		}
		select {
		case c.messages <- msg:
		case <-c.ended:
			return
		}
	}
}

// accept returns what the engine is to know of a line: nil for a line that is answered or ignored here.
func (c *conn) accept(line []byte) jsonrpc.Message {
	m, refused := parse(line)
	switch {
	case refused != nil:
		c.refuse(refused)
		return nil
	case m == nil:
		return nil
	case m.isCall():
		return c.begin(m)
	case m.method == cancelMethod:
		return c.cancel(m)
	default:
		return &jsonrpc.Request{Method: m.method, Params: m.params}
	}
}

// begin enters a call and returns it as the engine is to know it.
func (c *conn) begin(m *message) jsonrpc.Message {
	var engine jsonrpc.ID
	c.update(func() {
		if !c.calls.has(m.id) {
			engine = c.calls.begin(m.id, m.method)
		}
	})
	if !engine.IsValid() {
		c.refuse(&refusal{m.id, invalidRequest(
			"the id " + string(m.id.raw) + " belongs to a call that is not answered yet; use another")})
		return nil
	}
	return &jsonrpc.Request{ID: engine, Method: m.method, Params: m.params}
}

// cancel passes a cancellation on. The client's reason is left out: nothing reads it, and the engine would not
// cancel for a reason that is no string.
func (c *conn) cancel(m *message) jsonrpc.Message {
	id, ok := parseID(members(m.params)["requestId"])
	if !ok {
		return nil
	}
	var engine jsonrpc.ID
	c.update(func() { engine, ok = c.calls.cancel(id) })
	if !ok {
		return nil
	}
	return &jsonrpc.Request{Method: cancelMethod, Params: fmt.Appendf(nil, `{"requestId":%v}`, engine.Raw())}
}
