package relaytest

import (
	"bufio"
	"errors"
	"io"
	"net"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// A client is what the tests play against. Its failures are those of the test.
type client struct {
	t    *testing.T
	conn net.Conn
	in   *bufio.Reader
}

// dial connects to the relay over memory.
func dial(t *testing.T, r *Relay) *client {
	t.Helper()
	conn, err := r.Dial(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return &client{t, conn, bufio.NewReader(conn)}
}

func (c *client) send(lines ...string) {
	c.t.Helper()
	for _, line := range lines {
		if _, err := c.conn.Write([]byte(line + "\n")); err != nil {
			c.t.Fatalf("send %s: %v", line, err)
		}
	}
}

func (c *client) hears(lines ...string) {
	c.t.Helper()
	for _, want := range lines {
		got, err := c.in.ReadString('\n')
		if err != nil || got != want+"\n" {
			c.t.Fatalf("heard %q, %v; want %q", got, err, want)
		}
	}
}

// hearsEnd checks that the relay hangs up, having said only rest before.
func (c *client) hearsEnd(rest string) {
	c.t.Helper()
	if got, err := io.ReadAll(c.in); err != nil || string(got) != rest {
		c.t.Fatalf("heard %q, %v; want %q and the end", got, err, rest)
	}
}

func (c *client) hangUp() { _ = c.conn.Close() }

// newRelay plays a script called s; Close is left to the test.
func newRelay(t *testing.T, text string) *Relay {
	t.Helper()
	s, err := Parse("s", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return New(s)
}

// TestPlay has a row for each thing that a script can say, with a client that keeps to it. Each runs in a
// bubble, where time is exact and a goroutine that outlives Close is a failure.
func TestPlay(t *testing.T) {
	for _, test := range []struct {
		name, script string
		client       func(t *testing.T, r *Relay)
		takes        time.Duration
	}{
		{name: "a conversation", script: `
			# comment
			> {"frame":"hello","...":""}
			<   {"frame": "hello_ack",  "b":1, "a":1.0}

			> {"request_id":"$id"}
			< {"request_id":"$id","text":"..."}
			> ["$id"]
			silence`,
			client: func(t *testing.T, r *Relay) {
				c := dial(t, r)
				c.send(`{"principal_id":"a@b","frame":"hello"}`)
				c.hears(`{"frame": "hello_ack",  "b":1, "a":1.0}`)
				c.send(`{"request_id":"x\ny"}`)
				c.hears(`{"request_id":"x\ny","text":"..."}`)
				c.send(`["x\ny"]`)
			}},
		{name: "the end hangs up", script: "> 1\n< 2",
			client: func(t *testing.T, r *Relay) {
				c := dial(t, r)
				c.send("1")
				c.hearsEnd("2\n")
				if _, err := c.conn.Write([]byte("x")); !errors.Is(err, syscall.EPIPE) {
					t.Errorf("write after the end: %v, want EPIPE", err)
				}
			}},
		{name: "hangup", script: "> 1\nhangup",
			client: func(t *testing.T, r *Relay) {
				c := dial(t, r)
				c.send("1")
				c.hearsEnd("")
			}},
		{name: "what is early waits", script: "> 1\n< \"one\"\npause 1s\n> 2\n> 3\n< \"three\"", takes: time.Second,
			client: func(t *testing.T, r *Relay) {
				c := dial(t, r)
				c.send("1", "2", "3") // with nothing read in between
				c.hears(`"one"`, `"three"`)
			}},
		{name: "any order", script: `
			{
				> {"id":"$a","op":"look"}
				> {"id":"$b","op":"list"}
				> {"id":"$c","op":"...","last":true}
			}
			< ["$a","$b","$c"]`,
			client: func(t *testing.T, r *Relay) {
				c := dial(t, r)
				c.send(`{"id":"1","op":"list"}`, `{"id":"2","op":"look","last":true}`, `{"id":"3","op":"look"}`)
				c.hearsEnd(`["3","1","2"]` + "\n")
			}},
		{name: "pieces", script: "> {\"id\":\"$id\"}\n<< `{\"id\":\"$id\",`\npause 3s\n<< \"\\\"b\\\":\\xff}\\r\\n\"", takes: 3 * time.Second,
			client: func(t *testing.T, r *Relay) {
				c := dial(t, r)
				c.send(`{"id":"7"}`)
				c.hearsEnd("{\"id\":\"7\",\"b\":\xff}\r\n")
			}},
		{name: "repeated", script: "> [\"$id\"]\n<* 3 [\"$id\"]\n<<* 100000 \"xy\"\n<<* 5 \"\"",
			client: func(t *testing.T, r *Relay) {
				c := dial(t, r)
				c.send(`["1"]`)
				c.hears(`["1"]`, `["1"]`, `["1"]`)
				c.hearsEnd(strings.Repeat("xy", 100000))
			}},
		{name: "pause", script: "pause 150ms\n< 1", takes: 150 * time.Millisecond,
			client: func(t *testing.T, r *Relay) { dial(t, r).hears("1") }},
		{name: "silence", script: "< 1\n...", takes: time.Hour,
			client: func(t *testing.T, r *Relay) {
				c := dial(t, r)
				c.hears("1")
				_ = c.conn.SetReadDeadline(time.Now().Add(time.Hour))
				if _, err := c.in.ReadByte(); !errors.Is(err, os.ErrDeadlineExceeded) {
					t.Errorf("got %v, want silence", err)
				}
			}},
		{name: "stall", script: "> 1\nstall 1m\n> 2\nstall 1m\n> 3", takes: 2 * time.Minute,
			client: func(t *testing.T, r *Relay) {
				c := dial(t, r)
				c.send("1")
				for _, line := range []string{"2", "3"} {
					synctest.Wait()
					before := time.Now()
					c.send(line)
					if took := time.Since(before); took != time.Minute {
						t.Errorf("line %s was taken after %v, want 1m", line, took)
					}
				}
			}},
		{name: "stall without end", script: "> 1\n< 1\nstall\nconnection\n> 2\n< 2", takes: time.Hour,
			client: func(t *testing.T, r *Relay) {
				c := dial(t, r)
				c.send("1")
				c.hears("1")
				synctest.Wait()
				_ = c.conn.SetWriteDeadline(time.Now().Add(time.Hour))
				if n, err := c.conn.Write([]byte("2\n")); n > 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
					t.Errorf("wrote %d, %v; want a stall", n, err)
				}
				c.hangUp()
				second := dial(t, r)
				second.send("2")
				second.hears("2")
			}},
		{name: "half-close", script: "< 1\nhalf-close\n> 2\nsilence",
			client: func(t *testing.T, r *Relay) {
				c := dial(t, r)
				c.hearsEnd("1\n")
				c.send("2")
			}},
		{name: "connections", script: "> [\"$id\"]\n< [\"$id\"]\nconnection\nconnection\n> [\"$id\"]\n< [\"$id\"]",
			client: func(t *testing.T, r *Relay) {
				one := dial(t, r)
				one.send(`["1"]`)
				one.hearsEnd(`["1"]` + "\n")
				dial(t, r).hearsEnd("")
				three := dial(t, r)
				three.send(`["3"]`) // a name does not reach into another connection
				three.hearsEnd(`["3"]` + "\n")
			}},
		{name: "side by side", script: "> 1\n< 1\nconnection\n> 2\n< 2",
			client: func(t *testing.T, r *Relay) {
				one, two := dial(t, r), dial(t, r)
				two.send("2")
				two.hears("2")
				one.send("1")
				one.hears("1")
			}},
		{name: "serve", script: "> 1\nserve\n> 2\n< 3",
			client: func(t *testing.T, r *Relay) {
				dial(t, r).send("1")
				for range 5 {
					c := dial(t, r)
					c.send("2")
					c.hearsEnd("3\n")
				}
			}},
		{name: "nobody has to listen", script: "> 1\n<* 1000 2\nhalf-close\nsilence",
			client: func(t *testing.T, r *Relay) {
				c := dial(t, r)
				c.send("1")
				c.hangUp()
			}},
		{name: "the relay is closed in silence", script: "< 1\nsilence",
			client: func(t *testing.T, r *Relay) {
				dial(t, r).hears("1")
				if err := r.Close(); err != nil {
					t.Error(err)
				}
			}},
		{name: "nobody connects", script: "# nothing", client: func(*testing.T, *Relay) {}},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRelay(t, test.script)
				start := time.Now()
				test.client(t, r)
				if took := time.Since(start); took != test.takes {
					t.Errorf("took %v, want %v", took, test.takes)
				}
				if err := r.Close(); err != nil {
					t.Errorf("a client that kept to the script: %v", err)
				}
			})
		})
	}
}

