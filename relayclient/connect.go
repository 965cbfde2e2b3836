package relayclient

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/agentmux/agentmux-go/wire"
)

// Waits between attempts to connect: the first interval, and what doubling it ends at.
const (
	firstBackoff = 50 * time.Millisecond
	maxBackoff   = 400 * time.Millisecond
)

// connect makes a connection and says hello, again and again within [ConnectBudget] where that can help.
func (c *Client) connect(ctx context.Context) (*conn, error) {
	deadline := time.Now().Add(ConnectBudget)
	for backoff := firstBackoff; ; backoff = min(2*backoff, maxBackoff) {
		conn, op, err := c.attempt(ctx)
		if err == nil {
			return conn, nil
		}
		left := time.Until(deadline)
		if ctx.Err() != nil || !transient(err) || left <= 0 {
			return nil, c.connectError(op, err)
		}
		pause := time.NewTimer(min(left, backoff/2+rand.N(backoff/2)))
		select {
		case <-pause.C:
		case <-ctx.Done():
			pause.Stop()
			return nil, c.connectError(op, err)
		}
	}
}

// connectError makes what the last attempt ended with into the error of connecting.
func (c *Client) connectError(op string, err error) error {
	e := newError(op, c.cfg.Socket, err)
	if code, ok := saturated(err); ok {
		e.Kind, e.IO = Timeout, TimedOut
		if code == codeClaimConflict {
			e.Err = fmt.Errorf("%s is connected elsewhere and stayed so for %v: %w", c.cfg.Principal, ConnectBudget, err)
		} else {
			e.Err = fmt.Errorf("the relay stayed full for %v: %w", ConnectBudget, err)
		}
	}
	return e
}

// attempt connects once. On failure it returns the step that failed.
func (c *Client) attempt(ctx context.Context) (_ *conn, op string, _ error) {
	ctx, cancel := context.WithTimeout(ctx, HelloTimeout)
	defer cancel()
	stream, err := c.cfg.Dial(ctx, c.cfg.Socket)
	if err != nil {
		return nil, "connect", err
	}
	token := c.cfg.Token()
	hello, err := wire.Encode(&wire.Hello{
		SchemaVersion: wire.SchemaVersion,
		PrincipalID:   c.cfg.Principal,
		IdentityToken: token,
	})
	if err != nil {
		_ = stream.Close()
		return nil, "hello", err
	}
	conn := c.start(stream, token)
	if err := conn.hello(ctx, hello, c.cfg.Principal); err != nil {
		conn.fail(err)
		return nil, "hello", err
	}
	return conn, "", nil
}
