package mcptools

import (
	"maps"
	"slices"
	"strings"
	"testing"
)

func TestListSessions(t *testing.T) {
	tests := []struct {
		name      string
		arguments string
		asked     []string // bundles
		answer    string
		reads     []string
		log       []string
	}{
		{
			name:      "the home bundle",
			arguments: `{"command":" sessions "}`,
			asked:     []string{"demo"},
			answer:    gen05.answerOf("", gen05.listed("demo")),
			reads:     []string{"load demo"},
			log: []string{
				`mcp.tool.list.request {"sender_session":"alpha","command":"sessions","bundle_name":null,"all":false}`,
				`mcp.tool.list.success {"all":false,"bundle_name":"demo","session_count":2}`,
			},
		},
		{
			name:      "the home bundle by its name",
			arguments: `{"command":"sessions","args":{"bundle_name":"demo","all":false}}`,
			asked:     []string{"demo"},
			answer:    gen05.answerOf("demo", gen05.listed("demo")),
			reads:     []string{"load demo"},
			log: []string{
				`mcp.tool.list.request {"sender_session":"alpha","command":"sessions","bundle_name":"demo","all":false}`,
				`mcp.tool.list.success {"all":false,"bundle_name":"demo","session_count":2}`,
			},
		},
		{
			name:      "another bundle",
			arguments: `{"command":"sessions","args":{"bundle_name":" Other\n"}}`,
			asked:     []string{"Other"},
			answer:    gen05.answerOf("Other", gen05.listed("Other")),
			reads:     []string{"load Other"},
			log: []string{
				`mcp.tool.list.request {"sender_session":"alpha","command":"sessions","bundle_name":"Other","all":false}`,
				`mcp.tool.list.success {"all":false,"bundle_name":"Other","session_count":2}`,
			},
		},
		{
			name:      "all bundles, in byte order",
			arguments: `{"command":"sessions","args":{"all":true}}`,
			asked:     []string{"Other", "demo", "zeta"},
			answer:    gen05.answerOf("*", gen05.listed("Other"), gen05.listed("demo"), gen05.listed("zeta")),
			reads:     []string{"names", "load Other", "load demo", "load zeta"},
			log: []string{
				`mcp.tool.list.request {"sender_session":"alpha","command":"sessions","bundle_name":null,"all":true}`,
				`mcp.tool.list.success {"all":true,"bundle_count":3}`,
			},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := newSurface(t, gen05.lists(nil), of(Surface05))
			a, refusal := s.do(t, "list", test.arguments)
			if refusal != nil {
				t.Fatal(refusal)
			}
			sameJSON(t, "answer", a, test.answer)
			var requests []string
			for _, name := range test.asked {
				requests = append(requests, name+` {"operation":"list","sender_session":"alpha"}`)
			}
			sameLines(t, "requests", slices.Sorted(slices.Values(s.relay.requests())), requests)
			sameLines(t, "reads of the configuration", s.bundles.reads, test.reads)
			sameLog(t, s.log, test.log...)
		})
	}
}

// The version is that of the answer, and not that of what the relay answers.
func TestListSessionsVersion(t *testing.T) {
	for _, name := range []string{"", "*"} {
		s := newSurface(t, answers(`{"kind":"list","schema_version":"7","bundle":{"id":"x"},"later":1}`), of(Surface05))
		a, refusal := s.do(t, "list", gen05.list(name))
		if refusal != nil {
			t.Fatal(refusal)
		}
		bundles := []string{`{"id":"x"}`, `{"id":"x"}`, `{"id":"x"}`}
		sameJSON(t, "answer", a, gen05.answerOf(name, bundles...))
	}
}

// All bundles are an array, however many there are.
func TestListFewBundles(t *testing.T) {
	s := newSurface(t, gen05.lists(nil), of(Surface05))
	for _, left := range [][]string{{gen05.listed("demo")}, nil} {
		maps.DeleteFunc(s.bundles.bundles, func(name string, _ *Bundle) bool { return left == nil || name != "demo" })
		a, refusal := s.do(t, "list", gen05.list("*"))
		if refusal != nil {
			t.Fatal(refusal)
		}
		sameJSON(t, "answer", a, gen05.answerOf("*", left...))
	}
}

func TestListSessionsRefusals(t *testing.T) {
	const invalid = "validation_invalid_params"
	name := func(name string) refusalTest {
		return refusalTest{name, "list", `{"command":"sessions","args":{"bundle_name":" ` + name + `\t"}}`, invalid, `{"bundle_name":"` + name + `"}`}
	}
	testRefusals(t, Surface05, []refusalTest{
		{"another command", "list", `{"command":" principals "}`, invalid, `{"command":"principals"}`},
		{"a blank command", "list", `{"command":""}`, invalid, `{"command":""}`},
		{"all and a bundle", "list", `{"command":"sessions","args":{"all":true,"bundle_name":"demo"}}`, invalid, `null`},
		{"all and a blank bundle", "list", `{"command":"sessions","args":{"all":true,"bundle_name":" "}}`, invalid, `null`},
		{"all and what can't be a bundle", "list", `{"command":"sessions","args":{"all":true,"bundle_name":"de mo"}}`, invalid, `null`},
		{"a blank bundle", "list", `{"command":"sessions","args":{"bundle_name":"\n"}}`, invalid, `null`},
		name("."), name(".."), name("../demo"), name("de mo"), name("*"), name("démo"), name("x@GLOBAL"), name(`a\u0000b`),
	})
}

// That a name is blank is said only where it is the fault.
func TestListSessionsMessages(t *testing.T) {
	for args, want := range map[string]string{
		`{"all":true,"bundle_name":" "}`:   "all means every bundle",
		`{"all":false,"bundle_name":" "}`:  "bundle_name is blank",
		`{"bundle_name":"a/b"}`:            `"a/b" can't be a bundle's name`,
		`{"bundle_name":"a/b","all":true}`: "all means every bundle",
	} {
		_, refusal := newSurface(t, answers(`{}`), of(Surface05)).do(t, "list", `{"command":"sessions","args":`+args+`}`)
		if refusal == nil || !strings.HasPrefix(refusal.Message, want) {
			t.Errorf("%s: got %v, want %s", args, refusal, want)
		}
	}
}
