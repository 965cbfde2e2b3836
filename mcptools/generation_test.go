package mcptools

import (
	"context"
	"testing"

	"github.com/agentmux/agentmux-go/wire"
	"github.com/agentmux/agentmux-go/wire/wire05"
)

// A generation is a surface and what is known of its tools.
type generation struct {
	name     string // that of the directory of its golden files
	surface  *Surface
	words    *wire.Vocabulary    // of its relay
	tools    []string            // as they are listed
	commands map[string][]string // of the meta-tools
	calls    []call              // good ones, of all commands that need the relay

	// list returns the arguments that list the bundle of a name, the home bundle for "", or all for "*".
	list func(name string) string
	// listed is a bundle as the relay shows it.
	listed func(name string) string
	// home is the home bundle as it is shown while no relay hosts it.
	home func(reasonCode, reason, count, failures string) string
	// global: a list has the bundle of GLOBAL in it too.
	global bool
}

// A call is what an agent asks, what the relay answers, and the prefix of the records of it.
type call struct{ tool, arguments, response, prefix string }

var gen08 = &generation{
	name:     "0.8",
	surface:  Surface08,
	words:    wire.Current(),
	tools:    []string{"list", "help", "send", "look", "raww", "choose", "updown", "new", "change"},
	commands: map[string][]string{"list": {"principals", "decisions"}, "updown": {"up", "down"}, "new": {"peer"}, "change": {"psk"}},
	calls: []call{
		{"list", `{"command":"principals"}`, `{"kind":"list","bundle":{"id":"x"}}`, "mcp.tool.list"},
		{"list", `{"command":"decisions"}`, `{"kind":"choices_list","pending_requests":[]}`, "mcp.tool.list.decisions"},
		{"send", `{"message":"hi","targets":["bravo"]}`, `{"kind":"send","results":[]}`, "mcp.tool.send"},
		{"look", `{"target_session":"bravo@demo"}`, lookResponse, "mcp.tool.look"},
		{"raww", `{"target_session":"bravo@demo","text":""}`, `{"kind":"raww","status":"queued"}`, "mcp.tool.raww"},
		{"choose", `{"choice_request_id":"c","outcome":"cancelled"}`, `{"kind":"choices_pick","status":"resolved"}`, "mcp.tool.choose"},
		{"updown", `{"command":"up"}`, `{"kind":"bundle_transition","bundles":[]}`, "mcp.tool.updown.up"},
		{"updown", `{"command":"down"}`, `{"kind":"bundle_transition","bundles":[]}`, "mcp.tool.updown.down"},
		{"new", `{"command":"peer","args":{"principal_id":"bob@demo"}}`, `{"kind":"new_peer","principal_id":"bob@demo","psk":"s3cret"}`, "mcp.tool.new.peer"},
		{"change", `{"command":"psk","args":{"principal_id":"bob@demo"}}`, `{"kind":"change_psk","principal_id":"bob@demo","psk":"s3cret"}`, "mcp.tool.change.psk"},
	},
	list: func(name string) string { return `{"command":"principals","args":{"namespace":"` + name + `"}}` },
	listed: func(name string) string {
		return `{"id":"` + name + `","hosted":true,"state":"up","startup_health":"healthy","startup_failure_count":0,"recent_startup_failures":[],` +
			`"principals":[{"id":"x@` + name + `","transport":"pty","ready":true,"later":1.0}],"principals_partial":true}`
	},
	home: func(reasonCode, reason, count, failures string) string {
		return `{"id":"demo","hosted":false,"state":"down","state_reason_code":"` + reasonCode + `","state_reason":` + string(encode(reason)) +
			`,"startup_failure_count":` + count + `,"recent_startup_failures":` + failures +
			`,"principals":[{"id":"bravo","name":"Bravo <B>","transport":"acp","ready":false},{"id":"alpha","transport":"tmux","ready":false}]}`
	},
	global: true,
}

var gen05 = &generation{
	name:     "0.5",
	surface:  Surface05,
	words:    wire05.Vocabulary(),
	tools:    []string{"list", "help", "send", "look", "raww", "grant"},
	commands: map[string][]string{"list": {"sessions"}, "grant": {"list", "resolve"}},
	calls: []call{
		{"list", `{"command":"sessions"}`, `{"kind":"list","bundle":{"id":"x"}}`, "mcp.tool.list"},
		{"send", `{"message":"hi","targets":["bravo"]}`, `{"kind":"chat","results":[]}`, "mcp.tool.send"},
		{"look", `{"target_session":"bravo@demo"}`, lookResponse, "mcp.tool.look"},
		{"raww", `{"target_session":"bravo","text":""}`, `{"kind":"raww","status":"accepted"}`, "mcp.tool.raww"},
		{"grant", `{"command":"list"}`, `{"kind":"permission_list","pending_requests":[]}`, "mcp.tool.grant.list"},
		{"grant", `{"command":"resolve","args":{"permission_request_id":"p","outcome":"cancelled"}}`, `{"kind":"permission_decision","status":"resolved"}`, "mcp.tool.grant.resolve"},
	},
	list: func(name string) string {
		switch name {
		case "":
			return `{"command":"sessions"}`
		case "*":
			return `{"command":"sessions","args":{"all":true}}`
		default:
			return `{"command":"sessions","args":{"bundle_name":"` + name + `"}}`
		}
	},
	listed: func(name string) string {
		return `{"id":"` + name + `","state":"up","startup_health":"degraded","startup_failure_count":1,"recent_startup_failures":[{"bundle_name":"` + name + `","sequence":1.0,"details":{"n":1.50}}],` +
			`"sessions":[{"id":"x@` + name + `","name":"X","transport":"pty","later":1.0},{"id":"y@` + name + `","transport":"tmux"}],"sessions_partial":true}`
	},
	home: func(reasonCode, reason, count, failures string) string {
		return `{"id":"demo","state":"down","state_reason_code":"` + reasonCode + `","state_reason":` + string(encode(reason)) +
			`,"startup_failure_count":` + count + `,"recent_startup_failures":` + failures +
			`,"sessions":[{"id":"bravo","name":"Bravo <B>","transport":"acp"},{"id":"alpha","transport":"tmux"}]}`
	},
}

var generations = []*generation{gen08, gen05}

// eachGeneration runs a test of what all surfaces have in common.
func eachGeneration(t *testing.T, test func(t *testing.T, g *generation)) {
	for _, g := range generations {
		t.Run(g.name, func(t *testing.T) { test(t, g) })
	}
}

// queries are the names that help explains, in the order of the catalogue.
func (g *generation) queries() []string {
	var queries []string
	for _, tool := range g.tools {
		queries = append(queries, tool)
		for _, command := range g.commands[tool] {
			queries = append(queries, tool+"."+command)
		}
	}
	return queries
}

// lists returns a relay that shows every bundle but those with errors.
func (g *generation) lists(failures map[string]error) *fakeRelay {
	return answering(func(_ context.Context, name string, _ wire.Operation) (string, error) {
		return g.listing(name), failures[name]
	})
}

// listing is what a relay answers for a bundle: one that shows from whom it came.
func (g *generation) listing(name string) string {
	return `{"kind":"list","schema_version":"1","bundle":` + g.listed(name) + `}`
}
