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

	"github.com/agentmux/agentmux-go/relayclient"
	"github.com/agentmux/agentmux-go/wire"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// answerOf is the answer to a list of the bundle of a name, or of all for "*".
func (g *generation) answerOf(name string, bundles ...string) string {
	if g == gen05 && name != "*" {
		return `{"schema_version":"1","bundle":` + bundles[0] + `}`
	}
	return `{"schema_version":"1","bundles":[` + strings.Join(bundles, ",") + `]}`
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
			s := newSurface(t, gen08.lists(nil))
			a, refusal := s.do(t, "list", test.arguments)
			if refusal != nil {
				t.Fatal(refusal)
			}
			var bundles, requests []string
			for _, name := range test.bundles {
				bundles = append(bundles, gen08.listed(name))
			}
			sameJSON(t, "answer", a, gen08.answerOf("*", bundles...))
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
	testRefusals(t, Surface08, []refusalTest{
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
	eachGeneration(t, func(t *testing.T, g *generation) {
		for _, order := range [][]string{
			{"GLOBAL", "zeta", "demo", "Other"},
			{"demo", "GLOBAL", "Other", "zeta"},
		} {
			want := []string{g.listed("Other"), g.listed("demo"), g.listed("zeta"), g.listed("GLOBAL")}
			if !g.global {
				order = slices.DeleteFunc(order, func(name string) bool { return name == "GLOBAL" })
				want = want[:3]
			}
			t.Run(order[0]+" answers first", func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					var missing sync.WaitGroup
					missing.Add(len(order))
					turns := map[string]chan struct{}{"": make(chan struct{})}
					next := make(map[string]string)
					for i, name := range order {
						turns[name] = make(chan struct{})
						next[name] = append(order, "")[i+1]
					}
					close(turns[order[0]])
					s := newSurface(t, answering(func(_ context.Context, name string, _ wire.Operation) (string, error) {
						missing.Done()
						missing.Wait()
						<-turns[name]
						synctest.Wait() // until the one before is through
						close(turns[next[name]])
						return g.listing(name), nil
					}), of(g.surface))
					a, refusal := s.do(t, "list", g.list("*"))
					if refusal != nil {
						t.Fatal(refusal)
					}
					sameJSON(t, "answer", a, g.answerOf("*", want...))
				})
			})
		}
	})
}

// While no relay is there, the home bundle is shown from its configuration, and GLOBAL as empty.
func TestListWithoutRelay(t *testing.T) {
	const failures = `[{"sequence":1.0,"code":"x"},{"sequence":2}]`
	eachGeneration(t, func(t *testing.T, g *generation) {
		home := func(reasonCode string, reason error, count, failures string) string {
			return g.home(reasonCode, reason.Error()+". Start a relay with: agentmux host relay.", count, failures)
		}
		tests := []struct {
			name     string
			list     string
			failures map[string]error
			history  []json.RawMessage
			bundles  []string
			global   string // where a list has it
		}{
			{"no socket", "", map[string]error{"demo": errNoSocket, "GLOBAL": errNoSocket}, nil,
				[]string{home("not_started", errNoSocket, "0", "[]")}, emptyGlobal(errNoSocket)},
			{"home by its name", "demo", map[string]error{"demo": errNoSocket, "GLOBAL": errNoSocket}, []json.RawMessage{},
				[]string{home("not_started", errNoSocket, "0", "[]")}, emptyGlobal(errNoSocket)},
			{"a socket that nobody serves, and a history", "", map[string]error{"demo": errNobody, "GLOBAL": errNobody},
				[]json.RawMessage{json.RawMessage(`{"sequence":1.0,"code":"x"}`), json.RawMessage(`{"sequence":2}`)},
				[]string{home("relay_unavailable", errNobody, "2", failures)}, emptyGlobal(errNobody)},
			{"a relay that hangs up on the first", "", map[string]error{"demo": errHungUp}, nil,
				[]string{home("relay_unavailable", errHungUp, "0", "[]")}, g.listed("GLOBAL")},
			{"home among all", "*", map[string]error{"demo": errHungUp, "GLOBAL": errNobody}, nil,
				[]string{g.listed("Other"), home("relay_unavailable", errHungUp, "0", "[]"), g.listed("zeta")}, emptyGlobal(errNobody)},
		}
		for _, test := range tests {
			t.Run(test.name, func(t *testing.T) {
				s := newSurface(t, g.lists(test.failures), of(g.surface))
				s.bundles.history = test.history
				a, refusal := s.do(t, "list", g.list(test.list))
				if refusal != nil {
					t.Fatal(refusal)
				}
				if g.global {
					test.bundles = append(test.bundles, test.global)
				}
				sameJSON(t, "answer", a, g.answerOf(test.list, test.bundles...))
				sameEvents(t, s.log, "mcp.tool.list.request", "mcp.tool.list.success")
			})
		}
	})
}

