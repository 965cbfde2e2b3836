package mcptools

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/agentmux/agentmux-go/relayclient"
	"github.com/agentmux/agentmux-go/wire"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// A secretPanic is a value that must not show.
type secretPanic struct{ text string }

func (p secretPanic) Error() string { return p.text }

// panicsOnce returns what panics at its first call only.
func panicsOnce() func() {
	calls := 0
	return func() {
		if calls++; calls == 1 {
			panic(secretPanic{"s3cret"})
		}
	}
}

// panickyBundles panic at the first call of one method.
type panickyBundles struct {
	*fakeBundles
	names, load, failures func()
}

func (b panickyBundles) Names() ([]string, error) {
	b.names()
	return b.fakeBundles.Names()
}

func (b panickyBundles) Load(name string) (*Bundle, error) {
	b.load()
	return b.fakeBundles.Load(name)
}

func (b panickyBundles) StartupFailures(name string) []json.RawMessage {
	b.failures()
	return b.fakeBundles.StartupFailures(name)
}

// A panic fails its call, in the goroutines of a fan-out too, and the server goes on.
func TestPanics(t *testing.T) {
	never := func() {}
	panicky := func(names, load, failures func()) func(*Config) {
		return func(cfg *Config) { cfg.Bundles = panickyBundles{threeBundles(), names, load, failures} }
	}
	eachGeneration(t, func(t *testing.T, g *generation) {
		panics := panicsOnce()
		onlyOther := answering(func(_ context.Context, name string, _ wire.Operation) (string, error) {
			if name == "Other" {
				panics()
			}
			return g.listing(name), nil
		})
		tests := []struct {
			name, tool, arguments, prefix string
			relay                         *fakeRelay
			change                        func(*Config)
			frame                         string // what the stack has in it
		}{
			{"the relay", "look", `{"target_session":"bravo@demo"}`, "mcp.tool.look", answering(func() func(context.Context, string, wire.Operation) (string, error) {
				panics := panicsOnce()
				return func(context.Context, string, wire.Operation) (string, error) {
					panics()
					return lookResponse, nil
				}
			}()), func(*Config) {}, "(*fakeRelay).Do"},
			{"the relay, for one of many", "list", g.list("*"), "mcp.tool.list", onlyOther, func(*Config) {}, "mcptools.gather."},
			{"the names of bundles", "list", g.list("*"), "mcp.tool.list", g.lists(nil), panicky(panicsOnce(), never, never), "panickyBundles.Names"},
			{"reading a bundle", "list", g.list("*"), "mcp.tool.list", g.lists(nil), panicky(never, panicsOnce(), never), "panickyBundles.Load"},
			{"reading the history of a bundle", "list", g.list("*"), "mcp.tool.list", g.lists(map[string]error{"demo": errNoSocket}), panicky(never, never, panicsOnce()), "panickyBundles.StartupFailures"},
		}
		for _, test := range tests {
			t.Run(test.name, func(t *testing.T) {
				s := newSurface(t, test.relay, of(g.surface), test.change)
				session := s.connect(t, handshaken)
				_, err := callTool(t, session, test.tool, test.arguments)
				e := rpcError(t, err)
				var data struct {
					Code, Message string
					Details       any
				}
				if err := json.Unmarshal(e.Data, &data); err != nil {
					t.Fatal(err)
				}
				if e.Code != jsonrpc.CodeInternalError || data.Code != "internal_unexpected_failure" || data.Details != nil {
					t.Errorf("got %v with %s", e, e.Data)
				}
				records := s.log.all()
				sameEvents(t, s.log, test.prefix+".request", test.prefix+".io_error")
				sameJSON(t, "ending", strings.TrimPrefix(records[1], test.prefix+".io_error "),
					`{"error":`+string(encode(data.Message))+`,"kind":"internal_unexpected_failure"}`)

				stderr := s.stderr.String()
				for _, part := range []string{"panic (mcptools.secretPanic) in tool " + test.tool, test.frame} {
					if !strings.Contains(stderr, part) {
						t.Errorf("%q is not on standard error: %s", part, stderr)
					}
				}
				if strings.Contains(e.Error()+string(e.Data)+stderr+strings.Join(records, ""), "s3cret") {
					t.Errorf("the value of the panic shows: %v, %s, %s", e, stderr, records)
				}

				if _, err := callTool(t, session, test.tool, test.arguments); err != nil {
					t.Errorf("the call after it: %v", err)
				}
			})
		}
	})
}

// A panic before the request was inscribed leaves no ending either.
func TestPanicInStanding(t *testing.T) {
	panics := panicsOnce()
	s := newSurface(t, answers(lookResponse))
	standing := s.cfg.Standing
	s.cfg.Standing = func(ctx context.Context) Standing {
		panics()
		return standing(ctx)
	}
	_, refusal := s.do(t, "look", `{"target_session":"bravo@demo"}`)
	sameRefusal(t, refusal, jsonrpc.CodeInternalError, "internal_unexpected_failure", `null`)
	sameLog(t, s.log)
	if _, refusal := s.do(t, "look", `{"target_session":"bravo@demo"}`); refusal != nil {
		t.Errorf("the call after it: %v", refusal)
	}
}

// A relay that gives neither a response nor an error, or a response without its JSON, breaks its contract,
// and only that call.
func TestRelayBreaksItsContract(t *testing.T) {
	for _, reply := range []*relayclient.Reply{
		nil, {}, {Response: &wire.LookResponse{}}, {Response: &wire.LookResponse{}, Raw: wire.Raw(`[]`)},
	} {
		s := newSurface(t, answers(`{}`), func(cfg *Config) { cfg.Stderr = nil })
		s.cfg.Standing = standing(associatedWith(replyingRelay{s.relay, reply}))
		_, refusal := s.do(t, "look", `{"target_session":"bravo@demo"}`)
		sameRefusal(t, refusal, jsonrpc.CodeInternalError, "internal_unexpected_failure", `null`)
		sameEvents(t, s.log, "mcp.tool.look.request", "mcp.tool.look.io_error")
	}
}

// A replyingRelay has the same reply to all, good or not.
type replyingRelay struct {
	*fakeRelay
	reply *relayclient.Reply
}

func (r replyingRelay) Do(context.Context, string, wire.Operation) (*relayclient.Reply, error) {
	return r.reply, nil
}
