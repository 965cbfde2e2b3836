package mcptools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/agentmux/agentmux-go/relayclient"
	"github.com/agentmux/agentmux-go/wire"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// relayError is the response of a relay that refuses.
func relayError(code, message, details string) string {
	return `{"kind":"error","error":{"code":"` + code + `","message":"` + message + `","details":` + details + `}}`
}

// TestFailures has a case for each row of the table of errors. The call is a look.
func TestFailures(t *testing.T) {
	const invalidParams, internal = jsonrpc.CodeInvalidParams, jsonrpc.CodeInternalError
	const unexpectedFailure = "internal_unexpected_failure"
	conflict := *errSilence
	conflict.Op, conflict.Written = "hello", false
	conflict.Err = fmt.Errorf("%w: %w", &wire.Error{Code: "runtime_identity_claim_conflict", Message: "taken"}, context.DeadlineExceeded)
	refusedHello := &relayclient.Error{
		Op: "hello", Socket: socket, Kind: relayclient.Unexpected, IO: relayclient.Other,
		Err: &wire.Error{Code: "validation_unknown_principal", Message: "who?"},
	}
	const lacking = `{"kind":"look","psk":"s3cret"}`
	_, errLacking := wire.Decode([]byte(lacking))
	unanswered := func(kind, cause string) string {
		return `{"relay_socket":"` + socket + `","io_error_kind":"` + kind + `","cause":"` + cause + `"}`
	}
	tests := []struct {
		name    string
		relay   *fakeRelay
		rpcCode int64
		code    string
		details string
		message string   // the whole of it; "": see says
		says    []string // what the message has in it
		event   string
		ending  string

		// Where 0.5 has another code and other details, those of the relay, which it passes on.
		code05, details05 string
	}{
		{
			name:    "a validation error of the relay",
			relay:   answers(relayError("validation_unknown_target", "no <such> target", `{"b":[1.0,12345678901234567890,1e400],"a":"<&>"}`)),
			rpcCode: invalidParams, code: "validation_unknown_target",
			details: `{"b":[1.0,12345678901234567890,1e400],"a":"<&>"}`, message: "no <such> target",
			event: "relay_error", ending: `{"code":"validation_unknown_target","message":"no <such> target","details":{"b":[1.0,12345678901234567890,1e400],"a":"<&>"}}`,
		},
		{
			name:    "one of a newer relay",
			relay:   answers(relayError("validation_payload_too_large", "too large", `{"canonical_bytes":70000}`)),
			rpcCode: invalidParams, code: "validation_payload_too_large", details: `{"canonical_bytes":70000}`, message: "too large",
			event: "relay_error", ending: `{"code":"validation_payload_too_large","message":"too large","details":{"canonical_bytes":70000}}`,
		},
		{
			name:    "details that are no object",
			relay:   answers(relayError("validation_x", "no", `["a"]`)),
			rpcCode: invalidParams, code: "validation_x", details: `["a"]`, message: "no",
			event: "relay_error", ending: `{"code":"validation_x","message":"no","details":["a"]}`,
		},
		{
			name:    "a relay that forbids, and says no more",
			relay:   answers(`{"kind":"error","error":{"code":"authorization_forbidden","message":"not allowed"}}`),
			rpcCode: invalidParams, code: "authorization_forbidden", details: `null`, message: "not allowed",
			event: "relay_error", ending: `{"code":"authorization_forbidden","message":"not allowed","details":null}`,
		},
		{
			name:    "another error of the relay",
			relay:   answers(relayError("runtime_bundle_held", "held", `{"bundle_name":"demo"}`)),
			rpcCode: internal, code: unexpectedFailure, details: `{"relay_code":"runtime_bundle_held","relay_details":{"bundle_name":"demo"}}`, message: "held",
			event: "relay_error", ending: `{"code":"runtime_bundle_held","message":"held","details":{"bundle_name":"demo"}}`,
			code05: "runtime_bundle_held", details05: `{"bundle_name":"demo"}`,
		},
		{
			name:    "another error of the relay without details",
			relay:   answers(relayError("delivery_target_fail_stopped", "stopped", `null`)),
			rpcCode: internal, code: unexpectedFailure, details: `{"relay_code":"delivery_target_fail_stopped","relay_details":null}`, message: "stopped",
			event: "relay_error", ending: `{"code":"delivery_target_fail_stopped","message":"stopped","details":null}`,
			code05: "delivery_target_fail_stopped", details05: `null`,
		},
		{
			name:    "forbidding is not a prefix",
			relay:   answers(relayError("authorization_forbidden_later", "no", `null`)),
			rpcCode: internal, code: unexpectedFailure, details: `{"relay_code":"authorization_forbidden_later","relay_details":null}`, message: "no",
			event: "relay_error", ending: `{"code":"authorization_forbidden_later","message":"no","details":null}`,
			code05: "authorization_forbidden_later", details05: `null`,
		},
		{
			name:    "secrets in a relay's details",
			relay:   answers(relayError("validation_x", "no", `{"peers":[{"psk":"s3cret","n":1.0}],"identity_token":"s3cret"}`)),
			rpcCode: invalidParams, code: "validation_x", details: `{"peers":[{"psk":"[secret]","n":1.0}],"identity_token":"[secret]"}`, message: "no",
			event: "relay_error", ending: `{"code":"validation_x","message":"no","details":{"peers":[{"psk":"[secret]","n":1.0}],"identity_token":"[secret]"}}`,
		},
		{
			name:    "secrets in the details of another error",
			relay:   answers(relayError("runtime_x", "no", `{"psk":["s3cret"]}`)),
			rpcCode: internal, code: unexpectedFailure, details: `{"relay_code":"runtime_x","relay_details":{"psk":"[secret]"}}`, message: "no",
			event: "relay_error", ending: `{"code":"runtime_x","message":"no","details":{"psk":"[secret]"}}`,
			code05: "runtime_x", details05: `{"psk":"[secret]"}`,
		},
		{
			name:    "a relay with the code of a start-up fault",
			relay:   answers(relayError("runtime_startup_failed", "no", `null`)),
			rpcCode: internal, code: unexpectedFailure, details: `{"relay_code":"runtime_startup_failed","relay_details":null}`, message: "no",
			event: "relay_error", ending: `{"code":"runtime_startup_failed","message":"no","details":null}`,
			code05: "runtime_startup_failed", details05: `null`,
		},
		{
			name:    "a relay with one of our own codes",
			relay:   answers(relayError("relay_timeout", "no", `[1.0]`)),
			rpcCode: internal, code: unexpectedFailure, details: `{"relay_code":"relay_timeout","relay_details":[1.0]}`, message: "no",
			event: "relay_error", ending: `{"code":"relay_timeout","message":"no","details":[1.0]}`,
			code05: "relay_timeout", details05: `[1.0]`,
		},
		{
			name:    "a relay that hung up and said why",
			relay:   fails(&relayclient.FarewellError{Refusal: &wire.Error{Code: "runtime_identity_revoked", Message: "revoked.", Details: json.RawMessage(`{"psk":"s3cret"}`)}}),
			rpcCode: internal, code: unexpectedFailure, details: `{"relay_code":"runtime_identity_revoked","relay_details":{"psk":"[secret]"}}`,
			says:  []string{"revoked. With that the relay hung up", "outcome is unknown"},
			event: "relay_error", ending: `{"code":"runtime_identity_revoked","message":"revoked.","details":{"psk":"[secret]"}}`,
			code05: "runtime_identity_revoked", details05: `{"psk":"[secret]"}`,
		},
		{
			name: "a relay that has no look",
			relay: fails(&relayclient.UnsupportedError{Operation: "look", Refusal: &wire.Error{
				Code: "validation_invalid_arguments", Message: "no such variant", Details: json.RawMessage(`{"cause":"byte 1.0","psk":"s3cret"}`),
			}}),
			rpcCode: internal, code: unexpectedFailure,
			details: `{"operation":"look","relay_code":"validation_invalid_arguments","relay_details":{"cause":"byte 1.0","psk":"[secret]"}}`,
			says:    []string{"this relay does not support look: ", "of another version", "Nothing took effect"},
			event:   "relay_error", ending: `{"code":"validation_invalid_arguments","message":"no such variant","details":{"cause":"byte 1.0","psk":"[secret]"}}`,
		},
		{
			name: "a relay that has no look, and says no more",
			relay: fails(&relayclient.UnsupportedError{Operation: "look", Refusal: &wire.Error{
				Code: "authorization_forbidden", Message: "no",
			}}),
			rpcCode: internal, code: unexpectedFailure,
			details: `{"operation":"look","relay_code":"authorization_forbidden","relay_details":null}`,
			says:    []string{"this relay does not support look: "},
			event:   "relay_error", ending: `{"code":"authorization_forbidden","message":"no","details":null}`,
		},
		{
			name:    "a response of another kind",
			relay:   answers(`{"kind":"new_peer","principal_id":"bob@demo","psk":"s3cret","n":1e400}`),
			rpcCode: internal, code: unexpectedFailure, details: `{"response":{"kind":"new_peer","principal_id":"bob@demo","psk":"[secret]","n":1e400}}`,
			says:  []string{"look", "new_peer"},
			event: "unexpected_response", ending: `{"response":{"kind":"new_peer","principal_id":"bob@demo","psk":"[secret]","n":1e400}}`,
		},
		{
			name:    "a response to something else",
			relay:   answers(`{"kind":"raww","status":"queued","details":{"n":1.0}}`),
			rpcCode: internal, code: unexpectedFailure, details: `{"response":{"kind":"raww","status":"queued","details":{"n":1.0}}}`,
			says:  []string{"look", "raww"},
			event: "unexpected_response", ending: `{"response":{"kind":"raww","status":"queued","details":{"n":1.0}}}`,
		},
		{
			name:    "a response of an unknown kind",
			relay:   answers(`{"kind":"later","deep":[{"psk":"s3cret"}]}`),
			rpcCode: internal, code: unexpectedFailure, details: `{"response":{"kind":"later","deep":[{"psk":"[secret]"}]}}`,
			says:  []string{"look", "later"},
			event: "unexpected_response", ending: `{"response":{"kind":"later","deep":[{"psk":"[secret]"}]}}`,
		},
		{
			name:    "a timeout",
			relay:   fails(errSilence),
			rpcCode: internal, code: "relay_timeout", details: unanswered("TimedOut", "deadline exceeded"),
			says:  []string{socket, "deadline exceeded", "outcome is unknown"},
			event: "io_error", ending: string(encode(map[string]string{"error": errSilence.Error(), "kind": "timeout"})),
		},
		{
			name:    "a timeout of the hello, because another holds the principal",
			relay:   fails(&conflict),
			rpcCode: internal, code: "relay_timeout", details: unanswered("TimedOut", conflict.Err.Error()),
			says:  []string{socket, "taken", "can be repeated"},
			event: "io_error", ending: string(encode(map[string]string{"error": conflict.Error(), "kind": "timeout"})),
		},
		{
			name:    "no relay",
			relay:   fails(errNoSocket),
			rpcCode: internal, code: "relay_unavailable", details: unanswered("NotFound", "no such file"),
			says:  []string{socket, "no such file", "can be repeated", "Start a relay with: agentmux host relay."},
			event: "io_error", ending: string(encode(map[string]string{"error": errNoSocket.Error(), "kind": "unavailable"})),
		},
		{
			name:    "a relay that hung up",
			relay:   fails(errHungUp),
			rpcCode: internal, code: "relay_unavailable", details: unanswered("UnexpectedEof", "EOF"),
			says:  []string{socket, "hung up", "outcome is unknown", "Start a relay with: agentmux host relay."},
			event: "io_error", ending: string(encode(map[string]string{"error": errHungUp.Error(), "kind": "unavailable"})),
		},
		{
			name:    "a lack of permission",
			relay:   fails(errPermission),
			rpcCode: internal, code: unexpectedFailure, details: unanswered("PermissionDenied", "permission denied"),
			says:  []string{socket, "permission denied"},
			event: "io_error", ending: string(encode(map[string]string{"error": errPermission.Error(), "kind": "unexpected"})),
		},
		{
			name:    "a response that lacks what its kind requires",
			relay:   answers(lacking),
			rpcCode: internal, code: unexpectedFailure, details: unanswered("InvalidData", errLacking.Error()),
			says:  []string{socket, errLacking.Error()},
			event: "io_error", ending: `{"error":"receive ` + socket + `: ` + errLacking.Error() + ` (the request was sent: whether it took effect is unknown)","kind":"unexpected"}`,
		},
		{
			name:    "a refused hello",
			relay:   fails(refusedHello),
			rpcCode: internal, code: unexpectedFailure,
			details: `{"relay_socket":"` + socket + `","io_error_kind":"Other","cause":"relay: validation_unknown_principal: who?","relay_code":"validation_unknown_principal"}`,
			says:    []string{socket, "who?"},
			event:   "io_error", ending: string(encode(map[string]string{"error": refusedHello.Error(), "kind": "unexpected"})),
		},
		{
			name:    "a call that was cancelled",
			relay:   fails(context.Canceled),
			rpcCode: internal, code: unexpectedFailure, details: `null`,
			says:  []string{"cancelled"},
			event: "io_error", ending: `{"error":"the call was cancelled before it was answered","kind":"internal_unexpected_failure"}`,
		},
		{
			name:    "a failure of no kind of its own",
			relay:   fails(errors.New("out of luck")),
			rpcCode: internal, code: unexpectedFailure, details: `null`,
			says:  []string{"out of luck"},
			event: "io_error", ending: `{"error":"agentmux-mcp failed: out of luck","kind":"internal_unexpected_failure"}`,
		},
	}
	request := map[*generation]string{
		gen08: `mcp.tool.look.request {"namespace":"demo","requester_session":"alpha","target_session":"bravo@demo","lines":null,"offset":null}`,
		gen05: `mcp.tool.look.request {"bundle_name":"demo","requested_bundle_name":null,"requester_session":"alpha","target_session":"bravo@demo","lines":null}`,
	}
	eachGeneration(t, func(t *testing.T, g *generation) {
		for _, test := range tests {
			if g == gen05 && test.code05 != "" {
				test.code, test.details = test.code05, test.details05
			}
			t.Run(test.name, func(t *testing.T) {
				s := newSurface(t, test.relay, of(g.surface))
				_, err := callTool(t, s.connect(t, handshaken), "look", `{"target_session":"bravo@demo"}`)
				e := rpcError(t, err)
				if e.Code != test.rpcCode {
					t.Errorf("JSON-RPC code: got %d, want %d", e.Code, test.rpcCode)
				}
				var data struct{ Message string }
				if err := json.Unmarshal(e.Data, &data); err != nil {
					t.Fatal(err)
				}
				if test.message != "" && data.Message != test.message {
					t.Errorf("message: got %q, want %q", data.Message, test.message)
				}
				for _, fact := range test.says {
					if !strings.Contains(data.Message, fact) {
						t.Errorf("the message lacks %q: %s", fact, data.Message)
					}
				}
				if want := test.code + ": " + data.Message; e.Message != want {
					t.Errorf("JSON-RPC message: got %q, want %q", e.Message, want)
				}
				sameJSON(t, "data", string(e.Data),
					`{"code":"`+test.code+`","message":`+string(encode(data.Message))+`,"details":`+test.details+`}`)
				sameLog(t, s.log, request[g], `mcp.tool.look.`+test.event+" "+test.ending)
			})
		}
	})
}

