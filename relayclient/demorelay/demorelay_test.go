package demorelay_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"os"
	"path/filepath"
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

func TestOperations(t *testing.T) {
	const (
		list     = `{"operation":"list","requester_session":"you"}`
		noTarget = `"requester_session":"you","message":"hi","broadcast":false,"targets":`
		choices  = `{"operation":"choices_list"}`
		up       = `{"operation":"up"}`
		down     = `{"operation":"down"}`
		start    = `"2000-01-01T00:00:00Z"`
	)
	send := func(targets string) string { return request(`{"operation":"send",` + noTarget + targets + `}`) }
	look := func(target, window string) string {
		return request(fmt.Sprintf(`{"operation":"look","requester_session":"you","target_session":%q%s}`, target, window))
	}
	raww := func(target, text string) string {
		return request(fmt.Sprintf(`{"operation":"raww","requester_session":"you","target_session":%q,"text":%q}`, target, text))
	}
	pick := func(id, outcome, option string) string {
		return request(fmt.Sprintf(`{"operation":"choices_pick","choice_request_id":%q,"outcome":%q,"option_id":%s}`, id, outcome, option))
	}
	noSender := `validation_unknown_sender {"field":"requester_session","value":"zed"}`
	resolved := `runtime_choices_request_already_resolved {"choice_request_id":"choice"}`
	transition := func(action, bundle, outcome string, changed int) string {
		reason := ""
		if outcome == "skipped" {
			reason = `,"reason":"the bundle is ` + action + ` already","reason_code":"already_` + map[string]string{"up": "hosted", "down": "unhosted"}[action] + `"`
		}
		return fmt.Sprintf(`bundle_transition {"action":%q,"bundles":[{"bundle_name":%q,"outcome":%q%s}],"changed_any":%t,"changed_bundle_count":%d,"failed_bundle_count":0,"skipped_bundle_count":%d}`,
			action, bundle, outcome, reason, changed == 1, changed, 1-changed)
	}
	listed := `list {"bundle":{"hosted":true,"id":"demo","principals":[` +
		`{"id":"you@demo","name":"You","ready":true,"transport":"tmux"},{"id":"builder@demo","name":"Builder","ready":true,"transport":"tmux"},` +
		`{"id":"reviewer@demo","ready":true,"transport":"acp"},{"id":"dashboard@demo","ready":false,"transport":"ui"},` +
		`{"id":"bus@demo","ready":false,"transport":"pubsub"}],"recent_startup_failures":[],"startup_failure_count":0,"startup_health":"healthy","state":"up"}}`
	failure := `{"code":"runtime_startup_failed","reason":"","sequence":0,"session_id":"you","timestamp":"","transport":""}`

	tests := []struct {
		name  string
		steps []step
	}{
		{"list own bundle", []step{{request(list), listed}, {in("demo", list), listed}}},
		{"list another bundle", []step{
			{in("other", list), `list {"bundle":{"hosted":false,"id":"other","principals":[{"id":"you@other","ready":false,"transport":"tmux"},` +
				`{"id":"agent@other","ready":false,"transport":"acp"}],"recent_startup_failures":[` + failure + `],"startup_failure_count":1,"state":"down",` +
				`"state_reason":"no session is ready","state_reason_code":"runtime_startup_failed"}}`},
			{in("other", up), transition("up", "other", "hosted", 1)},
			{in("other", list), `list {"bundle":{"hosted":true,"id":"other","principals":[{"id":"you@other","ready":true,"transport":"tmux"},` +
				`{"id":"agent@other","ready":true,"transport":"acp"}],"recent_startup_failures":[` + failure + `],"startup_failure_count":1,"startup_health":"degraded","state":"up"}}`},
		}},
		{"list users", []step{{in("GLOBAL", `{"operation":"list"}`), `list {"bundle":{"hosted":false,"id":"GLOBAL","principals":[` +
			`{"id":"operator@GLOBAL","ready":false,"transport":"ui"}],"recent_startup_failures":[],"startup_failure_count":0,"state":"down"}}`}}},
		{"list refused", []step{
			{request(`{"operation":"list"}`), "validation_unknown_sender"},
			{request(`{"operation":"list","requester_session":"zed"}`), noSender},
			{request(`{"operation":"list","requester_session":"you@demo"}`), `validation_unknown_sender {"field":"requester_session","value":"you@demo"}`},
			{request(`{"operation":"list","requester_session":"operator@GLOBAL"}`), listed},
			{in("nope", list), `validation_unknown_bundle {"bundle_name":"nope"}`},
			{in("RELAY", list), `validation_unsupported_namespace {"namespace":"RELAY"}`},
		}},

		{"send", []step{
			{send(`["operator@GLOBAL"," builder@demo ","you@other"]`), `send {"request_id":null,"requester_session":"you@demo","results":[` +
				`{"message_id":"id-3","outcome":"queued","target_session":"builder@demo"},{"message_id":"id-4","outcome":"queued","target_session":"you@other"},` +
				`{"message_id":"id-5","outcome":"queued","target_session":"operator@GLOBAL"}],"sender_display_name":"You"}`},
			{request(`{"operation":"send","requester_session":"you@demo","message":"hi","broadcast":false,"targets":["bus@demo"]}`),
				`send {"request_id":null,"requester_session":"you@demo","results":[{"message_id":"id-6","outcome":"queued","target_session":"bus@demo"}],"sender_display_name":"You"}`},
			{request(`{"operation":"send","request_id":"r","requester_session":"operator@GLOBAL","message":"hi","broadcast":false,"targets":["you@demo"]}`),
				`send {"request_id":"r","requester_session":"operator@GLOBAL","results":[{"message_id":"id-7","outcome":"queued","target_session":"you@demo"}]}`},
		}},
		{"broadcast", []step{
			{request(`{"operation":"send","requester_session":"builder","message":"hi","broadcast":true,"targets":[]}`),
				`send {"request_id":null,"requester_session":"builder@demo","results":[{"message_id":"id-3","outcome":"queued","target_session":"you@demo"},` +
					`{"message_id":"id-4","outcome":"queued","target_session":"reviewer@demo"},{"message_id":"id-5","outcome":"queued","target_session":"dashboard@demo"},` +
					`{"message_id":"id-6","outcome":"queued","target_session":"bus@demo"}],"sender_display_name":"Builder"}`},
			{request(list), listed},
			{request(`{"operation":"send","requester_session":"operator@GLOBAL","message":"hi","broadcast":true,"targets":[]}`), "validation_invalid_arguments"},
		}},
		{"send refused", []step{
			{request(`{"operation":"send","requester_session":"zed","message":" \n","broadcast":false,"targets":[]}`), "validation_invalid_arguments"},
			{request(`{"operation":"send","requester_session":"zed","message":"hi","broadcast":true,"targets":["x"]}`), "validation_conflicting_targets"},
			{request(`{"operation":"send","requester_session":"zed","message":"hi","broadcast":false,"targets":[]}`), "validation_empty_targets"},
			{request(`{"operation":"send","requester_session":"zed","message":"hi","broadcast":false,"targets":["x"]}`), noSender},
			{send(`["zed@demo","builder"]`), `validation_unqualified_target {"target":"builder"}`},
			{send(`["@demo"]`), `validation_unqualified_target {"target":"@demo"}`},
			{send(`["builder@"]`), `validation_unqualified_target {"target":"builder@"}`},
			{send(`[" a@b@demo "]`), `validation_unknown_target {"unknown_targets":["a@b@demo"]}`},
			{send(`["x@EXTERNAL"]`), `validation_unsupported_namespace {"namespace":"EXTERNAL","target":"x@EXTERNAL"}`},
			{send(`["zed@demo","builder@demo","x@nope","x@GLOBAL"]`), `validation_unknown_target {"unknown_targets":["zed@demo","x@nope","x@GLOBAL"]}`},
		}},

		{"look at a pane", []step{
			{look("builder@demo", ""), `look {"captured_at":` + start + `,"requester_session":"you@demo","snapshot_format":"lines","snapshot_lines":["one","two","$"],"target_session":"builder@demo"}`},
			{request(`{"operation":"look","requester_session":"you@demo","target_session":"builder@demo","lines":1}`),
				`look {"captured_at":` + start + `,"requester_session":"you@demo","snapshot_format":"lines","snapshot_lines":["$"],"target_session":"builder@demo"}`},
			{look(" builder@demo ", `,"lines":2,"offset":0`), `look {"captured_at":` + start + `,"requester_session":"you@demo","snapshot_format":"lines","snapshot_lines":["two","$"],"target_session":"builder@demo"}`},
			{look("builder@demo", `,"lines":1000`), `look {"captured_at":` + start + `,"requester_session":"you@demo","snapshot_format":"lines","snapshot_lines":["one","two","$"],"target_session":"builder@demo"}`},
			{look("builder@demo", `,"offset":3`), `validation_offset_unsupported {"code":"validation_offset_unsupported","details":{"offset":3},"target_session":"builder"}`},
			{look("you@other", ""), `internal_unexpected_failure {"code":"internal_unexpected_failure","details":{"cause":"the bundle is down"},"target_session":"you"}`},
		}},
		{"look at a replay buffer", []step{
			{look("reviewer@demo", ""), `look {"captured_at":` + start + `,"entries_total":1,"freshness":"fresh","requester_session":"you@demo","returned_entries_count":1,` +
				`"snapshot_entries":[{"kind":"agent","lines":["hello"]}],"snapshot_format":"structured_entries_v1","snapshot_source":"live_buffer","target_session":"reviewer@demo"}`},
			{raww("reviewer@demo", "a\n\nb"), `raww {"message_id":"id-3","status":"queued","target_session":"reviewer@demo","transport":"acp"}`},
			{look("reviewer@demo", `,"lines":1,"offset":1`), `look {"captured_at":` + start + `,"entries_total":3,"freshness":"fresh","requester_session":"you@demo","returned_entries_count":1,` +
				`"snapshot_entries":[{"kind":"user","lines":["a","b"]}],"snapshot_format":"structured_entries_v1","snapshot_source":"live_buffer","target_session":"reviewer@demo"}`},
			{look("reviewer@demo", `,"offset":7`), `look {"captured_at":` + start + `,"entries_total":3,"freshness":"fresh","requester_session":"you@demo","returned_entries_count":0,` +
				`"snapshot_entries":[],"snapshot_format":"structured_entries_v1","snapshot_source":"live_buffer","target_session":"reviewer@demo"}`},
		}},
		{"look refused", []step{
			{look("zed", `,"lines":0`), `validation_invalid_lines {"lines":0,"max":1000,"min":1}`},
			{look("zed", `,"lines":1001`), `validation_invalid_lines {"lines":1001,"max":1000,"min":1}`},
			{request(`{"operation":"look","requester_session":"zed","target_session":"builder"}`), noSender},
			{look("builder", ""), `validation_unqualified_target {"target":"builder"}`},
			{look("  ", ""), `validation_unqualified_target {"target":""}`},
			{look("x@RELAY", ""), `validation_unsupported_namespace {"namespace":"RELAY","target":"x@RELAY"}`},
			{look("x@nope", ""), `validation_unknown_bundle {"bundle_name":"nope"}`},
			{look("zed@demo", ""), `validation_unknown_target {"target_session":"zed@demo"}`},
			{look(" a@b@demo", ""), `validation_unknown_target {"target_session":"a@b@demo"}`},
			{look("zed@GLOBAL", ""), `validation_unknown_target {"target_session":"zed@GLOBAL"}`},
			{look("dashboard@demo", ""), `validation_unsupported_operation {"can_be_looked":false,"session_type":"ui","target_session":"dashboard@demo"}`},
			{look("operator@GLOBAL", ""), `validation_unsupported_operation {"can_be_looked":false,"session_type":"ui","target_session":"operator@GLOBAL"}`},
		}},

		{"raww", []step{
			{raww("builder@demo", "ls"), `raww {"message_id":"id-3","status":"queued","target_session":"builder@demo","transport":"tmux"}`},
			{request(`{"operation":"raww","request_id":"r","requester_session":"you@demo","target_session":"builder@demo","text":"a\nb","no_enter":true}`),
				`raww {"message_id":"id-4","request_id":"r","status":"queued","target_session":"builder@demo","transport":"tmux"}`},
			{look("builder@demo", `,"lines":3`), `look {"captured_at":` + start + `,"requester_session":"you@demo","snapshot_format":"lines","snapshot_lines":["$ ls","$ a","b"],"target_session":"builder@demo"}`},
			{raww("builder@demo", strings.Repeat("x", 32768)), `raww {"message_id":"id-5","status":"queued","target_session":"builder@demo","transport":"tmux"}`},
			{raww("you@other", "lost"), `raww {"message_id":"id-6","status":"queued","target_session":"you@other","transport":"tmux"}`},
			{in("other", up), transition("up", "other", "hosted", 1)},
			{look("you@other", ""), `look {"captured_at":` + start + `,"requester_session":"you@demo","snapshot_format":"lines","snapshot_lines":[],"target_session":"you@other"}`},
			{raww("you@other", "x"), `raww {"message_id":"id-7","status":"queued","target_session":"you@other","transport":"tmux"}`},
			{look("you@other", ""), `look {"captured_at":` + start + `,"requester_session":"you@demo","snapshot_format":"lines","snapshot_lines":["x"],"target_session":"you@other"}`},
		}},
		{"raww refused", []step{
			{raww(" ", strings.Repeat("x", 32769)), `validation_invalid_params {"field":"target_session"}`},
			{raww("zed", strings.Repeat("x", 32769)), `validation_invalid_params {"bytes":32769,"field":"text","max_bytes":32768}`},
			{request(`{"operation":"raww","requester_session":"zed","target_session":"builder","text":""}`), noSender},
			{raww("builder", ""), `validation_unqualified_target {"target":"builder"}`},
			{raww("bus@demo", ""), `validation_unsupported_operation {"can_be_written":false,"session_type":"pubsub","target_session":"bus@demo"}`},
		}},

		{"choices", []step{
			{request(choices), `choices_list {"pending_requests":[{"choice_request_id":"choice","enqueued_at":` + start + `,"message_id":"id-1",` +
				`"requested_details":{"acp_request_id":1,"options":[{"kind":"allow_once","name":"Yes","option_id":"yes"}],` +
				`"raw":{"options":[{"kind":"allow_once","name":"Yes","optionId":"yes"}],"toolCall":{"status":"pending","title":"Run it"}},"tool_call_title":"Run it"},` +
				`"requested_kind":"other","target_session":"reviewer@demo"}]}`},
			{in("other", choices), `choices_list {"pending_requests":[]}`},
			{in("GLOBAL", choices), `validation_unknown_bundle {"bundle_name":"GLOBAL"}`},
			{pick("choice", "selected", `"yes"`), `choices_pick {"choice_request_id":"choice","decided_by":"you@demo","outcome":"selected","status":"resolved"}`},
			{request(choices), `choices_list {"pending_requests":[]}`},
			{pick("choice", "selected", `"yes"`), resolved},
		}},
		{"choices cancelled", []step{{pick("choice", "cancelled", "null"),
			`choices_pick {"choice_request_id":"choice","decided_by":"you@demo","outcome":"cancelled","reason_code":"runtime_choices_request_cancelled","status":"resolved"}`}}},
		{"choices refused", []step{
			{in("nope", `{"operation":"choices_pick","choice_request_id":"","outcome":"maybe"}`), `validation_unknown_bundle {"bundle_name":"nope"}`},
			{pick(" ", "maybe", `""`), `validation_invalid_params {"field":"choice_request_id"}`},
			{pick("choice", "maybe", `" "`), `validation_invalid_params {"field":"option_id"}`},
			{pick("choice", "maybe", "null"), `validation_invalid_params {"field":"outcome","value":"maybe"}`},
			{pick("choice", "selected", "null"), `validation_invalid_params {"field":"option_id","outcome":"selected"}`},
			{pick("choice", "cancelled", `"yes"`), `validation_invalid_params {"field":"option_id","outcome":"cancelled"}`},
			{pick("nope", "selected", `"yes"`), `runtime_choices_request_already_resolved {"choice_request_id":"nope"}`},
			{in("other", `{"operation":"choices_pick","choice_request_id":"choice","outcome":"cancelled"}`), resolved},
			{pick("choice", "selected", `"no"`), `validation_invalid_params {"field":"option_id","value":"no"}`},
			{pick("choice", "selected", `"yes"`), resolved},
		}},

		{"transitions", []step{
			{request(up), transition("up", "demo", "skipped", 0)},
			{in("other", down), transition("down", "other", "skipped", 0)},
			{raww("builder@demo", "gone"), `raww {"message_id":"id-3","status":"queued","target_session":"builder@demo","transport":"tmux"}`},
			{request(down), transition("down", "demo", "unhosted", 1)},
			{look("builder@demo", ""), `internal_unexpected_failure {"code":"internal_unexpected_failure","details":{"cause":"the bundle is down"},"target_session":"builder"}`},
			{request(choices), `choices_list {"pending_requests":[{"choice_request_id":"choice","enqueued_at":` + start + `,"message_id":"id-1",` +
				`"requested_details":{"acp_request_id":1,"options":[{"kind":"allow_once","name":"Yes","option_id":"yes"}],` +
				`"raw":{"options":[{"kind":"allow_once","name":"Yes","optionId":"yes"}],"toolCall":{"status":"pending","title":"Run it"}},"tool_call_title":"Run it"},` +
				`"requested_kind":"other","target_session":"reviewer@demo"}]}`},
			{request(up), transition("up", "demo", "hosted", 1)},
			{look("builder@demo", ""), `look {"captured_at":` + start + `,"requester_session":"you@demo","snapshot_format":"lines","snapshot_lines":["one","two","$"],"target_session":"builder@demo"}`},
			{in("GLOBAL", up), `validation_unknown_bundle {"bundle_name":"GLOBAL"}`},
			{in("EXTERNAL", up), `validation_unsupported_namespace {"namespace":"EXTERNAL"}`},
		}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			serve(t, func(t *testing.T, r *demorelay.Relay) {
				c := connect(t, r, "you@demo", wire.SocketTrust)
				for _, s := range test.steps {
					if got := c.ask(s.say); got != s.want {
						t.Errorf("%s\n got %s\nwant %s", s.say, got, s.want)
					}
				}
			})
		})
	}
}