// TestPlayFailures has a row for each way not to keep to a script.
func TestPlayFailures(t *testing.T) {
	sends := func(lines ...string) func(t *testing.T, r *Relay) {
		return func(t *testing.T, r *Relay) {
			c := dial(t, r)
			c.send(lines...)
			synctest.Wait()
		}
	}
	for _, test := range []struct {
		name, script string
		client       func(t *testing.T, r *Relay) // hangs up at the end
		want         string
	}{
		{"another line", "> {\"op\":\"look\",\"lines\":5}", sends(`{"op":"look","lines":6}`),
			"s:1: connection 1: the client sent another line\n\tgot  {\"op\":\"look\",\"lines\":6}\n\twant {\"op\":\"look\",\"lines\":5}\n\t     (lines: want 5, got 6)"},
		{"no JSON", "> {}", sends(`{`),
			"s:1: connection 1: the client sent another line\n\tgot  {\n\twant {}\n\t     (not JSON: unexpected EOF)"},
		{"a blank line", "> \"...\"", sends(""),
			"s:1: connection 1: the client sent another line\n\tgot  \n\twant \"...\"\n\t     (not JSON: empty)"},
		{"a group's line twice", "{\n> {\"a\":1}\n> {\"b\":1}\n> {\"c\":1}\n}", sends(`{"b":1}`, `{"b":1}`),
			"s:2: connection 1: the client sent another line\n\tgot  {\"b\":1}\n\twant {\"a\":1}\n\t     (a: want 1, got nothing)\n\tor   {\"c\":1}\n\t     (c: want 1, got nothing)"},
		{"a long line", "> 1", sends(`"` + strings.Repeat("x", 10000) + `"`),
			"s:1: connection 1: the client sent another line\n\tgot  \"" + strings.Repeat("x", maxShown-1) + "… (10002 bytes)\n\twant 1\n\t     (the line: want 1, got \"" + strings.Repeat("x", maxShown-1) + "… (10002 bytes))"},
		{"a torn line", "> 1\n> 2", func(t *testing.T, r *Relay) {
			c := dial(t, r)
			c.send("1")
			_, _ = c.conn.Write([]byte("2"))
			c.hangUp()
			synctest.Wait()
		}, "s:2: connection 1: the connection ended inside a line\n\twant 2\n\tgot  2"},
		{"one line too few", "> 1\n> 2\n> 3", func(t *testing.T, r *Relay) {
			c := dial(t, r)
			c.send("1")
			c.hangUp()
		}, "s:2: connection 1: the connection ended before the client sent\n\twant 2"},
		{"closed one line too early", "> 1\n> 2", sends("1"),
			"s:2: connection 1: the connection ended before the client sent\n\twant 2"},
		{"a group's line too few", "{\n> 1\n> 2\n}", sends("2"),
			"s:2: connection 1: the connection ended before the client sent\n\twant 1"},
		{"one line too many in silence", "> 1\nsilence", sends("1", "2"),
			"s:2: connection 1: the client sent a line that nothing asks for\n\tgot  2"},
		{"one line too many before the end", "> 1\npause 1s\n< 2\n\n", func(t *testing.T, r *Relay) {
			c := dial(t, r)
			c.send("1", "1")
			c.hearsEnd("2\n")
		}, "s:3: connection 1: the client sent a line that nothing asks for\n\tgot  1"},
		{"one line too many before hangup", "> 1\npause 1s\nhangup", func(t *testing.T, r *Relay) {
			c := dial(t, r)
			c.send("1", "1")
			c.hearsEnd("")
		}, "s:3: connection 1: the client sent a line that nothing asks for\n\tgot  1"},
		{"gone during a pause", "pause 1s\n< 2", func(t *testing.T, r *Relay) { dial(t, r).hangUp() },
			"s:1: connection 1: the connection ended during the pause"},
		{"closed during a pause", "pause 1s", func(t *testing.T, r *Relay) { dial(t, r) },
			"s:1: connection 1: the connection ended during the pause"},
		{"closed during a stall", "stall 1s", func(t *testing.T, r *Relay) { dial(t, r) },
			"s:1: connection 1: the relay was closed during the stall"},
		{"does not read", "< 1\n< 2", func(t *testing.T, r *Relay) { dial(t, r).hears("1") },
			"s:2: connection 1: the client was connected and did not read this"},
		{"no connection", "> 1", func(*testing.T, *Relay) {},
			"s:1: connection 1 was never made"},
		{"one connection too few", "> 1\n\nserve\n> 2", sends("1"),
			"s:3: connection 2 was never made"},
		{"one connection too many", "> 1\n< 1", func(t *testing.T, r *Relay) {
			sends("1")(t, r)
			if _, err := r.Dial(t.Context(), ""); !errors.Is(err, syscall.ECONNREFUSED) {
				t.Errorf("dial: %v, want ECONNREFUSED", err)
			}
		}, "s:2: connection 2: the script has no more than 1"},
		{"a connection at all", "", func(t *testing.T, r *Relay) { _, _ = r.Dial(t.Context(), "") },
			"s:1: connection 1: the script has no connection"},
		{"the first failure counts", "> 1\nconnection\n> 2\nconnection", func(t *testing.T, r *Relay) {
			one, two := dial(t, r), dial(t, r)
			two.send("3")
			two.hearsEnd("") // a failure hangs up
			one.send("3")
			one.hearsEnd("")
		}, "s:3: connection 2: the client sent another line\n\tgot  3\n\twant 2\n\t     (the line: want 2, got 3)"},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRelay(t, test.script)
				test.client(t, r)
				for range 2 { // Close can be repeated
					err := r.Close()
					if _, ok := errors.AsType[*Error](err); !ok {
						t.Fatalf("got %v, want an *Error", err)
					}
					if err.Error() != test.want {
						t.Errorf("got  %s\nwant %s", err, test.want)
					}
				}
			})
		})
	}
}

func TestReceived(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRelay(t, "> {\"a\":1}\nconnection\n> 2\n> 3")
		one, two := dial(t, r), dial(t, r)
		two.send("2")
		one.send(`{ "a" : 1 }`)
		synctest.Wait()
		two.send("3")
		if err := r.Close(); err != nil {
			t.Error(err)
		}
		want := []Line{{2, "2"}, {1, `{ "a" : 1 }`}, {2, "3"}}
		got := r.Received()
		slices.SortStableFunc(got[:2], func(a, b Line) int { return b.Connection - a.Connection }) // sent at once
		if !slices.Equal(got, want) {
			t.Errorf("received %v, want %v", got, want)
		}
	})
}

func TestDialAfterClose(t *testing.T) {
	r := newRelay(t, "serve\n> 1")
	c := dial(t, r)
	c.send("1")
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	if _, err := r.Dial(t.Context(), ""); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("dial: %v, want ECONNREFUSED", err)
	}
	if err := r.Close(); err != nil {
		t.Errorf("a dial after Close is no failure of the script: %v", err)
	}
}