// A bundle that has no members has no list of them that is null.
func TestListOfAnEmptyHomeWithoutRelay(t *testing.T) {
	eachGeneration(t, func(t *testing.T, g *generation) {
		s := newSurface(t, g.lists(map[string]error{"demo": errNoSocket}), of(g.surface))
		s.bundles.bundles["demo"] = &Bundle{Name: "demo"}
		a, refusal := s.do(t, "list", g.list(""))
		if refusal != nil {
			t.Fatal(refusal)
		}
		if !strings.Contains(a, `s":[]}`) || strings.Contains(a, "null") {
			t.Errorf("got %s", a)
		}
	})
}

// What is not the absence of a relay, or not of the home bundle, fails the whole call.
func TestListFails(t *testing.T) {
	refused := &wire.Error{Code: "authorization_forbidden", Message: "no"}
	unsupported := &relayclient.UnsupportedError{Operation: "list", Refusal: refused}
	tests := []struct {
		name     string
		list     string
		failures map[string]error
		rpcCode  int64
		code     string
		ending   string
	}{
		{"a timeout of the home bundle", "*", map[string]error{"demo": errSilence}, jsonrpc.CodeInternalError, "relay_timeout", "io_error"},
		{"a timeout of the home bundle alone", "", map[string]error{"demo": errSilence}, jsonrpc.CodeInternalError, "relay_timeout", "io_error"},
		{"a timeout of GLOBAL", "GLOBAL", map[string]error{"GLOBAL": errSilence}, jsonrpc.CodeInternalError, "relay_timeout", "io_error"},
		{"another bundle without a relay", "Other", map[string]error{"Other": errNobody}, jsonrpc.CodeInternalError, "relay_unavailable", "io_error"},
		{"another bundle without a relay, among all", "*", map[string]error{"Other": errNoSocket}, jsonrpc.CodeInternalError, "relay_unavailable", "io_error"},
		{"a lack of permission", "*", map[string]error{"demo": errPermission, "GLOBAL": errPermission}, jsonrpc.CodeInternalError, "internal_unexpected_failure", "io_error"},
		{"a refusal of one", "*", map[string]error{"zeta": refused}, jsonrpc.CodeInvalidParams, "authorization_forbidden", "relay_error"},
		{"the first in the order of names", "*", map[string]error{"zeta": errSilence, "Other": refused, "GLOBAL": errPermission}, jsonrpc.CodeInvalidParams, "authorization_forbidden", "relay_error"},
		{"a relay that has no list", "", map[string]error{"demo": unsupported}, jsonrpc.CodeInternalError, "internal_unexpected_failure", "relay_error"},
	}
	eachGeneration(t, func(t *testing.T, g *generation) {
		for _, test := range tests {
			if test.list == "GLOBAL" && !g.global {
				continue
			}
			t.Run(test.name, func(t *testing.T) {
				s := newSurface(t, g.lists(test.failures), of(g.surface))
				_, refusal := s.do(t, "list", g.list(test.list))
				if refusal == nil || refusal.Code != test.code || refusal.rpcCode() != test.rpcCode {
					t.Fatalf("got %v, want %s and the JSON-RPC code %d", refusal, test.code, test.rpcCode)
				}
				sameEvents(t, s.log, "mcp.tool.list.request", "mcp.tool.list."+test.ending)
			})
		}
	})
}

