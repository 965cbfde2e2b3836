package relayclient_test

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"

	"github.com/agentmux/agentmux-go/relayclient"
	"github.com/agentmux/agentmux-go/relayclient/relaytest"
	"github.com/agentmux/agentmux-go/wire"
)

// requests counts the requests that the relay got.
func requests(relay *relaytest.Relay) int {
	n := 0
	for _, line := range relay.Received() {
		if strings.Contains(line.Text, `"frame":"request"`) {
			n++
		}
	}
	return n
}

// A connection that was lost while nobody used it is replaced, and the next call does not notice. Whoever asked for
// it is told why.
func TestLostConnectionIsReplacedSilently(t *testing.T) {
	tests := []struct{ name, farewell, reason string }{
		{"hang-up", "pause 1s\nhangup", "eof"},
		{"goodbye", "pause 1s\n" + refusal("runtime_identity_revoked"), "peer_hup"},
		{"goodbye of an unknown kind", "pause 1s\n" + `< {"frame":"error","error":{"code":"x"}}`, "eof"},
		{"half-close", "half-close\nsilence", "eof"},
		{"garbage", "pause 1s\n<< \"garbage\\n\"\nsilence", "io_error"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var reasons []string
			cfg := relayclient.Config{Reconnecting: func(reason string) { reasons = append(reasons, reason) }}
			playAs(t, cfg, hello+ack+ask+answerLook+test.farewell+"\nconnection\n"+hello+ack+ask+answerLook+"silence",
				func(t *testing.T, c *relayclient.Client, relay *relaytest.Relay) {
					reply, err := c.Do(t.Context(), "", look("b"))
					wantLook(t, reply, err)
					<-afterSecond(t)
					synctest.Wait()
					reply, err = c.Do(t.Context(), "", look("b"))
					wantLook(t, reply, err)
					if !slices.Equal(reasons, []string{test.reason}) {
						t.Errorf("reasons %q, want %q", reasons, test.reason)
					}
				})
		})
	}
}

// What was sent is never sent again, however the relay fails to answer. The next call gets a new connection.
func TestNothingIsSentTwice(t *testing.T) {
	tests := []struct{ name, fault, want string }{
		{"hang-up after the request", "hangup", "receive unavailable UnexpectedEof written"},
		{"hang-up inside the answer", "<< `{\"frame\":\"resp`\nhangup", "receive unavailable UnexpectedEof written"},
		{"goodbye", refusal("runtime_bundle_unloaded") + "hangup", "refused runtime_bundle_unloaded"},
		{"request that the relay can't parse", refusal("validation_invalid_arguments") + "hangup", "refused validation_invalid_arguments"},
		{"not JSON", "<< \"{bad\\n\"\nsilence", "receive unexpected InvalidData written"},
		{"no object", "<< \"[]\\n\"\nsilence", "receive unexpected InvalidData written"},
		{"answer without its keys", `< {"frame":"response","request_id":"$id","response":{"kind":"look"}}` + "\nsilence", "receive unexpected InvalidData written"},
		{"answer that is null", `< {"frame":"response","request_id":"$id","response":null}` + "\nsilence", "receive unexpected InvalidData written"},
		{"answer without a kind", `< {"frame":"response","request_id":"$id","response":{}}` + "\nsilence", "receive unexpected InvalidData written"},
		{"answer with a wrong type", `< {"frame":"response","request_id":"$id","response":{"kind":"look","snapshot_format":"lines","snapshot_lines":"x"}}` + "\nsilence", "receive unexpected InvalidData written"},
		{"answer over the cap", "<<* 300 \"1234\"\n<< \"\\n\"\nsilence", "receive unexpected InvalidData written"},
		{"a line that never ends", "<<* 300 \"1234\"\nsilence", "receive unexpected InvalidData written"},
		{"nesting without end", "<<* 500 \"[\"\n<< \"\\n\"\nsilence", "receive unexpected InvalidData written"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			playAs(t, relayclient.Config{MaxFrame: 1000}, hello+ack+ask+test.fault+"\nconnection\n"+hello+ack+ask+answerLook+"silence",
				func(t *testing.T, c *relayclient.Client, relay *relaytest.Relay) {
					_, err := c.Do(t.Context(), "", look("b"))
					wantFailure(t, err, test.want)
					reply, err := c.Do(t.Context(), "", look("b"))
					wantLook(t, reply, err)
					if n := requests(relay); n != 2 {
						t.Errorf("the relay got %d requests for 2 calls", n)
					}
				})
		})
	}
}

