package mcptools

import (
	"context"
	"fmt"
	"strings"
)

type helpParams struct {
	Query text `json:"query,omitempty" doc:"a tool, or a tool and its command with a dot in between; left out: the catalogue"`
}

func (t *Tools) help() tool {
	return tool{
		name:  "help",
		title: "Explain the agentmux tools",
		description: "Explains the tools: without a query their catalogue and who you are; with one, what a tool or command takes. " +
			`It works in every state of the server. Example: {"query":"send"}.`,
		hints: hints{readOnly: true, idempotent: true},
		output: properties{
			{"tools", schema{Type: "array", Items: &schema{Type: "object"}}},
			{"association", schema{Type: "object", Description: "who this server acts for"}},
			{"commands", schema{Type: "array", Items: &schema{Type: "object"}}},
			{"args_schema", schema{Type: "object"}},
			{"invoke", schema{Type: "object", Description: "an example call"}},
		},
		commands: []command{bound("", "", map[string]any{"query": "send"}, t.checkQuery, func(p helpParams) work {
			return work{run: func(_ context.Context, s Standing) (answer, map[string]any, error) {
				return t.explain(string(p.Query), s), nil, nil
			}}
		})},
	}
}

// catalogueQuery is what asks for the catalogue, beside nothing at all.
const catalogueQuery = "agentmux"

// queries are the names that help explains, in the order of the catalogue.
func (t *Tools) queries() []string {
	var names []string
	for _, tool := range t.tools {
		names = append(names, tool.name)
		if tool.meta() {
			for _, c := range tool.commands {
				names = append(names, tool.name+"."+c.name)
			}
		}
	}
	return names
}

func (t *Tools) checkQuery(p helpParams) error {
	query := string(p.Query)
	if tool, _ := t.find(query); tool != nil || query == "" || query == catalogueQuery {
		return nil
	}
	return refuse(CodeInvalidParams, fmt.Sprintf("help knows no %q: use one of %s", query, strings.Join(t.queries(), ", ")),
		map[string]any{"query": query, "queries": t.queries()})
}

// find returns the tool that a query names, and the command, which is nil where it names a meta-tool.
func (t *Tools) find(query string) (*tool, *command) {
	name, commandName, dotted := strings.Cut(query, ".")
	for i := range t.tools {
		tool := &t.tools[i]
		if tool.name != name || dotted && !tool.meta() {
			continue
		}
		if tool.meta() && !dotted {
			return tool, nil
		}
		for j := range tool.commands {
			if tool.commands[j].name == commandName {
				return tool, &tool.commands[j]
			}
		}
	}
	return nil, nil
}

// explain answers a query that has been checked.
func (t *Tools) explain(query string, s Standing) answer {
	tool, command := t.find(query)
	switch {
	case tool == nil:
		return t.explainCatalogue(s)
	case command == nil:
		return tool.explain()
	default:
		return tool.explainCommand(command)
	}
}

func (t *Tools) explainCatalogue(s Standing) answer {
	type entry struct {
		Tool        string `json:"tool"`
		Kind        string `json:"kind"`
		Description string `json:"description"`
	}
	var entries []entry
	for _, tool := range t.tools {
		entries = append(entries, entry{tool.name, tool.kind(), tool.description})
	}
	return answer{
		"namespace":   encode(catalogueQuery),
		"association": encode(associationOf(s)),
		"shape_hints": encode(t.cfg.Surface.shapeHints),
		"tools":       encode(entries),
		"invoke":      encode(invocation{"help", map[string]any{"query": "send"}}),
	}
}

// An invocation is an example call.
type invocation struct {
	Tool   string         `json:"tool"`
	Params map[string]any `json:"params"`
}

func (t *tool) kind() string {
	if t.meta() {
		return "meta_tool"
	}
	return "tool"
}

// invocation is the example call of one of the tool's commands.
func (t *tool) invocation(c *command) invocation {
	if !t.meta() {
		return invocation{t.name, c.example}
	}
	return invocation{t.name, map[string]any{"command": c.name, "args": c.example}}
}

func (t *tool) explain() answer {
	type entry struct {
		Command     string `json:"command"`
		Description string `json:"description"`
	}
	var entries []entry
	for _, c := range t.commands {
		entries = append(entries, entry{t.name + "." + c.name, c.description})
	}
	return answer{
		"tool":        encode(t.name),
		"kind":        encode(t.kind()),
		"description": encode(t.description),
		"commands":    encode(entries),
		"invoke":      encode(t.invocation(&t.commands[0])),
	}
}

// openCommand reports whether arguments of a command that are no parameters are passed over.
func (t *tool) openCommand() bool {
	if t.meta() {
		return t.openArgs
	}
	return t.open
}

func (t *tool) explainCommand(c *command) answer {
	name, description := t.name, t.description
	if t.meta() {
		name, description = t.name+"."+c.name, c.description
	}
	return answer{
		"command":     encode(name),
		"description": encode(description),
		"args_schema": encode(c.params.schema(t.openCommand())),
		"invoke":      encode(t.invocation(c)),
	}
}
