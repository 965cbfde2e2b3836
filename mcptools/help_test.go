package mcptools

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"
)

var helpQueries = []string{
	"list", "list.principals", "list.decisions", "help", "send", "look", "raww", "choose", "updown", "updown.up", "updown.down",
	"new", "new.peer", "change", "change.psk",
}

// metaTools are the tools that have commands.
var metaTools = map[string][]string{
	"list": {"principals", "decisions"}, "updown": {"up", "down"}, "new": {"peer"}, "change": {"psk"},
}

// help asks in every state of the server, which must make no difference but to who the server is, and
// returns the members of the answer.
func help(t *testing.T, query string) map[string]json.RawMessage {
	t.Helper()
	var answer map[string]json.RawMessage
	relay := fails(errNoSocket)
	for _, standing := range []Standing{associatedWith(relay), {Reason: "no session x"}, {Fault: fault}} {
		s := newSurface(t, relay, as(standing))
		a, refusal := s.do(t, "help", `{"query":`+string(encode(query))+`}`)
		if refusal != nil {
			t.Fatal(refusal)
		}
		var m map[string]json.RawMessage
		if err := json.Unmarshal([]byte(a), &m); err != nil {
			t.Fatal(err)
		}
		if answer != nil && !maps.EqualFunc(answer, m, func(a, b json.RawMessage) bool { return bytes.Equal(a, b) || bytes.Contains(a, []byte(`"status"`)) }) {
			t.Errorf("%q: the answer depends on the state of the server: %s", query, a)
		}
		answer = m
		sameLines(t, "requests", relay.requests(), nil)
		sameLog(t, s.log)
	}
	return answer
}

func sameKeys(t *testing.T, query string, answer map[string]json.RawMessage, want ...string) {
	t.Helper()
	if got := slices.Sorted(maps.Keys(answer)); !slices.Equal(got, want) {
		t.Errorf("%q: got the keys %v, want %v", query, got, want)
	}
}

func TestHelpCatalogue(t *testing.T) {
	for _, query := range []string{"", " ", "agentmux", "\tagentmux "} {
		answer := help(t, query)
		sameKeys(t, query, answer, "association", "invoke", "namespace", "shape_hints", "tools")
		sameJSON(t, "namespace", string(answer["namespace"]), `"agentmux"`)
		var hints []string
		if err := json.Unmarshal(answer["shape_hints"], &hints); err != nil || len(hints) == 0 {
			t.Errorf("shape hints: got %s, %v", answer["shape_hints"], err)
		}
		var tools []map[string]string
		if err := json.Unmarshal(answer["tools"], &tools); err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, tool := range tools {
			names = append(names, tool["tool"])
			kind := "tool"
			if metaTools[tool["tool"]] != nil {
				kind = "meta_tool"
			}
			if len(tool) != 3 || tool["kind"] != kind || tool["description"] == "" {
				t.Errorf("got %v, want a tool of kind %s with a description", tool, kind)
			}
		}
		if !slices.Equal(names, listedTools) {
			t.Errorf("got the tools %v, want %v", names, listedTools)
		}
	}
}

func TestHelpSaysWhoTheServerIs(t *testing.T) {
	for _, test := range []struct {
		standing Standing
		want     string
	}{
		{Standing{Bundle: "demo", Session: "alpha"}, `{"status":"associated","bundle":"demo","session":"alpha","reason":null}`},
		{Standing{}, `{"status":"unassociated","bundle":null,"session":null,"reason":null}`},
		{Standing{Reason: "no session x"}, `{"status":"unassociated","bundle":null,"session":null,"reason":"no session x"}`},
		{Standing{Fault: fault}, `{"status":"fault","bundle":null,"session":null,"reason":"runtime_startup_failed: demo.toml, line 3: no value. Mend the file."}`},
	} {
		a, refusal := newSurface(t, answers(`{}`), as(test.standing)).do(t, "help", `{}`)
		if refusal != nil {
			t.Fatal(refusal)
		}
		var answer struct{ Association json.RawMessage }
		if err := json.Unmarshal([]byte(a), &answer); err != nil {
			t.Fatal(err)
		}
		sameJSON(t, "association", string(answer.Association), test.want)
	}
}

func TestHelpOfMetaTools(t *testing.T) {
	for tool, names := range metaTools {
		answer := help(t, tool)
		sameKeys(t, tool, answer, "commands", "description", "invoke", "kind", "tool")
		sameJSON(t, "tool", string(answer["tool"]), `"`+tool+`"`)
		sameJSON(t, "kind", string(answer["kind"]), `"meta_tool"`)
		var commands []map[string]string
		if err := json.Unmarshal(answer["commands"], &commands); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, command := range commands {
			got = append(got, strings.TrimPrefix(command["command"], tool+"."))
			if len(command) != 2 || command["description"] == "" {
				t.Errorf("%s: got the command %v", tool, command)
			}
		}
		if !slices.Equal(got, names) {
			t.Errorf("%s: got the commands %v, want %v", tool, got, names)
		}
	}
}

