package mcptools

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/agentmux/agentmux-go/wire"
)

// answersAll returns a relay that has a good answer to every operation.
func answersAll() *fakeRelay {
	return answering(func(_ context.Context, _ string, op wire.Operation) (string, error) {
		switch op := op.(type) {
		case *wire.List:
			return `{"kind":"list","bundle":{"id":"x"}}`, nil
		case *wire.ChoicesList:
			return `{"kind":"choices_list","pending_requests":[]}`, nil
		case *wire.Send:
			return `{"kind":"send","results":[]}`, nil
		case *wire.Look:
			return lookResponse, nil
		case *wire.Raww:
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
		default:
			return `{"kind":"change_psk","principal_id":"p","psk":"s3cret"}`, nil
		}
	})
}

// argumentCodes are the codes that arguments can be refused with, and that of a bundle that is not there.
var argumentCodes = []string{
	CodeInvalidParams, CodeInvalidArguments, CodeConflictingTargets, CodeEmptyTargets, CodeUnknownTarget,
	CodeInvalidLines, CodeInvalidOutputPath, CodeUnknownBundle,
}

// FuzzArguments calls every tool with arguments of any kind. They are answered or refused with a code of
// this side, never met with a panic, and the log tells the same.
func FuzzArguments(f *testing.F) {
	for _, call := range calls {
		f.Add(call.arguments)
	}
	s := newSurface(f, answersAll())
	f.Fuzz(func(t *testing.T, arguments string) {
		if arguments != "" && !json.Valid([]byte(arguments)) {
			t.Skip("the transport answers what is no JSON")
		}
		for i := range s.tools {
			before, asked := len(s.log.all()), len(s.relay.requests())
			a, refusal := s.call(t.Context(), &s.tools[i], json.RawMessage(arguments))
			records, requests := s.log.all()[before:], s.relay.requests()[asked:]
			switch {
			case refusal == nil && !json.Valid(a):
				t.Errorf("%s: the answer is no JSON: %s", s.tools[i].name, a)
			case refusal != nil && !slices.Contains(argumentCodes, refusal.Code):
				t.Errorf("%s: got %v\n%s", s.tools[i].name, refusal, s.stderr)
			case refusal != nil && !json.Valid(refusal.asError().Data):
				t.Errorf("%s: the data is no JSON: %s", s.tools[i].name, refusal.asError().Data)
			}
			switch {
			case len(records) == 0: // refused at once, or help
				if len(requests) != 0 {
					t.Errorf("%s: nothing was inscribed of %q", s.tools[i].name, requests)
				}
			case len(records) != 2 || refusal == nil != strings.Contains(records[1], ".success {"):
				t.Errorf("%s: got the records %q and %v", s.tools[i].name, records, refusal)
			}
		}
		s.forget()
	})
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
	for _, call := range calls {
		f.Add(call.response)
	}
	for _, response := range []string{
		`null`, `{}`, `[]`, `7`, `{"kind":7}`, `{"kind":"look"}`, `{"kind":"look","snapshot_format":"lines","snapshot_lines":null}`,
		`{"kind":"error","error":{"code":"validation_x","message":"m","details":[1e400]}}`, `{"kind":"error","error":{}}`,
		`{"kind":"list","bundle":null}`, `{"kind":"send","results":[null]}`, `{"kind":"new_peer","principal_id":"p","psk":5}`,
		strings.Repeat("[", 500) + strings.Repeat("]", 500),
	} {
		f.Add(response)
	}
	f.Fuzz(func(t *testing.T, response string) {
		frame, err := wire.Decode([]byte(`{"frame":"response","request_id":"x","response":` + response + `}`))
		if frame == nil {
			t.Skipf("the client ends the connection: %v", err)
		}
		raw := frame.(*wire.ResponseFrame).Raw
		s := newSurface(t, answers(string(raw)))
		for _, call := range calls {
			before := len(s.log.all())
			tool := &s.tools[slices.IndexFunc(s.tools, func(tool tool) bool { return tool.name == call.tool })]
			a, refusal := s.call(t.Context(), tool, json.RawMessage(call.arguments))
			records := s.log.all()[before:]
			switch {
			case refusal == nil && !json.Valid(a):
				t.Errorf("%s: the answer is no JSON: %s", call.tool, a)
			case refusal != nil && refusal.Code != CodeUnexpectedFailure && refusal.Code != codeForbidden &&
				!strings.HasPrefix(refusal.Code, codePrefixForValidation):
				t.Errorf("%s: got %v", call.tool, refusal)
			case refusal != nil && !json.Valid(refusal.asError().Data):
				t.Errorf("%s: the data is no JSON: %s", call.tool, refusal.asError().Data)
			case s.stderr.String() != "":
				t.Errorf("%s: panicked\n%s", call.tool, s.stderr)
			case len(records) != 2 || refusal == nil != strings.Contains(records[1], ".success {"):
				t.Errorf("%s: got the records %q and %v", call.tool, records, refusal)
			}
		}
	})
}
