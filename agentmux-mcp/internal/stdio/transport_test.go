package stdio_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/agentmux/agentmux-go/agentmux-mcp/internal/stdio"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func TestEveryLineLeavesTheServerUp(t *testing.T) {
	const (
		notJSON  = "the line is not JSON; send one JSON-RPC message on each line"
		noObject = "a JSON-RPC message is an object"
		noBatch  = "batches are not supported; send each message on a line of its own"
		version  = `"jsonrpc" must be "2.0"`
		badID    = `"id" must be a string or an integer`
		noParams = `"params" must be an object`
		noTool   = `"params" must have the name of a tool as "name", a string`
	)
	request := func(id string) string { return `{"jsonrpc":"2.0","id":` + id + `,"method":"ping"}` }
	result := func(id string) string { return `{"jsonrpc":"2.0","id":` + id + `,"result":{}}` }
	call := func(method, params string) string {
		return `{"jsonrpc":"2.0","id":2,"method":"` + method + `","params":` + params + `}`
	}
	for _, test := range []struct {
		name, line string
		want       string // "" for a line without an answer
	}{
		// no JSON
		{"broken", `{bad`, refused(-32700, "null", notJSON)},
		{"cut off", `{"jsonrpc":"2.0","id":2,"method":"ping"`, refused(-32700, "null", notJSON)},
		{"comma after it", request("2") + ",", refused(-32700, "null", notJSON)},
		{"two on a line", request("2") + request("3"), refused(-32700, "null", notJSON)},
		{"control character in a string", request("\"\x01\""), refused(-32700, "null", notJSON)},
		{"no UTF-8", request("\"\xff\""), refused(-32700, "null", notJSON)},
		{"bottomless", strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000), refused(-32700, "null", notJSON)},
		{"byte order mark in the middle", "\uFEFF" + request("2"), refused(-32700, "null", notJSON)},
		{"NUL", "\x00", refused(-32700, "null", notJSON)},

		// JSON, but no request
		{"number", `5`, refused(-32600, "null", noObject)},
		{"string", `"x"`, refused(-32600, "null", noObject)},
		{"null", `null`, refused(-32600, "null", noObject)},
		{"boolean", `true`, refused(-32600, "null", noObject)},
		{"empty batch", `[]`, refused(-32600, "null", noBatch)},
		{"batch", ` [` + request("2") + `]`, refused(-32600, "null", noBatch)},
		{"empty object", `{}`, refused(-32600, "null", version)},
		{"version alone", `{"jsonrpc":"2.0"}`, refused(-32600, "null", `"method" is missing`)},
		{"version 1.0", `{"jsonrpc":"1.0","id":2,"method":"ping"}`, refused(-32600, "2", version)},
		{"version a number", `{"jsonrpc":2.0,"id":"a","method":"ping"}`, refused(-32600, `"a"`, version)},
		{"key in other letters", `{"JSONRPC":"2.0","id":2,"method":"ping"}`, refused(-32600, "2", version)},
		{"no method", `{"jsonrpc":"2.0","id":2}`, refused(-32600, "2", `"method" is missing`)},
		{"method a number", `{"jsonrpc":"2.0","id":2,"method":5}`, refused(-32600, "2", `"method" must be a string`)},
		{"method null", `{"jsonrpc":"2.0","id":2,"method":null}`, refused(-32600, "2", `"method" must be a string`)},
		{"method in a notification", `{"jsonrpc":"2.0","method":[]}`, refused(-32600, "null", `"method" must be a string`)},

		// ids
		{"id object", request(`{}`), refused(-32600, "null", badID)},
		{"id array", request(`[1]`), refused(-32600, "null", badID)},
		{"id null", request(`null`), refused(-32600, "null", badID)},
		{"id boolean", request(`true`), refused(-32600, "null", badID)},
		{"id fraction", request(`1.5`), refused(-32600, "null", badID)},
		{"id with a zero fraction", request(`1.0`), refused(-32600, "null", badID)},
		{"id with an exponent", request(`1e3`), refused(-32600, "null", badID)},
		{"id zero", request(`0`), result(`0`)},
		{"id negative", request(`-1`), result(`-1`)},
		{"id above 2^53", request(`9007199254740993`), result(`9007199254740993`)},
		{"id above 2^64", request(`12345678901234567890123`), result(`12345678901234567890123`)},
		{"id empty", request(`""`), result(`""`)},
		{"id with escapes", request(`"\u0061\/<&>\ud800é"`), result(`"\u0061\/<&>\ud800é"`)},
		{"id among blanks", " { \"jsonrpc\" : \"2.0\" , \"id\" : 7 , \"method\" : \"ping\" } \r", result(`7`)},

		// parameters
		{"params array", call("ping", `[]`), refused(-32602, "2", noParams)},
		{"params string", call("ping", `"x"`), refused(-32602, "2", noParams)},
		{"params number", call("ping", `1`), refused(-32602, "2", noParams)},
		{"params null", call("ping", `null`), result(`2`)},
		{"params of a notification", `{"jsonrpc":"2.0","method":"notifications/initialized","params":[]}`, ""},
		{"params of another shape", call("tools/list", `{"cursor":{}}`),
			refused(-32602, "2", `the parameters of "tools/list" do not have the shape that the protocol gives them`)},
		{"params of initialize of another shape", call("initialize", `{"protocolVersion":7}`),
			refused(-32602, "2", `the parameters of "initialize" do not have the shape that the protocol gives them`)},
		{"params too deep", call("tools/list", `{"x":`+strings.Repeat("[", 2000)+strings.Repeat("]", 2000)+`}`),
			refused(-32602, "2", `the parameters of "tools/list" do not have the shape that the protocol gives them`)},
		{"params missing", `{"jsonrpc":"2.0","id":2,"method":"logging/setLevel"}`,
			refused(-32600, "2", `invalid request: missing required "params"`)},
		{"tool without params", `{"jsonrpc":"2.0","id":2,"method":"tools/call"}`, refused(-32602, "2", noTool)},
		{"tool without a name", call("tools/call", `{"Name":"wait"}`), refused(-32602, "2", noTool)},
		{"tool name a number", call("tools/call", `{"name":5}`), refused(-32602, "2", noTool)},
		{"tool name null", call("tools/call", `{"name":null}`), refused(-32602, "2", noTool)},
		{"tool unknown", call("tools/call", `{"name":"nosuch"}`),
			refused(-32602, "2", `unknown tool "nosuch"`)},

		// errors of handlers
		{"error with data", call("tools/call", `{"name":"fail","arguments":{"code":-32602,"message":"<no>","data":{"code":"x"}}}`),
			`{"jsonrpc":"2.0","id":2,"error":{"code":-32602,"message":"<no>","data":{"code":"x"}}}`},
		{"error without a code", call("tools/call", `{"name":"fail","arguments":{"message":"no"}}`),
			refused(-32600, "2", "no")},
		{"error with data that is no JSON", call("tools/call", `{"name":"fail","arguments":{"code":-32602,"message":"broken data"}}`),
			refused(-32603, "2", "the answer is not JSON; this is a fault of the server, please report it")},

		// requests that the engine refuses
		{"initialize again", strings.Replace(initialize, `"init"`, "2", 1), refused(-32600, "2", `duplicate "initialize" received`)},
		{"unknown method", `{"jsonrpc":"2.0","id":2,"method":"no/such"}`, refused(-32601, "2", `method not found: "no/such"`)},
		{"empty method", `{"jsonrpc":"2.0","id":2,"method":""}`, refused(-32601, "2", `method not found: ""`)},
		{"notification with an id", `{"jsonrpc":"2.0","id":2,"method":"notifications/initialized"}`,
			refused(-32600, "2", `invalid request: unexpected id for "notifications/initialized"`)},
		{"cancellation with an id", call("notifications/cancelled", `{"requestId":1}`),
			refused(-32600, "2", `"notifications/cancelled" is a notification; send it without "id"`)},

		// no answer
		{"unknown notification", `{"jsonrpc":"2.0","method":"notifications/nosuch"}`, ""},
		{"call without an id", `{"jsonrpc":"2.0","method":"ping"}`, ""},
		{"response", `{"jsonrpc":"2.0","id":2,"result":{}}`, ""},
		{"error", `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"no"}}`, ""},
		{"blank", " \t\r", ""},
	} {
		inBubble(t, test.name, func(t *testing.T) {
			c := initializedClient(t, stdio.Transport{})
			c.send(test.line)
			if test.want != "" {
				c.expect(test.want)
			}
			c.send(ping)
			c.expect(pong)
		})
	}
}