// The message ends with the remedy where there is one.
func TestRemedy(t *testing.T) {
	for _, test := range []struct {
		name   string
		err    error
		remedy func(*relayclient.Error) string
		end    string
	}{
		{"of a relay that is not there", errNoSocket, startRelay, "so the call can be repeated. Start a relay with: agentmux host relay."},
		{"none for a silent one", errSilence, startRelay, "before repeating it."},
		{"none at all", errNoSocket, nil, "so the call can be repeated."},
	} {
		t.Run(test.name, func(t *testing.T) {
			relay := fails(test.err)
			standing := associatedWith(relay)
			standing.Remedy = test.remedy
			s := newSurface(t, relay, as(standing))
			if _, refusal := s.do(t, "look", `{"target_session":"bravo@demo"}`); !strings.HasSuffix(refusal.Message, test.end) {
				t.Error(refusal.Message)
			}
		})
	}
}

// A failure is a JSON-RPC error or a result, the same object in both.
func TestErrorForm(t *testing.T) {
	const asError, asResult = false, true
	tests := []struct {
		form     ErrorForm
		revision string
		want     bool
	}{
		{ErrorsAuto, "2024-11-05", asError},
		{ErrorsAuto, "2025-06-18", asError},
		{ErrorsAuto, handshaken, asError},
		{ErrorsAuto, stateless, asResult},
		{ErrorsProtocol, handshaken, asError},
		{ErrorsProtocol, stateless, asError},
		{ErrorsResult, handshaken, asResult},
		{ErrorsResult, stateless, asResult},
	}
	const want = `{"code":"validation_unknown_target","message":"no <such>","details":{"n":1.5}}`
	for _, test := range tests {
		t.Run(fmt.Sprint(test.form, " ", test.revision), func(t *testing.T) {
			s := newSurface(t, answers(relayError("validation_unknown_target", "no <such>", `{"n":1.5}`)), func(cfg *Config) { cfg.Errors = test.form })
			session := s.connect(t, test.revision)
			result, err := callTool(t, session, "look", `{"target_session":"bravo@demo"}`)
			if test.want == asError {
				sameJSON(t, "data", string(rpcError(t, err).Data), want)
			} else {
				sameFailure(t, result, err, want)
			}

			// That a tool does not exist is never a result.
			_, err = callTool(t, session, "nap", `{}`)
			if e := rpcError(t, err); e.Code != jsonrpc.CodeInvalidParams {
				t.Errorf("an unknown tool: got %v", e)
			}
		})
	}
}