// What help shows of arguments is what tools/list shows.
func TestHelpSchemas(t *testing.T) {
	type object struct {
		Type                 string                     `json:"type"`
		Properties           map[string]json.RawMessage `json:"properties"`
		Required             []string                   `json:"required"`
		AdditionalProperties *bool                      `json:"additionalProperties"`
	}
	schemaOf := func(raw json.RawMessage) object {
		var schema object
		if err := json.Unmarshal(raw, &schema); err != nil {
			t.Fatalf("%v in %s", err, raw)
		}
		return schema
	}
	for name, declared := range declarations(t) {
		var tool struct{ InputSchema json.RawMessage }
		if err := json.Unmarshal(declared, &tool); err != nil {
			t.Fatal(err)
		}
		if metaTools[name] == nil {
			answer := help(t, name)
			sameKeys(t, name, answer, "args_schema", "command", "description", "invoke")
			sameJSON(t, "command", string(answer["command"]), `"`+name+`"`)
			sameJSON(t, "args_schema of "+name, string(answer["args_schema"]), string(tool.InputSchema))
			continue
		}
		advertised := schemaOf(schemaOf(tool.InputSchema).Properties["args"])
		seen := make(map[string]bool)
		for _, command := range metaTools[name] {
			query := name + "." + command
			answer := help(t, query)
			sameKeys(t, query, answer, "args_schema", "command", "description", "invoke")
			sameJSON(t, "command", string(answer["command"]), `"`+query+`"`)
			schema := schemaOf(answer["args_schema"])
			if schema.Type != "object" || schema.Properties == nil || schema.AdditionalProperties == nil || *schema.AdditionalProperties {
				t.Errorf("%s: got %s", query, answer["args_schema"])
			}
			for key, property := range schema.Properties {
				seen[key] = true
				sameJSON(t, query+", "+key, string(property), string(advertised.Properties[key]))
			}
			if len(metaTools[name]) == 1 && !slices.Equal(schema.Required, advertised.Required) {
				t.Errorf("%s: got the required %v, want %v", query, schema.Required, advertised.Required)
			}
		}
		if len(seen) != len(advertised.Properties) {
			t.Errorf("%s: the commands take %v, and tools/list shows %v", name, seen, advertised.Properties)
		}
	}
}

// Every example is a good call, and of what it is an example of.
func TestHelpExamples(t *testing.T) {
	s := newSurface(t, answers(`{}`))
	for _, query := range append([]string{""}, helpQueries...) {
		var invoke struct {
			Tool   string
			Params json.RawMessage
		}
		if err := json.Unmarshal(help(t, query)["invoke"], &invoke); err != nil {
			t.Fatal(err)
		}
		name, command, _ := strings.Cut(query, ".")
		if query == "" {
			name = "help"
		}
		if invoke.Tool != name {
			t.Errorf("%q: the example is one of %s", query, invoke.Tool)
		}
		if _, err := s.named(t, name).resolve(invoke.Params); err != nil {
			t.Errorf("%q: the example %s is refused: %v", query, invoke.Params, err)
		}
		if command != "" && !strings.Contains(string(invoke.Params), `"command":"`+command+`"`) {
			t.Errorf("%q: the example is %s", query, invoke.Params)
		}
	}
}

// A description holds an example call, and it is a good one.
func TestDescriptionExamples(t *testing.T) {
	s := newSurface(t, answers(`{}`))
	for i := range s.tools {
		tool := &s.tools[i]
		_, example, ok := strings.Cut(tool.description, "Example: ")
		if !ok {
			t.Errorf("%s: the description has no example", tool.name)
			continue
		}
		var arguments json.RawMessage
		if err := json.NewDecoder(strings.NewReader(example)).Decode(&arguments); err != nil {
			t.Errorf("%s: %v in %s", tool.name, err, example)
			continue
		}
		if _, err := tool.resolve(arguments); err != nil {
			t.Errorf("%s: the example %s is refused: %v", tool.name, arguments, err)
		}
	}
}

func TestHelpRefusals(t *testing.T) {
	queries := string(encode(helpQueries))
	var tests []refusalTest
	for _, query := range []string{"nap", "list.relays", "list.", "send.", "send.send", ".principals", "principals", "LIST", "list.principals.x", "help.help"} {
		tests = append(tests, refusalTest{query, "help", `{"query":" ` + query + ` "}`, "validation_invalid_params", `{"query":"` + query + `","queries":` + queries + `}`})
	}
	testRefusals(t, tests)
}
