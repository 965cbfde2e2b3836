package relayclient_test

import (
	"errors"
	"testing"

	"github.com/agentmux/agentmux-go/relayclient"
	"github.com/agentmux/agentmux-go/relayclient/relaytest"
	"github.com/agentmux/agentmux-go/wire"
)

// A notice after which the relay still answers is no goodbye: a hang-up later on has another reason, and what became of
// the request that waited for its answer is unknown.
func TestNoticeThatWasNoGoodbye(t *testing.T) {
	for _, code := range []string{"runtime_bundle_reloaded", "validation_invalid_arguments"} {
		t.Run(code, func(t *testing.T) {
			play(t, hello+ack+refusal(code)+next+`> {"frame":"request","request_id":"$id","request":{"operation":"send","...":""}}
				hangup`, func(t *testing.T, c *relayclient.Client, _ *relaytest.Relay) {
				if _, err := c.Do(t.Context(), "", &wire.ChoicesList{}); err != nil {
					t.Fatal(err)
				}
				_, err := c.Do(t.Context(), "", &wire.Send{RequesterSession: "alpha"})
				wantFailure(t, err, hungUp)
				if unsupported, ok := errors.AsType[*relayclient.UnsupportedError](err); ok {
					t.Errorf("it says that nothing took effect: %v", unsupported)
				}
			})
		})
	}
}