func TestUser(t *testing.T) {
	serve(t, func(t *testing.T, r *demorelay.Relay) {
		c := connect(t, r, "operator@GLOBAL", wire.SocketTrust)
		for _, s := range []step{
			{request(`{"operation":"choices_list"}`), "validation_missing_routing_namespace"},
			{in("other", `{"operation":"choices_list"}`), `choices_list {"pending_requests":[]}`},
			{in("GLOBAL", `{"operation":"list"}`), `list {"bundle":{"hosted":true,"id":"GLOBAL","principals":[` +
				`{"id":"operator@GLOBAL","ready":true,"transport":"ui"}],"recent_startup_failures":[],"startup_failure_count":0,"state":"up"}}`},
			{request(`{"operation":"raww","requester_session":"operator","target_session":"you@demo","text":""}`),
				`validation_unknown_sender {"field":"requester_session","value":"operator"}`},
		} {
			if got := c.ask(s.say); got != s.want {
				t.Errorf("%s\n got %s\nwant %s", s.say, got, s.want)
			}
		}
	})
}

// A relay hangs up on what it cannot parse, and says so once.
func TestUnparsableLines(t *testing.T) {
	const closes, stays = true, false
	tests := []struct {
		name string
		line string
		want bool
	}{
		{"not JSON", `{bad`, closes},
		{"not an object", `[]`, closes},
		{"trailing text", request(`{"operation":"up"}`) + " x", closes},
		{"unknown frame", `{"frame":"bye"}`, closes},
		{"a relay's frame", `{"frame":"hello_ack","schema_version":"1","principal_id":"you@demo"}`, closes},
		{"unknown operation", request(`{"operation":"drop_peer","principal_id":"a@b"}`), closes},
		{"no request", `{"frame":"request","request_id":"q"}`, closes},
		{"request id is a number", `{"frame":"request","request_id":7,"request":{"operation":"up"}}`, closes},
		{"namespace is a number", `{"frame":"request","namespace":7,"request":{"operation":"up"}}`, closes},
		{"null ids", `{"frame":"request","request_id":null,"namespace":null,"request":{"operation":"up"}}`, stays},
		{"unknown keys", `{"frame":"request","request_id":"q","x":1,"request":{"operation":"up","y":null}}`, stays},
		{"requester is a number", request(`{"operation":"list","requester_session":1}`), closes},
		{"requester is null", request(`{"operation":"list","requester_session":null}`), stays},
		{"lines is a string", request(`{"operation":"look","requester_session":"you","target_session":"x","lines":"1"}`), closes},
		{"lines is a fraction", request(`{"operation":"look","requester_session":"you","target_session":"x","lines":1.0}`), closes},
		{"lines is negative", request(`{"operation":"look","requester_session":"you","target_session":"x","lines":-1}`), closes},
		{"offset is negative", request(`{"operation":"look","requester_session":"you","target_session":"x","offset":-1}`), closes},
		{"window is null", request(`{"operation":"look","requester_session":"you","target_session":"x","lines":null,"offset":null}`), stays},
		{"target is null", request(`{"operation":"look","requester_session":"you","target_session":null}`), closes},
		{"no broadcast", request(`{"operation":"send","requester_session":"you","message":"","targets":[]}`), closes},
		{"broadcast is null", request(`{"operation":"send","requester_session":"you","message":"","targets":[],"broadcast":null}`), closes},
		{"targets is null", request(`{"operation":"send","requester_session":"you","message":"","targets":null,"broadcast":false}`), closes},
		{"a target is null", request(`{"operation":"send","requester_session":"you","message":"","targets":[null],"broadcast":false}`), closes},
		{"no message", request(`{"operation":"send","requester_session":"you","targets":[],"broadcast":false}`), closes},
		{"send's id is a number", request(`{"operation":"send","request_id":1,"requester_session":"you","message":"","targets":[],"broadcast":false}`), closes},
		{"quiet window is negative", request(`{"operation":"send","requester_session":"you","message":"","targets":[],"broadcast":false,"quiet_window_ms":-1}`), closes},
		{"no_enter is null", request(`{"operation":"raww","requester_session":"you","target_session":"x","text":"","no_enter":null}`), closes},
		{"no no_enter", request(`{"operation":"raww","requester_session":"you","target_session":"x","text":""}`), stays},
		{"option is a number", request(`{"operation":"choices_pick","choice_request_id":"x","outcome":"cancelled","option_id":1}`), closes},
		{"scope is a number", request(`{"operation":"new_peer","principal_id":"x","scope":1}`), closes},
		{"output path is a number", request(`{"operation":"new_peer","principal_id":"x","output_path":1}`), closes},
		{"hello without a version", `{"frame":"hello","principal_id":"you@demo","identity_token":"socket-trust"}`, closes},
		{"hello with a null token", `{"frame":"hello","schema_version":"1","principal_id":"you@demo","identity_token":null}`, closes},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			serve(t, func(t *testing.T, r *demorelay.Relay) {
				c := connect(t, r, "you@demo", wire.SocketTrust)
				got := c.ask(test.line)
				if closed := strings.HasPrefix(got, `!validation_invalid_arguments {"cause":"`); closed != test.want {
					t.Fatalf("%s: got %s, want a refusal of the line: %t", test.line, got, test.want)
				}
				want := "closed"
				if test.want == stays {
					want = `choices_list {"pending_requests":[]}`
					c.say(in("other", `{"operation":"choices_list"}`))
				}
				if got := c.hear(); got != want {
					t.Errorf("%s: afterwards got %s, want %s", test.line, got, want)
				}
			})
		})
	}
}

