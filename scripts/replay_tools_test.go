package scripts_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/agentmux/agentmux-go/mcptools"
	"github.com/agentmux/agentmux-go/relayclient"
	"github.com/agentmux/agentmux-go/wire"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A toolReplay is what tools make of what relays answer.
type toolReplay struct {
	surface *mcptools.Surface
	// calls are the calls whose answers tools make of what relays answer to an operation. What the call asks
	// for matters little: the relay's answer is the recorded one.
	calls map[string]replayedCall
	// added are the members that a tool's answer has where the relay's lacks them; their value is null.
	added map[string][]string
	// listed is what list answers where the relay answers with a bundle.
	listed func(bundle any) object
	// passed reports whether a relay's code is one that an error's data.code can have.
	passed func(code string) bool
}

type replayedCall struct{ tool, args string }

var toolReplay08 = toolReplay{
	surface: mcptools.Surface08,
	calls: map[string]replayedCall{
		"list":         {"list", `{"command": "principals", "args": {"namespace": "GLOBAL"}}`},
		"choices_list": {"list", `{"command": "decisions"}`},
		"send":         {"send", `{"message": "hello", "targets": ["bravo"]}`},
		"look":         {"look", `{"target_session": "bravo@demo"}`},
		"raww":         {"raww", `{"target_session": "bravo@demo", "text": "ls"}`},
		"choices_pick": {"choose", `{"choice_request_id": "x", "outcome": "cancelled"}`},
		"up":           {"updown", `{"command": "up"}`},
		"down":         {"updown", `{"command": "down"}`},
		"new_peer":     {"new", `{"command": "peer", "args": {"principal_id": "bob@demo"}}`},
		"change_psk":   {"change", `{"command": "psk", "args": {"principal_id": "bob@demo"}}`},
	},
	added: map[string][]string{
		"send":         {"request_id", "sender_display_name"},
		"raww":         {"request_id", "message_id"},
		"choices_pick": {"decided_by", "reason_code", "reason"},
		"new_peer":     {"psk", "output_path"},
	},
	listed: func(bundle any) object { return object{"schema_version": "1", "bundles": []any{bundle}} },
	passed: func(code string) bool {
		return strings.HasPrefix(code, "validation_") || code == "authorization_forbidden"
	},
}

// newPeerInFileArgs asks for the key of a new peer in a file.
const newPeerInFileArgs = `{"command": "peer", "args": {"principal_id": "bob@demo", "output_path": "/srv/bob.psk"}}`

// TestReplayTools gives the tools what relays of each release answered, and makes sure that it comes through: an
// answer with all that the relay put in it, an error with its code and details, and no key where one was to be
// written to a file.
func TestReplayTools(t *testing.T) {
	for _, s := range []*surface{&surface05, &surface08} {
		replayTools(t, s)
	}
}

func replayTools(t *testing.T, s *surface) {
	seen := map[string]bool{} // releases and operations
	for name, recorded := range readTranscripts(t, s) {
		release, _, _ := strings.Cut(name, "/")
		for i, e := range recorded.exchanges {
			operation := e.request.Request.OperationName()
			call, ok := s.tools.calls[operation]
			if !ok || e.response == nil {
				continue
			}
			if peer, ok := e.request.Request.(*wire.NewPeer); ok && (peer.OutputPath != nil || peer.Destination != nil) {
				call.args = newPeerInFileArgs
			}
			t.Run(fmt.Sprintf("%s/%d %s", name, i+1, operation), func(t *testing.T) {
				outcome := s.tools.play(t, e.response, call)
				switch response := e.response.Response.(type) {
				case *wire.ErrorResponse:
					s.tools.expectError(t, outcome, &response.Error)
					return
				case *wire.NewPeerResponse:
					if response.PSK != nil && call.args == newPeerInFileArgs {
						outcome.expectNoKey(t, response.PSK.Reveal())
						return
					}
				}
				seen[release+" "+operation] = true
				s.tools.expectAnswer(t, outcome, operation, json.RawMessage(e.response.Raw))
			})
		}
	}
	for _, release := range releases {
		if release.surface != s {
			continue
		}
		for operation := range s.tools.calls {
			if !seen[release.version+" "+operation] {
				t.Errorf("no transcript of %s has an answer to %s", release.version, operation)
			}
		}
	}
}

// A recordedRelay answers everything with one recorded response.
type recordedRelay struct {
	*relayclient.Client // which never connects
	response            *wire.ResponseFrame
}

