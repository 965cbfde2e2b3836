package mcptools

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// A tool is one entry of the catalogue.
type tool struct {
	name        string
	title       string
	description string
	hints       hints
	commands    []command // a plain tool has one, which has no name
	output      properties

	// open: arguments that are no parameters are passed over; openArgs: those within args are.
	open, openArgs bool
	// identities are names of arguments that would say who acts, which nobody may but the relay.
	identities []string
}

// hints are the annotations of a tool. No tool of ours reaches an open world.
type hints struct{ readOnly, destructive, idempotent bool }

// A command is what one call of a tool does.
type command struct {
	name        string // "" for a plain tool
	description string // of a command; a plain tool has its own
	example     map[string]any
	params      params
	// bind decodes and checks arguments, and returns the work that is left to do.
	bind func(m map[string]json.RawMessage, prefix string) (work, error)
}

// A work is a call whose arguments are good.
type work struct {
	// prefix of the inscriptions; "" for work that needs neither relay nor log.
	prefix string
	// request is what the log shows of the request.
	request func(Standing) map[string]any
	// run returns the answer and what the log shows of it.
	run func(context.Context, Standing) (answer, map[string]any, error)
}

// An answer is the object that a tool returns.
type answer map[string]json.RawMessage

// encode returns the object. Its members are JSON already and, unlike by encoding/json, not read once more.
func (a answer) encode() json.RawMessage {
	size := len("{}")
	for key, value := range a {
		size += len(key) + len(value) + len(`"":,`)
	}
	out := append(make([]byte, 0, size), '{')
	for i, key := range slices.Sorted(maps.Keys(a)) {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, encode(key)...)
		out = append(out, ':')
		out = append(out, a[key]...)
	}
	return append(out, '}')
}

// meta reports whether the tool has commands to choose from.
func (t *tool) meta() bool { return t.commands[0].name != "" }

func (t *tool) commandNames() []string {
	names := make([]string, len(t.commands))
	for i, c := range t.commands {
		names[i] = c.name
	}
	return names
}

// argsParams are the parameters that the commands of a meta-tool have in all, each of them once.
func (t *tool) argsParams() params {
	var all params
	for _, c := range t.commands {
		for _, p := range c.params {
			if !slices.ContainsFunc(all, func(known param) bool { return known.name == p.name }) {
				all = append(all, p)
			}
		}
	}
	return all
}

// envelope are the parameters of a call itself: those of a plain tool, or command and args.
func (t *tool) envelope() params {
	if !t.meta() {
		return t.commands[0].params
	}
	args := t.argsParams().schema(t.openArgs)
	args.Description = "arguments of the command"
	required := !slices.ContainsFunc(t.commands, func(c command) bool { return c.params.required() == nil })
	if len(t.commands) > 1 {
		args.Required = nil // which of them are required depends on the command
	}
	return params{
		{name: "command", required: true, schema: schema{Type: "string", Enum: t.commandNames(), Description: t.commandsDescription()}},
		{name: "args", required: required, schema: args},
	}
}

func (t *tool) commandsDescription() string {
	var lines []string
	for _, c := range t.commands {
		lines = append(lines, c.name+": "+c.description)
	}
	return strings.Join(lines, "; ")
}

// resolve finds the command that a call names and binds its arguments. Faults are reported in the order
// that an agent mends them in: keys that do not exist, the command, the arguments.
func (t *tool) resolve(arguments json.RawMessage) (work, error) {
	top, ok := members(arguments)
	if !ok {
		return work{}, mistyped("arguments", "an object", arguments)
	}
	var unknown []string
	if !t.open {
		unknown = t.envelope().unknown(top, "")
	}
	if !t.meta() {
		if err := t.unknownFields(unknown); err != nil {
			return work{}, err
		}
		return t.commands[0].bind(top, "")
	}

	var name text
	chosen := -1
	if (param{}).decodeValue(top["command"], "command", reflect.ValueOf(&name).Elem()) == nil {
		chosen = slices.Index(t.commandNames(), string(name))
	}
	args, argsOK := members(top["args"])
	known := t.argsParams()
	if chosen >= 0 {
		known = t.commands[chosen].params
	}
	prefix := "args."
	if t.open {
		prefix = "" // keys beside args are passed over, so those within need not be told from them
	}
	if !t.openArgs {
		unknown = append(unknown, known.unknown(args, prefix)...)
	}
	if err := t.unknownFields(unknown); err != nil {
		return work{}, err
	}
	if chosen < 0 {
		return work{}, t.unknownCommand(top["command"], name)
	}
	if !argsOK {
		return work{}, refuse(CodeInvalidParams,
			fmt.Sprintf("args must be an object, and a value of type %s was given: pass the arguments of %s %s as a JSON object",
				jsonType(top["args"]), t.name, name),
			map[string]any{
				"reason": "args is of type " + jsonType(top["args"]) + ", not an object",
				"hint":   fmt.Sprintf(`call help with {"query":"%s.%s"} to see the schema of args`, t.name, name),
			})
	}
	return t.commands[chosen].bind(args, prefix)
}

func (t *tool) unknownCommand(raw json.RawMessage, name text) error {
	if jsonType(raw) != "string" {
		return mistyped("command", t.envelope()[0].expected(), raw)
	}
	return refuse(CodeInvalidParams,
		fmt.Sprintf("%s has no command %q: use %s", t.name, name, strings.Join(t.commandNames(), " or ")),
		map[string]any{"command": name})
}

// unknownFields refuses arguments that the tool does not have; of those that would say who acts and others, the
// former.
func (t *tool) unknownFields(fields []string) error {
	if len(fields) == 0 {
		return nil
	}
	slices.Sort(fields)
	others := func(field string) bool { return !slices.Contains(t.identities, field) }
	if claims := slices.DeleteFunc(slices.Clone(fields), others); len(claims) > 0 {
		return refuse(CodeInvalidParams,
			fmt.Sprintf("%s can't be given: who acts is the session that this server acts for. Leave it out", strings.Join(claims, ", ")),
			map[string]any{"fields": claims})
	}
	return refuse(CodeInvalidParams,
		fmt.Sprintf("unknown arguments: %s. Leave them out, or call help to see what the tool takes", strings.Join(fields, ", ")),
		map[string]any{"fields": fields})
}