// Bytes that are not UTF-8 are not even refused.
func TestInvalidUTF8(t *testing.T) {
	serve(t, func(t *testing.T, r *demorelay.Relay) {
		c := connect(t, r, "you@demo", wire.SocketTrust)
		if got := c.ask("\xff\xfe"); got != "closed" {
			t.Errorf("got %s, want closed", got)
		}
	})
}

func TestLastLineWithoutEnd(t *testing.T) {
	_, theirs := net.Pipe()
	said := &oneWay{Conn: theirs, Reader: strings.NewReader(hello("you@demo", wire.SocketTrust))}
	r := demorelay.New(testWorld())
	defer r.Close()
	if err := r.ServeConn(t.Context(), said); err != nil {
		t.Fatal(err)
	}
	if got, want := said.written.String(), `{"frame":"hello_ack","schema_version":"1","principal_id":"you@demo"}`+"\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// oneWay is a connection whose client shut down its writing side after its last byte.
type oneWay struct {
	net.Conn
	io.Reader
	written strings.Builder
}

func (c *oneWay) Read(p []byte) (int, error)  { return c.Reader.Read(p) }
func (c *oneWay) Write(p []byte) (int, error) { return c.written.Write(p) }

func TestHello(t *testing.T) {
	tests := []struct {
		name string
		line string
		want string
	}{
		{"session", hello("builder@demo", "socket-trust"), "hello_ack builder@demo"},
		{"session of a bundle that is down", hello("agent@other", "socket-trust"), "hello_ack agent@other"},
		{"user", hello("operator@GLOBAL", "socket-trust"), "hello_ack operator@GLOBAL"},
		{"version", `{"frame":"hello","schema_version":"2","principal_id":"bare","identity_token":"socket-trust"}`,
			`!validation_invalid_schema_version {"schema_version":"2","supported_schema_version":"1"}`},
		{"bare id", hello("bare", "wrong"), `!validation_invalid_principal_id {"principal_id":"bare"}`},
		{"no id", hello("@demo", "socket-trust"), `!validation_invalid_principal_id {"principal_id":"@demo"}`},
		{"unknown key", hello("zed@demo", "wrong"), `!validation_unrecognized_credential {"principal_id":"zed@demo"}`},
		{"empty key", hello("builder@demo", ""), `!validation_unrecognized_credential {"principal_id":"builder@demo"}`},
		{"application without a key", hello("app@EXTERNAL", "socket-trust"), `!validation_credential_required {"principal_id":"app@EXTERNAL"}`},
		{"unknown bundle", hello("you@nope", "socket-trust"), `!validation_unknown_bundle {"bundle_name":"nope"}`},
		{"unknown session", hello("zed@demo", "socket-trust"), `!validation_unknown_sender {"bundle_name":"demo","session_id":"zed"}`},
		{"unknown user", hello("zed@GLOBAL", "socket-trust"), `!validation_unknown_sender {"principal_id":"zed@GLOBAL"}`},
		{"claimed", hello("you@demo", "socket-trust"),
			`!runtime_identity_claim_conflict {"existing_connection_id":"id-2","principal_id":"you@demo","reason":"the other connection is live"}`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			serve(t, func(t *testing.T, r *demorelay.Relay) {
				first := connect(t, r, "you@demo", wire.SocketTrust)
				c := dial(t, r)
				if got := c.ask(test.line); got != test.want {
					t.Fatalf("got %s, want %s", got, test.want)
				}
				if strings.HasPrefix(test.want, "!") {
					if got := c.hear(); got != "closed" {
						t.Errorf("after a refused hello: got %s, want closed", got)
					}
				}
				if got, want := first.ask(in("other", `{"operation":"choices_list"}`)), `choices_list {"pending_requests":[]}`; got != want {
					t.Errorf("the connection beside it: got %s, want %s", got, want)
				}
			})
		})
	}
}

