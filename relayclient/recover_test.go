package relayclient_test

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/agentmux/agentmux-go/relayclient"
	"github.com/agentmux/agentmux-go/relayclient/relaytest"
	"github.com/agentmux/agentmux-go/wire"
)

// submissions counts the requests that reached the relay whole, by operation.
func submissions(t *testing.T, relay *relaytest.Relay) map[string]int {
	t.Helper()
	n := make(map[string]int)
	for _, line := range relay.Received() {
		frame, err := wire.Decode([]byte(line.Text))
		if err != nil {
			continue // torn: the client hung up inside it
		}
		if request, ok := frame.(*wire.RequestFrame); ok {
			n[request.Request.OperationName()]++
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

// What was sent is never sent again, however the relay fails to answer, and however long one waits. The next call
// works, on the same connection if that can still be used.
func TestNothingIsSentTwice(t *testing.T) {
	for _, fault := range faults {
		for _, effect := range effects {
			t.Run(fault.name+"/"+effect.op.OperationName(), func(t *testing.T) {
				cfg := relayclient.Config{MaxFrame: maxFrame}
				playAs(t, cfg, effect.script(fault), func(t *testing.T, c *relayclient.Client, relay *relaytest.Relay) {
					_, err := c.Do(t.Context(), "", effect.op)
					wantFailure(t, err, fault.want)
					synctest.Wait() // a hang-up after the answer is another call's loss until it is noticed
					if _, err := c.Do(t.Context(), "", &wire.ChoicesList{}); err != nil {
						t.Errorf("the next call failed: %v", err)
					}
					<-time.After(time.Hour)
					want := map[string]int{effect.op.OperationName(): 1, "choices_list": 1}
					if got := submissions(t, relay); !maps.Equal(got, want) {
						t.Errorf("the relay was asked for %v, want %v", got, want)
					}
				})
			})
		}
	}
}

// A request is not sent at all to a relay that does not accept the hello. The next call says hello again.
func TestNothingIsSentBeforeTheHelloIsAccepted(t *testing.T) {
	for _, fault := range helloFaults() {
		t.Run(fault.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				faulty := relaytest.InMemory(t, "serve\n"+hello+fault.lines)
				healthy := relaytest.InMemory(t, hello+ack+next+"silence")
				relay := faulty
				c := relayclient.New(relayclient.Config{
					Socket: "/run/relay.sock", Principal: "alpha@demo", MaxFrame: maxFrame,
					Dial: func(ctx context.Context, socket string) (net.Conn, error) { return relay.Dial(ctx, socket) },
				})
				defer c.Close()
				start := time.Now()
				_, err := c.Do(t.Context(), "", effects[0].op)
				wantFailure(t, err, fault.want)
				if took := time.Since(start); took != fault.after {
					t.Errorf("it failed after %v, want %v", took, fault.after)
				}
				<-time.After(time.Hour)
				relay = healthy
				if _, err := c.Do(t.Context(), "", &wire.ChoicesList{}); err != nil {
					t.Errorf("the next call failed: %v", err)
				}
				if got := submissions(t, faulty); len(got) > 0 {
					t.Errorf("the relay was asked for %v", got)
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

// An answer comes whole, wherever it is cut: inside a number, a character, an escape, or before the newline.
func TestAnswersInAnyPieces(t *testing.T) {
	const (
		before   = `{"frame":"response","request_id":"`
		response = `{"kind":"look","n":[12345,null],"snapshot_format":"lines","snapshot_lines":["€\u20ac\ud83d\ude00"]}`
		after    = `","response":` + response + "}\r\n"
	)
	cuts := len(before+after) + 36 // the id, a UUID
	synctest.Test(t, func(t *testing.T) {
		ours, theirs := net.Pipe()
		say := func(piece string) {
			if _, err := io.WriteString(theirs, piece); err != nil {
				t.Error(err)
			}
			<-time.After(10 * time.Millisecond)
		}
		lines := wire.NewLineReader(theirs, 0)
		read := func() wire.Frame {
			line, err := lines.ReadLine()
			if err != nil {
				t.Fatal(err)
			}
			frame, err := wire.Decode(line)
			if err != nil {
				t.Fatal(err)
			}
			return frame
		}
		c := relayclient.New(relayclient.Config{
			Principal: "alpha@demo",
			Dial:      func(context.Context, string) (net.Conn, error) { return ours, nil },
		})
		defer c.Close()
		for cut := range cuts {
			done := make(chan struct{})
			go func() {
				defer close(done)
				reply, err := c.Do(t.Context(), "", look("b"))
				if err != nil || string(reply.Raw) != response {
					t.Errorf("cut at %d: got %+v, %v", cut, reply, err)
				}
			}()
			if cut == 0 {
				read()
				say(`{"frame":"hello_ack","schema_version":"1","principal_id":"alpha@demo"}` + "\n")
			}
			answer := before + read().(*wire.RequestFrame).RequestID + after
			if cut > 0 {
				say(answer[:cut])
				say(answer[cut:])
			} else {
				for _, b := range []byte(answer) {
					say(string([]byte{b}))
				}
			}
			<-done
		}
	})
}

// What comes beside an answer, in one write with it or not, changes nothing about it.
func TestAnswersAmongOtherLines(t *testing.T) {
	const answer = `{"frame":"response","request_id":"$id","response":{"kind":"look","snapshot_format":"lines","snapshot_lines":["€"]}}`
	tests := []struct{ name, lines string }{
		{"blank lines", "<< \"\\n\\r\\n  \\n\"\n< " + answer + "\n"},
		{"an unknown kind of frame", `< {"frame":"banner","x":[]}` + "\n< " + answer + "\n"},
		{"more acknowledgements", `<* 3 {"frame":"hello_ack","schema_version":"9","principal_id":"x"}` + "\n< " + answer + "\n"},
		{"events", `<* 1000 {"frame":"event","event":{"event_type":"x"}}` + "\n< " + answer + "\n"},
		{"an answer to another request", `< {"frame":"response","request_id":"x","response":{"kind":"raww","status":"queued"}}` + "\n< " + answer + "\n"},
		{"an answer without an id", `< {"frame":"response","response":{"kind":"raww","status":"queued"}}` + "\n< " + answer + "\n"},
		{"an answer with an id that is none", `< {"frame":"response","request_id":["$id"],"response":{"kind":"raww","status":"queued"}}` + "\n< " + answer + "\n"},
		{"a refusal of another request", `< {"frame":"response","request_id":"x","response":{"kind":"error","error":{"code":"validation_x"}}}` + "\n< " + answer + "\n"},
		{"all of it at once", "<< " + strconv.Quote("\r\n"+`{"frame":"event","event":{"event_type":"x"}}`+"\n"+`{"frame":"response","request_id":"x","response":{"kind":"raww","status":"queued"}}`+"\n"+answer+"\n"+`{"frame":"banner"}`+"\n\n"+answer+"\n") + "\n"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			play(t, hello+ack+ask+test.lines+next+"silence", func(t *testing.T, c *relayclient.Client, _ *relaytest.Relay) {
				reply, err := c.Do(t.Context(), "", look("b"))
				wantLook(t, reply, err)
				if got := reply.Response.(*wire.LookResponse).SnapshotLines[0]; got != "€" {
					t.Errorf("got %q", got)
				}
				if _, err := c.Do(t.Context(), "", &wire.ChoicesList{}); err != nil {
					t.Errorf("the next call failed: %v", err)
				}
			})
		})
	}
}

// What a terminal shows comes through: control characters as they are, and U+FFFD for what is no text.
func TestTextOfAnAnswer(t *testing.T) {
	tests := []struct{ name, said, want string }{
		{"NUL", `\u0000`, "\x00"},
		{"escape sequence", `\u001b[1m`, "\x1b[1m"},
		{"line separators", `\u2028` + "\u2029", "\u2028\u2029"},
		{"character beyond the basic plane", `\ud83d\ude00` + "😀", "😀😀"},
		{"lone surrogates", `\ud83d \ude00\ud83d`, "\uFFFD \uFFFD\uFFFD"},
		{"invalid UTF-8", "a\xff\xfeb\xe2\x82", "a\uFFFDb\uFFFD"},
		{"an encoded surrogate", "\xed\xa0\xbd", "\uFFFD"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			answer := `{"frame":"response","request_id":"$id","response":{"kind":"look","snapshot_format":"lines","snapshot_lines":["` + test.said + `"]}}` + "\n"
			play(t, hello+ack+ask+"<< "+strconv.Quote(answer)+"\n"+next+"silence", func(t *testing.T, c *relayclient.Client, _ *relaytest.Relay) {
				reply, err := c.Do(t.Context(), "", look("b"))
				wantLook(t, reply, err)
				if got := reply.Response.(*wire.LookResponse).SnapshotLines[0]; got != test.want || !utf8.Valid(reply.Raw) {
					t.Errorf("got %q in %q, want %q", got, string(reply.Raw), test.want)
				}
				if _, err := c.Do(t.Context(), "", &wire.ChoicesList{}); err != nil {
					t.Errorf("the next call failed: %v", err)
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
