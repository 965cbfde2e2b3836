package relayclient_test

import (
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