func TestRequestBeforeHello(t *testing.T) {
	serve(t, func(t *testing.T, r *demorelay.Relay) {
		c := dial(t, r)
		for range 2 {
			if got, want := c.ask(request(`{"operation":"down"}`)), "validation_missing_hello"; got != want {
				t.Errorf("got %s, want %s", got, want)
			}
		}
		if got, want := c.ask(hello("you@demo", wire.SocketTrust)), "hello_ack you@demo"; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	})
}

func TestSecondHello(t *testing.T) {
	conflict := func(principal string) string {
		return `!runtime_identity_claim_conflict {"existing_connection_id":"id-2","principal_id":"` + principal + `","reason":"the other connection is live"}`
	}
	serve(t, func(t *testing.T, r *demorelay.Relay) {
		c := connect(t, r, "you@demo", wire.SocketTrust)
		if got, want := c.ask(hello("builder@demo", wire.SocketTrust)), "hello_ack builder@demo"; got != want {
			t.Errorf("another principal: got %s, want %s", got, want)
		}
		if got, want := c.ask(hello("builder@demo", wire.SocketTrust)), conflict("builder@demo"); got != want {
			t.Errorf("the same principal: got %s, want %s", got, want)
		}
		if got := c.hear(); got != "closed" {
			t.Errorf("got %s, want closed", got)
		}
		connect(t, r, "builder@demo", wire.SocketTrust)
		if got, want := dial(t, r).ask(hello("you@demo", wire.SocketTrust)), conflict("you@demo"); got != want {
			t.Errorf("the first principal: got %s, want %s", got, want)
		}
	})
}

