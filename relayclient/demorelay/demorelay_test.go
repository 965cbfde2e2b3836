package demorelay_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentmux/agentmux-go/relayclient/demorelay"
	"github.com/agentmux/agentmux-go/wire"
)

// testWorld has a session of every transport, a bundle that is down, and ids that count.
func testWorld() demorelay.World {
	ids := 0
	return demorelay.World{
		Users: []demorelay.Session{{ID: "operator"}},
		Bundles: []demorelay.Bundle{
			{Name: "demo", Sessions: []demorelay.Session{
				{ID: "you", Name: "You", Pane: []string{"$ "}, Prompt: "$ "},
				{ID: "builder", Name: "Builder", Pane: []string{"one", "two", "$ "}, Prompt: "$ "},
				{
					ID: "reviewer", Transport: wire.TransportACP, Reply: "seen",
					Entries: []wire.SnapshotEntry{{Kind: "agent", Lines: []string{"hello"}}},
					Decisions: []demorelay.Decision{{
						ID: "choice", Title: "Run it", Cancelled: "not asked",
						Options: []demorelay.Option{{ID: "yes", Name: "Yes", Kind: "allow_once", Reply: "ran it"}},
					}},
				},
				{ID: "dashboard", Transport: wire.TransportUI},
				{ID: "bus", Transport: wire.TransportPubSub},
			}},
			{Name: "other", Down: true, Sessions: []demorelay.Session{
				{ID: "you"},
				{ID: "agent", Transport: wire.TransportACP},
			}, Failures: []wire.StartupFailure{{SessionID: "you", Code: "runtime_startup_failed"}}},
		},
		Now:   func() time.Time { return time.Now().In(time.FixedZone("", 3600)) },
		NewID: func() string { ids++; return fmt.Sprintf("id-%d", ids) },
	}
}

// A client speaks raw lines.
type client struct {
	t     *testing.T
	conn  net.Conn
	lines *wire.LineReader
}

// dial opens a connection that has said nothing yet.
func dial(t *testing.T, r *demorelay.Relay) *client {
	ours, theirs := net.Pipe()
	go func() {
		if err := r.ServeConn(context.Background(), theirs); err != nil {
			t.Errorf("ServeConn: %v", err)
		}
	}()
	return newClient(t, ours)
}

func newClient(t *testing.T, conn net.Conn) *client {
	t.Cleanup(func() { conn.Close() })
	return &client{t, conn, wire.NewLineReader(conn, 0)}
}

// connect opens a connection and says hello.
func connect(t *testing.T, r *demorelay.Relay, principal, token string) *client {
	t.Helper()
	c := dial(t, r)
	if got, want := c.ask(hello(principal, token)), "hello_ack "+principal; got != want {
		t.Fatalf("hello as %s: got %s, want %s", principal, got, want)
	}
	return c
}

func hello(principal, token string) string {
	return fmt.Sprintf(`{"frame":"hello","schema_version":"1","principal_id":%q,"identity_token":%q}`, principal, token)
}

// request wraps an operation that the connection's own bundle is asked for.
func request(operation string) string {
	return `{"frame":"request","request_id":"q","request":` + operation + `}`
}

// in wraps an operation that another namespace is asked for.
func in(namespace, operation string) string {
	return fmt.Sprintf(`{"frame":"request","request_id":"q","namespace":%q,"request":%s}`, namespace, operation)
}

func (c *client) say(line string) {
	c.t.Helper()
	if _, err := io.WriteString(c.conn, line+"\n"); err != nil {
		c.t.Fatalf("saying %s: %v", line, err)
	}
}

// hear returns a summary of the next frame, or "closed".
func (c *client) hear() string {
	c.t.Helper()
	line, err := c.lines.ReadLine()
	if err == io.EOF {
		return "closed"
	}
	if err != nil {
		c.t.Fatalf("reading: %v", err)
	}
	return summary(c.t, line)
}

func (c *client) ask(line string) string {
	c.t.Helper()
	c.say(line)
	return c.hear()
}

// summary tells frames apart without the relay's prose, and without what all of them have: for a refusal its
// code and details, for an answer its kind and other keys in alphabetical order. What answers no request is
// marked by a "!".
func summary(t *testing.T, line []byte) string {
	t.Helper()
	var f struct {
		Frame       string
		PrincipalID string         `json:"principal_id"`
		RequestID   *string        `json:"request_id"`
		Response    map[string]any `json:"response"`
		Event       map[string]any `json:"event"`
	}
	if err := json.Unmarshal(line, &f); err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	if _, err := wire.Decode(line); err != nil {
		t.Errorf("%s: %v", line, err)
	}
	mark := ""
	if f.Frame == "response" && f.RequestID == nil {
		mark = "!"
	}
	switch {
	case f.Frame == "hello_ack":
		return "hello_ack " + f.PrincipalID
	case f.Event != nil:
		return fmt.Sprint(f.Event["event_type"], " ", f.Event["target_session"], " ", encode(t, f.Event["payload"]))
	case f.Response["kind"] == "error":
		e := f.Response["error"].(map[string]any)
		if e["message"] == "" {
			t.Errorf("%s: a refusal without a message", line)
		}
		if e["details"] == nil {
			return mark + e["code"].(string)
		}
		return mark + e["code"].(string) + " " + encode(t, e["details"])
	}
	if f.Response["schema_version"] != "1" {
		t.Errorf("%s: schema_version missing", line)
	}
	kind := f.Response["kind"].(string)
	maps.DeleteFunc(f.Response, func(key string, _ any) bool {
		return slices.Contains([]string{"kind", "schema_version", "reason"}, key)
	})
	if snippet, ok := f.Response["config_snippet"].(string); ok { // prose around one fact
		f.Response["config_snippet"] = regexp.MustCompile(`bundles/\S+psk|$`).FindString(snippet)
	}
	return mark + kind + " " + encode(t, f.Response)
}

