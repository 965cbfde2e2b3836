package mcptools

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/agentmux/agentmux-go/wire"
)

var update = flag.Bool("update", false, "write the golden files anew")

// What a client learns of a tool changes only where its golden file does.
func TestDeclarations(t *testing.T) {
	eachGeneration(t, func(t *testing.T, g *generation) {
		tools := declarations(t, g)
		for name, declared := range tools {
			var got bytes.Buffer
			if err := json.Indent(&got, declared, "", "\t"); err != nil {
				t.Fatal(err)
			}
			got.WriteByte('\n')
			file := filepath.Join("testdata", "schemas", g.name, name+".json")
			if *update {
				if err := os.WriteFile(file, got.Bytes(), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(got.Bytes(), want) {
				t.Errorf("%s has changed (-update takes it over):\n%s", file, &got)
			}
		}
		files, err := filepath.Glob(filepath.Join("testdata", "schemas", g.name, "*"))
		if err != nil {
			t.Fatal(err)
		}
		if len(files) != len(tools) {
			t.Errorf("got %d golden files for %d tools", len(files), len(tools))
		}
	})
}

// A shape that one client's dialect lacks makes that client drop all tools.
func TestSchemasArePlain(t *testing.T) {
	eachGeneration(t, func(t *testing.T, g *generation) {
		for name, declared := range declarations(t, g) {
			var tool struct{ InputSchema, OutputSchema any }
			if err := json.Unmarshal(declared, &tool); err != nil {
				t.Fatal(err)
			}
			if !regexp.MustCompile(`^[a-z0-9_-]{1,40}$`).MatchString(name) {
				t.Errorf("the name %s", name)
			}
			var compact bytes.Buffer
			if err := json.Compact(&compact, declared); err != nil {
				t.Fatal(err)
			}
			if once := canonical(declared); len(once) != compact.Len() {
				t.Errorf("%s: a key stands more than once in\n%s\nbut for\n%s", name, &compact, once)
			}
			for _, fault := range lintRoot(tool.InputSchema, false) {
				t.Errorf("input of %s: %s", name, fault)
			}
			for _, fault := range lintRoot(tool.OutputSchema, true) {
				t.Errorf("output of %s: %s", name, fault)
			}
		}
	})
}

func lintRoot(schema any, output bool) []string {
	faults := lint("$", schema, output)
	root, _ := schema.(map[string]any)
	if root["type"] != "object" || root["additionalProperties"] == nil || output && root["additionalProperties"] != true {
		faults = append(faults, fmt.Sprintf("the root is of type %v with additionalProperties %v", root["type"], root["additionalProperties"]))
	}
	return faults
}

// lint returns what is not plain in a schema. One of an output may leave out the type, where null may stand;
// and the properties, where the relay decides on them.
func lint(path string, schema any, output bool) []string {
	var faults []string
	fault := func(format string, args ...any) {
		faults = append(faults, path+" "+fmt.Sprintf(format, args...))
	}
	node, ok := schema.(map[string]any)
	if !ok || len(node) == 0 {
		fault("is %v", schema)
		return faults
	}
	kind, typed := node["type"].(string)
	if !typed && (!output || node["type"] != nil) {
		fault("has the type %v", node["type"])
	}
	for key, value := range node {
		switch key {
		case "type":
			if !slices.Contains([]string{"object", "array", "string", "integer", "boolean"}, kind) {
				fault("is of type %v", value)
			}
		case "description":
			if value == "" {
				fault("has a blank description")
			}
		case "enum":
			for _, element := range value.([]any) {
				if _, ok := element.(string); !ok || kind != "string" {
					fault("has %v in the enum of a %s", element, kind)
				}
			}
		case "minimum", "maximum":
			if kind != "integer" {
				fault("has a %s and is of type %s", key, kind)
			}
		case "items":
			faults = append(faults, lint(path+"[]", value, output)...)
		case "properties":
			for name, property := range value.(map[string]any) {
				faults = append(faults, lint(path+"."+name, property, output)...)
			}
		case "required":
			properties, _ := node["properties"].(map[string]any)
			for _, name := range value.([]any) {
				if _, ok := properties[name.(string)]; !ok {
					fault("requires %v, which is no property", name)
				}
			}
		case "additionalProperties":
			if _, ok := value.(bool); !ok || kind != "object" {
				fault("is of type %s and has additionalProperties %v", kind, value)
			}
		default:
			fault("has the key %s", key)
		}
	}
	if items, ok := node["items"].(map[string]any); kind == "array" && (!ok || items["type"] == nil) {
		fault("is an array of %v", node["items"])
	}
	if kind == "object" && !output && (node["properties"] == nil || node["additionalProperties"] == nil) {
		fault("is an object without properties or additionalProperties")
	}
	return faults
}

// The input schemas restrict what the contract of the tools restricts.
func TestInputSchemas(t *testing.T) {
	type property struct {
		Type                 string
		Enum                 []string
		Minimum, Maximum     *int
		Items                *property
		Properties           map[string]property
		Required             []string
		AdditionalProperties bool
	}
	type inputTest struct {
		tool     string
		open     string // the objects that take others than these, separated by spaces
		required []string
		types    map[string]string
	}
	tests := map[*generation][]inputTest{
		gen08: {
			{"list", "", []string{"command"}, map[string]string{"command": "string", "args": "object", "args.namespace": "string"}},
			{"help", "", nil, map[string]string{"query": "string"}},
			{"send", "", []string{"message"}, map[string]string{"message": "string", "targets": "array", "targets[]": "string", "broadcast": "boolean", "request_id": "string"}},
			{"look", "", []string{"target_session"}, map[string]string{"target_session": "string", "lines": "integer", "offset": "integer"}},
			{"raww", "", []string{"target_session", "text"}, map[string]string{"target_session": "string", "text": "string", "no_enter": "boolean", "request_id": "string"}},
			{"choose", "", []string{"choice_request_id", "outcome"}, map[string]string{"choice_request_id": "string", "outcome": "string", "option_id": "string"}},
			{"updown", "", []string{"command"}, map[string]string{"command": "string", "args": "object"}},
			{"new", "", []string{"args", "args.principal_id", "command"}, map[string]string{"command": "string", "args": "object", "args.principal_id": "string", "args.scope": "string", "args.output_path": "string"}},
			{"change", "", []string{"args", "args.principal_id", "command"}, map[string]string{"command": "string", "args": "object", "args.principal_id": "string"}},
		},
		gen05: {
			{"list", "$ $.args", []string{"command"}, map[string]string{"command": "string", "args": "object", "args.bundle_name": "string", "args.all": "boolean"}},
			{"help", "$", nil, map[string]string{"query": "string"}},
			{"send", "$", []string{"message"}, map[string]string{"message": "string", "targets": "array", "targets[]": "string", "broadcast": "boolean", "request_id": "string", "quiescence_timeout_ms": "integer", "acp_turn_timeout_ms": "integer"}},
			{"look", "$", []string{"target_session"}, map[string]string{"target_session": "string", "lines": "integer", "bundle_name": "string"}},
			{"raww", "", []string{"target_session", "text"}, map[string]string{"target_session": "string", "text": "string", "no_enter": "boolean", "request_id": "string"}},
			{"grant", "$", []string{"command"}, map[string]string{"command": "string", "args": "object", "args.permission_request_id": "string", "args.outcome": "string", "args.option_id": "string", "args.bundle_name": "string"}},
		},
	}
	limited := map[string][2]int{"lines": {1, 1000}, "offset": {0, 0}, "quiescence_timeout_ms": {1, 0}, "acp_turn_timeout_ms": {1, 0}} // 0 above: no limit
	eachGeneration(t, func(t *testing.T, g *generation) {
		tools := declarations(t, g)
		if len(tests[g]) != len(tools) {
			t.Errorf("got %d tools, want %d", len(tools), len(tests[g]))
		}
		for _, test := range tests[g] {
			var tool struct{ InputSchema property }
			if err := json.Unmarshal(tools[test.tool], &tool); err != nil {
				t.Fatal(err)
			}
			var open, required []string
			types := make(map[string]string)
			var walk func(prefix string, p property)
			walk = func(prefix string, p property) {
				if p.AdditionalProperties {
					open = append(open, strings.TrimSuffix("$."+prefix, "."))
				}
				for _, name := range p.Required {
					required = append(required, prefix+name)
				}
				for name, p := range p.Properties {
					types[prefix+name] = p.Type
					if p.Items != nil {
						types[prefix+name+"[]"] = p.Items.Type
					}
					if want, ok := limited[name]; ok {
						if p.Minimum == nil || *p.Minimum != want[0] || (p.Maximum == nil) != (want[1] == 0) || p.Maximum != nil && *p.Maximum != want[1] {
							t.Errorf("%s: %s is limited to %v and %v, want %v", test.tool, name, p.Minimum, p.Maximum, want)
						}
					}
					if want := []string{wire.OutcomeSelected, wire.OutcomeCancelled}; name == "outcome" && !slices.Equal(p.Enum, want) {
						t.Errorf("%s: the outcomes are %v, want %v", test.tool, p.Enum, want)
					}
					walk(prefix+name+".", p)
				}
			}
			walk("", tool.InputSchema)
			if got := strings.Join(open, " "); got != test.open {
				t.Errorf("%s: unknown arguments may be in %q, want %q", test.tool, got, test.open)
			}
			slices.Sort(required)
			sameLines(t, "what "+test.tool+" requires", required, test.required)
			if fmt.Sprint(types) != fmt.Sprint(test.types) {
				t.Errorf("%s: got %v, want %v", test.tool, types, test.types)
			}
			sameLines(t, "commands of "+test.tool, tool.InputSchema.Properties["command"].Enum, g.commands[test.tool])
		}
	})
}

// Answers, synthetic ones and failures too, are what the output schemas say.
func TestAnswersMatchOutputSchemas(t *testing.T) {
	eachGeneration(t, func(t *testing.T, g *generation) {
		schemas := make(map[string]map[string]any)
		for name, declared := range declarations(t, g) {
			var tool struct{ OutputSchema map[string]any }
			if err := json.Unmarshal(declared, &tool); err != nil {
				t.Fatal(err)
			}
			schemas[name] = tool.OutputSchema
		}
		check := func(tool, object string) {
			t.Helper()
			var v any
			if err := json.Unmarshal([]byte(object), &v); err != nil {
				t.Fatal(err)
			}
			if fault := mismatch(tool, schemas[tool], v); fault != "" {
				t.Errorf("%s in %s", fault, object)
			}
		}
		for _, call := range g.calls {
			a, refusal := newSurface(t, answers(call.response), of(g.surface)).do(t, call.tool, call.arguments)
			if refusal != nil {
				t.Fatal(refusal)
			}
			check(call.tool, a)
			if call.prefix == "mcp.tool.list" {
				continue // shows a relay's absence as an answer
			}
			_, refusal = newSurface(t, fails(errNoSocket), of(g.surface)).do(t, call.tool, call.arguments)
			check(call.tool, string(refusal.data()))
		}
		for _, list := range []struct {
			name  string
			relay *fakeRelay
		}{
			{"", fails(errNoSocket)},
			{"*", g.lists(nil)},
		} {
			a, refusal := newSurface(t, list.relay, of(g.surface)).do(t, "list", g.list(list.name))
			if refusal != nil {
				t.Fatal(refusal)
			}
			check("list", a)
		}
		for _, query := range append([]string{""}, g.queries()...) {
			check("help", string(encode(help(t, g, query))))
		}
	})
}

// mismatch says where v is not what a schema wants; "": nowhere.
func mismatch(path string, schema map[string]any, v any) string {
	kind := "null"
	switch v := v.(type) {
	case map[string]any:
		kind = "object"
		properties, _ := schema["properties"].(map[string]any)
		for name, property := range properties {
			value, ok := v[name]
			if !ok {
				continue
			}
			if fault := mismatch(path+"."+name, property.(map[string]any), value); fault != "" {
				return fault
			}
		}
	case []any:
		kind = "array"
		for _, element := range v {
			items, _ := schema["items"].(map[string]any)
			if fault := mismatch(path+"[]", items, element); fault != "" {
				return fault
			}
		}
	case string:
		kind = "string"
	case bool:
		kind = "boolean"
	case float64:
		kind = "number"
	}
	if want, ok := schema["type"]; ok && want != kind {
		return fmt.Sprintf("%s is of type %s and not %v", path, kind, want)
	}
	return ""
}

// What a command requires of args is not required where another command takes the same args.
func TestArgsOfSeveralCommands(t *testing.T) {
	type named struct {
		Name text `json:"name"`
	}
	taking := func(name string) command {
		return bound(name, "", nil, nil, func(named) work { return work{} })
	}
	one := tool{commands: []command{taking("one")}}
	sameJSON(t, "one command", string(encode(one.envelope()[1].schema.Required)), `["name"]`)
	two := tool{name: "two", commands: []command{bound("without", "", nil, nil, func(none) work { return work{} }), taking("with")}}
	args := two.envelope()[1]
	if args.required || args.schema.Required != nil {
		t.Errorf("two commands: args is required: %v, and requires %v", args.required, args.schema.Required)
	}
	if _, err := two.resolve([]byte(`{"command":"without","args":{"name":"x"}}`)); err == nil {
		t.Error("a command takes what only the other one takes")
	}
	same := tool{commands: []command{taking("one"), taking("two")}}
	sameJSON(t, "what two commands take", string(encode(len(same.envelope()[1].schema.Properties))), `1`)
}