func TestFirstLine(t *testing.T) {
	for _, test := range []struct{ name, line, want string }{
		{"byte order mark", "\uFEFF" + ping, pong},
		{"blank line with a byte order mark", "\uFEFF\r\n" + ping, pong},
		{"blank lines", "\n\r\n" + ping, pong},
		{"call before initialize", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`,
			refused(-32600, "1", `method "tools/list" is invalid during session initialization`)},
		{"initialize without params", `{"jsonrpc":"2.0","id":1,"method":"initialize"}`,
			refused(-32600, "1", `invalid request: missing required "params"`)},
		{"initialize with null", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":null}`,
			refused(-32600, "1", `invalid request: missing required "params"`)},
		{"unsupported stateless version", `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{` +
			`"io.modelcontextprotocol/protocolVersion":"2099-01-01","io.modelcontextprotocol/clientCapabilities":{}}}}`,
			`{"jsonrpc":"2.0","id":1,"error":{"code":-32022,"message":"unsupported protocol version","data":{"supported":` +
				`["2026-07-28","2025-11-25","2025-06-18","2025-03-26","2024-11-05"],"requested":"2099-01-01"}}}`},
	} {
		inBubble(t, test.name, func(t *testing.T) {
			c := connect(t, stdio.Transport{})
			c.send(test.line)
			c.expect(test.want)
			c.send(ping)
			c.expect(pong)
		})
	}
}

func TestLongLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := initializedClient(t, stdio.Transport{MaxLine: 1000})
		pad := func(n int) string { return ping + strings.Repeat(" ", n-len(ping)) }
		c.send(pad(1000))
		c.expect(pong)
		c.send(pad(1001), pad(100_000), ping)
		tooLong := refused(-32600, "null", "line longer than 1000 bytes; send less in one message")
		c.expect(tooLong, tooLong, pong)
	})
}

func TestDefaultLineLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := initializedClient(t, stdio.Transport{})
		const limit = 16 << 20
		c.send(ping+strings.Repeat(" ", limit-len(ping)), strings.Repeat(" ", limit+1), ping)
		c.expect(pong, refused(-32600, "null", "line longer than 16777216 bytes; send less in one message"), pong)
	})
}

func TestIDInFlight(t *testing.T) {
	for _, test := range []struct {
		name, first, second string
		twice               bool // the second call is refused
	}{
		{"the same integer", `7`, `7`, true},
		{"the same string", `"a"`, `"a"`, true},
		{"the same string in other characters", `"a"`, `"\u0061"`, true},
		{"integer and string", `7`, `"7"`, false},
		{"integers that are one float", `9007199254740992`, `9007199254740993`, false},
	} {
		inBubble(t, test.name, func(t *testing.T) {
			c := initializedClient(t, stdio.Transport{})
			c.send(wait(test.first, `{"call":1}`))
			<-c.waiting
			c.send(`{"jsonrpc":"2.0","id":` + test.second + `,"method":"ping"}`)
			if test.twice {
				c.expect(refused(-32600, "null", "the id "+test.second+" belongs to a call that is not answered yet; use another"))
			} else {
				c.expect(`{"jsonrpc":"2.0","id":` + test.second + `,"result":{}}`)
			}
			c.release <- struct{}{}
			c.expect(waited(test.first, `{\"call\":1}`))
			c.send(`{"jsonrpc":"2.0","id":` + test.second + `,"method":"ping"}`)
			c.expect(`{"jsonrpc":"2.0","id":` + test.second + `,"result":{}}`)
		})
	}
}