func TestClaimEndsWithItsConnection(t *testing.T) {
	serve(t, func(t *testing.T, r *demorelay.Relay) {
		for range 3 {
			c := connect(t, r, "you@demo", wire.SocketTrust)
			c.conn.Close()
			synctest.Wait()
		}
	})
}

func TestDelivery(t *testing.T) {
	serve(t, func(t *testing.T, r *demorelay.Relay) {
		c := connect(t, r, "you@demo", wire.SocketTrust)
		before := r.Pane("builder@demo")
		c.ask(request(`{"operation":"send","requester_session":"you","message":"one\n\n<two>","broadcast":false,"targets":["builder@demo","reviewer@demo","you@other"]}`))

		wantPane := []string{
			"one", "two", "$ --agentmux-id3",
			"Message-Id: id-3",
			"Date: 2000-01-01T00:00:00Z",
			"From: You <session:you@demo>",
			"To: Builder <session:builder@demo>",
			"Cc: reviewer@demo <session:reviewer@demo>, you@other <session:you@other>",
			"",
			"--agentmux-id3",
			"Content-Type: text/plain; charset=utf-8",
			"",
			"one", "", "<two>",
			"--agentmux-id3--",
			"",
			"$ ",
		}
		if got := r.Pane("builder@demo"); !slices.Equal(got, wantPane) {
			t.Errorf("pane: got %q, want %q", got, wantPane)
		}

		if !slices.Equal(before, []string{"one", "two", "$ "}) {
			t.Errorf("the pane as it was before: got %q", before)
		}

		entries := r.Entries("reviewer@demo")
		if len(entries) != 3 {
			t.Fatalf("replay buffer: got %v, want three entries", entries)
		}
		wantLines := []string{
			"--agentmux-id4",
			"Message-Id: id-4",
			"Date: 2000-01-01T00:00:00Z",
			"From: You <session:you@demo>",
			"To: reviewer@demo <session:reviewer@demo>",
			"Cc: Builder <session:builder@demo>, you@other <session:you@other>",
			"--agentmux-id4",
			"Content-Type: text/plain; charset=utf-8",
			"one", "<two>",
			"--agentmux-id4--",
		}
		if got := entries[1]; got.Kind != "user" || !slices.Equal(got.Lines, wantLines) {
			t.Errorf("what the agent got: %+v, want %q", got, wantLines)
		}
		if got := entries[2]; got.Kind != "agent" || !slices.Equal(got.Lines, []string{"seen"}) {
			t.Errorf("what the agent replied: %+v", got)
		}

		want := demorelay.Message{ID: "id-3", Sender: "you@demo", Body: "one\n\n<two>",
			CC: []string{"reviewer@demo", "you@other"}, SentAt: time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)}
		inbox := r.Inbox("builder@demo")
		if len(inbox) != 1 || fmt.Sprintf("%+v", inbox[0]) != fmt.Sprintf("%+v", want) {
			t.Errorf("inbox: got %+v, want %+v", inbox, want)
		}
		if got := r.Inbox("you@other"); got != nil {
			t.Errorf("inbox of a bundle that is down: got %+v", got)
		}
	})
}