// An error that answers nobody decides nothing while answers still come.
func TestAnswerAfterAGoodbyeCounts(t *testing.T) {
	play(t, hello+ack+ask+refusal("runtime_identity_revoked")+"pause 1s\n"+answerLook+"hangup", func(t *testing.T, c *relayclient.Client, _ *relaytest.Relay) {
		reply, err := c.Do(t.Context(), "", look("b"))
		wantLook(t, reply, err)
	})
}

func TestAnswersInAnyPieces(t *testing.T) {
	tests := []struct{ name, pieces string }{
		{"inside a number and a character", "<< `{\"frame\":\"response\",\"request_id\":\"$id\",\"response\":{\"kind\":\"look\",\"n\":12`\npause 500ms\n<< `34,\"snapshot_format\":\"lines\",\"snapshot_lines\":[\"`\npause 500ms\n<< \"\\xe2\\x82\"\npause 500ms\n<< \"\\xac\"\npause 1s\n<< `\"]}}`\npause 1s\n<< \"\\n\"\n"},
		{"CRLF and blank lines", "<< \"\\n\\r\\n  \\n\"\n<< `{\"frame\":\"response\",\"request_id\":\"$id\",\"response\":{\"kind\":\"look\",\"snapshot_format\":\"lines\",\"snapshot_lines\":[\"€\"]}}`\n<< \"\\r\\n\"\n"},
		{"after what means nothing", "< {\"frame\":\"banner\",\"x\":[]}\n< {\"frame\":\"hello_ack\",\"schema_version\":\"9\",\"principal_id\":\"x\"}\n<* 1000 {\"frame\":\"event\",\"event\":{\"event_type\":\"x\"}}\n< {\"frame\":\"response\",\"request_id\":\"$id\",\"response\":{\"kind\":\"look\",\"snapshot_format\":\"lines\",\"snapshot_lines\":[\"€\"]}}\n"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			play(t, hello+ack+ask+test.pieces+"silence", func(t *testing.T, c *relayclient.Client, _ *relaytest.Relay) {
				reply, err := c.Do(t.Context(), "", look("b"))
				wantLook(t, reply, err)
				if got := reply.Response.(*wire.LookResponse).SnapshotLines[0]; got != "€" {
					t.Errorf("got %q", got)
				}
			})
		})
	}
}

// A relay that accepts connections only to drop them ends the call after a few, and it says whether it was sent.
func TestRelayThatDropsEveryConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		accepted := 0
		c := relayclient.New(relayclient.Config{Principal: "alpha@demo", Dial: func(context.Context, string) (net.Conn, error) {
			accepted++
			ours, theirs := net.Pipe()
			go func() {
				defer theirs.Close()
				if _, err := wire.NewLineReader(theirs, 0).ReadLine(); err != nil {
					t.Error(err)
				}
				fmt.Fprintln(theirs, `{"frame":"hello_ack","schema_version":"1","principal_id":"alpha@demo"}`)
			}()
			return ours, nil
		}})
		defer c.Close()
		_, err := c.Do(t.Context(), "", look("b"))
		wantFailure(t, err, "receive unavailable UnexpectedEof")
		if accepted != 3 {
			t.Errorf("%d connections, want 3", accepted)
		}
	})
}

