package wire

import (
	"bytes"
	"encoding/json"
	"reflect"
	"slices"
)

// A Vocabulary is the frames, operations and responses of one generation of relays. That of relay 0.8 and
// later, whose types are in this package, is what [Decode] reads. It does not change, and can be used
// concurrently.
type Vocabulary struct {
	frames     map[string]reflect.Type // those that have no other object within
	operations map[string]reflect.Type
	responses  map[string]reflect.Type
}

// NewVocabulary returns a vocabulary of the types that the values point to. They are structs with a field of
// type [Extra], read and written as those of this package are; the values themselves are not looked at. Request
// and response frames, events and unknown things are part of each.
func NewVocabulary(frames []Frame, operations []Operation, responses []Response) *Vocabulary {
	return &Vocabulary{
		frames:     byTag(slices.Concat(frames, []Frame{&EventFrame{}}), Frame.FrameKind),
		operations: byTag(operations, Operation.OperationName),
		responses:  byTag(responses, Response.ResponseKind),
	}
}

func byTag[T any](values []T, tag func(T) string) map[string]reflect.Type {
	types := make(map[string]reflect.Type, len(values))
	for _, v := range values {
		types[tag(v)] = reflect.TypeOf(v).Elem()
	}
	return types
}

var current = NewVocabulary(
	[]Frame{&Hello{}, &HelloAck{}},
	[]Operation{
		&List{}, &Send{}, &Look{}, &Raww{}, &ChoicesList{}, &ChoicesPick{}, &Up{}, &Down{}, &NewPeer{}, &ChangePSK{},
		&IdentityIntrospect{},
	},
	[]Response{
		&ListResponse{}, &SendResponse{}, &LookResponse{}, &RawwResponse{}, &ChoicesListResponse{}, &ChoicesPickResponse{},
		&BundleTransitionResponse{}, &NewPeerResponse{}, &ChangePSKResponse{}, &IdentityIntrospectResponse{},
		&ErrorResponse{},
	},
)

// Current returns the vocabulary of relay 0.8 and later.
func Current() *Vocabulary { return current }

// Decode reads one line of relay 0.8 or later, or of its client. It is [Vocabulary.Decode] of [Current].
func Decode(line []byte) (Frame, error) { return current.Decode(line) }

// Decode reads one line, with or without its newline, and keeps nothing of it. The error is a
// [*DecodeError].
//
// A response frame whose response lacks what its kind requires comes back together with the error, its
// RequestID and Raw set and its Response nil, so that the call it answers can be told.
func (v *Vocabulary) Decode(line []byte) (Frame, error) {
	line = slices.Clone(repairText(line)) // which what is decoded shares
	if err := valid(line); err != nil {
		return nil, err
	}
	m, err := members(line)
	if err != nil {
		return nil, err
	}
	if _, framed := m["frame"]; !framed {
		return v.decodeBare(line, m)
	}
	kind, err := tag(m, "frame")
	if err != nil {
		return nil, err
	}
	switch kind {
	case "request":
		return v.decodeRequest(m)
	case "response":
		return v.decodeResponse(m)
	}
	t, ok := v.frames[kind]
	if !ok {
		return &UnknownFrame{Kind: kind, Extra: m}, nil
	}
	return decodeOpen(m, reflect.New(t).Interface().(Frame))
}

func decodeOpen[F Frame](m map[string]json.RawMessage, f F) (Frame, error) {
	if err := decodeMembers(m, reflect.ValueOf(f)); err != nil {
		return nil, err
	}
	return f, nil
}

// decodeBare reads a line that is a request or a response without a frame.
func (v *Vocabulary) decodeBare(line []byte, m map[string]json.RawMessage) (Frame, error) {
	if _, ok := m["operation"]; ok {
		op, err := v.operation(line)
		if err != nil {
			return nil, err
		}
		return &RequestFrame{Request: op, Bare: true}, nil
	}
	if _, ok := m["kind"]; ok {
		response, err := v.response(line)
		return &ResponseFrame{Response: response, Raw: bytes.TrimSpace(line), Bare: true}, err
	}
	return nil, &DecodeError{Key: "frame", Want: "a string", Got: "nothing"}
}

func (v *Vocabulary) decodeRequest(m map[string]json.RawMessage) (Frame, error) {
	op, err := v.operation(m["request"])
	if err != nil {
		return nil, within("request", err)
	}
	delete(m, "request")
	return decodeOpen(m, &RequestFrame{Request: op})
}

func (v *Vocabulary) decodeResponse(m map[string]json.RawMessage) (Frame, error) {
	raw := m["response"]
	f := &ResponseFrame{Raw: Raw(raw)}
	delete(m, "response")
	if _, err := decodeOpen(m, f); err != nil {
		return nil, err
	}
	response, err := v.response(raw)
	if err != nil {
		return f, within("response", err)
	}
	f.Response = response
	return f, nil
}

func (v *Vocabulary) operation(raw json.RawMessage) (Operation, error) {
	return decodeTagged(raw, "operation", v.operations, func(name string, extra Extra) Operation {
		return &UnknownOperation{name, extra}
	})
}

func (v *Vocabulary) response(raw json.RawMessage) (Response, error) {
	return decodeTagged(raw, "kind", v.responses, func(kind string, extra Extra) Response {
		return &UnknownResponse{kind, extra}
	})
}

// decodeTagged reads an object of one of several kinds, whose types known has by tag.
func decodeTagged[T any](raw json.RawMessage, key string, known map[string]reflect.Type, unknown func(string, Extra) T) (T, error) {
	var none T
	m, err := members(raw)
	if err != nil {
		return none, err
	}
	kind, err := tag(m, key)
	if err != nil {
		return none, err
	}
	t, ok := known[kind]
	if !ok {
		return unknown(kind, m), nil
	}
	value := reflect.New(t)
	if err := decodeMembers(m, value); err != nil {
		return none, err
	}
	return value.Interface().(T), nil
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