func TestIDIsFreeOnceAnswered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := initializedClient(t, stdio.Transport{})
		for range 1000 {
			c.send(ping)
			c.expect(pong)
		}
	})
}

// An error with the id of a call in flight would be taken for its answer.
func TestRefusalDoesNotAnswerAnotherCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := initializedClient(t, stdio.Transport{})
		c.send(wait("7", "{}"))
		<-c.waiting
		c.send(`{"jsonrpc":"2.0","id":7}`)
		c.expect(refused(-32600, "null", `"method" is missing`))
		c.release <- struct{}{}
		c.expect(waited("7", "{}"))
	})
}

func TestCancellation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := initializedClient(t, stdio.Transport{})
		c.send(wait(`"x"`, `{"call":1}`), wait("2", `{"call":2}`))
		<-c.waiting
		<-c.waiting
		c.send(cancelled(`"\u0078"`))
		if got := <-c.given; got != `{"call":1}` {
			t.Fatalf("cancelled %s", got)
		}

		// its id is free, its answer is never written, and the other call goes on
		c.send(wait(`"x"`, `{"call":3}`))
		<-c.waiting
		c.send(ping)
		c.expect(pong)
		c.release <- struct{}{}
		c.release <- struct{}{}
		got := []string{c.receive(), c.receive()}
		slices.Sort(got)
		if want := []string{waited(`"x"`, `{\"call\":3}`), waited("2", `{\"call\":2}`)}; !slices.Equal(got, want) {
			t.Errorf("got  %q\nwant %q", got, want)
		}
	})
}

func TestCancellationOfNothing(t *testing.T) {
	for name, params := range map[string]string{
		"unknown":             `{"requestId":99}`,
		"finished":            `{"requestId":"init"}`,
		"null":                `{"requestId":null}`,
		"the engine's own id": `{"requestId":2}`,
		"a float of the id":   `{"requestId":7.0}`,
		"missing":             `{}`,
		"an object":           `{"requestId":{}}`,
		"no params":           `null`,
		"params array":        `[7]`,
	} {
		inBubble(t, name, func(t *testing.T) {
			c := initializedClient(t, stdio.Transport{})
			c.send(wait("7", "{}"))
			<-c.waiting
			c.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":`+params+`}`, ping)
			c.expect(pong)
			synctest.Wait()
			select {
			case got := <-c.given:
				t.Errorf("cancelled %s", got)
			default:
			}
			c.release <- struct{}{}
			c.expect(waited("7", "{}"))
		})
	}
}

func TestInitializeIsNotCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := make(chan struct{})
		c := connect(t, stdio.Transport{}, func(server *mcp.Server) {
			server.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
				return func(ctx context.Context, method string, r mcp.Request) (mcp.Result, error) {
					<-gate
					return next(ctx, method, r)
				}
			})
		})
		c.send(initialize, cancelled(`"init"`))
		synctest.Wait()
		close(gate)
		if got := c.receive(); !strings.HasPrefix(got, `{"jsonrpc":"2.0","id":"init","result":`) {
			t.Error(got)
		}
	})
}

func TestCallsRunSideBySide(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := initializedClient(t, stdio.Transport{})
		var want []string
		for i := range 50 {
			id := fmt.Sprint(1000 + i)
			c.send(wait(id, id))
			want = append(want, waited(id, id))
		}
		c.send(ping)
		c.expect(pong)
		close(c.release)
		var got []string
		for range want {
			got = append(got, c.receive())
		}
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("got  %q\nwant %q", got, want)
		}
	})
}