// A message for one target has no Cc line, and an agent without a reply says nothing.
func TestDeliveryToOne(t *testing.T) {
	serve(t, func(t *testing.T, r *demorelay.Relay) {
		c := connect(t, r, "you@demo", wire.SocketTrust)
		c.ask(in("other", `{"operation":"up"}`))
		c.ask(request(`{"operation":"send","requester_session":"you","message":"hi","broadcast":false,"targets":["agent@other"]}`))
		want := []string{
			"--agentmux-id3",
			"Message-Id: id-3",
			"Date: 2000-01-01T00:00:00Z",
			"From: You <session:you@demo>",
			"To: agent@other <session:agent@other>",
			"--agentmux-id3",
			"Content-Type: text/plain; charset=utf-8",
			"hi",
			"--agentmux-id3--",
		}
		if got := r.Entries("agent@other"); len(got) != 1 || !slices.Equal(got[0].Lines, want) {
			t.Errorf("got %+v, want one entry of %q", got, want)
		}
	})
}

func TestEvents(t *testing.T) {
	serve(t, func(t *testing.T, r *demorelay.Relay) {
		you := connect(t, r, "you@demo", wire.SocketTrust)
		board := connect(t, r, "dashboard@demo", wire.SocketTrust)
		you.ask(request(`{"operation":"send","requester_session":"you","message":"<hi>","broadcast":false,"targets":["dashboard@demo"]}`))
		you.ask(request(`{"operation":"send","requester_session":"you","message":"hi","broadcast":false,"targets":["dashboard@demo","builder@demo"]}`))
		for _, want := range []string{
			`delivery_outcome dashboard@demo {"message_id":"id-4","outcome":null,"phase":"routed"}`,
			`incoming_message dashboard@demo {"body":"<hi>","cc_sessions":null,"message_id":"id-4","sender_session":"you@demo"}`,
			`delivery_outcome dashboard@demo {"message_id":"id-4","outcome":"success","phase":"delivered"}`,
			`delivery_outcome dashboard@demo {"message_id":"id-5","outcome":null,"phase":"routed"}`,
			`incoming_message dashboard@demo {"body":"hi","cc_sessions":["builder@demo"],"message_id":"id-5","sender_session":"you@demo"}`,
			`delivery_outcome dashboard@demo {"message_id":"id-5","outcome":"success","phase":"delivered"}`,
		} {
			if got := board.hear(); got != want {
				t.Errorf("got %s, want %s", got, want)
			}
		}
		board.say(request(`{"operation":"send","requester_session":"dashboard","message":"hi","broadcast":false,"targets":["builder@demo"]}`))
		heard := []string{board.hear(), board.hear()}
		want := `delivery_outcome builder@demo {"message_id":"id-7","outcome":"success","phase":"delivered"}`
		if !slices.Contains(heard, want) {
			t.Errorf("got %s, want %s among it", heard, want)
		}
	})
}

func TestDecisions(t *testing.T) {
	for option, want := range map[string]string{`"outcome":"selected","option_id":"yes"`: "ran it", `"outcome":"cancelled"`: "not asked"} {
		serve(t, func(t *testing.T, r *demorelay.Relay) {
			if got := r.Decisions(); len(got) != 1 || got[0].ChoiceRequestID != "choice" {
				t.Errorf("before: got %+v", got)
			}
			c := connect(t, r, "you@demo", wire.SocketTrust)
			c.ask(request(`{"operation":"choices_pick","choice_request_id":"choice",` + option + `}`))
			if got := r.Decisions(); len(got) != 0 {
				t.Errorf("afterwards: got %+v", got)
			}
			entries := r.Entries("reviewer@demo")
			if last := entries[len(entries)-1]; last.Kind != "agent" || !slices.Equal(last.Lines, []string{want}) {
				t.Errorf("%s: the agent said %+v, want %s", option, last, want)
			}
		})
	}
}

