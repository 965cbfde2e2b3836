package relayclient

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/agentmux/agentmux-go/wire"
)

// Limits of waiting (PROTOCOL.md, "Connecting" and "Failing and recovering").
const (
	// HelloTimeout bounds one attempt to connect, from the dial to the relay's acknowledgement.
	HelloTimeout = 2 * time.Second
	// ConnectBudget is how long attempts are repeated, counted from the first one. An attempt that is
	// under way may finish its HelloTimeout.
	ConnectBudget = time.Second
	// ResponseTimeout bounds the wait for the answer to one request.
	ResponseTimeout = 5 * time.Second
	// TransitionTimeout takes its place for up and down, which start and stop processes.
	TransitionTimeout = 60 * time.Second
)

// Config says which relay to connect to, and as whom.
type Config struct {
	Socket    string // path of the relay's socket
	Principal string // session@namespace

	// Token returns the identity token. It is asked anew for every hello, after the peer of the socket
	// was found to be trustworthy. Nil stands for [wire.SocketTrust].
	Token func() wire.Secret

	// MaxFrame is the length in bytes up to which a line of the relay is accepted; 0 stands for
	// [wire.DefaultMaxLine]. A longer one fails the calls that wait and ends the connection.
	MaxFrame int

	// Reconnecting is told when a connection that was lost is about to be replaced: "eof",
	// "peer_hup" (the relay said why before it hung up) or "io_error". Nil: nobody is.
	Reconnecting func(reason string)

	// Dial connects to the socket; nil dials the Unix socket and checks that its peer is the same
	// user, or root.
	Dial func(ctx context.Context, socket string) (net.Conn, error)

	// Dialect is that of the relay; nil stands for the one of relay 0.8 and later.
	Dialect *Dialect
}

// A Client performs operations at one relay for one principal. Its methods may be called concurrently.
type Client struct {
	cfg    Config
	feed   *feed
	ctx    context.Context // ends with Close
	cancel context.CancelFunc
	wg     sync.WaitGroup // every goroutine of the client and of its connections

	mu      sync.Mutex
	current *conn    // nil before the first connection
	dialing *dialing // nil while no attempt is under way
}

// dialing is an attempt to connect that any number of calls wait for.
type dialing struct {
	done chan struct{} // closed when conn or err is set
	conn *conn
	err  error
}

// New returns a Client. It connects when the first call needs it to.
func New(cfg Config) *Client {
	if cfg.Token == nil {
		cfg.Token = func() wire.Secret { return wire.NewSecret(wire.SocketTrust) }
	}
	if cfg.Dial == nil {
		cfg.Dial = dialTrusted
	}
	if cfg.Dialect == nil {
		cfg.Dialect = &current
	}
	ctx, cancel := context.WithCancel(context.Background())
	return &Client{cfg: cfg, feed: newFeed(), ctx: ctx, cancel: cancel}
}

// Close hangs up, ends all subscriptions and waits for the client's goroutines. Calls that wait fail;
// later ones fail at once.
func (c *Client) Close() {
	c.cancel()
	c.mu.Lock()
	current := c.current
	c.mu.Unlock()
	if current != nil {
		current.fail(net.ErrClosed)
	}
	c.wg.Wait()
	c.feed.close()
}

// Subscribe returns the events that arrive from now on, buffer of them at most waiting to be received.
func (c *Client) Subscribe(buffer int) *Events { return c.feed.subscribe(buffer) }

// A Reply is the relay's answer to a request that it did not refuse.
type Reply struct {
	Response wire.Response
	Raw      wire.Raw // the response object as it came, kind included
}

// Do performs op in a namespace; "" stands for the principal's own. Send and raww carry their
// namespaces in their targets, and namespace is not looked at.
//
// It waits for a connection, then for the answer, as long as [Dialect.Limit] allows. A connection that was lost before anything of the request was written is replaced and the call
// goes on; once anything was written, op is never sent again.
//
// The error is a [*wire.Error] if the relay refused; an [*UnsupportedError] if it does not know op; a
// [*FarewellError] if it hung up and said why; an [*Error] if no answer came otherwise; the cause of ctx if that
// ended first, in which case the answer is dropped when it comes.
func (c *Client) Do(ctx context.Context, namespace string, op wire.Operation) (*Reply, error) {
	req := &request{id: newRequestID(), operation: op.OperationName(), limit: c.cfg.Dialect.Limit(op)}
	frame := c.cfg.Dialect.Request(req.id, c.cfg.Principal, namespace, op)
	var err error
	if req.frame, err = wire.Encode(frame); err != nil {
		return nil, newError("send", c.cfg.Socket, fmt.Errorf("%w: %w", errInput, err))
	}
	// A relay that accepts connections only to drop them is not worth more than a few.
	const maxConnections = 3
	for n := 1; ; n++ {
		conn, err := c.connection(ctx)
		if err != nil {
			return nil, err
		}
		answer, err := conn.call(ctx, req)
		if unsent, ok := errors.AsType[*unsentError](err); ok {
			if n < maxConnections {
				continue
			}
			return nil, unsent.cause
		}
		if err != nil {
			return nil, err
		}
		return replyOf(answer)
	}
}

// replyOf is what a caller gets for an answer.
func replyOf(answer *wire.ResponseFrame) (*Reply, error) {
	if refusal := refusalIn(answer); refusal != nil {
		return nil, refusal
	}
	return &Reply{Response: answer.Response, Raw: answer.Raw}, nil
}

// connection returns the live connection, making one where there is none. Calls that need one at the
// same time share the attempt and its error; a call that gives up leaves the attempt to the others.
func (c *Client) connection(ctx context.Context) (*conn, error) {
	c.mu.Lock()
	if c.ctx.Err() != nil {
		c.mu.Unlock()
		return nil, newError("connect", c.cfg.Socket, net.ErrClosed)
	}
	if conn := c.current; conn != nil && conn.alive() {
		c.mu.Unlock()
		return conn, nil
	}
	attempt := c.dialing
	if attempt == nil {
		lost := c.current
		attempt = &dialing{done: make(chan struct{})}
		c.dialing, c.current = attempt, nil
		c.wg.Go(func() { c.dial(attempt, lost) })
	}
	c.mu.Unlock()
	select {
	case <-attempt.done:
		return attempt.conn, attempt.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// dial carries out attempt, in place of the connection that was lost, if any.
func (c *Client) dial(attempt *dialing, lost *conn) {
	if lost != nil && c.cfg.Reconnecting != nil {
		c.cfg.Reconnecting(lost.reason())
	}
	attempt.conn, attempt.err = c.connect(c.ctx)
	c.mu.Lock()
	c.current, c.dialing = attempt.conn, nil
	if attempt.conn != nil && c.ctx.Err() != nil { // Close did not see this one
		attempt.conn.fail(net.ErrClosed)
	}
	c.mu.Unlock()
	close(attempt.done)
}

// newRequestID returns a UUID, version 4.
func newRequestID() string {
	var u [16]byte
	_, _ = rand.Read(u[:]) // never fails
	u[6] = u[6]&0x0f | 0x40
	u[8] = u[8]&0x3f | 0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", u[0:4], u[4:6], u[6:8], u[8:10], u[10:16])
}