// A brokenStream takes so many bytes of each write but the first, the hello, and then fails.
type brokenStream struct {
	net.Conn
	takes  int
	writes int
}

func (b *brokenStream) Write(p []byte) (int, error) {
	b.writes++
	if b.writes == 1 {
		return b.Conn.Write(p)
	}
	return b.takes, &net.OpError{Op: "write", Net: "unix", Err: syscall.EPIPE}
}

// When a write fails, what the relay still had to say is read first. A request of which nothing was taken goes
// through on the next connection; one of which anything was taken fails, with the relay's reason.
func TestWriteThatFails(t *testing.T) {
	tests := []struct {
		name  string
		takes int
		want  string
	}{
		{"nothing taken", 0, "<nil>"},
		{"something taken", 10, "refused runtime_identity_revoked"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				script := hello + ack + "pause 100ms\n" + refusal("runtime_identity_revoked") + "hangup\n"
				if test.want == "<nil>" {
					script += "connection\n" + hello + ack + ask + answerLook + "silence"
				}
				relay := relaytest.InMemory(t, script)
				broken := false
				var reasons []string
				c := relayclient.New(relayclient.Config{
					Principal:    "alpha@demo",
					Reconnecting: func(reason string) { reasons = append(reasons, reason) },
					Dial: func(ctx context.Context, socket string) (net.Conn, error) {
						stream, err := relay.Dial(ctx, socket)
						if !broken && err == nil {
							broken = true
							stream = &brokenStream{Conn: stream, takes: test.takes}
						}
						return stream, err
					},
				})
				defer c.Close()
				_, err := c.Do(t.Context(), "", look("b"))
				wantFailure(t, err, test.want)
				if err == nil && !slices.Equal(reasons, []string{"peer_hup"}) {
					t.Errorf("reasons %q", reasons)
				}
			})
		})
	}
}

// A second answer to the same request is nobody's, even if it comes before the call has taken the first one.
func TestSecondAnswerBlocksNothing(t *testing.T) {
	answer := `{"frame":"response","request_id":"$id","response":{"kind":"look","snapshot_format":"lines","snapshot_lines":[]}}` + "\n"
	play(t, hello+ack+ask+"<< "+strconv.Quote(strings.Repeat(answer, 3))+`
		> {"frame":"request","request_id":"$next","namespace":"demo","request":{"operation":"choices_list"}}
		< {"frame":"response","request_id":"$next","response":{"kind":"choices_list","pending_requests":[]}}
		silence`, func(t *testing.T, c *relayclient.Client, _ *relaytest.Relay) {
		reply, err := c.Do(t.Context(), "", look("b"))
		wantLook(t, reply, err)
		if _, err := c.Do(t.Context(), "", &wire.ChoicesList{}); err != nil {
			t.Error(err)
		}
	})
}

// There is no limit on an answer but the cap: tens of MiB come through whole.
func TestLargeAnswer(t *testing.T) {
	const lines, width = 1000, 20_000 // 20 MB
	play(t, hello+ack+ask+"<< `{\"frame\":\"response\",\"request_id\":\"$id\",\"response\":{\"kind\":\"look\",\"snapshot_format\":\"lines\",\"snapshot_lines\":[`\n"+
		"<<* "+strconv.Itoa(lines-1)+" `\""+strings.Repeat("x", width)+"\",`\n<< `\"end\"]}}`\n<< \"\\n\"\nsilence",
		func(t *testing.T, c *relayclient.Client, _ *relaytest.Relay) {
			reply, err := c.Do(t.Context(), "", look("b"))
			wantLook(t, reply, err)
			got := reply.Response.(*wire.LookResponse).SnapshotLines
			if len(got) != lines || len(got[0]) != width || got[lines-1] != "end" || len(reply.Raw) < (lines-1)*width {
				t.Errorf("%d lines came, want %d", len(got), lines)
			}
		})
}