// sameFailure checks a failure that is a result.
func sameFailure(t *testing.T, result *mcp.CallToolResult, err error, want string) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	if !result.IsError {
		t.Error("isError is false")
	}
	text := textOf(t, result)
	sameJSON(t, "text", text, want)
	if strings.Contains(text, `\u003c`) {
		t.Errorf("the text escapes for HTML: %s", text)
	}
	sameJSON(t, "structured content", string(encode(result.StructuredContent)), want)
}

// The revision is that of the request. A handshake never ends at one that wants results, whatever was
// proposed in it.
func TestErrorFormFollowsTheRequest(t *testing.T) {
	const call = `"name":"look","arguments":{"target_session":" "}`
	client := newSurface(t, answers(`{}`)).connectRaw(t)
	if got := client.initialize(t, "2099-01-01").ProtocolVersion; got != handshaken {
		t.Fatalf("the handshake ended at %s, want %s", got, handshaken)
	}
	e := rpcError(t, client.ask(t, "tools/call", `{`+call+`}`).Error)
	if e.Code != jsonrpc.CodeInvalidParams || !strings.HasPrefix(e.Message, "validation_unknown_target: ") {
		t.Errorf("after a handshake: got %v", e)
	}

	client = newSurface(t, answers(`{}`)).connectRaw(t)
	response := client.ask(t, "tools/call", `{`+call+`,"_meta":{"io.modelcontextprotocol/protocolVersion":"`+stateless+`","io.modelcontextprotocol/clientCapabilities":{}}}`)
	var result mcp.CallToolResult
	if err := json.Unmarshal(response.Result, &result); err != nil {
		t.Fatalf("%v in %s, %v", err, response.Result, response.Error)
	}
	if !result.IsError || !strings.Contains(textOf(t, &result), `"code":"validation_unknown_target"`) {
		t.Errorf("a request of its own revision: got %s", response.Result)
	}
}

// A client that gives up, or that has gone, ends the call, with one record of it.
func TestCancelledCall(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	s := newSurface(t, answering(func(ctx context.Context, _ string, _ wire.Operation) (string, error) {
		cancel(io.ErrClosedPipe)
		<-ctx.Done()
		return "", context.Cause(ctx)
	}))
	for _, arguments := range []string{`{"command":"decisions"}`, `{"command":"principals"}`} {
		a, refusal := s.call(ctx, s.named(t, "list"), json.RawMessage(arguments))
		if a != nil || refusal == nil || refusal.Code != "internal_unexpected_failure" || !strings.Contains(refusal.Message, "was cancelled") {
			t.Errorf("%s: got %s and %v", arguments, a, refusal)
		}
	}
	records := s.log.all()
	if len(records) != 4 || !strings.HasPrefix(records[1], "mcp.tool.list.decisions.io_error ") || !strings.HasPrefix(records[3], "mcp.tool.list.io_error ") {
		t.Errorf("log: got %q, want two requests, each with its io_error", records)
	}
}
