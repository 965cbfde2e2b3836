package stdio

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// An answer is a response as it is written.
type answer struct {
	JSONRPC string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"` // nil is written as null
	Result  json.RawMessage `json:"result,omitempty"`
	Error   *jsonrpc.Error  `json:"error,omitempty"`
}

// line returns the answer as one line. An answer that is no JSON, because a handler made its error's data by
// hand, is replaced: without an answer the client would wait for ever.
func (a answer) line() []byte {
	if a.Error == nil {
		// The engine's JSON, on one line already: a second encoder would only read it once more.
		line := make([]byte, 0, len(a.ID)+len(a.Result)+40)
		line = append(line, `{"jsonrpc":"2.0","id":`...)
		line = append(line, a.ID...)
		line = append(line, `,"result":`...)
		line = append(line, a.Result...)
		return append(line, "}\n"...)
	}
	a.JSONRPC = "2.0"
	line, err := encode(a)
	if err != nil {
		a.Result = nil
		a.Error = &jsonrpc.Error{
			Code:    jsonrpc.CodeInternalError,
			Message: "the answer is not JSON; this is a fault of the server, please report it",
		}
		line, _ = encode(a) // nothing is left that could fail
	}
	return line
}

// encode returns v as one line, its end included, without the escapes for HTML.
func encode(v any) ([]byte, error) {
	var line bytes.Buffer
	encoder := json.NewEncoder(&line)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(v)
	return line.Bytes(), err
}

// protocolError makes an error of the protocol of what the engine answers a call with. A handler's
// *jsonrpc.Error is one already. The engine wraps its own, and some of them have no code.
func protocolError(err error, method string) *jsonrpc.Error {
	if bare, ok := err.(*jsonrpc.Error); ok && bare.Code != 0 {
		return bare
	}
	e := invalidRequest(err.Error()) // a call that is out of turn
	if wrapped, ok := errors.AsType[*jsonrpc.Error](err); ok && wrapped.Code != 0 {
		e.Code, e.Data = wrapped.Code, wrapped.Data
	} else if method == initializeMethod && errors.Unwrap(err) != nil {
		e.Code = jsonrpc.CodeInvalidParams // the engine has a reason, which is that it can't decode them
	}
	if e.Code == jsonrpc.CodeInvalidParams {
		// The engine's text has the names of Go types, and all of the parameters.
		e.Message = fmt.Sprintf("the parameters of %q do not have the shape that the protocol gives them", method)
	}
	return e
}