func encode(t *testing.T, v any) string {
	t.Helper()
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		t.Fatal(err)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// serve runs a test against a relay in a bubble, where waiting for nothing is a failure and the clock starts
// at 2000-01-01.
func serve(t *testing.T, test func(*testing.T, *demorelay.Relay)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		r := demorelay.New(testWorld())
		t.Cleanup(r.Close)
		test(t, r)
	})
}

// A step is a line and what has to come back.
type step struct{ say, want string }

func TestOnlyTheNewestIsKept(t *testing.T) {
	serve(t, func(t *testing.T, r *demorelay.Relay) {
		c := connect(t, r, "you@demo", wire.SocketTrust)
		for range 1001 {
			c.ask(request(`{"operation":"send","requester_session":"you","message":"hi","broadcast":false,"targets":["builder@demo","reviewer@demo"]}`))
		}
		c.ask(request(`{"operation":"up"}`))
		pane, entries, inbox, requests := r.Pane("builder@demo"), r.Entries("reviewer@demo"), r.Inbox("builder@demo"), r.Requests()
		for what, n := range map[string]int{"pane": len(pane), "entries": len(entries), "inbox": len(inbox), "requests": len(requests)} {
			if n != 1000 {
				t.Errorf("%s: got %d, want 1000", what, n)
			}
		}
		for window, want := range map[string]int{"builder@demo": 120, "reviewer@demo": 50} {
			c.say(request(`{"operation":"look","requester_session":"you","target_session":"` + window + `"}`))
			line, err := c.lines.ReadLine()
			if err != nil {
				t.Fatal(err)
			}
			var f struct {
				Response struct {
					Lines   []string          `json:"snapshot_lines"`
					Entries []json.RawMessage `json:"snapshot_entries"`
				}
			}
			if err := json.Unmarshal(line, &f); err != nil || len(f.Response.Lines)+len(f.Response.Entries) != want {
				t.Errorf("look at %s: got %d lines and %d entries, want %d", window, len(f.Response.Lines), len(f.Response.Entries), want)
			}
		}
		if pane[999] != "$ " || entries[999].Lines[0] != "seen" || inbox[999].ID != "id-2003" || requests[999].OperationName() != "up" {
			t.Errorf("the last ones: %q, %+v, %+v, %s", pane[999], entries[999], inbox[999], requests[999].OperationName())
		}
	})
}

// A raw value of the world that is not JSON costs the answer, not the connection.
func TestWorldThatCannotBeEncoded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		world := testWorld()
		world.Bundles[0].Sessions[2].Entries[0].Invocation = json.RawMessage("{")
		r := demorelay.New(world)
		t.Cleanup(r.Close)
		c := connect(t, r, "you@demo", wire.SocketTrust)
		got := c.ask(request(`{"operation":"look","requester_session":"you","target_session":"reviewer@demo"}`))
		if !strings.HasPrefix(got, `internal_unexpected_failure {"cause":"`) {
			t.Errorf("got %s", got)
		}
		if got, want := c.ask(in("other", `{"operation":"choices_list"}`)), `choices_list {"pending_requests":[]}`; got != want {
			t.Errorf("afterwards: got %s, want %s", got, want)
		}
	})
}

func TestSample(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := demorelay.New(demorelay.Sample())
		t.Cleanup(r.Close)
		c := connect(t, r, "you@demo", wire.SocketTrust)

		want := []string{"user", "cognition", "update", "invocation", "agent", "invocation"}
		var kinds []string
		for _, e := range r.Entries("reviewer@demo") {
			kinds = append(kinds, e.Kind)
		}
		if !slices.Equal(kinds, want) {
			t.Errorf("entries: got %v, want %v", kinds, want)
		}

		waiting := r.Decisions()
		uuid := regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)
		if len(waiting) != 1 || !uuid.MatchString(waiting[0].ChoiceRequestID) {
			t.Fatalf("decisions: got %+v, want one with a random UUID", waiting)
		}
		answer := c.ask(request(`{"operation":"choices_pick","choice_request_id":"` + waiting[0].ChoiceRequestID + `","outcome":"selected","option_id":"allow-once"}`))
		if !strings.HasPrefix(answer, "choices_pick ") {
			t.Errorf("got %s", answer)
		}
		for _, session := range []string{"you", "builder", "tester"} {
			pane := r.Pane(session + "@demo")
			if len(pane) == 0 || pane[len(pane)-1] != "$ " {
				t.Errorf("pane of %s: got %q, want a prompt at its end", session, pane)
			}
		}
		if list := c.ask(in("GLOBAL", `{"operation":"list"}`)); !strings.Contains(list, "operator@GLOBAL") {
			t.Errorf("users: got %s", list)
		}
	})
}

func TestInspectUnknownSession(t *testing.T) {
	r := demorelay.New(demorelay.World{})
	defer r.Close()
	if r.Pane("x@demo") != nil || r.Inbox("x@GLOBAL") != nil || r.Entries("bare") != nil {
		t.Error("an empty world has something to show")
	}
}
