package mcptools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/agentmux/agentmux-go/relayclient"
	"github.com/agentmux/agentmux-go/wire"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// refusalOf is how an agent sees a failure. It is the one place where errors get their codes.
func (u *Surface) refusalOf(err error, s Standing) *Refusal {
	if r, ok := errors.AsType[*Refusal](err); ok {
		return r
	}
	if e, ok := errors.AsType[*relayclient.Error](err); ok {
		return unanswered(e, s)
	}
	if e, ok := errors.AsType[*relayclient.UnsupportedError](err); ok {
		return unsupported(e)
	}
	if e, ok := errors.AsType[*relayclient.FarewellError](err); ok {
		r := u.refused(e.Refusal)
		r.Message = strings.TrimRight(r.Message, ".") + ". With that the relay hung up before it answered. " + outcomeUnknown
		return r
	}
	if e, ok := errors.AsType[*wire.Error](err); ok {
		return u.refused(e)
	}
	if e, ok := errors.AsType[*unexpectedResponse](err); ok {
		return unexpected(e.message, map[string]any{"response": e.masked()})
	}
	if _, ok := errors.AsType[*panicError](err); ok {
		return unexpected("the call failed inside agentmux-mcp: this is a fault of the server, and its standard error has the details", nil)
	}
	if errors.Is(err, context.Canceled) {
		return unexpected("the call was cancelled before it was answered", nil)
	}
	return unexpected("agentmux-mcp failed: "+err.Error(), nil)
}

func unexpected(message string, details map[string]any) *Refusal {
	return &Refusal{Code: CodeUnexpectedFailure, Message: message, Details: details}
}

// refused is a relay's own "no".
func (u *Surface) refused(e *wire.Error) *Refusal {
	details := maskSecrets(e.Details)
	if u.relayCodes || validationShaped(e.Code) {
		return &Refusal{Code: e.Code, Message: e.Message, relays: true, raw: details}
	}
	return unexpected(e.Message, map[string]any{"relay_code": e.Code, "relay_details": details})
}

// validationShaped reports whether a relay's code says that the caller is at fault.
func validationShaped(code string) bool {
	return strings.HasPrefix(code, codePrefixForValidation) || code == codeForbidden
}

// unsupported is a relay that does not know the operation. That is nobody's fault, whatever code it has for it.
func unsupported(e *relayclient.UnsupportedError) *Refusal {
	return unexpected(
		fmt.Sprintf("this relay does not support %s: it is of another version than this server's tools are made for. Nothing took effect. Do without, or have the relay updated.", e.Operation),
		map[string]any{"operation": e.Operation, "relay_code": e.Refusal.Code, "relay_details": maskSecrets(e.Refusal.Details)})
}

// outcomeUnknown is what to do about a request that was sent and not answered.
const outcomeUnknown = "The request had been sent, so its outcome is unknown: look at what became of it before repeating it."

// unanswered is a relay that gave no answer.
func unanswered(e *relayclient.Error, s Standing) *Refusal {
	r := &Refusal{Details: map[string]any{
		"relay_socket":  e.Socket,
		"io_error_kind": e.IO,
		"cause":         e.Err.Error(),
	}}
	if refusal, ok := errors.AsType[*wire.Error](e); ok && e.Kind == relayclient.Unexpected {
		r.Details["relay_code"] = refusal.Code
	}
	switch {
	case e.Kind == relayclient.Timeout:
		r.Code = CodeRelayTimeout
		r.Message = fmt.Sprintf("the relay at %s did not answer: %v.", e.Socket, e.Err)
	case e.Kind == relayclient.Unavailable && e.Written:
		r.Code = CodeRelayUnavailable
		r.Message = fmt.Sprintf("the relay at %s hung up before it answered: %v.", e.Socket, e.Err)
	case e.Kind == relayclient.Unavailable:
		r.Code = CodeRelayUnavailable
		r.Message = fmt.Sprintf("no relay serves %s: %v.", e.Socket, e.Err)
	default:
		r.Code = CodeUnexpectedFailure
		r.Message = fmt.Sprintf("the exchange with the relay at %s failed: %v.", e.Socket, e.Err)
	}
	switch {
	case e.Written:
		r.Message += " " + outcomeUnknown
	case e.Kind == relayclient.Unexpected:
		r.Message += " Nothing was sent, and nothing will be until that is mended."
	default:
		r.Message += " Nothing was sent, so the call can be repeated."
	}
	r.Message = s.withRemedy(r.Message, e)
	return r
}

// withRemedy returns a message that ends with what to do about e, if there is something to say.
func (s Standing) withRemedy(message string, e *relayclient.Error) string {
	if s.Remedy == nil {
		return message
	}
	if remedy := s.Remedy(e); remedy != "" {
		message += " " + remedy
	}
	return message
}

// data is the object that a client gets.
func (r *Refusal) data() json.RawMessage {
	var details any
	switch {
	case len(r.raw) > 0:
		details = r.raw
	case r.Details != nil:
		details = r.Details
	}
	return encode(struct {
		Code    string `json:"code"`
		Message string `json:"message"`
		Details any    `json:"details"`
	}{r.Code, r.Message, details})
}

// rpcCode is the JSON-RPC code: the caller's fault, or not.
func (r *Refusal) rpcCode() int64 {
	if validationShaped(r.Code) || r.Code == CodeStartupFailed && !r.relays {
		return jsonrpc.CodeInvalidParams
	}
	return jsonrpc.CodeInternalError
}

// asError is the refusal as a JSON-RPC error. It must be returned as it is: wrapped, the SDK drops its data.
func (r *Refusal) asError() *jsonrpc.Error {
	return &jsonrpc.Error{Code: r.rpcCode(), Message: r.Error(), Data: r.data()}
}

// asResult is the refusal as a tool result, which clients of newer protocol revisions show to the model.
func (r *Refusal) asResult() *mcp.CallToolResult {
	res := contentOf(r.data())
	res.IsError = true
	return res
}

// contentOf is a tool result that holds a JSON object, as text and as structured content.
func contentOf(object json.RawMessage) *mcp.CallToolResult {
	return &mcp.CallToolResult{
		Content:           []mcp.Content{&mcp.TextContent{Text: string(object)}},
		StructuredContent: object,
	}
}

// endingOf is the inscription that ends a request that failed. What failed on this side of the relay after
// its request was inscribed ends as an io_error: no answer came.
func endingOf(err error, r *Refusal) (event string, details map[string]any) {
	if e, ok := errors.AsType[*relayclient.Error](err); ok {
		return "io_error", map[string]any{"error": e.Error(), "kind": e.Kind.String()}
	}
	if e, ok := errors.AsType[*wire.Error](err); ok {
		return "relay_error", map[string]any{"code": e.Code, "message": e.Message, "details": maskSecrets(e.Details)}
	}
	if e, ok := errors.AsType[*unexpectedResponse](err); ok {
		return "unexpected_response", map[string]any{"response": e.masked()}
	}
	return "io_error", map[string]any{"error": r.Message, "kind": r.Code}
}