func TestEndOfInput(t *testing.T) {
	for name, lastLine := range map[string]string{"with a newline": ping + "\n", "without a newline": ping} {
		inBubble(t, name, func(t *testing.T) {
			c := initializedClient(t, stdio.Transport{})
			want := []string{refused(-32600, "null", "a JSON-RPC message is an object"), pong}
			for i := range 5 {
				id := fmt.Sprint(i)
				c.send(wait(id, id))
				want = append(want, waited(id, id))
			}
			c.send("5")
			go func() {
				io.WriteString(c.in, lastLine)
				c.in.Close()
			}()
			time.AfterFunc(stdio.DefaultDrainLimit-1, func() { close(c.release) })
			got, err := c.rest()
			slices.Sort(got)
			slices.Sort(want)
			if !slices.Equal(got, want) || err != nil {
				t.Errorf("Run: %v\ngot  %q\nwant %q", err, got, want)
			}
		})
	}
}

// listen opens a subscription, as a client of protocol revision 2026-07-28 does.
func listen(id, changes string) string {
	return `{"jsonrpc":"2.0","id":` + id + `,"method":"subscriptions/listen","params":{"_meta":{` +
		`"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}},` +
		`"notifications":` + changes + `}}`
}

// How long the server lives on after the end of the input.
func TestDrainLimit(t *testing.T) {
	const prompts = `{"promptsListChanged":true}`
	for _, test := range []struct {
		name  string
		limit time.Duration
		lines []string
		want  time.Duration
	}{
		{"nothing in flight", 0, []string{initialized}, 0},
		{"a call that lasts", 0, []string{wait("7", "{}")}, 5 * time.Second},
		{"another limit", time.Minute, []string{wait("7", "{}")}, time.Minute},
		{"a cancelled call", 0, []string{wait("7", "{}"), cancelled("7")}, 0},
		{"a subscription", 0, []string{listen("8", prompts)}, 0},
		{"a cancelled subscription", 0, []string{listen("8", prompts), cancelled("8")}, 0},
		{"a subscription and a call", 0, []string{listen("8", prompts), wait("7", "{}")}, 5 * time.Second},
		{"a cancelled subscription and a call", 0, []string{listen("8", prompts), cancelled("8"), wait("7", "{}")}, 5 * time.Second},
	} {
		inBubble(t, test.name, func(t *testing.T) {
			c := initializedClient(t, stdio.Transport{DrainLimit: test.limit})
			go io.Copy(io.Discard, c.out)
			for _, line := range test.lines {
				c.send(line)
				synctest.Wait()
			}
			start := time.Now()
			c.in.Close()
			if err := <-c.ended; err != nil || time.Since(start) != test.want {
				t.Errorf("Run: %v after %v, want %v", err, time.Since(start), test.want)
			}
		})
	}
}

// The engine's ids would show in what names a subscription.
func TestSubscriptionIsNamedByTheClientsID(t *testing.T) {
	const acknowledged = `{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{` +
		`"_meta":{"io.modelcontextprotocol/subscriptionId":%s},"notifications":{}}}`
	for _, id := range []string{`"\u0061<&>"`, `12345678901234567890123`} {
		inBubble(t, id, func(t *testing.T) {
			c := connect(t, stdio.Transport{}, func(server *mcp.Server) {
				server.AddSendingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
					return func(ctx context.Context, method string, r mcp.Request) (mcp.Result, error) {
						defer func() { <-time.After(time.Second) }() // the result comes later, and is waited for
						return next(ctx, method, r)
					}
				})
			})
			c.send(listen(id, `{}`))
			c.in.Close()
			c.expect(fmt.Sprintf(acknowledged, id))
			got := c.receive()
			if !strings.HasPrefix(got, `{"jsonrpc":"2.0","id":`+id+`,"result":{`) ||
				!strings.Contains(got, `"io.modelcontextprotocol/subscriptionId":`+id+`}`) {
				t.Error(got)
			}
		})
	}
}

