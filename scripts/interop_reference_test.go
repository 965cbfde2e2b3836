package scripts_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"path"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A difference between our answers and the reference's that is meant to be.
type difference struct {
	calls  string // names of calls, as [path.Match] matches them, with | between them
	paths  string // in the answer, with | between them; what is below them is meant too
	reason string
}

var intendedDifferences = []difference{
	{"*/*", "structured",
		"an answer is structured content too, for clients that read that"},
	{"*/*", "error.message",
		"the message starts with the code: most clients show a model nothing else"},
	{"local/*|path/*|down/*", "error.data.message",
		"where the server refuses by itself, the words are ours, and tell what to do next"},
	{"local/args no object", "error.data.details.reason|error.data.details.hint",
		"words"},
	{"local/new peer*", "error.data.details",
		"details name the argument at fault, where the reference has none"},
	{"local/unknown query", "error.data.details.queries",
		"details list what can be asked"},
	{"code/*", "error.data.code|error.data.details",
		"a relay's code that is neither validation_ nor authorization_forbidden goes into the details: those that data.code can have are a closed set"},
	{"path/relative|path/in no directory", "error.data.details",
		"the path is refused before the relay is asked; details are ours"},
	{"path/mended", "error|result",
		"so nothing was registered, and the call can be repeated with a better path; with the reference the principal is there, and its key lost"},
	{"mistyped/*", "error.data",
		"an agent can mend what has a code and names the argument; the reference says it in prose alone"},
	{"lenient/*", "error|result",
		"model clients fill optional arguments with null, and write integers as 1.0"},
	{"surface/tools", "choose.required|new.required|change.required",
		"the schema tells what can't be left out, also where the reference finds out later"},
	{"help/*", "result.description|result.commands|result.tools|result.shape_hints",
		"words and order, for an agent that has not heard of agentmux"},
	{"help/*", "result.invoke",
		"examples can be used as they stand"},
	{"help/*", "result.args_schema",
		"the schema is the advertised one, plain enough for every client's dialect"},
	{"help/catalogue", "result.association",
		"an agent can ask who it is"},
	{"down/principals", "result.bundles.0.state_reason|result.bundles.1.state_reason",
		"the reason names the socket and the cause"},
	{"down/*", "error.data.details.cause",
		"words of another standard library"},
}

// A comparedCall is made to both servers.
type comparedCall struct {
	name string // kind/case
	tool string
	args string            // JSON, in which ${root} and ${choice} stand for the side's own
	wait func(object) bool // the call is repeated until this holds; nil: it is made once
}

