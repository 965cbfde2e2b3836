package mcptools

import (
	"sync"
	"time"

	"github.com/agentmux/agentmux-go/relayclient"
)

// eventsPause is the least time between two records of events while no call is under way.
const eventsPause = time.Second

// An eventLog inscribes how many relay events no tool surfaced: at the end of a call those that came until
// then, and while no call is under way at most once in eventsPause.
type eventLog struct {
	inscribe func(string, map[string]any)
	scope    string        // key of the bundle
	done     chan struct{} // closed by close
	wg       sync.WaitGroup

	mu       sync.Mutex
	relay    Relay // the one that is subscribed to
	events   *relayclient.Events
	bundle   string
	reported uint64 // of events.Arrived
	calls    int    // under way
}

func newEventLog(inscribe func(string, map[string]any), scope string) *eventLog {
	return &eventLog{inscribe: inscribe, scope: scope, done: make(chan struct{})}
}

// close ends the subscription and waits for its goroutine.
func (l *eventLog) close() {
	close(l.done)
	l.mu.Lock()
	if l.events != nil {
		l.events.Stop()
	}
	l.mu.Unlock()
	l.wg.Wait()
}

// during notes that a call is under way, until the function that it returns is called.
func (l *eventLog) during(s Standing) (done func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.calls++
	l.follow(s)
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.report()
		l.calls--
	}
}

// follow subscribes to the relay in use. It is another one after the association was mended.
func (l *eventLog) follow(s Standing) {
	if l.relay == s.Relay {
		return
	}
	if l.events != nil {
		l.report()
		l.events.Stop()
	}
	events := s.Relay.Subscribe(1) // one is enough to be woken by: Arrived counts
	l.relay, l.events, l.bundle, l.reported = s.Relay, events, s.Bundle, 0
	l.wg.Go(func() { l.watch(events) })
}

// watch reports events that come while no call is under way, until the subscription ends.
func (l *eventLog) watch(events *relayclient.Events) {
	for range events.C {
		l.mu.Lock()
		if l.calls == 0 && l.events == events {
			l.report()
		}
		l.mu.Unlock()
		select {
		case <-time.After(eventsPause):
		case <-l.done:
		}
	}
}

// report inscribes the events that were not reported yet. l.mu is held.
func (l *eventLog) report() {
	if n := l.events.Arrived() - l.reported; n > 0 {
		l.reported += n
		l.inscribe("mcp.tool.stream.events_ignored", map[string]any{l.scope: l.bundle, "count": n})
	}
}
