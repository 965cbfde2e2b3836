package mcptools

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/agentmux/agentmux-go/wire"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// listing is what a relay answers for a bundle: one that shows from whom it came.
func listing(namespace string) string {
	return `{"kind":"list","schema_version":"1","bundle":` + listed(namespace) + `}`
}

func listed(namespace string) string {
	return `{"id":"` + namespace + `","hosted":true,"state":"up","startup_health":"healthy","startup_failure_count":0,"recent_startup_failures":[],` +
		`"principals":[{"id":"x@` + namespace + `","transport":"pty","ready":true,"later":1.0}],"principals_partial":true}`
}

func answerOfBundles(bundles ...string) string {
	return `{"schema_version":"1","bundles":[` + strings.Join(bundles, ",") + `]}`
}

// lists returns a relay that shows every bundle.
func lists() *fakeRelay {
	return answering(func(_ context.Context, namespace string, _ wire.Operation) (string, error) {
		return listing(namespace), nil
	})
}

// listsBut returns a relay that shows every bundle but those with errors.
func listsBut(failures map[string]error) *fakeRelay {
	return answering(func(_ context.Context, namespace string, _ wire.Operation) (string, error) {
		if err := failures[namespace]; err != nil {
			return "", err
		}
		return listing(namespace), nil
	})
}

func TestListPrincipals(t *testing.T) {
	tests := []struct {
		name      string
		arguments string
		asked     []string // namespaces
		bundles   []string // in the order of the answer
		reads     []string
		log       []string
	}{
		{
			name:      "the home bundle",
			arguments: `{"command":"principals"}`,
			asked:     []string{"GLOBAL", "demo"},
			bundles:   []string{"demo", "GLOBAL"},
			reads:     []string{"load demo"},
			log: []string{
				`mcp.tool.list.request {"requester_session":"alpha","command":"principals","namespace":null}`,
				`mcp.tool.list.success {"namespace":"demo","bundle_count":2}`,
			},
		},
		{
			name:      "blank is the home bundle",
			arguments: `{"command":" principals ","args":{"namespace":" "}}`,
			asked:     []string{"GLOBAL", "demo"},
			bundles:   []string{"demo", "GLOBAL"},
			reads:     []string{"load demo"},
			log: []string{
				`mcp.tool.list.request {"requester_session":"alpha","command":"principals","namespace":null}`,
				`mcp.tool.list.success {"namespace":"demo","bundle_count":2}`,
			},
		},
		{
			name:      "another bundle",
			arguments: `{"command":"principals","args":{"namespace":" Other\n"}}`,
			asked:     []string{"GLOBAL", "Other"},
			bundles:   []string{"Other", "GLOBAL"},
			reads:     []string{"load Other"},
			log: []string{
				`mcp.tool.list.request {"requester_session":"alpha","command":"principals","namespace":"Other"}`,
				`mcp.tool.list.success {"namespace":"Other","bundle_count":2}`,
			},
		},
		{
			name:      "all bundles, in byte order",
			arguments: `{"command":"principals","args":{"namespace":"*"}}`,
			asked:     []string{"GLOBAL", "Other", "demo", "zeta"},
			bundles:   []string{"Other", "demo", "zeta", "GLOBAL"},
			reads:     []string{"names", "load Other", "load demo", "load zeta"},
			log: []string{
				`mcp.tool.list.request {"requester_session":"alpha","command":"principals","namespace":"*"}`,
				`mcp.tool.list.success {"namespace":"*","bundle_count":4}`,
			},
		},
		{
			name:      "GLOBAL alone",
			arguments: `{"command":"principals","args":{"namespace":"GLOBAL"}}`,
			asked:     []string{"GLOBAL"},
			bundles:   []string{"GLOBAL"},
			log: []string{
				`mcp.tool.list.request {"requester_session":"alpha","command":"principals","namespace":"GLOBAL"}`,
				`mcp.tool.list.success {"namespace":"GLOBAL","bundle_count":1}`,
			},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := newSurface(t, lists())
			a, refusal := s.do(t, "list", test.arguments)
			if refusal != nil {
				t.Fatal(refusal)
			}
			var bundles, requests []string
			for _, name := range test.bundles {
				bundles = append(bundles, listed(name))
			}
			sameJSON(t, "answer", a, answerOfBundles(bundles...))
			for _, name := range test.asked {
				requests = append(requests, name+` {"operation":"list","requester_session":"alpha"}`)
			}
			sameLines(t, "requests", slices.Sorted(slices.Values(s.relay.requests())), requests)
			sameLines(t, "reads of the configuration", s.bundles.reads, test.reads)
			sameLog(t, s.log, test.log...)
		})
	}
}

