package scripts

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/agentmux/agentmux-go/mcptools"
	"github.com/agentmux/agentmux-go/relayclient"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

var (
	soakCalls = flag.Int("soak.calls", 3000, "calls that TestSoak makes")
	soakSeed  = flag.Uint64("soak.seed", rand.Uint64(), "seed of TestSoak")
)

// soakClients make calls at the same time.
const soakClients = 20

// A call is one line of the history: what was asked, and what the client was told.
type call struct {
	mark   string // of the request; unique
	failed string // message of the error; "" for an answer
	relay  bool   // the error is the relay's own
	echoed string // what the answer says of the request
}

// TestSoak makes calls through the tools and the client against a relay that restarts, stalls, hangs up and talks
// nonsense at random, then holds what the clients were told against what the relay saw: a call that was answered was
// submitted once, one that says that nothing was sent never, any other once at most, and every answer is the
// answer to its call. Every request in the event log has one ending. Time is virtual; the bubble fails if a
// goroutine is left over.
func TestSoak(t *testing.T) {
	t.Logf("-soak.calls=%d -soak.seed=%d", *soakCalls, *soakSeed)
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		relay := newUnreliableRelay(ctx, *soakSeed)
		client := relayclient.New(relayclient.Config{Principal: "a@demo", Dial: relay.dial})
		log := &eventLog{counts: make(map[string]int)}
		standing := mcptools.Standing{Bundle: "demo", Session: "a", Relay: client}
		tools := mcptools.New(mcptools.Config{
			Standing: func(context.Context) mcptools.Standing { return standing },
			Inscribe: log.inscribe,
			Errors:   mcptools.ErrorsProtocol,
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

		history := make([]call, *soakCalls)
		var next, half int
		var mu sync.Mutex
		var heapAtHalf uint64
		take := func() (int, bool) {
			mu.Lock()
			defer mu.Unlock()
			if half = *soakCalls / 2; next == half {
				heapAtHalf = heap()
			}
			next++
			return next - 1, next <= *soakCalls
		}
		var clients sync.WaitGroup
		for range soakClients {
			clients.Go(func() {
				for i, ok := take(); ok; i, ok = take() {
					history[i] = makeCall(ctx, t, session, i)
				}
			})
		}
		clients.Wait()
		if atEnd := heap(); atEnd > 2*heapAtHalf+8<<20 {
			t.Errorf("the heap grew from %d to %d bytes over the second half", heapAtHalf, atEnd)
		}

		_ = session.Close()
		_ = served.Wait()
		client.Close()
		tools.Close()
		cancel()
		relay.serving.Wait()
		checkHistory(t, history, relay.submitted)
		log.check(t)
	})
}

// heap is the memory in use, in bytes.
func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// makeCall makes the i-th call, a send or a look.
func makeCall(ctx context.Context, t *testing.T, session *mcp.ClientSession, i int) call {
	c := call{mark: fmt.Sprintf("call %d", i)}
	params := &mcp.CallToolParams{Name: "send", Arguments: map[string]any{"message": c.mark, "targets": []string{"b@demo"}}}
	if i%3 == 0 {
		params = &mcp.CallToolParams{Name: "look", Arguments: map[string]any{"target_session": c.mark}}
	}
	result, err := session.CallTool(ctx, params)
	if refusal, ok := errors.AsType[*jsonrpc.Error](err); ok {
		var data struct {
			Code    string
			Details map[string]any
		}
		if err := json.Unmarshal(refusal.Data, &data); err != nil {
			t.Errorf("%s: error data %s: %v", c.mark, refusal.Data, err)
		}
		c.failed = refusal.Message
		c.relay = strings.HasPrefix(data.Code, "validation_") || data.Details["relay_code"] != nil || data.Details["response"] != nil
		return c
	}
	if err != nil {
		t.Errorf("%s: no answer: %v", c.mark, err)
		c.failed = err.Error()
		return c
	}
	answer := result.StructuredContent.(map[string]any)
	if results, ok := answer["results"].([]any); ok {
		c.echoed = results[0].(map[string]any)["message_id"].(string)
	} else {
		c.echoed = answer["target_session"].(string)
	}
	return c
}

func checkHistory(t *testing.T, history []call, submitted map[string]int) {
	kinds := make(map[string]int)
	for _, c := range history {
		n := submitted[c.mark]
		switch {
		case c.failed == "":
			kinds["answered"]++
			if n != 1 || c.echoed != c.mark {
				t.Errorf("%s was answered for %q and submitted %d times", c.mark, c.echoed, n)
			}
		case strings.Contains(c.failed, "Nothing was sent"):
			kinds["not sent"]++
			if n != 0 {
				t.Errorf("%s was submitted %d times and reported as not sent: %s", c.mark, n, c.failed)
			}
		case strings.Contains(c.failed, "outcome is unknown"):
			kinds["unknown"]++
			if n > 1 {
				t.Errorf("%s was submitted %d times", c.mark, n)
			}
		case c.relay:
			kinds["refused by the relay"]++
			if n > 1 {
				t.Errorf("%s was submitted %d times", c.mark, n)
			}
		default:
			t.Errorf("%s failed without saying what became of it: %s", c.mark, c.failed)
		}
	}
	t.Logf("%d calls: %v", len(history), kinds)
}

// An eventLog counts records.
type eventLog struct {
	mu     sync.Mutex
	counts map[string]int
}

func (l *eventLog) inscribe(event string, _ map[string]any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.counts[event]++
}

// check makes sure that every request has one ending.
func (l *eventLog) check(t *testing.T) {
	for _, tool := range []string{"mcp.tool.send", "mcp.tool.look"} {
		endings := 0
		for _, ending := range []string{"success", "relay_error", "unexpected_response", "io_error"} {
			endings += l.counts[tool+"."+ending]
		}
		if requests := l.counts[tool+".request"]; requests == 0 || requests != endings {
			t.Errorf("%s: %d requests and %d endings in the log", tool, requests, endings)
		}
	}
}