func TestCredentials(t *testing.T) {
	newPeer := func(principal, more string) string {
		return request(fmt.Sprintf(`{"operation":"new_peer","principal_id":%q%s}`, principal, more))
	}
	changePSK := func(principal string) string {
		return request(fmt.Sprintf(`{"operation":"change_psk","principal_id":%q}`, principal))
	}
	introspect := func(principal string) string {
		return request(fmt.Sprintf(`{"operation":"identity_introspect","target_session":%q}`, principal))
	}
	// psk takes the key out of the summary of an answer.
	psk := func(t *testing.T, answer string) string {
		t.Helper()
		var got struct{ PSK string }
		_, object, _ := strings.Cut(answer, " ")
		if err := json.Unmarshal([]byte(object), &got); err != nil || len(got.PSK) != 43 {
			t.Fatalf("no key in %s", answer)
		}
		return got.PSK
	}

	t.Run("registered", func(t *testing.T) {
		for principal, kind := range map[string]string{"a@demo": "session", "a@nowhere": "session", "a@GLOBAL": "user", "a@EXTERNAL": "application", "a@RELAY": "relay"} {
			serve(t, func(t *testing.T, r *demorelay.Relay) {
				c := connect(t, r, "you@demo", wire.SocketTrust)
				answer := c.ask(newPeer(principal, ""))
				file := ""
				if kind == "session" {
					file = "bundles/" + strings.TrimPrefix(principal, "a@") + "/sessions/a/identity.psk"
				}
				want := fmt.Sprintf(`new_peer {"config_snippet":%q,"principal_id":%q,"principal_type":%q,"psk":%q}`, file, principal, kind, psk(t, answer))
				if answer != want {
					t.Errorf("got %s, want %s", answer, want)
				}
				if got, want := c.ask(newPeer(principal, "")), fmt.Sprintf(`validation_principal_exists {"principal_id":%q}`, principal); got != want {
					t.Errorf("again: got %s, want %s", got, want)
				}
			})
		}
	})

	t.Run("refused", func(t *testing.T) {
		serve(t, func(t *testing.T, r *demorelay.Relay) {
			c := connect(t, r, "you@demo", wire.SocketTrust)
			for _, s := range []step{
				{newPeer("bare", ""), `validation_invalid_principal_id {"principal_id":"bare"}`},
				{changePSK("builder@demo"), `validation_unknown_principal {"principal_id":"builder@demo"}`},
				{introspect("bare"), `validation_invalid_params {"field":"target_session"}`},
				{introspect("you@demo"), `authorization_forbidden {"capability":"identity.introspect","target_principal_id":"you@demo"}`},
			} {
				if got := c.ask(s.say); got != s.want {
					t.Errorf("%s: got %s, want %s", s.say, got, s.want)
				}
			}
		})
	})

	t.Run("presented", func(t *testing.T) {
		serve(t, func(t *testing.T, r *demorelay.Relay) {
			you := connect(t, r, "you@demo", wire.SocketTrust)
			key := psk(t, you.ask(newPeer("builder@demo", "")))
			builder := connect(t, r, "builder@demo", key)
			if got, want := builder.ask(request(`{"operation":"look","requester_session":"builder","target_session":"you@demo"}`)),
				`look {"authenticated_identity":"builder@demo","captured_at":"2000-01-01T00:00:00Z","requester_session":"builder@demo","snapshot_format":"lines","snapshot_lines":["$"],"target_session":"you@demo"}`; got != want {
				t.Errorf("got %s, want %s", got, want)
			}
			if got, want := dial(t, r).ask(hello("reviewer@demo", key)),
				`!validation_identity_binding_mismatch {"principal_id":"reviewer@demo","registered_principal_id":"builder@demo"}`; got != want {
				t.Errorf("somebody else's key: got %s, want %s", got, want)
			}

			changed := psk(t, you.ask(changePSK("builder@demo")))
			connect(t, r, "builder@demo", changed) // though the other one has not heard of it yet
			if got, want := builder.hear(), `!runtime_identity_revoked {"principal_id":"builder@demo"}`; got != want {
				t.Errorf("got %s, want %s", got, want)
			}
			if got := builder.hear(); got != "closed" {
				t.Errorf("got %s, want closed", got)
			}
			if got, want := dial(t, r).ask(hello("builder@demo", key)), `!validation_unrecognized_credential {"principal_id":"builder@demo"}`; got != want {
				t.Errorf("the old key: got %s, want %s", got, want)
			}
		})
	})

	t.Run("one's own", func(t *testing.T) {
		serve(t, func(t *testing.T, r *demorelay.Relay) {
			c := connect(t, r, "you@demo", wire.SocketTrust)
			key := psk(t, c.ask(newPeer("you@demo", "")))
			if got := c.ask(changePSK("you@demo")); !strings.HasPrefix(got, "change_psk ") {
				t.Errorf("a connection that trusts the socket: got %s", got)
			} else {
				key = psk(t, got)
			}
			if got, want := c.ask(introspect("bare")), `validation_invalid_params {"field":"target_session"}`; got != want {
				t.Errorf("a connection that trusts the socket, afterwards: got %s, want %s", got, want)
			}
			c.conn.Close()
			synctest.Wait()
			c = connect(t, r, "you@demo", key)
			if got, want := c.ask(changePSK("you@demo")), `!runtime_identity_revoked {"principal_id":"you@demo"}`; got != want {
				t.Errorf("got %s, want %s", got, want)
			}
			changed := psk(t, c.hear())
			if got := c.hear(); got != "closed" {
				t.Errorf("got %s, want closed", got)
			}
			connect(t, r, "you@demo", changed)
		})
	})

	t.Run("introspected", func(t *testing.T) {
		serve(t, func(t *testing.T, r *demorelay.Relay) {
			you := connect(t, r, "you@demo", wire.SocketTrust)
			app := connect(t, r, "app@EXTERNAL", psk(t, you.ask(newPeer("app@EXTERNAL", `,"scope":"demo"`))))
			you.ask(newPeer("builder@demo", ""))
			for _, s := range []step{
				{introspect("builder@demo"), `identity_introspect {"principal_id":"builder@demo","verified":true}`},
				{introspect("you@demo"), `validation_unknown_principal {"principal_id":"you@demo"}`},
				{introspect("you@other"), `authorization_forbidden {"capability":"identity.introspect","target_principal_id":"you@other"}`},
				{request(`{"operation":"up"}`), "validation_missing_routing_namespace"},
			} {
				if got := app.ask(s.say); got != s.want {
					t.Errorf("%s: got %s, want %s", s.say, got, s.want)
				}
			}
		})
	})

	t.Run("written", func(t *testing.T) {
		serve(t, func(t *testing.T, r *demorelay.Relay) {
			c := connect(t, r, "you@demo", wire.SocketTrust)
			path := filepath.Join(t.TempDir(), "key")
			output := func(path string) string { return fmt.Sprintf(`,"output_path":%q`, path) }
			if got, want := c.ask(newPeer("a@demo", output(path))), fmt.Sprintf(`new_peer {"config_snippet":"bundles/demo/sessions/a/identity.psk","output_path":%q,"principal_id":"a@demo","principal_type":"session"}`, path); got != want {
				t.Errorf("got %s, want %s", got, want)
			}
			info, err := os.Stat(path)
			if err != nil || info.Mode() != 0o600 {
				t.Fatalf("the key's file: %v, %v", info, err)
			}
			key, err := os.ReadFile(path)
			if err != nil || len(key) != 43 {
				t.Fatalf("the key has %d characters, %v", len(key), err)
			}
			for _, s := range []step{
				{newPeer("b@demo", output("key")), `validation_invalid_output_path {"path":"key"}`},
				{newPeer("c@demo", output(path)), fmt.Sprintf(`validation_invalid_output_path {"cause":"file exists","path":%q}`, path)},
				{newPeer("d@demo", output(path+"/x")), fmt.Sprintf(`validation_invalid_output_path {"cause":"not a directory","path":%q}`, path+"/x")},
				{newPeer("d@demo", ""), `validation_principal_exists {"principal_id":"d@demo"}`},
			} {
				if got := c.ask(s.say); got != s.want {
					t.Errorf("%s: got %s, want %s", s.say, got, s.want)
				}
			}
			if again, err := os.ReadFile(path); err != nil || string(again) != string(key) {
				t.Errorf("the file was written again: %v", err)
			}
		})
	})
}

func TestRequestsAreHandledInOrder(t *testing.T) {
	serve(t, func(t *testing.T, r *demorelay.Relay) {
		c := connect(t, r, "you@demo", wire.SocketTrust)
		for i := range 100 {
			c.say(fmt.Sprintf(`{"frame":"request","request_id":"%d","request":{"operation":"raww","requester_session":"you","target_session":"builder@demo","text":"%d"}}`, i, i))
		}
		for i := range 100 {
			line, err := c.lines.ReadLine()
			if err != nil || !strings.Contains(string(line), fmt.Sprintf(`"request_id":"%d"`, i)) {
				t.Fatalf("answer %d: got %s, %v", i, line, err)
			}
		}
		var got []string
		for _, op := range r.Requests() {
			got = append(got, op.(*wire.Raww).Text)
		}
		pane := r.Pane("builder@demo")
		if len(got) != 100 || got[0] != "0" || got[99] != "99" || pane[2] != "$ 0" || pane[101] != "$ 99" {
			t.Errorf("handled %v, typed %v", got, pane)
		}
	})
}

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