// Configuration is read before the relay is asked anything.
func TestListConfigurationFaults(t *testing.T) {
	broken := &Refusal{Code: CodeInvalidArguments, Message: "broken", Details: map[string]any{"path": "/config/bundles/broken.toml", "cause": "line 3"}}
	group := &Refusal{Code: CodeInvalidGroupName, Message: "broken", Details: map[string]any{"path": "/p", "group_name": "Dev!"}}
	reserved := &Refusal{Code: CodeReservedGroupName, Message: "broken", Details: map[string]any{"path": "/p", "group_name": "ALL"}}
	tests := []struct {
		name    string
		list    string
		err     error // of bundle "broken"
		home    string
		code    string
		details string
	}{
		{"no such bundle", "ghost", nil, "demo", "validation_unknown_bundle", `{"bundle_name":"ghost","path":"/config/bundles/ghost.toml"}`},
		{"no home bundle", "", nil, "", "validation_unknown_bundle", `null`},
		{"a broken file", "broken", broken, "demo", "validation_invalid_arguments", `{"path":"/config/bundles/broken.toml","cause":"line 3"}`},
		{"a broken file among all", "*", broken, "demo", "validation_invalid_arguments", `{"path":"/config/bundles/broken.toml","cause":"line 3"}`},
		{"a bad group", "broken", group, "demo", "validation_invalid_group_name", `{"path":"/p","group_name":"Dev!"}`},
		{"a reserved group", "broken", reserved, "demo", "validation_reserved_group_name", `{"path":"/p","group_name":"ALL"}`},
	}
	eachGeneration(t, func(t *testing.T, g *generation) {
		for _, test := range tests {
			t.Run(test.name, func(t *testing.T) {
				relay := g.lists(nil)
				s := newSurface(t, relay, of(g.surface), as(Standing{Bundle: test.home, Session: "alpha", Relay: relay}))
				if test.err != nil {
					s.bundles.broken["broken"] = test.err
				}
				_, refusal := s.do(t, "list", g.list(test.list))
				sameRefusal(t, refusal, jsonrpc.CodeInvalidParams, test.code, test.details)
				sameLines(t, "requests", relay.requests(), nil)
				if records := s.log.all(); len(records) != 2 || records[1] != endedHere("mcp.tool.list", refusal) {
					t.Errorf("log: got %q, want a request and %s", records, endedHere("mcp.tool.list", refusal))
				}
			})
		}
	})
}

// Where the names can't be read, that is no fault of the caller.
func TestListNamesFail(t *testing.T) {
	eachGeneration(t, func(t *testing.T, g *generation) {
		s := newSurface(t, g.lists(nil), of(g.surface), func(cfg *Config) { cfg.Bundles = namelessBundles{} })
		_, refusal := s.do(t, "list", g.list("*"))
		sameRefusal(t, refusal, jsonrpc.CodeInternalError, "internal_unexpected_failure", `null`)
		if !strings.Contains(refusal.Message, "disk on fire") {
			t.Errorf("the message lacks the cause: %s", refusal.Message)
		}
		sameLines(t, "requests", s.relay.requests(), nil)
	})
}

type namelessBundles struct{ Bundles }

func (namelessBundles) Names() ([]string, error) { return nil, errors.New("disk on fire") }

func TestListGlobalWithoutRelay(t *testing.T) {
	a, refusal := newSurface(t, fails(errNoSocket)).do(t, "list", gen08.list("GLOBAL"))
	if refusal != nil {
		t.Fatal(refusal)
	}
	sameJSON(t, "answer", a, gen08.answerOf("*", emptyGlobal(errNoSocket)))
}

// emptyGlobal is the bundle of GLOBAL as it is shown while no relay is there.
func emptyGlobal(reason error) string {
	return `{"id":"GLOBAL","hosted":false,"state":"down","state_reason_code":"relay_unavailable","state_reason":` + string(encode(reason.Error())) +
		`,"startup_failure_count":0,"recent_startup_failures":[],"principals":[]}`
}

func TestListDecisions(t *testing.T) {
	const pending = `"pending_requests":[{"message_id":"m","choice_request_id":"c","requested_details":{"n":1e400}},{"choice_request_id":"d"}]`
	testExchanges(t, Surface08, []exchangeTest{{
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
