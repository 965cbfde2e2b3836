package mcptools

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentmux/agentmux-go/relayclient"
	"github.com/agentmux/agentmux-go/relayclient/relay05"
	"github.com/agentmux/agentmux-go/wire"
	"github.com/agentmux/agentmux-go/wire/wire05"
)

// An eventRelay is a relay at the other end of a pipe that answers lists of what waits for a decision, and sends
// events.
type eventRelay struct {
	generation *generation
	client     interface {
		Relay
		Close()
	}
	conn net.Conn // the relay's end

	mu    sync.Mutex    // of writes
	takes time.Duration // the time from a request to its answer
}

func newEventRelay(t *testing.T, g *generation) *eventRelay {
	ours, theirs := net.Pipe()
	dial := func(context.Context, string) (net.Conn, error) { return ours, nil }
	r := &eventRelay{generation: g, conn: theirs}
	if g == gen05 {
		r.client = relay05.New(relay05.Config{Bundle: "demo", Session: "alpha", Socket: func(string) string { return socket }, Dial: dial})
	} else {
		r.client = relayclient.New(relayclient.Config{Socket: socket, Principal: "alpha@demo", Dial: dial})
	}
	t.Cleanup(r.client.Close)
	go r.serve(t)
	return r
}

func (r *eventRelay) serve(t *testing.T) {
	lines := bufio.NewScanner(r.conn)
	for lines.Scan() {
		frame, err := r.generation.words.Decode(lines.Bytes())
		if err != nil {
			t.Error(err)
			return
		}
		switch f := frame.(type) {
		case *wire.Hello:
			r.write(t, &wire.HelloAck{SchemaVersion: wire.SchemaVersion, PrincipalID: f.PrincipalID})
		case *wire05.Hello:
			r.write(t, &wire05.HelloAck{SchemaVersion: wire.SchemaVersion, BundleName: f.BundleName, SessionID: f.SessionID})
		case *wire.RequestFrame:
			r.mu.Lock()
			takes := r.takes
			r.mu.Unlock()
			go func() {
				<-time.After(takes)
				r.write(t, &wire.ResponseFrame{RequestID: &f.RequestID, Response: r.pending()})
			}()
		}
	}
}

// pending is the answer to a list of what waits for a decision.
func (r *eventRelay) pending() wire.Response {
	if r.generation == gen05 {
		return &wire05.PermissionListResponse{SchemaVersion: wire.SchemaVersion}
	}
	return &wire.ChoicesListResponse{SchemaVersion: wire.SchemaVersion}
}

func (r *eventRelay) write(t *testing.T, f wire.Frame) {
	line, err := wire.Encode(f)
	if err != nil {
		t.Error(err)
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, err := r.conn.Write(line); err != nil {
		t.Error(err)
	}
}

// emit sends events and waits until they were dealt with.
func (r *eventRelay) emit(t *testing.T, n int) {
	for range n {
		r.write(t, &wire.EventFrame{Event: wire.Event{EventType: "delivery_outcome"}})
	}
	synctest.Wait()
}

// answerAfter sets how long the relay takes for an answer.
func (r *eventRelay) answerAfter(d time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.takes = d
}

// An eventTest runs in a bubble, and keeps what is inscribed of events with the time since its start.
type eventTest struct {
	*surface
	generation *generation

	start   time.Time
	mu      sync.Mutex
	current Standing
	ignored []string // time, bundle and count
}

func newEventTest(t *testing.T, relay *eventRelay) *eventTest {
	e := &eventTest{generation: relay.generation, start: time.Now(), current: Standing{Bundle: "demo", Session: "alpha", Relay: relay.client}}
	scope := map[*generation]string{gen08: "namespace", gen05: "bundle_name"}[e.generation]
	e.surface = newSurface(t, answers(`{}`), of(e.generation.surface), func(cfg *Config) {
		cfg.Standing = func(context.Context) Standing {
			e.mu.Lock()
			defer e.mu.Unlock()
			return e.current
		}
		cfg.Inscribe = func(event string, details map[string]any) {
			if event != "mcp.tool.stream.events_ignored" {
				return
			}
			if len(details) != 2 {
				t.Errorf("details: got %v", details)
			}
			e.mu.Lock()
			defer e.mu.Unlock()
			e.ignored = append(e.ignored, fmt.Sprintf("%v %v %v", time.Since(e.start), details[scope], details["count"]))
		}
	})
	return e
}

// callRelay lists what waits for a decision, which the relay answers.
func (e *eventTest) callRelay(t *testing.T) {
	t.Helper()
	tool, arguments := "list", `{"command":"decisions"}`
	if e.generation == gen05 {
		tool, arguments = "grant", `{"command":"list"}`
	}
	if _, refusal := e.do(t, tool, arguments); refusal != nil {
		t.Error(refusal)
	}
}

// want compares what was inscribed since the start.
func (e *eventTest) want(t *testing.T, lines ...string) {
	t.Helper()
	synctest.Wait()
	e.mu.Lock()
	defer e.mu.Unlock()
	if !slices.Equal(e.ignored, lines) {
		t.Errorf("after %v: got %q, want %q", time.Since(e.start), e.ignored, lines)
	}
}

func TestNoEventsNoRecord(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEventTest(t, newEventRelay(t, gen08))
		e.callRelay(t)
		<-time.After(time.Minute)
		e.want(t)
	})
}

