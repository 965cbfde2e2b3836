// Package relay05 is a client of relay 0.5. Such a relay has a socket for each bundle, names a client by session and
// bundle instead of by principal, knows no credentials, and answers a list on a connection of its own, without a
// hello: so the bundles of others can be listed too, whose sockets would not accept a client's session.
//
// What is left is package relayclient's, whose rules and errors hold here too: a [Client] is one of its clients with
// another dialect. PROTOCOL.md of package wire describes the differences ("Relay 0.5").
package relay05

import (
	"context"
	"net"

	"github.com/agentmux/agentmux-go/relayclient"
	"github.com/agentmux/agentmux-go/wire"
	"github.com/agentmux/agentmux-go/wire/wire05"
)

// Config says which relay to connect to, and as whom.
type Config struct {
	Bundle, Session string

	// Socket returns the path of a bundle's socket.
	Socket func(bundle string) string

	// These are as in [relayclient.Config], and may be left out.
	MaxFrame     int
	Reconnecting func(reason string)
	Dial         func(ctx context.Context, socket string) (net.Conn, error)
}

// A Client performs operations at the relay for one session. Its methods may be called concurrently.
type Client struct {
	cfg    Config
	stream *relayclient.Client // to the session's own bundle
}

// New returns a Client. It connects when the first call needs it to.
func New(cfg Config) *Client {
	c := &Client{cfg: cfg}
	stream := c.config(cfg.Bundle)
	stream.Principal = wire.PrincipalID(cfg.Session, cfg.Bundle)
	stream.Reconnecting = cfg.Reconnecting
	c.stream = relayclient.New(stream)
	return c
}

// config is what connections to a bundle's socket have in common.
func (c *Client) config(bundle string) relayclient.Config {
	return relayclient.Config{
		Socket: c.cfg.Socket(bundle), MaxFrame: c.cfg.MaxFrame, Dial: c.cfg.Dial,
		Dialect: dialect(c.cfg.Bundle, c.cfg.Session),
	}
}

// Do performs op, one of package wire05. A [wire05.List] is about bundle, "" for the session's own, and is asked
// on a connection of its own: see [relayclient.Ask]. Any other is about the session's own bundle, and bundle is not
// looked at. The errors are those of [relayclient.Client.Do].
func (c *Client) Do(ctx context.Context, bundle string, op wire.Operation) (*relayclient.Reply, error) {
	list, ok := op.(*wire05.List)
	if !ok {
		return c.stream.Do(ctx, "", op)
	}
	if bundle == "" {
		bundle = c.cfg.Bundle
	}
	return relayclient.Ask(ctx, c.config(bundle), list)
}

// Subscribe is [relayclient.Client.Subscribe]. A relay has events only for sessions that people sit at.
func (c *Client) Subscribe(buffer int) *relayclient.Events { return c.stream.Subscribe(buffer) }

// Close is [relayclient.Client.Close]. Lists that are under way end by themselves.
func (c *Client) Close() { c.stream.Close() }

// silences is how many connections may be silent before the relay is taken to be. It deals connections to a fixed
// number of workers, each of which is held by a client for as long as that stays, so that now and then a new
// connection is dealt to one that never looks at it; the next is dealt to another.
const silences = 2

// timeouts is how many requests may time out on a connection. A relay answers a raww to an agent only when the agent's
// turn is over, and whatever comes on the same connection after that; a new connection it serves at once.
const timeouts = 1

// dialect is that of relay 0.5 for a session of a bundle.
func dialect(bundle, session string) *relayclient.Dialect {
	return &relayclient.Dialect{
		Vocabulary: wire05.Vocabulary(),
		Hello: func(string, wire.Secret) wire.Frame {
			return &wire05.Hello{SchemaVersion: wire.SchemaVersion, BundleName: bundle, SessionID: session}
		},
		Acknowledged: func(answer wire.Frame, _ string) error {
			ack, ok := answer.(*wire05.HelloAck)
			switch {
			case !ok:
				return &wire.DecodeError{Want: "hello_ack", Got: answer.FrameKind()}
			case ack.SchemaVersion != wire.SchemaVersion:
				return &wire.DecodeError{Key: "hello_ack.schema_version", Want: wire.SchemaVersion, Got: "another version"}
			case ack.BundleName != bundle:
				return &wire.DecodeError{Key: "hello_ack.bundle_name", Want: bundle, Got: "another bundle"}
			case ack.SessionID != session:
				return &wire.DecodeError{Key: "hello_ack.session_id", Want: session, Got: "another session"}
			}
			return nil
		},
		Request: func(id, _, _ string, op wire.Operation) *wire.RequestFrame {
			return &wire.RequestFrame{RequestID: id, Request: op}
		},
		Limit:    relayclient.Limit,
		Silences: silences,
		Timeouts: timeouts,
	}
}
