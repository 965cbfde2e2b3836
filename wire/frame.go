package wire

import (
	"bytes"
	"encoding/json"
	"reflect"
	"slices"
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
	Extra     Extra     `json:"-"`
}

// ResponseFrame answers a request, or says something that answers none (PROTOCOL.md, "response").
type ResponseFrame struct {
	// RequestID is the id of the request. Nil: a refused hello, or a notice before the relay hangs up.
	RequestID *string  `json:"request_id,omitempty"`
	Response  Response `json:"-"`
	// Raw is the response object as it came, with U+FFFD for what is no text. [Encode] ignores it. It
	// shows what it holds, keys of principals too, to whoever prints it.
	Raw   json.RawMessage `json:"-"`
	Extra Extra           `json:"-"`
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
	err := w.member("frame", f.FrameKind())
	if err == nil {
		err = w.frame(f)
	}
	if err != nil {
		return nil, err
	}
	w.end()
	out.WriteByte('\n')
	return out.Bytes(), nil
}

func (w *objectWriter) frame(f Frame) error {
	v := reflect.ValueOf(f).Elem()
	switch f := f.(type) {
	case *RequestFrame:
		if err := w.fields(v); err != nil {
			return err
		}
		if err := w.tagged("request", "operation", f.Request.OperationName(), f.Request); err != nil {
			return err
		}
		return w.extra(f.Extra)
	case *ResponseFrame:
		if err := w.fields(v); err != nil {
			return err
		}
		if err := w.tagged("response", "kind", f.Response.ResponseKind(), f.Response); err != nil {
			return err
		}
		return w.extra(f.Extra)
	case *UnknownFrame:
		return w.extra(f.Extra)
	default:
		return w.open(v)
	}
}

// tagged writes a member whose value is the open struct that body points to, with its tag in front.
func (w *objectWriter) tagged(key, tagKey, tag string, body any) error {
	if err := w.key(key); err != nil {
		return err
	}
	inner := objectWriter{out: w.out}
	if err := inner.member(tagKey, tag); err != nil {
		return err
	}
	var err error
	switch body := body.(type) {
	case *UnknownOperation:
		err = inner.extra(body.Extra)
	case *UnknownResponse:
		err = inner.extra(body.Extra)
	default:
		err = inner.open(reflect.ValueOf(body).Elem())
	}
	inner.end()
	return err
}

// Decode reads one line, with or without its newline, and keeps nothing of it. The error is a
// [*DecodeError].
//
// A response frame whose response lacks what its kind requires comes back together with the error, its
// RequestID and Raw set and its Response nil, so that the call it answers can be told.
func Decode(line []byte) (Frame, error) {
	line = slices.Clone(repairText(line)) // which what is decoded shares
	if err := valid(line); err != nil {
		return nil, err
	}
	m, err := members(line)
	if err != nil {
		return nil, err
	}
	kind, err := tag(m, "frame")
	if err != nil {
		return nil, err
	}
	switch kind {
	case "hello":
		return decodeOpen(m, &Hello{})
	case "hello_ack":
		return decodeOpen(m, &HelloAck{})
	case "event":
		return decodeOpen(m, &EventFrame{})
	case "request":
		return decodeRequest(m)
	case "response":
		return decodeResponseFrame(m)
	default:
		return &UnknownFrame{Kind: kind, Extra: m}, nil
	}
}

func decodeOpen[F Frame](m map[string]json.RawMessage, f F) (Frame, error) {
	if err := decodeMembers(m, reflect.ValueOf(f)); err != nil {
		return nil, err
	}
	return f, nil
}

func decodeRequest(m map[string]json.RawMessage) (Frame, error) {
	op, err := decodeOperation(m["request"])
	if err != nil {
		return nil, within("request", err)
	}
	delete(m, "request")
	return decodeOpen(m, &RequestFrame{Request: op})
}

func decodeResponseFrame(m map[string]json.RawMessage) (Frame, error) {
	f := &ResponseFrame{Raw: m["response"]}
	delete(m, "response")
	if _, err := decodeOpen(m, f); err != nil {
		return nil, err
	}
	response, err := decodeResponse(f.Raw)
	if err != nil {
		return f, within("response", err)
	}
	f.Response = response
	return f, nil
}

// tag takes the string member that says of what kind an object is out of m.
func tag(m map[string]json.RawMessage, key string) (string, error) {
	raw := m[key]
	if got := jsonType(raw); got != "a string" {
		return "", &DecodeError{Key: key, Want: "a string", Got: got}
	}
	delete(m, key)
	return text(raw), nil
}

// decodeTagged reads an object of one of several kinds, whose empty values known makes by tag.
func decodeTagged[T any](raw json.RawMessage, key string, known map[string]func() T, unknown func(string, Extra) T) (T, error) {
	var none T
	m, err := members(raw)
	if err != nil {
		return none, err
	}
	kind, err := tag(m, key)
	if err != nil {
		return none, err
	}
	empty, ok := known[kind]
	if !ok {
		return unknown(kind, m), nil
	}
	value := empty()
	if err := decodeMembers(m, reflect.ValueOf(value)); err != nil {
		return none, err
	}
	return value, nil
}