func TestListRefusals(t *testing.T) {
	test := func(namespace, details string) refusalTest {
		return refusalTest{namespace, "list", `{"command":"principals","args":{"namespace":"` + namespace + `"}}`, "validation_invalid_params", details}
	}
	testRefusals(t, []refusalTest{
		{"another command", "list", `{"command":"relays"}`, "validation_invalid_params", `{"command":"relays"}`},
		test("ALL", `{"namespace":"ALL"}`),
		test("EXTERNAL", `{"namespace":"EXTERNAL"}`),
		test("RELAY", `{"namespace":"RELAY"}`),
		test("..", `{"bundle_name":".."}`),
		test(".", `{"bundle_name":"."}`),
		test("../demo", `{"bundle_name":"../demo"}`),
		test("de mo", `{"bundle_name":"de mo"}`),
		test("**", `{"bundle_name":"**"}`),
		test("démo", `{"bundle_name":"démo"}`),
		test(`a\u0000b`, `{"bundle_name":"a\u0000b"}`),
	})
}

func TestIsBundleName(t *testing.T) {
	for _, name := range []string{"demo", "a.b", "...", "-", "_", "azAZ09", ".x"} {
		if !IsBundleName(name) {
			t.Errorf("%q is refused", name)
		}
	}
	for _, name := range []string{"", ".", "..", "a/b", `a\b`, "a b", "a@b", "a!b", "a:b", "é", "a\n", "a\x00"} {
		if IsBundleName(name) {
			t.Errorf("%q is taken", name)
		}
	}
}

// The relay answers none before it has all requests, and the order of its answers changes nothing.
func TestListFanOut(t *testing.T) {
	for _, order := range [][]string{
		{"GLOBAL", "zeta", "demo", "Other"},
		{"demo", "GLOBAL", "Other", "zeta"},
	} {
		t.Run(order[0]+" answers first", func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var missing sync.WaitGroup
				missing.Add(len(order))
				turns := map[string]chan struct{}{"": make(chan struct{})}
				next := make(map[string]string)
				for i, namespace := range order {
					turns[namespace] = make(chan struct{})
					next[namespace] = append(order, "")[i+1]
				}
				close(turns[order[0]])
				s := newSurface(t, answering(func(_ context.Context, namespace string, _ wire.Operation) (string, error) {
					missing.Done()
					missing.Wait()
					<-turns[namespace]
					synctest.Wait() // until the one before is through
					close(turns[next[namespace]])
					return listing(namespace), nil
				}))
				a, refusal := s.do(t, "list", `{"command":"principals","args":{"namespace":"*"}}`)
				if refusal != nil {
					t.Fatal(refusal)
				}
				sameJSON(t, "answer", a, answerOfBundles(listed("Other"), listed("demo"), listed("zeta"), listed("GLOBAL")))
			})
		})
	}
}