// comparedCalls are made in this order. Their kinds:
//
//   - relay: what the relay answers or refuses; code: what it refuses with a code that we do not pass on as it is
//   - local: what the server refuses by itself; path: the same for an output_path
//   - mistyped: arguments that the schema does not allow; lenient: those that it does not allow to the letter
//   - help: what help says
//   - unassociated: calls to a server that acts for no session
//   - down: calls after the relay has been ended
var comparedCalls = []comparedCall{
	{name: "relay/principals", tool: "list", args: `{"command": "principals"}`, wait: shows(`"healthy"`)},
	{name: "relay/principals of all bundles", tool: "list", args: `{"command": "principals", "args": {"namespace": "*"}}`},
	{name: "relay/principals of GLOBAL", tool: "list", args: `{"command": "principals", "args": {"namespace": "GLOBAL"}}`},
	{name: "relay/args null", tool: "list", args: `{"command": "principals", "args": null}`},
	{name: "relay/no decisions", tool: "list", args: `{"command": "decisions"}`},
	{name: "relay/send", tool: "send", args: `{"message": "one <&> two", "targets": ["bravo", "coder@demo"], "request_id": "r-1"}`},
	{name: "relay/send to an unknown session", tool: "send", args: `{"message": "hello", "targets": ["nobody"]}`},
	{name: "relay/look at a terminal", tool: "look", args: `{"target_session": "bravo@demo"}`, wait: shows(`--"]`)},
	{name: "relay/look at an agent", tool: "look", args: `{"target_session": "coder@demo"}`, wait: shows(`"entries_total":3`)},
	{name: "relay/look past an agent's history", tool: "look", args: `{"target_session": "coder@demo", "lines": 1, "offset": 100}`},
	{name: "relay/look at a terminal's past", tool: "look", args: `{"target_session": "bravo@demo", "offset": 1}`},
	{name: "relay/look at a bare session", tool: "look", args: `{"target_session": "bravo"}`},
	{name: "relay/look at an unknown session", tool: "look", args: `{"target_session": "nobody@demo"}`},
	{name: "relay/look at an unknown bundle", tool: "look", args: `{"target_session": "bravo@nowhere"}`},
	{name: "relay/send a request for a decision", tool: "send", args: `{"message": "ask for permission", "targets": ["coder"]}`},
	{name: "relay/decisions", tool: "list", args: `{"command": "decisions"}`, wait: shows("choice_request_id")},
	{name: "relay/choose", tool: "choose", args: `{"choice_request_id": "${choice}", "outcome": "selected", "option_id": "yes-once"}`},
	{name: "relay/raww", tool: "raww", args: `{"target_session": "bravo@demo", "text": "typed", "request_id": "r-2"}`},
	{name: "relay/raww of nothing", tool: "raww", args: `{"target_session": "bravo@demo", "text": "", "no_enter": true}`},
	{name: "relay/raww to an agent", tool: "raww", args: `{"target_session": "coder@demo", "text": "typed"}`},
	{name: "relay/raww to a bare session", tool: "raww", args: `{"target_session": "bravo", "text": "typed"}`},
	{name: "relay/raww to a user", tool: "raww", args: `{"target_session": "user@GLOBAL", "text": "typed"}`},
	{name: "relay/down", tool: "updown", args: `{"command": "down"}`},
	{name: "relay/down again", tool: "updown", args: `{"command": "down"}`},
	{name: "relay/up", tool: "updown", args: `{"command": "up"}`},
	{name: "relay/up again", tool: "updown", args: `{"command": "up", "args": {}}`},
	{name: "relay/new peer", tool: "new", args: `{"command": "peer", "args": {"principal_id": "carol@GLOBAL"}}`},
	{name: "relay/new peer, again", tool: "new", args: `{"command": "peer", "args": {"principal_id": "carol@GLOBAL"}}`},
	{name: "relay/new peer, written", tool: "new", args: `{"command": "peer", "args": {"principal_id": "dave@demo", "output_path": "${root}/dave.psk"}}`},
	{name: "relay/new peer, bare", tool: "new", args: `{"command": "peer", "args": {"principal_id": "dave"}}`},
	{name: "relay/change psk", tool: "change", args: `{"command": "psk", "args": {"principal_id": "carol@GLOBAL"}}`},
	{name: "relay/change psk of nobody", tool: "change", args: `{"command": "psk", "args": {"principal_id": "nobody@GLOBAL"}}`},

	{name: "code/choose what does not wait", tool: "choose", args: `{"choice_request_id": "gone", "outcome": "cancelled"}`},

	{name: "local/no such bundle", tool: "list", args: `{"command": "principals", "args": {"namespace": "nowhere"}}`},
	{name: "local/a namespace that is none", tool: "list", args: `{"command": "principals", "args": {"namespace": "RELAY"}}`},
	{name: "local/a namespace that is a path", tool: "list", args: `{"command": "principals", "args": {"namespace": "../x"}}`},
	{name: "local/unknown argument", tool: "list", args: `{"command": "principals", "foo": 1}`},
	{name: "local/unknown argument of a command", tool: "list", args: `{"command": "principals", "args": {"foo": 1}}`},
	{name: "local/args no object", tool: "list", args: `{"command": "principals", "args": []}`},
	{name: "local/unknown command of list", tool: "list", args: `{"command": "sessions"}`},
	{name: "local/send blank", tool: "send", args: `{"message": " ", "targets": ["bravo"]}`},
	{name: "local/send without targets", tool: "send", args: `{"message": "hello"}`},
	{name: "local/send to some and all", tool: "send", args: `{"message": "hello", "targets": ["bravo"], "broadcast": true}`},
	{name: "local/look at 0 lines", tool: "look", args: `{"target_session": "bravo@demo", "lines": 0}`},
	{name: "local/look at 1001 lines", tool: "look", args: `{"target_session": "bravo@demo", "lines": 1001}`},
	{name: "local/look at nobody", tool: "look", args: `{"target_session": " "}`},
	{name: "local/raww to nobody", tool: "raww", args: `{"target_session": " ", "text": "typed"}`},
	{name: "local/choose without an id", tool: "choose", args: `{"choice_request_id": " ", "outcome": "cancelled"}`},
	{name: "local/choose another outcome", tool: "choose", args: `{"choice_request_id": "x", "outcome": "postponed"}`},
	{name: "local/choose without an option", tool: "choose", args: `{"choice_request_id": "x", "outcome": "selected"}`},
	{name: "local/choose with an option too many", tool: "choose", args: `{"choice_request_id": "x", "outcome": "cancelled", "option_id": "y"}`},
	{name: "local/choose for somebody else", tool: "choose", args: `{"choice_request_id": "x", "outcome": "cancelled", "decided_by": "y"}`},
	{name: "local/unknown command of updown", tool: "updown", args: `{"command": "sideways"}`},
	{name: "local/unknown argument of up", tool: "updown", args: `{"command": "up", "args": {"x": 1}}`},
	{name: "local/unknown command of new", tool: "new", args: `{"command": "user"}`},
	{name: "local/new peer, blank", tool: "new", args: `{"command": "peer", "args": {"principal_id": " "}}`},
	{name: "local/new peer, nameless", tool: "new", args: `{"command": "peer"}`},
	{name: "local/unknown command of change", tool: "change", args: `{"command": "name"}`},
	{name: "local/unknown query", tool: "help", args: `{"query": "tea"}`},

	{name: "path/relative", tool: "new", args: `{"command": "peer", "args": {"principal_id": "erin@demo", "output_path": "erin.psk"}}`},
	{name: "path/in no directory", tool: "new", args: `{"command": "peer", "args": {"principal_id": "frank@demo", "output_path": "${root}/nowhere/frank.psk"}}`},
	{name: "path/mended", tool: "new", args: `{"command": "peer", "args": {"principal_id": "frank@demo", "output_path": "${root}/frank.psk"}}`},

	{name: "mistyped/no command", tool: "list", args: `{}`},
	{name: "mistyped/a message that is a number", tool: "send", args: `{"message": 5, "targets": ["bravo"]}`},
	{name: "mistyped/lines that are a string", tool: "look", args: `{"target_session": "bravo@demo", "lines": "5"}`},
	{name: "mistyped/negative lines", tool: "look", args: `{"target_session": "bravo@demo", "lines": -1}`},
	{name: "mistyped/negative offset", tool: "look", args: `{"target_session": "bravo@demo", "offset": -1}`},

	{name: "lenient/null", tool: "send", args: `{"message": "hello", "targets": ["bravo"], "broadcast": null}`},
	{name: "lenient/zero fraction", tool: "look", args: `{"target_session": "coder@demo", "lines": 1.0}`},

	{name: "help/catalogue", tool: "help", args: `{}`},
	{name: "help/tool", tool: "help", args: `{"query": "look"}`},
	{name: "help/tool with commands", tool: "help", args: `{"query": "list"}`},
	{name: "help/command", tool: "help", args: `{"query": "new.peer"}`},

	{name: "down/principals", tool: "list", args: `{"command": "principals"}`},
	{name: "down/decisions", tool: "list", args: `{"command": "decisions"}`},
	{name: "down/send", tool: "send", args: `{"message": "hello", "targets": ["bravo"]}`},
}

