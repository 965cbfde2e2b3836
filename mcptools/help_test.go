package mcptools

import (
	"bytes"
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// help asks in every state of the server, which must make no difference but to who the server is, and
// returns the members of the answer.
func help(t *testing.T, g *generation, query string) map[string]json.RawMessage {
	t.Helper()
	var answer map[string]json.RawMessage
	relay := fails(errNoSocket)
	for _, standing := range []Standing{associatedWith(relay), {Reason: "no session x"}, {Fault: fault}} {
		s := newSurface(t, relay, of(g.surface), as(standing))
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
	eachGeneration(t, func(t *testing.T, g *generation) {
		for _, query := range []string{"", " ", "agentmux", "\tagentmux "} {
			answer := help(t, g, query)
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
				if g.commands[tool["tool"]] != nil {
					kind = "meta_tool"
				}
				if len(tool) != 3 || tool["kind"] != kind || tool["description"] == "" {
					t.Errorf("got %v, want a tool of kind %s with a description", tool, kind)
				}
			}
			sameLines(t, "tools", names, g.tools)
		}
	})
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
	eachGeneration(t, func(t *testing.T, g *generation) {
		for tool, names := range g.commands {
			answer := help(t, g, tool)
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
			sameLines(t, "commands of "+tool, got, names)
		}
	})
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
	eachGeneration(t, func(t *testing.T, g *generation) {
		for name, declared := range declarations(t, g) {
			var tool struct{ InputSchema json.RawMessage }
			if err := json.Unmarshal(declared, &tool); err != nil {
				t.Fatal(err)
			}
			if g.commands[name] == nil {
				answer := help(t, g, name)
				sameKeys(t, name, answer, "args_schema", "command", "description", "invoke")
				sameJSON(t, "command", string(answer["command"]), `"`+name+`"`)
				sameJSON(t, "args_schema of "+name, string(answer["args_schema"]), string(tool.InputSchema))
				continue
			}
			advertised := schemaOf(schemaOf(tool.InputSchema).Properties["args"])
			seen := make(map[string]bool)
			for _, command := range g.commands[name] {
				query := name + "." + command
				answer := help(t, g, query)
				sameKeys(t, query, answer, "args_schema", "command", "description", "invoke")
				sameJSON(t, "command", string(answer["command"]), `"`+query+`"`)
				schema := schemaOf(answer["args_schema"])
				if schema.Type != "object" || schema.Properties == nil || schema.AdditionalProperties == nil {
					t.Fatalf("%s: got %s", query, answer["args_schema"])
				}
				if *schema.AdditionalProperties != *advertised.AdditionalProperties {
					t.Errorf("%s: others than these are taken: %v, and tools/list shows %v", query, *schema.AdditionalProperties, *advertised.AdditionalProperties)
				}
				for key, property := range schema.Properties {
					seen[key] = true
					sameJSON(t, query+", "+key, string(property), string(advertised.Properties[key]))
				}
				if len(g.commands[name]) == 1 && !slices.Equal(schema.Required, advertised.Required) {
					t.Errorf("%s: got the required %v, want %v", query, schema.Required, advertised.Required)
				}
			}
			if len(seen) != len(advertised.Properties) {
				t.Errorf("%s: the commands take %v, and tools/list shows %v", name, seen, advertised.Properties)
			}
		}
	})
}

// Every example is a good call, and of what it is an example of.
func TestHelpExamples(t *testing.T) {
	eachGeneration(t, func(t *testing.T, g *generation) {
		s := newSurface(t, answers(`{}`), of(g.surface))
		for _, query := range append([]string{""}, g.queries()...) {
			var invoke struct {
				Tool   string
				Params json.RawMessage
			}
			if err := json.Unmarshal(help(t, g, query)["invoke"], &invoke); err != nil {
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
	})
}

// A description holds example calls, and they are good ones.
func TestDescriptionExamples(t *testing.T) {
	eachGeneration(t, func(t *testing.T, g *generation) {
		s := newSurface(t, answers(`{}`), of(g.surface))
		for i := range s.tools {
			tool := &s.tools[i]
			_, rest, ok := strings.Cut(tool.description, "Example: ")
			if !ok || !strings.HasPrefix(rest, "{") {
				t.Errorf("%s: the description has no example", tool.name)
			}
			for start := 0; start >= 0; start = strings.IndexByte(rest, '{') {
				rest = rest[start:]
				decoder := json.NewDecoder(strings.NewReader(rest))
				var arguments json.RawMessage
				if err := decoder.Decode(&arguments); err != nil {
					t.Errorf("%s: %v in %s", tool.name, err, rest)
					break
				}
				if _, err := tool.resolve(arguments); err != nil {
					t.Errorf("%s: the example %s is refused: %v", tool.name, arguments, err)
				}
				rest = rest[decoder.InputOffset():]
			}
		}
	})
}

// What a surface says of its tools has no words of another's.
func TestSurfacesKeepToTheirWords(t *testing.T) {
	foreign := map[*generation]*regexp.Regexp{
		gen08: regexp.MustCompile(`grant|permission_|list\.sessions|quiescence|acp_entries|sender_session`),
		gen05: regexp.MustCompile(`choose|updown|choice_|principal|namespace|structured_entries|offset`),
	}
	eachGeneration(t, func(t *testing.T, g *generation) {
		texts := []string{g.surface.instructions(Standing{}), string(help(t, g, "")["shape_hints"])}
		for _, declared := range declarations(t, g) {
			texts = append(texts, string(declared))
		}
		for _, text := range texts {
			if word := foreign[g].FindString(text); word != "" {
				t.Errorf("it says %q: %s", word, text)
			}
		}
	})
}

func TestHelpRefusals(t *testing.T) {
	foreign := map[*generation]string{gen08: "list.sessions", gen05: "list.principals"}
	eachGeneration(t, func(t *testing.T, g *generation) {
		queries := string(encode(g.queries()))
		command := g.commands["list"][0]
		var tests []refusalTest
		for _, query := range []string{"nap", "list.relays", "list.", "send.", "send.send", "." + command, command, "LIST", "list." + command + ".x", "help.help", foreign[g]} {
			tests = append(tests, refusalTest{query, "help", `{"query":" ` + query + ` "}`, "validation_invalid_params", `{"query":"` + query + `","queries":` + queries + `}`})
		}
		testRefusals(t, g.surface, tests)
	})
}
