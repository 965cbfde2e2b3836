package mcptools

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"sync"
	"testing"

	"github.com/agentmux/agentmux-go/relayclient"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// A surface is the tools of session alpha of bundle demo, with fakes for all that they take.
type surface struct {
	*Tools
	relay   *fakeRelay
	bundles *fakeBundles
	log     *recorder
	stderr  *lockedBuffer
}

// newSurface returns tools in front of a relay, which speaks as theirs does. The changes are made to their
// configuration; without any they are those of 0.8.
func newSurface(t testing.TB, relay *fakeRelay, changes ...func(*Config)) *surface {
	s := &surface{relay: relay, bundles: threeBundles(), log: &recorder{}, stderr: &lockedBuffer{}}
	cfg := Config{
		Version:  "1.2.3",
		Standing: standing(associatedWith(relay)),
		Bundles:  s.bundles,
		Inscribe: s.log.inscribe,
		Stderr:   s.stderr,
	}
	for _, change := range changes {
		change(&cfg)
	}
	s.Tools = New(cfg)
	for _, g := range generations {
		if g.surface == s.cfg.Surface {
			relay.words = g.words
		}
	}
	t.Cleanup(func() {
		s.Close()
		relay.silent.Close()
	})
	return s
}

// startRelay is the remedy of a relay that is not there.
func startRelay(e *relayclient.Error) string {
	if e.Kind != relayclient.Unavailable {
		return ""
	}
	return "Start a relay with: agentmux host relay."
}

func associatedWith(relay Relay) Standing {
	return Standing{Bundle: "demo", Session: "alpha", Relay: relay, Remedy: startRelay}
}

func standing(s Standing) func(context.Context) Standing {
	return func(context.Context) Standing { return s }
}

// fault is a start-up fault.
var fault = &Refusal{
	Code: CodeStartupFailed, Message: "demo.toml, line 3: no value. Mend the file.",
	Details: map[string]any{"phase": "startup", "cause": "line 3", "hint": "mend it"},
}

// as gives the tools another standing.
func as(s Standing) func(*Config) {
	return func(cfg *Config) { cfg.Standing = standing(s) }
}

// of gives the tools of a surface.
func of(u *Surface) func(*Config) {
	return func(cfg *Config) { cfg.Surface = u }
}

// do calls a tool in-process.
func (s *surface) do(t testing.TB, name, arguments string) (string, *Refusal) {
	t.Helper()
	a, refusal := s.call(t.Context(), s.named(t, name), json.RawMessage(arguments))
	if (a == nil) == (refusal == nil) {
		t.Fatalf("%s %s: got the answer %s and the refusal %v, want one of them", name, arguments, a, refusal)
	}
	return string(a), refusal
}

func (s *surface) named(t testing.TB, name string) *tool {
	t.Helper()
	for i := range s.tools {
		if s.tools[i].name == name {
			return &s.tools[i]
		}
	}
	t.Fatalf("there is no tool %s", name)
	return nil
}

// An exchangeTest is a call that the relay answers.
type exchangeTest struct {
	name      string
	tool      string
	arguments string
	request   string // namespace, a space, and the request as it is on the wire
	response  string
	answer    string
	log       []string // event, a space, and details
}

func testExchanges(t *testing.T, u *Surface, tests []exchangeTest) {
	t.Helper()
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := newSurface(t, answers(test.response), of(u))
			a, refusal := s.do(t, test.tool, test.arguments)
			if refusal != nil {
				t.Fatal(refusal)
			}
			sameJSON(t, "answer", a, test.answer)
			sameLines(t, "requests", s.relay.requests(), []string{test.request})
			sameLog(t, s.log, test.log...)
		})
	}
}

// sameLog compares all that was inscribed.
func sameLog(t testing.TB, log *recorder, want ...string) {
	t.Helper()
	var lines []string
	for _, record := range want {
		event, details, _ := strings.Cut(record, " ")
		lines = append(lines, event+" "+canonical([]byte(details)))
	}
	sameLines(t, "log", log.all(), lines)
}

// endedHere is the record of a request that ended on this side of the relay.
func endedHere(prefix string, refusal *Refusal) string {
	return prefix + ".io_error " + string(encode(map[string]any{"error": refusal.Message, "kind": refusal.Code}))
}

// A refusalTest is a call whose arguments are wrong.
type refusalTest struct {
	name      string
	tool      string
	arguments string
	code      string
	details   string
}

// testRefusals also sees to it that nothing but the arguments was looked at: the server has a start-up
// fault, which would show otherwise, and neither relay nor configuration nor log was touched.
func testRefusals(t *testing.T, u *Surface, tests []refusalTest) {
	t.Helper()
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := newSurface(t, answers(`{}`), of(u), as(Standing{Fault: fault}), func(cfg *Config) {
				cfg.CheckOutputPath = func(path string) error {
					t.Errorf("the disk was asked about %s", path)
					return nil
				}
			})
			_, refusal := s.do(t, test.tool, test.arguments)
			sameRefusal(t, refusal, jsonrpc.CodeInvalidParams, test.code, test.details)
			sameLines(t, "requests", s.relay.requests(), nil)
			sameLines(t, "reads of the configuration", s.bundles.reads, nil)
			sameLog(t, s.log)
		})
	}
}

// sameRefusal compares all of a refusal but its prose, which must be there.
func sameRefusal(t testing.TB, got *Refusal, rpcCode int64, code, details string) {
	t.Helper()
	if got == nil {
		t.Fatalf("got an answer, want %s", code)
	}
	e := got.asError()
	if e.Code != rpcCode {
		t.Errorf("JSON-RPC code: got %d, want %d", e.Code, rpcCode)
	}
	var data struct {
		Code    string          `json:"code"`
		Message string          `json:"message"`
		Details json.RawMessage `json:"details"`
	}
	if err := json.Unmarshal(e.Data, &data); err != nil {
		t.Fatal(err)
	}
	if data.Code != code {
		t.Errorf("code: got %s, want %s", data.Code, code)
	}
	if data.Message == "" || e.Message != data.Code+": "+data.Message {
		t.Errorf("JSON-RPC message: got %q, want the code and the message %q", e.Message, data.Message)
	}
	sameJSON(t, "details", string(data.Details), details)
}

// A lockedBuffer is standard error for calls that run side by side.
type lockedBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}