// shows reports whether an answer contains text.
func shows(text string) func(object) bool {
	return func(answer object) bool {
		encoded, err := json.Marshal(answer)
		return err == nil && bytes.Contains(encoded, []byte(text))
	}
}

// testReference makes the same calls to agentmux-mcp and to agentmux host mcp, each at a relay of its own, and
// compares the answers. They differ as the table says, and in nothing else.
func (p programs) testReference(t *testing.T) {
	t.Parallel()
	if p.version != p.surface.reference {
		t.Skipf("the surface is that of %s, and is compared with that", p.surface.reference)
	}
	ours := p.newSide(t, p.server, p.surface.flags...)
	reference := p.newSide(t, p.agentmux, "host", "mcp")
	met := make([]bool, len(p.surface.intendedDifferences))
	compare := func(name string, a, b any) {
		for _, d := range differences("", ours.mask(a), reference.mask(b)) {
			intended := false
			for i, row := range p.surface.intendedDifferences {
				if row.covers(t, name, d.path) {
					intended, met[i] = true, true
				}
			}
			if !intended {
				t.Errorf("%s: %s\nours:      %.600s\nreference: %.600s", name, d.path, encode(t, d.ours), encode(t, d.reference))
			}
		}
	}
	compare("surface/tools", ours.arguments(t), reference.arguments(t))
	for _, call := range p.surface.comparedCalls {
		if strings.HasPrefix(call.name, "down/") && ours.relay != nil {
			ours.endRelay(t, syscall.SIGTERM)
			reference.endRelay(t, syscall.SIGTERM)
		}
		compare(call.name, ours.answer(t, call), reference.answer(t, call))
	}
	for i, row := range p.surface.intendedDifferences {
		if !met[i] {
			t.Errorf("%s: nothing differs in %s any more", row.calls, row.paths)
		}
	}
}

