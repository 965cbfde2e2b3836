package relayclient

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"time"

	"github.com/agentmux/agentmux-go/wire"
)

// Waits between attempts to connect: the first interval, and what doubling it ends at.
const (
	firstBackoff = 50 * time.Millisecond
	maxBackoff   = 400 * time.Millisecond
)

// connect makes a connection on which the relay acknowledges the hello.
func (c *Client) connect(ctx context.Context) (*conn, error) {
	conn, _, err := c.open(ctx, opening{
		op:    "hello",
		frame: func(token wire.Secret) wire.Frame { return c.cfg.Dialect.Hello(c.cfg.Principal, token) },
		check: func(answer wire.Frame) error {
			if refusal := refusalIn(answer); refusal != nil {
				return refusal
			}
			return c.cfg.Dialect.Acknowledged(answer, c.cfg.Principal)
		},
		late: timeoutError(fmt.Sprintf("the hello was not acknowledged within %v", HelloTimeout)),
	})
	if err != nil {
		return nil, c.connectError(err)
	}
	return conn, nil
}

// Ask performs op on a connection that is made for it, without a hello and so for nobody in particular, as relay
// 0.5 allows for its list. Of cfg, Principal, Token and Reconnecting are not looked at. It must be an operation
// without side effects: where the relay stays silent, it is asked again, [Dialect.Silences] times in all and
// [HelloTimeout] each time. The errors are those of [Client.Do], but for [UnsupportedError]: a relay that does not
// know bare requests, which are all that can be asked so, has refused what opens a connection, as with a hello.
func Ask(ctx context.Context, cfg Config, op wire.Operation) (*Reply, error) {
	cfg.Token = nil
	c := New(cfg)
	defer c.Close()
	conn, answer, err := c.open(ctx, opening{
		op:    "receive",
		frame: func(wire.Secret) wire.Frame { return &wire.RequestFrame{Request: op, Bare: true} },
		check: checkAnswer,
		late:  timeoutError(fmt.Sprintf("no answer came within %v", HelloTimeout)),
	})
	if err != nil {
		return nil, c.askError(ctx, err)
	}
	conn.fail(net.ErrClosed)
	return replyOf(answer.(*wire.ResponseFrame)) // says checkAnswer
}

// checkAnswer returns an error unless frame answers a bare request. That can be a refusal, but not of the line or of
// the connection: whoever does not answer a bare line with another has not understood it.
func checkAnswer(frame wire.Frame) error {
	response, ok := frame.(*wire.ResponseFrame)
	if !ok {
		return notThe("response", frame)
	}
	refusal := refusalIn(frame)
	if refusal == nil {
		return nil
	}
	if _, full := saturated(refusal); full || !response.Bare {
		return refusal
	}
	return nil
}

// refusalIn returns what a relay says no with; nil if frame is something else.
func refusalIn(frame wire.Frame) *wire.Error {
	if response, ok := frame.(*wire.ResponseFrame); ok {
		if refusal, ok := response.Response.(*wire.ErrorResponse); ok {
			return &refusal.Error
		}
	}
	return nil
}

// askError is the error of Ask for what opening ended with.
func (c *Client) askError(ctx context.Context, err *openError) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	e := c.connectError(err)
	_, refused := errors.AsType[*wire.Error](err)
	e.Written = err.op != "connect" && !refused
	return e
}

// An opening is what is said first on a connection, and has an answer.
type opening struct {
	op    string // what an error calls it
	frame func(token wire.Secret) wire.Frame
	check func(answer wire.Frame) error // nil for an answer that will do
	late  timeoutError                  // what went wrong where no answer comes
}

// An openError is a connection that was not made, and the step that failed.
type openError struct {
	op    string
	cause error
}

func (e *openError) Error() string { return e.cause.Error() }
func (e *openError) Unwrap() error { return e.cause }

// open makes a connection on which the relay answers the opening, again and again within [ConnectBudget] where that
// can help.
func (c *Client) open(ctx context.Context, o opening) (*conn, wire.Frame, *openError) {
	deadline := time.Now().Add(ConnectBudget)
	silences := 0
	for backoff := firstBackoff; ; backoff = min(2*backoff, maxBackoff) {
		conn, answer, err := c.attempt(ctx, o)
		if err == nil {
			return conn, answer, nil
		}
		if errors.Is(err.cause, o.late) {
			silences++
		}
		left := time.Until(deadline)
		again := left > 0 && transient(err.cause) || silences > 0 && silences < c.cfg.Dialect.Silences
		if ctx.Err() != nil || !again {
			return nil, nil, err
		}
		pause := time.NewTimer(min(max(left, 0), backoff/2+rand.N(backoff/2)))
		select {
		case <-pause.C:
		case <-ctx.Done():
			pause.Stop()
			return nil, nil, err
		}
	}
}

// connectError makes what the last attempt ended with into the error of connecting.
func (c *Client) connectError(err *openError) *Error {
	e := newError(err.op, c.cfg.Socket, err.cause)
	if code, ok := saturated(err.cause); ok {
		e.Kind, e.IO = Timeout, TimedOut
		if code == codeClaimConflict {
			e.Err = fmt.Errorf("%s is connected elsewhere and stayed so for %v: %w", c.cfg.Principal, ConnectBudget, err.cause)
		} else {
			e.Err = fmt.Errorf("the relay stayed full for %v: %w", ConnectBudget, err.cause)
		}
	}
	return e
}

// attempt connects once.
func (c *Client) attempt(ctx context.Context, o opening) (*conn, wire.Frame, *openError) {
	ctx, cancel := context.WithTimeout(ctx, HelloTimeout)
	defer cancel()
	stream, err := c.cfg.Dial(ctx, c.cfg.Socket)
	if err != nil {
		return nil, nil, &openError{"connect", err}
	}
	token := c.cfg.Token()
	frame, err := wire.Encode(o.frame(token))
	if err != nil {
		_ = stream.Close()
		return nil, nil, &openError{o.op, fmt.Errorf("%w: %w", errInput, err)}
	}
	conn := c.start(stream, token)
	answer, err := conn.open(ctx, frame, o.late)
	if err == nil {
		err = o.check(answer)
	}
	if err != nil {
		conn.fail(err)
		return nil, nil, &openError{o.op, err}
	}
	return conn, answer, nil
}