func TestSlowClientDoesNotStopReading(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := initializedClient(t, stdio.Transport{})
		c.send(wait("7", "{}"))
		<-c.waiting
		for range 100 { // answers, and refusals, that nobody reads yet
			c.send(ping, "5")
			synctest.Wait() // until the ping is answered and its id is free
		}
		c.send(cancelled("7"))
		<-c.given
		for range 100 {
			c.receive()
			c.receive()
		}
	})
}

// A client that neither reads nor goes away is left after the drain limit.
func TestBlockedWriterDoesNotKeepTheServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := initializedClient(t, stdio.Transport{})
		c.send(ping, wait("7", "{}"))
		c.in.Close()
		start := time.Now()
		if err := <-c.ended; err != nil || time.Since(start) != stdio.DefaultDrainLimit {
			t.Errorf("Run: %v after %v", err, time.Since(start))
		}
	})
}

type failingWriter struct{ err error }

func (w failingWriter) Write([]byte) (int, error) { return 0, w.err }

func TestFailingWriter(t *testing.T) {
	noSpace := &os.PathError{Op: "write", Path: "/dev/stdout", Err: syscall.ENOSPC}
	for _, test := range []struct {
		name  string
		fault error
		want  error
	}{
		{"broken pipe", &os.PathError{Op: "write", Path: "/dev/stdout", Err: syscall.EPIPE}, nil},
		{"closed pipe", io.ErrClosedPipe, nil},
		{"no space", noSpace, noSpace},
	} {
		for _, line := range []string{initialize, "5"} { // answered by the engine, and by the transport
			inBubble(t, test.name+" "+line[:1], func(t *testing.T) {
				c := connect(t, stdio.Transport{Writer: failingWriter{test.fault}})
				c.send(line)
				if err := <-c.ended; !errors.Is(err, test.want) {
					t.Errorf("Run: %v, want %v", err, test.want)
				}
			})
		}
	}
}

// What was read before the input failed is answered, and the failure is not taken for the end of the input.
func TestFailingReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fault := &os.PathError{Op: "read", Path: "/dev/stdin", Err: syscall.EIO}
		c := connect(t, stdio.Transport{Reader: io.MultiReader(strings.NewReader(ping+"\n"), iotest.ErrReader(fault))})
		got, err := c.rest()
		if !slices.Equal(got, []string{pong}) || !errors.Is(err, fault) {
			t.Errorf("Run: %v, got %q", err, got)
		}
	})
}

// A signal ends the context: no call may hold the process up.
func TestContextEndsTheConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := initializedClient(t, stdio.Transport{})
		c.send(wait("7", "{}"))
		<-c.waiting
		start := time.Now()
		c.cancel()
		if err := <-c.ended; !errors.Is(err, context.Canceled) || time.Since(start) != 0 {
			t.Errorf("Run: %v after %v", err, time.Since(start))
		}
		if _, err := io.WriteString(c.in, ping); !errors.Is(err, io.ErrClosedPipe) {
			t.Errorf("the input is still open: %v", err)
		}
	})
}

// A writer that is written to side by side, or piece by piece, would tear lines.
func TestOneWriteForEachMessage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var writes chunks
		c := connect(t, stdio.Transport{Writer: &writes})
		go func() {
			c.send(initialize, "5", ping, "{bad")
			c.in.Close()
		}()
		if err := <-c.ended; err != nil {
			t.Fatal(err)
		}
		for _, chunk := range writes {
			if strings.Count(chunk, "\n") != 1 || !strings.HasSuffix(chunk, "}\n") {
				t.Errorf("wrote %q", chunk)
			}
		}
		if len(writes) != 4 {
			t.Errorf("%d writes: %q", len(writes), writes)
		}
	})
}

type chunks []string

func (c *chunks) Write(p []byte) (int, error) {
	*c = append(*c, string(p))
	return len(p), nil
}
