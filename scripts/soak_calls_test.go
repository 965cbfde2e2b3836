package scripts_test

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

var (
	soakCalls = flag.Int("soak.calls", 0, "calls that each soak makes; 0: its own number")
	soakSeed  = flag.Uint64("soak.seed", rand.Uint64(), "seed of the soaks")
)

// soakClients make calls at the same time.
const soakClients = 20

// soakSize is the number of calls to make, told in the test's log beside the seed.
func soakSize(t *testing.T, usual int) int {
	n := *soakCalls
	if n == 0 {
		n = usual
	}
	t.Logf("-soak.calls=%d -soak.seed=%d", n, *soakSeed)
	return n
}

// A soakCall is one call of a soak. Its kind's templates are filled in.
type soakCall struct {
	soakKind
	number int
	params map[string]any // the arguments
	wrong  string         // the argument that makes it a wrong call; "": it is a right one
	// patience is how long its client waits before it cancels the call; 0: until it is answered.
	patience time.Duration
}

// newSoakCall makes the call of a number. Of a seed, it is always the same.
func newSoakCall(seed uint64, number int) soakCall {
	rnd := rand.New(rand.NewPCG(seed, uint64(number)+1))
	c := soakCall{soakKind: pickSoakKind(rnd), number: number}
	fill := strings.NewReplacer("MARK", fmt.Sprintf("call-%d", number), "SECRET", soakSecret).Replace
	c.arguments, c.answer, c.asks = fill(c.arguments), fill(c.answer), slices.Clone(c.asks)
	for i, ask := range c.asks {
		c.asks[i] = fill(ask)
	}
	if err := json.Unmarshal([]byte(c.arguments), &c.params); err != nil {
		panic(err) // the table is wrong
	}
	switch rnd.IntN(20) {
	case 0:
		c.spoil("bogus", fmt.Sprintf("call-%d", number))
	case 1: // true is wrong wherever it is not the value already
		keys := slices.DeleteFunc(slices.Sorted(maps.Keys(c.params)), func(key string) bool { return c.params[key] == true })
		if len(keys) > 0 {
			c.spoil(keys[rnd.IntN(len(keys))], true)
		}
	case 2, 3:
		c.patience = time.Duration(1+rnd.IntN(10_000)) * time.Microsecond
	}
	return c
}

// spoil makes the call a wrong one, which nobody but its client may hear of.
func (c *soakCall) spoil(key string, value any) {
	c.params[key] = value
	c.wrong, c.asks, c.log = key, nil, ""
}

func pickSoakKind(rnd *rand.Rand) soakKind {
	total := 0
	for _, k := range soakKinds {
		total += k.weight
	}
	n := rnd.IntN(total)
	for _, k := range soakKinds {
		if n -= k.weight; n < 0 {
			return k
		}
	}
	panic("unreachable")
}

// A soakOutcome is what a client was told: a result or an error, as JSON-RPC has them, or neither.
type soakOutcome struct {
	Result, Error json.RawMessage
	cancelled     bool   // the client gave up
	lost          string // why the client will never be told
}

// A soakClient makes a call and returns what it was told. It cancels the call when ctx ends.
type soakClient func(ctx context.Context, c soakCall) soakOutcome

// soak makes n calls, soakClients at a time, and settles each in the ledger. It measures the memory in use after half
// of them and at the end.
func soak(ctx context.Context, ledger *soakLedger, n int, ask soakClient, memory func() int) (atHalf, atEnd int) {
	for i := range n {
		ledger.expect(newSoakCall(*soakSeed, i))
	}
	var next int
	var mu sync.Mutex
	take := func() (int, bool) {
		mu.Lock()
		defer mu.Unlock()
		if next == n/2 {
			atHalf = memory()
		}
		next++
		return next - 1, next <= n
	}
	var clients sync.WaitGroup
	for range soakClients {
		clients.Go(func() {
			for i, ok := take(); ok; i, ok = take() {
				c := newSoakCall(*soakSeed, i)
				ctx, cancel := ctx, context.CancelFunc(func() {})
				if c.patience > 0 {
					ctx, cancel = context.WithTimeout(ctx, c.patience)
				}
				ledger.settle(c, ask(ctx, c))
				cancel()
			}
		})
	}
	clients.Wait()
	atEnd = memory()
	ledger.t.Logf("%d KiB in use after half of the calls, %d KiB at the end", atHalf>>10, atEnd>>10)
	return atHalf, atEnd
}