// A client has 2 s for each line until its hello.
func TestSilentClient(t *testing.T) {
	serve(t, func(t *testing.T, r *demorelay.Relay) {
		c := dial(t, r)
		start := time.Now()
		<-time.After(time.Second) // of the bubble's clock
		c.ask(request(`{"operation":"up"}`))
		if got := c.hear(); got != "closed" {
			t.Errorf("got %s, want closed", got)
		}
		if took := time.Since(start); took != 3*time.Second {
			t.Errorf("hung up after %v, want 2s after its last line", took)
		}
	})
}

// After its hello a client may be silent for as long as it likes.
func TestIdleClient(t *testing.T) {
	serve(t, func(t *testing.T, r *demorelay.Relay) {
		c := connect(t, r, "you@demo", wire.SocketTrust)
		<-time.After(time.Hour)
		if got, want := c.ask(in("other", `{"operation":"choices_list"}`)), `choices_list {"pending_requests":[]}`; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	})
}

// A client that does not read holds up nobody, and is dropped after 5 s.
func TestClientThatDoesNotRead(t *testing.T) {
	serve(t, func(t *testing.T, r *demorelay.Relay) {
		you := connect(t, r, "you@demo", wire.SocketTrust)
		ours, theirs := net.Pipe()
		dropped := make(chan error)
		go func() { dropped <- r.ServeConn(context.Background(), theirs) }()
		board := newClient(t, ours)
		board.ask(hello("dashboard@demo", wire.SocketTrust))

		start := time.Now()
		for range 3 {
			you.ask(request(`{"operation":"send","requester_session":"you","message":"hi","broadcast":false,"targets":["dashboard@demo"]}`))
		}
		if took := time.Since(start); took != 0 {
			t.Errorf("the sender waited for %v", took)
		}
		if err := <-dropped; err != nil {
			t.Error(err)
		}
		if took := time.Since(start); took != 5*time.Second {
			t.Errorf("dropped after %v, want 5s", took)
		}
		connect(t, r, "dashboard@demo", wire.SocketTrust)
	})
}

func TestClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := demorelay.New(testWorld())
		ours, theirs := net.Pipe()
		go r.ServeConn(context.Background(), theirs)
		c := newClient(t, ours)
		c.ask(hello("you@demo", wire.SocketTrust))
		r.Close()
		if err := theirs.SetDeadline(time.Time{}); err != io.ErrClosedPipe {
			t.Errorf("the connection is still open: %v", err)
		}
		if got := c.hear(); got != "closed" {
			t.Errorf("got %s, want closed", got)
		}
		r.Close()
		l := &failingListener{}
		if err := r.Serve(t.Context(), l); !errors.Is(err, net.ErrClosed) || !l.closed {
			t.Errorf("a listener afterwards: %v, closed: %t", err, l.closed)
		}
		_, theirs = net.Pipe()
		if err := r.ServeConn(t.Context(), theirs); !errors.Is(err, net.ErrClosed) {
			t.Errorf("a connection afterwards: %v", err)
		}
		if _, err := theirs.Write([]byte("x")); err != io.ErrClosedPipe {
			t.Errorf("it is still open: %v", err)
		}
		if got := len(r.Inbox("you@demo")) + len(r.Decisions()); got != 1 {
			t.Errorf("a closed relay shows %d things, want its decision", got)
		}
	})
}

func TestContextEndsConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := demorelay.New(testWorld())
		defer r.Close()
		ours, theirs := net.Pipe()
		defer ours.Close()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := r.ServeConn(ctx, theirs); err != nil {
			t.Error(err)
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

// socketPath is short enough for every system.
func socketPath(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "relay")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return filepath.Join(dir, "relay.sock")
}

func TestSocket(t *testing.T) {
	path := socketPath(t)
	l, err := demorelay.Listen(path)
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 || info.Mode().Type() != os.ModeSocket {
		t.Fatalf("socket: %v, %v, want mode 0600", info.Mode(), err)
	}
	r := demorelay.New(testWorld())
	served := make(chan error, 1)
	go func() { served <- r.Serve(t.Context(), l) }()

	conn, err := net.Dial("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	c := newClient(t, conn)
	if got, want := c.ask(hello("you@demo", wire.SocketTrust)), "hello_ack you@demo"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	r.Close()
	if err := <-served; err != nil {
		t.Errorf("Serve: %v", err)
	}
	if got := c.hear(); got != "closed" {
		t.Errorf("got %s, want closed", got)
	}
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the socket is still there: %v", err)
	}
}

func TestListenFails(t *testing.T) {
	if l, err := demorelay.Listen(filepath.Join(socketPath(t), "relay.sock")); err == nil {
		l.Close()
		t.Error("listening in a directory that is not there")
	}
}

func TestServeEndsWithContext(t *testing.T) {
	l, err := demorelay.Listen(socketPath(t))
	if err != nil {
		t.Fatal(err)
	}
	r := demorelay.New(testWorld())
	defer r.Close()
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- r.Serve(ctx, l) }()
	conn, err := net.Dial("unix", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	c := newClient(t, conn)
	c.ask(hello("you@demo", wire.SocketTrust))
	cancel()
	if err := <-served; err != nil {
		t.Errorf("Serve: %v", err)
	}
	if got := c.hear(); got != "closed" {
		t.Errorf("got %s, want closed", got)
	}
}

// A listener that fails ends the connections it accepted.
func TestServeEndsWithItsListener(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := demorelay.New(testWorld())
		defer r.Close()
		ours, theirs := net.Pipe()
		l := &failingListener{conns: []net.Conn{theirs}}
		start := time.Now()
		if err := r.Serve(t.Context(), l); err != io.ErrNoProgress || !time.Now().Equal(start) {
			t.Errorf("Serve: %v after %v", err, time.Since(start))
		}
		if _, err := ours.Read(make([]byte, 1)); err != io.EOF {
			t.Errorf("the accepted connection: %v", err)
		}
		if !l.closed {
			t.Error("the listener is still open")
		}
	})
}

type failingListener struct {
	conns  []net.Conn
	closed bool
}

func (l *failingListener) Accept() (net.Conn, error) {
	if len(l.conns) == 0 {
		return nil, io.ErrNoProgress
	}
	conn := l.conns[0]
	l.conns = l.conns[1:]
	return conn, nil
}

func (l *failingListener) Close() error   { l.closed = true; return nil }
func (l *failingListener) Addr() net.Addr { return nil }
