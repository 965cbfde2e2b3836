package relayclient

import (
	"strings"
	"time"

	"github.com/agentmux/agentmux-go/wire"
)

// A Dialect is what differs between generations of relays in how a client speaks to them. All of it is required.
type Dialect struct {
	// Vocabulary reads what the relay says.
	Vocabulary *wire.Vocabulary
	// Hello returns the frame that says who the client is.
	Hello func(principal string, token wire.Secret) wire.Frame
	// Acknowledged returns an error unless the relay's answer to the hello of that principal accepts it. A
	// refusal is not asked about.
	Acknowledged func(answer wire.Frame, principal string) error
	// Request returns the frame that asks for op in a namespace; "" is the principal's own.
	Request func(id, principal, namespace string, op wire.Operation) *wire.RequestFrame
	// Limit is how long op may take.
	Limit func(op wire.Operation) time.Duration
	// Silences is how many attempts to connect have to meet with silence for the relay to be taken to be silent:
	// 1 or more.
	Silences int
	// Timeouts is how many requests in a row have to time out, without a word from the relay, for the connection to
	// be given up: 1 or more.
	Timeouts int
}

// current is the dialect of relay 0.8 and later.
var current = Dialect{
	Vocabulary: wire.Current(),
	Hello: func(principal string, token wire.Secret) wire.Frame {
		return &wire.Hello{SchemaVersion: wire.SchemaVersion, PrincipalID: principal, IdentityToken: token}
	},
	Acknowledged: func(frame wire.Frame, principal string) error {
		ack, ok := frame.(*wire.HelloAck)
		switch {
		case !ok:
			return notThe("hello_ack", frame)
		case ack.SchemaVersion != wire.SchemaVersion:
			return &wire.DecodeError{Key: "hello_ack.schema_version", Want: wire.SchemaVersion, Got: "another version"}
		case ack.PrincipalID != principal:
			return &wire.DecodeError{Key: "hello_ack.principal_id", Want: principal, Got: "another principal"}
		}
		return nil
	},
	Request: func(id, principal, namespace string, op wire.Operation) *wire.RequestFrame {
		switch op.(type) {
		case *wire.Send, *wire.Raww: // their targets name the namespaces
			namespace = ""
		default:
			if namespace == "" {
				_, namespace, _ = strings.Cut(principal, "@")
			}
		}
		return &wire.RequestFrame{RequestID: id, Namespace: namespace, Request: op}
	},
	Limit:    Limit,
	Silences: 1,
	Timeouts: 2,
}

// Limit is how long a relay may take to answer op: [ResponseTimeout], or [TransitionTimeout] for
// up and down.
func Limit(op wire.Operation) time.Duration {
	switch op.(type) {
	case *wire.Up, *wire.Down:
		return TransitionTimeout
	default:
		return ResponseTimeout
	}
}

// notThe is the error of a frame in the place of another one.
func notThe(wanted string, got wire.Frame) error {
	return &wire.DecodeError{Want: wanted, Got: got.FrameKind()}
}
