package scripts_test

import (
	"context"
	"encoding/json"
	"errors"
	"runtime"
	"runtime/debug"
	"testing"
	"testing/synctest"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/agentmux/agentmux-go/mcptools"
	"github.com/agentmux/agentmux-go/relayclient"
	"github.com/agentmux/agentmux-go/wire"
)

// TestSoak makes calls of every kind, wrong ones and ones that are cancelled among them, through the tools and the
// client against a relay that restarts, stalls, hangs up and talks nonsense at random, then holds what the clients were
// told against what the relay saw: see soakLedger. Every request in the event log has one ending, and memory is flat.
// Time is virtual; the bubble fails if a goroutine is left over.
func TestSoak(t *testing.T) {
	n := soakSize(t, 3000)
	defer debug.SetGCPercent(debug.SetGCPercent(400)) // as the command has it: small heaps would cost a third of the time
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		ledger := newSoakLedger(t)
		relay := newUnreliableRelay(ctx, ledger)
		relay.stalls = true
		client := relayclient.New(relayclient.Config{
			Principal: "alpha@demo",
			Token:     func() wire.Secret { return wire.NewSecret(soakSecret + "-token") },
			Dial:      relay.dial,
		})
		standing := mcptools.Standing{Bundle: "demo", Session: "alpha", Relay: client}
		tools := mcptools.New(mcptools.Config{
			Standing: func(context.Context) mcptools.Standing { return standing },
			Bundles:  soakBundles{},
			Errors:   mcptools.ErrorsProtocol,
			Inscribe: func(event string, details map[string]any) {
				text, err := json.Marshal(details)
				if err != nil {
					t.Errorf("details of %s: %v", event, err)
				}
				ledger.inscribed(event, string(text))
			},
		})
		ours, theirs := mcp.NewInMemoryTransports()
		served, err := tools.Server(ctx).Connect(ctx, theirs, nil)
		if err != nil {
			t.Fatal(err)
		}
		session, err := mcp.NewClient(&mcp.Implementation{Name: "soak"}, nil).Connect(ctx, ours, nil)
		if err != nil {
			t.Fatal(err)
		}

		atHalf, atEnd := soak(ctx, ledger, n, func(ctx context.Context, c soakCall) soakOutcome { return callSession(ctx, session, c) }, heap)
		if atEnd > atHalf+4<<20 {
			t.Errorf("the heap grew from %d to %d bytes over the second half", atHalf, atEnd)
		}

		_ = session.Close()
		_ = served.Wait()
		client.Close()
		tools.Close()
		cancel()
		relay.serving.Wait()
		ledger.check()
	})
}

// heap is the memory in use, in bytes.
func heap() int {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}

// callSession makes a call through the SDK's client.
func callSession(ctx context.Context, session *mcp.ClientSession, c soakCall) soakOutcome {
	result, err := session.CallTool(ctx, &mcp.CallToolParams{Name: c.tool, Arguments: c.params})
	if refusal, ok := errors.AsType[*jsonrpc.Error](err); ok {
		text, err := json.Marshal(refusal)
		if err != nil {
			return soakOutcome{lost: err.Error()}
		}
		return soakOutcome{Error: text}
	}
	if ctx.Err() != nil {
		return soakOutcome{cancelled: true}
	}
	if err != nil {
		return soakOutcome{lost: err.Error()}
	}
	text, err := json.Marshal(result)
	if err != nil {
		return soakOutcome{lost: err.Error()}
	}
	return soakOutcome{Result: text}
}

// soakBundles are the bundles that calls list.
type soakBundles struct{}

func (soakBundles) Names() ([]string, error) { return []string{"demo", "east", "west"}, nil }

func (soakBundles) Load(name string) (*mcptools.Bundle, error) {
	return &mcptools.Bundle{Name: name, Members: []mcptools.Member{{ID: "alpha", Transport: wire.TransportTmux}}}, nil
}

func (soakBundles) StartupFailures(string) []json.RawMessage { return nil }
