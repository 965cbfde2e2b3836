package wire

import (
	"bytes"
	"reflect"
)

// SchemaVersion is the version of the protocol that this package speaks: the value of every
// schema_version.
const SchemaVersion = "1"

// A Frame is one line of the protocol: [*Hello] and [*RequestFrame] from the client, [*HelloAck],
// [*ResponseFrame] and [*EventFrame] from the relay, [*UnknownFrame] from a peer of another version.
type Frame interface {
	// FrameKind is the value of the frame key.
	FrameKind() string
}

// Hello is the first frame of a connection: who the client is (PROTOCOL.md, "hello").
type Hello struct {
	SchemaVersion string `json:"schema_version"` // [SchemaVersion]
	PrincipalID   string `json:"principal_id" wire:"required"`
	IdentityToken Secret `json:"identity_token" wire:"required"` // a pre-shared key, or [SocketTrust]
	Extra         Extra  `json:"-"`
}

// HelloAck is the relay's acceptance of a [Hello]. A refusal is a [ResponseFrame] without a request id,
// holding an [ErrorResponse] (PROTOCOL.md, "hello_ack").
type HelloAck struct {
	SchemaVersion string `json:"schema_version"`
	PrincipalID   string `json:"principal_id"` // the one that the hello named
	Extra         Extra  `json:"-"`
}

// RequestFrame asks the relay for one operation (PROTOCOL.md, "request").
type RequestFrame struct {
	// RequestID is the correlation id, unique among the requests of one connection. It is
	// not the request_id that [Send] and [Raww] carry for the caller. A request without one, which is
	// empty here, is answered without one.
	RequestID string `json:"request_id,omitempty"`
	// Namespace is the bundle that the operation is about. It is empty, and left out, for Send and
	// Raww, which the suffixes of their targets route.
	Namespace string    `json:"namespace,omitempty"`
	Request   Operation `json:"-"`
	// Bare: the line is the request object itself, without a frame and so without RequestID, Namespace
	// and Extra. Relay 0.5 takes such a line.
	Bare  bool  `json:"-"`
	Extra Extra `json:"-"`
}

// ResponseFrame answers a request, or says something that answers none (PROTOCOL.md, "response").
type ResponseFrame struct {
	// RequestID is the id of the request. Nil: a refused hello, or a notice before the relay hangs up.
	RequestID *string  `json:"request_id,omitempty"`
	Response  Response `json:"-"`
	// Raw is the response object as it came, with U+FFFD for what is no text. [Encode] ignores it.
	Raw Raw `json:"-"`
	// Bare: the line is the response object itself, as relay 0.5 answers a bare request, and a line that it
	// can't read.
	Bare  bool  `json:"-"`
	Extra Extra `json:"-"`
}

// EventFrame tells a client what happened without being asked (PROTOCOL.md, "event").
type EventFrame struct {
	Event Event `json:"event" wire:"required"`
	Extra Extra `json:"-"`
}

// UnknownFrame is a frame of a kind that this package does not know.
type UnknownFrame struct {
	Kind  string
	Extra Extra // all members but frame
}

func (*Hello) FrameKind() string          { return "hello" }
func (*HelloAck) FrameKind() string       { return "hello_ack" }
func (*RequestFrame) FrameKind() string   { return "request" }
func (*ResponseFrame) FrameKind() string  { return "response" }
func (*EventFrame) FrameKind() string     { return "event" }
func (f *UnknownFrame) FrameKind() string { return f.Kind }

// Encode returns f as one line, its newline included: the only place where a [Secret] is written out.
// It fails where a json.RawMessage within f is not JSON.
func Encode(f Frame) ([]byte, error) {
	var out bytes.Buffer
	w := objectWriter{out: &out}
	if err := w.frame(f); err != nil {
		return nil, err
	}
	w.end()
	out.WriteByte('\n')
	return out.Bytes(), nil
}

func (w *objectWriter) frame(f Frame) error {
	switch f := f.(type) {
	case *RequestFrame:
		if f.Bare {
			return w.tagged("operation", f.Request.OperationName(), f.Request)
		}
		return w.envelope(f, "request", "operation", f.Request.OperationName(), f.Request)
	case *ResponseFrame:
		if f.Bare {
			return w.tagged("kind", f.Response.ResponseKind(), f.Response)
		}
		return w.envelope(f, "response", "kind", f.Response.ResponseKind(), f.Response)
	default:
		return w.tagged("frame", f.FrameKind(), f)
	}
}

// envelope writes a frame that has another object within, under key.
func (w *objectWriter) envelope(f Frame, key, tagKey, tag string, body any) error {
	v := reflect.ValueOf(f).Elem()
	if err := w.member("frame", f.FrameKind()); err != nil {
		return err
	}
	if err := w.fields(v); err != nil {
		return err
	}
	if err := w.key(key); err != nil {
		return err
	}
	inner := objectWriter{out: w.out}
	if err := inner.tagged(tagKey, tag, body); err != nil {
		return err
	}
	inner.end()
	return w.extra(v.FieldByName("Extra").Interface().(Extra))
}

// tagged writes the tag of the open struct that body points to, then its members.
func (w *objectWriter) tagged(key, tag string, body any) error {
	if err := w.member(key, tag); err != nil {
		return err
	}
	switch body := body.(type) {
	case *UnknownFrame:
		return w.extra(body.Extra)
	case *UnknownOperation:
		return w.extra(body.Extra)
	case *UnknownResponse:
		return w.extra(body.Extra)
	default:
		return w.open(reflect.ValueOf(body).Elem())
	}
}