// While no relay is there, the home bundle is shown from its configuration, and GLOBAL as empty.
func TestListWithoutRelay(t *testing.T) {
	const principals = `[{"id":"bravo","name":"Bravo <B>","transport":"acp","ready":false},{"id":"alpha","transport":"tmux","ready":false}]`
	failures := `[{"sequence":1.0,"code":"x"},{"sequence":2}]`
	home := func(reasonCode string, reason error, count, failures string) string {
		return `{"id":"demo","hosted":false,"state":"down","state_reason_code":"` + reasonCode + `","state_reason":` + string(encode(reason.Error())) +
			`,"startup_failure_count":` + count + `,"recent_startup_failures":` + failures + `,"principals":` + principals + `}`
	}
	global := func(reason error) string {
		return `{"id":"GLOBAL","hosted":false,"state":"down","state_reason_code":"relay_unavailable","state_reason":` + string(encode(reason.Error())) +
			`,"startup_failure_count":0,"recent_startup_failures":[],"principals":[]}`
	}
	tests := []struct {
		name      string
		namespace string
		failures  map[string]error
		history   []json.RawMessage
		want      string
	}{
		{"no socket", "", map[string]error{"demo": errNoSocket, "GLOBAL": errNoSocket}, nil,
			answerOfBundles(home("not_started", errNoSocket, "0", "[]"), global(errNoSocket))},
		{"home by its name", "demo", map[string]error{"demo": errNoSocket, "GLOBAL": errNoSocket}, []json.RawMessage{},
			answerOfBundles(home("not_started", errNoSocket, "0", "[]"), global(errNoSocket))},
		{"a socket that nobody serves, and a history", "", map[string]error{"demo": errNobody, "GLOBAL": errNobody},
			[]json.RawMessage{json.RawMessage(`{"sequence":1.0,"code":"x"}`), json.RawMessage(`{"sequence":2}`)},
			answerOfBundles(home("relay_unavailable", errNobody, "2", failures), global(errNobody))},
		{"a relay that hangs up on the first", "", map[string]error{"demo": errHungUp}, nil,
			answerOfBundles(home("relay_unavailable", errHungUp, "0", "[]"), listed("GLOBAL"))},
		{"home among all", "*", map[string]error{"demo": errHungUp, "GLOBAL": errNobody}, nil,
			answerOfBundles(listed("Other"), home("relay_unavailable", errHungUp, "0", "[]"), listed("zeta"), global(errNobody))},
		{"GLOBAL alone", "GLOBAL", map[string]error{"GLOBAL": errNoSocket}, nil, answerOfBundles(global(errNoSocket))},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := newSurface(t, listsBut(test.failures))
			s.bundles.history = test.history
			a, refusal := s.do(t, "list", `{"command":"principals","args":{"namespace":"`+test.namespace+`"}}`)
			if refusal != nil {
				t.Fatal(refusal)
			}
			sameJSON(t, "answer", a, test.want)
			if records := s.log.all(); len(records) != 2 || !strings.HasPrefix(records[1], "mcp.tool.list.success ") {
				t.Errorf("log: got %q, want a request and a success", records)
			}
		})
	}
}

// What is not the absence of a relay, or not of the home bundle, fails the whole call.
func TestListFails(t *testing.T) {
	refused := &wire.Error{Code: "authorization_forbidden", Message: "no"}
	tests := []struct {
		name     string
		failures map[string]error
		rpcCode  int64
		code     string
		ending   string
	}{
		{"a timeout of the home bundle", map[string]error{"demo": errSilence}, jsonrpc.CodeInternalError, "relay_timeout", "io_error"},
		{"a timeout of GLOBAL", map[string]error{"GLOBAL": errSilence}, jsonrpc.CodeInternalError, "relay_timeout", "io_error"},
		{"another bundle without a relay", map[string]error{"Other": errNoSocket}, jsonrpc.CodeInternalError, "relay_unavailable", "io_error"},
		{"a lack of permission", map[string]error{"demo": errPermission, "GLOBAL": errPermission}, jsonrpc.CodeInternalError, "internal_unexpected_failure", "io_error"},
		{"a refusal of one", map[string]error{"zeta": refused}, jsonrpc.CodeInvalidParams, "authorization_forbidden", "relay_error"},
		{"the first in the order of names", map[string]error{"zeta": errSilence, "Other": refused, "GLOBAL": errPermission}, jsonrpc.CodeInvalidParams, "authorization_forbidden", "relay_error"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := newSurface(t, listsBut(test.failures))
			_, refusal := s.do(t, "list", `{"command":"principals","args":{"namespace":"*"}}`)
			if refusal == nil || refusal.Code != test.code || refusal.rpcCode() != test.rpcCode {
				t.Fatalf("got %v, want %s and the JSON-RPC code %d", refusal, test.code, test.rpcCode)
			}
			records := s.log.all()
			if len(records) != 2 || !strings.HasPrefix(records[1], "mcp.tool.list."+test.ending+" ") {
				t.Errorf("log: got %q, want a request and its %s", records, test.ending)
			}
		})
	}
}

