package relayclient_test

import (
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentmux/agentmux-go/relayclient"
	"github.com/agentmux/agentmux-go/relayclient/relaytest"
	"github.com/agentmux/agentmux-go/wire"
)

// afterSecond is ready a little more than a second later.
func afterSecond(t *testing.T) <-chan time.Time {
	t.Helper()
	return time.After(1001 * time.Millisecond)
}

// A subscriber that does not receive loses events and keeps their number; the reader does not wait for it.
func TestEventsAreCountedAndNeverWaitedFor(t *testing.T) {
	play(t, hello+ack+ask+`<* 1000 {"frame":"event","event":{"event_type":"incoming_message","target_session":"alpha@demo"}}
		`+answerLook+"silence", func(t *testing.T, c *relayclient.Client, _ *relaytest.Relay) {
		events := c.Subscribe(2)
		reply, err := c.Do(t.Context(), "", look("b"))
		wantLook(t, reply, err)
		if n := events.Arrived(); n != 1000 {
			t.Errorf("%d events arrived, want 1000", n)
		}
		for range 2 {
			if e := <-events.C; e.EventType != "incoming_message" {
				t.Errorf("got %+v", e)
			}
		}
		events.Stop()
		events.Stop()
		if _, open := <-events.C; open {
			t.Error("the subscription did not end")
		}
	})
}

func TestEventsEndWithTheClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := relayclient.New(relayclient.Config{Principal: "a@b"})
		before := c.Subscribe(0)
		c.Close()
		after := c.Subscribe(0)
		for _, e := range []*relayclient.Events{before, after} {
			if _, open := <-e.C; open {
				t.Error("a subscription did not end")
			}
		}
	})
}

// The relay blocks on a client that does not read: megabytes of events are read while no call is under way.
func TestEventsAreReadWhileIdle(t *testing.T) {
	play(t, hello+ack+ask+answerLook+`<* 20000 {"frame":"event","event":{"event_type":"incoming_message","payload":{"body":"`+strings.Repeat("x", 500)+`"}}}
		> {"frame":"request","request_id":"$next","namespace":"demo","request":{"operation":"choices_list"}}
		< {"frame":"response","request_id":"$next","response":{"kind":"choices_list","pending_requests":[]}}
		silence`, func(t *testing.T, c *relayclient.Client, _ *relaytest.Relay) {
		events := c.Subscribe(0)
		reply, err := c.Do(t.Context(), "", look("b"))
		wantLook(t, reply, err)
		synctest.Wait()
		if n := events.Arrived(); n != 20000 {
			t.Errorf("%d events were read, want 20000", n)
		}
		if _, err := c.Do(t.Context(), "", &wire.ChoicesList{}); err != nil {
			t.Error(err)
		}
	})
}

// Events leave nothing behind, however many come: neither while nobody calls, nor while a call waits for its answer, nor
// with a subscriber that does not receive.
func TestEventsTakeNoMemory(t *testing.T) {
	const floods, slack = 4, 1 << 20
	flood := `<* 8000 {"frame":"event","event":{"event_type":"incoming_message","payload":{"body":"` + strings.Repeat("x", 1000) + `"}}}
		pause 1s
	` // 8 MB
	tests := []struct{ name, before, after string }{
		{"idle", "", strings.Repeat(flood, floods)},
		{"before an answer", strings.Repeat(flood, floods), ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			play(t, hello+ack+ask+test.before+answerLook+test.after+next+"silence", func(t *testing.T, c *relayclient.Client, _ *relaytest.Relay) {
				events := c.Subscribe(10)
				first := make(chan error, 1)
				go func() {
					_, err := c.Do(t.Context(), "", look("b"))
					first <- err
				}()
				var heaps []uint64
				for range floods {
					<-time.After(500 * time.Millisecond)
					heaps = append(heaps, heap())
					<-time.After(500 * time.Millisecond)
				}
				if grown := slices.Max(heaps) - slices.Min(heaps); grown > slack {
					t.Errorf("the heap varied by %d bytes: %d", grown, heaps)
				}
				if err := <-first; err != nil {
					t.Error(err)
				}
				if _, err := c.Do(t.Context(), "", &wire.ChoicesList{}); err != nil {
					t.Errorf("the next call failed: %v", err)
				}
				if n := events.Arrived(); n != floods*8000 {
					t.Errorf("%d events arrived, want %d", n, floods*8000)
				}
			})
		})
	}
}

// heap is the memory in use, in bytes.
func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