func (r recordedRelay) Do(context.Context, string, wire.Operation) (*relayclient.Reply, error) {
	if refusal, ok := r.response.Response.(*wire.ErrorResponse); ok {
		return nil, &refusal.Error
	}
	return &relayclient.Reply{Response: r.response.Response, Raw: r.response.Raw}, nil
}

// anyBundle is a configuration in which every bundle can be found.
type anyBundle struct{ mcptools.Bundles }

func (anyBundle) Load(name string) (*mcptools.Bundle, error) {
	return &mcptools.Bundle{Name: name}, nil
}

// An outcome is what came of a call.
type outcome struct {
	answer any // nil: it failed
	failed *jsonrpc.Error
	log    string // what was inscribed
}

// play makes a call that the relay answers with a response.
func (r *toolReplay) play(t *testing.T, response *wire.ResponseFrame, call replayedCall) outcome {
	t.Helper()
	var log strings.Builder
	standing := mcptools.Standing{Bundle: "demo", Session: "alpha", Relay: recordedRelay{relayclient.New(relayclient.Config{}), response}}
	tools := mcptools.New(mcptools.Config{
		Surface:  r.surface,
		Bundles:  anyBundle{},
		Standing: func(context.Context) mcptools.Standing { return standing },
		Inscribe: func(event string, details map[string]any) { fmt.Fprintln(&log, event, details) },
		Errors:   mcptools.ErrorsProtocol,
	})
	defer tools.Close()
	ours, theirs := mcp.NewInMemoryTransports()
	served, err := tools.Server(t.Context()).Connect(t.Context(), theirs, nil)
	if err != nil {
		t.Fatal(err)
	}
	session, err := mcp.NewClient(&mcp.Implementation{Name: "replay", Version: "1"}, nil).Connect(t.Context(), ours, nil)
	if err != nil {
		t.Fatal(err)
	}
	result, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: call.tool, Arguments: json.RawMessage(call.args)})
	_ = session.Close()
	_ = served.Wait()
	if failed, ok := errors.AsType[*jsonrpc.Error](err); ok {
		return outcome{failed: failed, log: log.String()}
	}
	if err != nil {
		t.Fatal(err)
	}
	return outcome{answer: result.StructuredContent, log: log.String()}
}

// expectAnswer makes sure that the answer is the relay's, with the members that the tool adds.
func (r *toolReplay) expectAnswer(t *testing.T, o outcome, operation string, raw json.RawMessage) {
	t.Helper()
	if o.failed != nil {
		t.Fatalf("failed: %v %s", o.failed, o.failed.Data)
	}
	want := decode(t, raw).(object)
	delete(want, "kind")
	for _, member := range r.added[operation] {
		if _, ok := want[member]; !ok {
			want[member] = nil
		}
	}
	if path, ok := want["written_path"]; ok {
		want["output_path"] = path
	}
	if operation == "list" {
		want = r.listed(want["bundle"])
	}
	if found := differences("", o.answer, want); found != nil {
		t.Errorf("got  %s\nwant %s\nwhich differ in %v", encode(t, o.answer), encode(t, want), found)
	}
}

// expectError makes sure that the relay's refusal is told as it came, its code among the details where it is none
// of those that data.code can have.
func (r *toolReplay) expectError(t *testing.T, o outcome, refusal *wire.Error) {
	t.Helper()
	if o.failed == nil {
		t.Fatalf("got %v, want it to fail with %s", o.answer, refusal.Code)
	}
	details := decode(t, refusal.Details)
	want := object{"code": refusal.Code, "message": refusal.Message, "details": details}
	if !r.passed(refusal.Code) {
		want["code"] = "internal_unexpected_failure"
		want["details"] = object{"relay_code": refusal.Code, "relay_details": details}
	}
	if found := differences("", decode(t, o.failed.Data), want); found != nil {
		t.Errorf("got  %s\nwant %s\nwhich differ in %v", o.failed.Data, encode(t, want), found)
	}
}

// expectNoKey makes sure that the call failed, and that the key is neither told nor inscribed.
func (o outcome) expectNoKey(t *testing.T, key string) {
	t.Helper()
	if o.failed == nil {
		t.Fatalf("got %v, want it to fail", o.answer)
	}
	for what, text := range map[string]string{"error": o.failed.Message + string(o.failed.Data), "log": o.log} {
		if strings.Contains(text, key) {
			t.Errorf("the key is in the %s: %s", what, text)
		}
		if !strings.Contains(text, "bob@demo") {
			t.Errorf("the %s does not name the principal: %s", what, text)
		}
	}
}