// Configuration is read before the relay is asked anything.
func TestListConfigurationFaults(t *testing.T) {
	broken := &Refusal{Code: CodeInvalidArguments, Message: "broken", Details: map[string]any{"path": "/config/bundles/broken.toml", "cause": "line 3"}}
	group := &Refusal{Code: CodeInvalidGroupName, Message: "broken", Details: map[string]any{"path": "/p", "group_name": "Dev!"}}
	reserved := &Refusal{Code: CodeReservedGroupName, Message: "broken", Details: map[string]any{"path": "/p", "group_name": "ALL"}}
	tests := []struct {
		name      string
		namespace string
		err       error // of bundle "broken"
		home      string
		code      string
		details   string
	}{
		{"no such bundle", "ghost", nil, "demo", "validation_unknown_bundle", `{"bundle_name":"ghost","path":"/config/bundles/ghost.toml"}`},
		{"no home bundle", "", nil, "", "validation_unknown_bundle", `null`},
		{"a broken file", "broken", broken, "demo", "validation_invalid_arguments", `{"path":"/config/bundles/broken.toml","cause":"line 3"}`},
		{"a broken file among all", "*", broken, "demo", "validation_invalid_arguments", `{"path":"/config/bundles/broken.toml","cause":"line 3"}`},
		{"a bad group", "broken", group, "demo", "validation_invalid_group_name", `{"path":"/p","group_name":"Dev!"}`},
		{"a reserved group", "broken", reserved, "demo", "validation_reserved_group_name", `{"path":"/p","group_name":"ALL"}`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			relay := lists()
			s := newSurface(t, relay, as(Standing{Bundle: test.home, Session: "alpha", Relay: relay}))
			if test.err != nil {
				s.bundles.broken["broken"] = test.err
			}
			_, refusal := s.do(t, "list", `{"command":"principals","args":{"namespace":"`+test.namespace+`"}}`)
			sameRefusal(t, refusal, jsonrpc.CodeInvalidParams, test.code, test.details)
			sameLines(t, "requests", relay.requests(), nil)
			if records := s.log.all(); len(records) != 2 || records[1] != endedHere("mcp.tool.list", refusal) {
				t.Errorf("log: got %q, want a request and %s", records, endedHere("mcp.tool.list", refusal))
			}
		})
	}
}

// Where the names can't be read, that is no fault of the caller.
func TestListNamesFail(t *testing.T) {
	s := newSurface(t, lists(), func(cfg *Config) { cfg.Bundles = namelessBundles{} })
	_, refusal := s.do(t, "list", `{"command":"principals","args":{"namespace":"*"}}`)
	sameRefusal(t, refusal, jsonrpc.CodeInternalError, "internal_unexpected_failure", `null`)
	if !strings.Contains(refusal.Message, "disk on fire") {
		t.Errorf("the message lacks the cause: %s", refusal.Message)
	}
	sameLines(t, "requests", s.relay.requests(), nil)
}

type namelessBundles struct{ Bundles }

func (namelessBundles) Names() ([]string, error) { return nil, errors.New("disk on fire") }

func TestListDecisions(t *testing.T) {
	const pending = `"pending_requests":[{"message_id":"m","choice_request_id":"c","requested_details":{"n":1e400}},{"choice_request_id":"d"}]`
	testExchanges(t, []exchangeTest{{
		name:      "as the relay shows them",
		tool:      "list",
		arguments: `{"command":"decisions","args":null}`,
		request:   `demo {"operation":"choices_list"}`,
		response:  `{"kind":"choices_list","schema_version":"1",` + pending + `,"later":0}`,
		answer:    `{"schema_version":"1",` + pending + `,"later":0}`,
		log: []string{
			`mcp.tool.list.decisions.request {"namespace":"demo"}`,
			`mcp.tool.list.decisions.success {"pending_count":2}`,
		},
	}})
}