// A call has one record of the events that came while it was under way, at its end.
func TestEventsOfACall(t *testing.T) {
	eachGeneration(t, func(t *testing.T, g *generation) {
		synctest.Test(t, func(t *testing.T) {
			relay := newEventRelay(t, g)
			e := newEventTest(t, relay)
			e.callRelay(t)

			relay.answerAfter(4 * time.Second)
			done := make(chan struct{})
			go func() {
				defer close(done)
				e.callRelay(t)
			}()
			for range 3 {
				<-time.After(time.Second)
				relay.emit(t, 2)
			}
			e.want(t)
			<-done
			e.want(t, "4s demo 6")
			<-time.After(time.Minute)
			e.want(t, "4s demo 6")
		})
	})
}

// Calls side by side report each event once, at the first end after it.
func TestEventsOfCallsSideBySide(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		relay := newEventRelay(t, gen08)
		e := newEventTest(t, relay)
		relay.answerAfter(2 * time.Second)
		var wg sync.WaitGroup
		wg.Go(func() { e.callRelay(t) })
		<-time.After(time.Second)
		wg.Go(func() { e.callRelay(t) })
		relay.emit(t, 1)
		<-time.After(1500 * time.Millisecond) // the first has ended
		relay.emit(t, 3)
		e.want(t, "2s demo 1")
		wg.Wait()
		e.want(t, "2s demo 1", "3s demo 3")
	})
}

// While no call is under way there is at most one record a second.
func TestIdleEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		relay := newEventRelay(t, gen08)
		e := newEventTest(t, relay)
		e.callRelay(t)
		<-time.After(10 * time.Second)

		relay.emit(t, 1)
		e.want(t, "10s demo 1")
		for range 4 {
			<-time.After(200 * time.Millisecond)
			relay.emit(t, 5)
		}
		e.want(t, "10s demo 1")
		<-time.After(200 * time.Millisecond)
		e.want(t, "10s demo 1", "11s demo 20")
		<-time.After(time.Minute)
		e.want(t, "10s demo 1", "11s demo 20")
	})
}

// A call takes over what the pause between two records has held back.
func TestIdleEventsThenACall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		relay := newEventRelay(t, gen08)
		e := newEventTest(t, relay)
		e.callRelay(t)
		relay.emit(t, 1)
		relay.emit(t, 4)
		<-time.After(500 * time.Millisecond)
		e.callRelay(t)
		e.want(t, "0s demo 1", "500ms demo 4")
		<-time.After(time.Minute)
		e.want(t, "0s demo 1", "500ms demo 4")
	})
}

// After the association was mended, the events of its relay count and those of the one before do not.
func TestEventsOfAnotherRelay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		before, after := newEventRelay(t, gen08), newEventRelay(t, gen08)
		e := newEventTest(t, before)
		e.callRelay(t)
		before.emit(t, 1)
		before.emit(t, 2)
		e.want(t, "0s demo 1")

		e.mu.Lock()
		e.current = Standing{Bundle: "Other", Session: "alpha", Relay: after.client}
		e.mu.Unlock()
		<-time.After(100 * time.Millisecond)
		e.callRelay(t)
		e.want(t, "0s demo 1", "100ms demo 2")
		<-time.After(2 * time.Second)
		before.emit(t, 7)
		after.emit(t, 1)
		e.want(t, "0s demo 1", "100ms demo 2", "2.1s Other 1")
	})
}

// Close does not wait for the pause between two records, and reports what the pause has held back.
func TestCloseReportsEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		relay := newEventRelay(t, gen08)
		e := newEventTest(t, relay)
		tools := New(e.cfg)
		_, refusal := tools.call(t.Context(), e.named(t, "list"), []byte(`{"command":"decisions"}`))
		if refusal != nil {
			t.Fatal(refusal)
		}
		relay.emit(t, 1)
		relay.emit(t, 3)
		<-time.After(100 * time.Millisecond)
		tools.Close()
		// By the time that Close returns, and not just after it.
		if want := []string{"0s demo 1", "100ms demo 3"}; !slices.Equal(e.ignored, want) {
			t.Errorf("got %q, want %q", e.ignored, want)
		}
	})
}

// A client that was closed first ends the subscription by itself.
func TestCloseAfterTheClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		relay := newEventRelay(t, gen08)
		e := newEventTest(t, relay)
		e.callRelay(t)
		relay.client.Close()
		synctest.Wait()
		e.want(t)
	})
}
