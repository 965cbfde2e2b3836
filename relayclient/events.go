package relayclient

import (
	"sync"
	"sync/atomic"

	"github.com/agentmux/agentmux-go/wire"
)

// Events is a subscription to what a relay tells unasked. The connection's reader never waits for a
// subscriber: an event that finds C full is counted and dropped.
type Events struct {
	C       <-chan wire.Event // closed by Stop, or by [Client.Close]
	arrived atomic.Uint64
	send    chan wire.Event
	feed    *feed
}

// Arrived returns how many events there were since the subscription began, dropped ones included.
func (e *Events) Arrived() uint64 { return e.arrived.Load() }

// Stop ends the subscription.
func (e *Events) Stop() { e.feed.remove(e) }

// A feed hands events to its subscribers.
type feed struct {
	mu          sync.Mutex
	subscribers map[*Events]struct{} // nil once closed
}

func newFeed() *feed { return &feed{subscribers: make(map[*Events]struct{})} }

func (f *feed) subscribe(buffer int) *Events {
	send := make(chan wire.Event, buffer)
	e := &Events{C: send, send: send, feed: f}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.subscribers == nil {
		close(send)
		return e
	}
	f.subscribers[e] = struct{}{}
	return e
}

func (f *feed) remove(e *Events) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, ok := f.subscribers[e]; ok {
		delete(f.subscribers, e)
		close(e.send)
	}
}

func (f *feed) offer(event wire.Event) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for e := range f.subscribers {
		e.arrived.Add(1)
		select {
		case e.send <- event:
		default:
		}
	}
}

func (f *feed) close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for e := range f.subscribers {
		close(e.send)
	}
	f.subscribers = nil
}