// A side of the comparison is a server and the world it is in.
type side struct {
	*world
	*client
	stranger *client // for no session
	choice   string  // the decision that waited last
}

// newSide starts a world and the server that the program is with its first arguments.
func (p programs) newSide(t *testing.T, program string, args ...string) *side {
	t.Helper()
	w := p.start(t)
	start := func(flags []string) *client {
		return connectTo(t, referenceRevision, w.command(program, slices.Concat(args, flags)...))
	}
	return &side{world: w, client: start(w.serverFlags("demo", "alpha")), stranger: start(w.roots())}
}

// answer makes a call as often as it wants to be made. The answer has the members result and structured, or
// the member error.
func (s *side) answer(t *testing.T, call comparedCall) object {
	t.Helper()
	values := strings.NewReplacer("${root}", s.root, "${choice}", s.choice)
	params := &mcp.CallToolParams{Name: call.tool, Arguments: json.RawMessage(values.Replace(call.args))}
	session := s.session
	if strings.HasPrefix(call.name, "unassociated/") {
		session = s.stranger.session
	}
	var answer object
	eventually(t, call.name, func() bool {
		answer = object{}
		result, err := session.CallTool(t.Context(), params)
		if e, ok := errors.AsType[*jsonrpc.Error](err); ok {
			answer["error"] = object{"code": e.Code, "message": e.Message, "data": decode(t, e.Data)}
		} else if err != nil {
			t.Fatalf("%s: %v", call.name, err)
		} else {
			answer["result"] = decode(t, []byte(result.Content[0].(*mcp.TextContent).Text))
			answer["structured"] = result.StructuredContent
		}
		return call.wait == nil || call.wait(answer)
	})
	result, _ := answer["result"].(object)
	if pending, _ := result["pending_requests"].([]any); len(pending) > 0 {
		s.choice = pending[0].(object)[s.surface.choice].(string)
	}
	return answer
}

// arguments are those of each tool, and which of them are required.
func (s *side) arguments(t *testing.T) object {
	t.Helper()
	listed, err := s.session.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	surface := object{}
	for _, tool := range listed.Tools {
		schema := tool.InputSchema.(object)
		properties, _ := schema["properties"].(object)
		surface[tool.Name] = object{
			"arguments": slices.Sorted(maps.Keys(properties)),
			"required":  schema["required"],
		}
	}
	return surface
}

// decode decodes JSON; none is null.
func decode(t *testing.T, text []byte) (value any) {
	t.Helper()
	if len(text) == 0 {
		return nil
	}
	if err := json.Unmarshal(text, &value); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return value
}

// covers reports whether the row is about what differs at a path in the answer to a call.
func (d difference) covers(t *testing.T, call, at string) bool {
	t.Helper()
	called := slices.ContainsFunc(strings.Split(d.calls, "|"), func(pattern string) bool {
		matches, err := path.Match(pattern, call)
		if err != nil {
			t.Fatalf("%s: %v", pattern, err)
		}
		return matches
	})
	return called && slices.ContainsFunc(strings.Split(d.paths, "|"), func(path string) bool {
		return at == path || strings.HasPrefix(at, path+".")
	})
}

// A divergence is a place where two JSON values are not equal.
type divergence struct {
	path            string // keys and indices, with dots between them
	ours, reference any
}

// absent stands for a member that one of two objects lacks, which is not the same as null.
const absent = "(absent)"

func differences(at string, ours, reference any) []divergence {
	members, those := membersOf(ours), membersOf(reference)
	if members == nil || those == nil || reflect.TypeOf(ours) != reflect.TypeOf(reference) {
		if reflect.DeepEqual(ours, reference) {
			return nil
		}
		return []divergence{{at, ours, reference}}
	}
	for key := range those {
		if _, ok := members[key]; !ok {
			members[key] = absent
		}
	}
	var found []divergence
	for _, key := range slices.Sorted(maps.Keys(members)) {
		that, ok := those[key]
		if !ok {
			that = absent
		}
		found = append(found, differences(strings.TrimPrefix(at+"."+key, "."), members[key], that)...)
	}
	return found
}

// membersOf returns the members of an object, or the elements of an array by their index, in a map of their
// own; nil if v is neither.
func membersOf(v any) object {
	switch v := v.(type) {
	case object:
		return maps.Clone(v)
	case []any:
		members := object{}
		for i, element := range v {
			members[strconv.Itoa(i)] = element
		}
		return members
	default:
		return nil
	}
}
