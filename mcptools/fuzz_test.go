package mcptools

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/agentmux/agentmux-go/wire"
	"github.com/agentmux/agentmux-go/wire/wire05"
)

// answersAll returns a relay that has a good answer to every operation.
func answersAll() *fakeRelay {
	return answering(func(_ context.Context, _ string, op wire.Operation) (string, error) {
		switch op := op.(type) {
		case *wire.List, *wire05.List:
			return `{"kind":"list","bundle":{"id":"x"}}`, nil
		case *wire.ChoicesList:
			return `{"kind":"choices_list","pending_requests":[]}`, nil
		case *wire.Send:
			return `{"kind":"send","results":[]}`, nil
		case *wire.Look, *wire05.Look:
			return lookResponse, nil
		case *wire.Raww, *wire05.Raww:
			return `{"kind":"raww","status":"queued"}`, nil
		case *wire.ChoicesPick:
			return `{"kind":"choices_pick","status":"resolved"}`, nil
		case *wire.Up, *wire.Down:
			return `{"kind":"bundle_transition","bundles":[]}`, nil
		case *wire.NewPeer:
			if op.OutputPath == nil {
				return `{"kind":"new_peer","principal_id":"p","psk":"s3cret"}`, nil
			}
			return `{"kind":"new_peer","principal_id":"p","output_path":"/p"}`, nil
		case *wire.ChangePSK:
			return `{"kind":"change_psk","principal_id":"p","psk":"s3cret"}`, nil
		case *wire05.Chat:
			return `{"kind":"chat","results":[]}`, nil
		case *wire05.PermissionList:
			return `{"kind":"permission_list","pending_requests":[]}`, nil
		case *wire05.PermissionResolve:
			return `{"kind":"permission_decision","status":"resolved"}`, nil
		default:
			return "", fmt.Errorf("there is no answer to %s", op.OperationName())
		}
	})
}

// argumentCodes are the codes that arguments can be refused with, and that of a bundle that is not there.
var argumentCodes = []string{
	CodeInvalidParams, CodeInvalidArguments, CodeConflictingTargets, CodeEmptyTargets, CodeUnknownTarget,
	CodeInvalidLines, CodeInvalidOutputPath, CodeUnknownBundle,
	CodeInvalidQuiescenceTimeout, CodeInvalidACPTurnTimeout, CodeConflictingTimeouts,
}

// FuzzArguments calls every tool with arguments of any kind. They are answered or refused with a code of
// this side, never met with a panic, and the log tells the same.
func FuzzArguments(f *testing.F) {
	var surfaces []*surface
	for _, g := range generations {
		for _, call := range g.calls {
			f.Add(call.arguments)
		}
		surfaces = append(surfaces, newSurface(f, answersAll(), of(g.surface)))
	}
	f.Fuzz(func(t *testing.T, arguments string) {
		if arguments != "" && !json.Valid([]byte(arguments)) {
			t.Skip("the transport answers what is no JSON")
		}
		for _, s := range surfaces {
			for i := range s.tools {
				s.tryArguments(t, &s.tools[i], arguments)
			}
			s.forget()
		}
	})
}

func (s *surface) tryArguments(t *testing.T, tool *tool, arguments string) {
	before, asked := len(s.log.all()), len(s.relay.requests())
	a, refusal := s.call(t.Context(), tool, json.RawMessage(arguments))
	records, requests := s.log.all()[before:], s.relay.requests()[asked:]
	switch {
	case refusal == nil && !json.Valid(a):
		t.Errorf("%s: the answer is no JSON: %s", tool.name, a)
	case refusal != nil && !slices.Contains(argumentCodes, refusal.Code):
		t.Errorf("%s: got %v\n%s", tool.name, refusal, s.stderr)
	case refusal != nil && !json.Valid(refusal.asError().Data):
		t.Errorf("%s: the data is no JSON: %s", tool.name, refusal.asError().Data)
	}
	switch {
	case len(records) == 0: // refused at once, or help
		if len(requests) != 0 {
			t.Errorf("%s: nothing was inscribed of %q", tool.name, requests)
		}
	case len(records) != 2 || refusal == nil != strings.Contains(records[1], ".success {"):
		t.Errorf("%s: got the records %q and %v", tool.name, records, refusal)
	}
}

// forget drops what the fakes have kept.
func (s *surface) forget() {
	s.log.mu.Lock()
	s.log.records = nil
	s.log.mu.Unlock()
	s.relay.mu.Lock()
	s.relay.asked = nil
	s.relay.mu.Unlock()
	s.bundles.mu.Lock()
	s.bundles.reads = nil
	s.bundles.mu.Unlock()
}

// FuzzResponses has the relay answer every tool with JSON of any kind. It becomes an answer, or a refusal with the
// relay's code or that of an unexpected failure, never a panic; and the log has one ending that tells the same.
func FuzzResponses(f *testing.F) {
	for _, g := range generations {
		for _, call := range g.calls {
			f.Add(call.response)
		}
	}
	for _, response := range []string{
		`null`, `{}`, `[]`, `7`, `{"kind":7}`, `{"kind":"look"}`, `{"kind":"look","snapshot_format":"lines","snapshot_lines":null}`,
		`{"kind":"error","error":{"code":"validation_x","message":"m","details":[1e400]}}`, `{"kind":"error","error":{}}`,
		`{"kind":"error","error":{"code":"runtime_x","message":"m","details":{"psk":[7]}}}`,
		`{"kind":"list","bundle":null}`, `{"kind":"list","bundle":{"id":"x","sessions":null,"sessions":[null]}}`, `{"kind":"chat","results":[{}]}`,
		`{"kind":"raww","status":"accepted","details":7}`, `{"kind":"send","results":[null]}`, `{"kind":"new_peer","principal_id":"p","psk":5}`,
		strings.Repeat("[", 500) + strings.Repeat("]", 500),
	} {
		f.Add(response)
	}
	f.Fuzz(func(t *testing.T, response string) {
		for _, g := range generations {
			frame, err := g.words.Decode([]byte(`{"frame":"response","request_id":"x","response":` + response + `}`))
			if frame == nil {
				t.Skipf("the client ends the connection: %v", err)
			}
			g.tryResponse(t, frame.(*wire.ResponseFrame))
		}
	})
}

func (g *generation) tryResponse(t *testing.T, response *wire.ResponseFrame) {
	s := newSurface(t, answers(string(response.Raw)), of(g.surface))
	code := CodeUnexpectedFailure
	if refused, ok := response.Response.(*wire.ErrorResponse); ok && (g == gen05 || validationShaped(refused.Error.Code)) {
		code = refused.Error.Code
	}
	for _, call := range g.calls {
		before := len(s.log.all())
		a, refusal := s.call(t.Context(), s.named(t, call.tool), json.RawMessage(call.arguments))
		records := s.log.all()[before:]
		switch {
		case refusal == nil && !json.Valid(a):
			t.Errorf("%s: the answer is no JSON: %s", call.tool, a)
		case refusal != nil && refusal.Code != code:
			t.Errorf("%s: got %v, want %s", call.tool, refusal, code)
		case refusal != nil && !json.Valid(refusal.asError().Data):
			t.Errorf("%s: the data is no JSON: %s", call.tool, refusal.asError().Data)
		case s.stderr.String() != "":
			t.Errorf("%s: panicked\n%s", call.tool, s.stderr)
		case len(records) != 2 || refusal == nil != strings.Contains(records[1], ".success {"):
			t.Errorf("%s: got the records %q and %v", call.tool, records, refusal)
		}
	}
}
