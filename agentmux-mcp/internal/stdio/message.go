package stdio

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// Methods that the transport itself has to know.
const (
	initializeMethod  = "initialize"
	callToolMethod    = "tools/call"
	listenMethod      = "subscriptions/listen"
	cancelMethod      = "notifications/cancelled"
	acknowledgeMethod = "notifications/subscriptions/acknowledged"
)

// A message is a request: a call, or a notification.
type message struct {
	id     callID // zero for a notification
	method string
	params json.RawMessage // an object, or nil
}

func (m *message) isCall() bool { return m.id.raw != nil }

// A refusal answers a line that is no request.
type refusal struct {
	id  callID // zero if the line had no usable one
	err *jsonrpc.Error
}

// A callID is the id of a call, as the client wrote it.
type callID struct {
	raw json.RawMessage // byte for byte; nil if there is none
	key string          // equal for equal ids: the digits of an integer, a decoded string after a quotation mark
}

// parseID takes strings, and integers of any size that are written as such.
func parseID(raw json.RawMessage) (callID, bool) {
	var text string
	switch {
	case len(raw) == 0:
		return callID{}, false
	case raw[0] == '"' && json.Unmarshal(raw, &text) == nil:
		return callID{raw: raw, key: `"` + text}, true
	case strings.IndexByte("-0123456789", raw[0]) >= 0 && !bytes.ContainsAny(raw, ".eE"):
		return callID{raw: raw, key: string(raw)}, true
	default:
		return callID{}, false
	}
}

// parse reads one line, and keeps nothing of it. Both results are nil for a line that has to be ignored.
func parse(line []byte) (*message, *refusal) {
	var object map[string]json.RawMessage
	err := json.Unmarshal(line, &object)
	if _, broken := errors.AsType[*json.SyntaxError](err); broken || !utf8.Valid(line) {
		return nil, &refusal{err: &jsonrpc.Error{
			Code:    jsonrpc.CodeParseError,
			Message: "the line is not JSON; send one JSON-RPC message on each line",
		}}
	}
	switch {
	case bytes.HasPrefix(bytes.TrimSpace(line), []byte{'['}):
		return nil, &refusal{err: invalidRequest("batches are not supported; send each message on a line of its own")}
	case object == nil:
		return nil, &refusal{err: invalidRequest("a JSON-RPC message is an object")}
	}

	rawID, hasID := object["id"]
	rawMethod, hasMethod := object["method"]
	id, usableID := parseID(rawID)
	version, _ := text(object["jsonrpc"])
	method, isText := text(rawMethod)
	switch {
	case version != "2.0":
		return nil, &refusal{id, invalidRequest(`"jsonrpc" must be "2.0"`)}
	case !hasMethod && (object["result"] != nil || object["error"] != nil):
		return nil, nil // a response, though nothing was asked
	case !hasMethod:
		return nil, &refusal{id, invalidRequest(`"method" is missing`)}
	case !isText:
		return nil, &refusal{id, invalidRequest(`"method" must be a string`)}
	case hasID && !usableID:
		return nil, &refusal{id, invalidRequest(`"id" must be a string or an integer`)}
	case hasID && method == cancelMethod:
		return nil, &refusal{id, invalidRequest(`"` + method + `" is a notification; send it without "id"`)}
	}
	params, fault := parseParams(method, object["params"])
	switch {
	case fault == nil:
		return &message{id, method, params}, nil
	case hasID:
		return nil, &refusal{id, fault}
	default:
		return nil, nil // a notification is never answered
	}
}

// parseParams checks the parameters as far as the engine would fail on them in words that help nobody.
func parseParams(method string, raw json.RawMessage) (json.RawMessage, *jsonrpc.Error) {
	if string(raw) == "null" {
		raw = nil
	}
	params := members(raw)
	if raw != nil && params == nil {
		return nil, invalidParams(`"params" must be an object`)
	}
	if _, ok := text(params["name"]); method == callToolMethod && !ok {
		return nil, invalidParams(`"params" must have the name of a tool as "name", a string`)
	}
	return raw, nil
}

// members returns the members of a JSON object, and nil for any other value.
func members(raw json.RawMessage) map[string]json.RawMessage {
	var m map[string]json.RawMessage
	if json.Unmarshal(raw, &m) != nil {
		return nil
	}
	return m
}

// text reads a JSON string.
func text(raw json.RawMessage) (string, bool) {
	var s *string
	if json.Unmarshal(raw, &s) != nil || s == nil {
		return "", false
	}
	return *s, true
}

func invalidRequest(message string) *jsonrpc.Error {
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: message}
}

func invalidParams(message string) *jsonrpc.Error {
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: message}
}
