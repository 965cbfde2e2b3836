package mcptools

import (
	"encoding/json"
	"maps"
	"slices"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func TestServerSaysWhoItIs(t *testing.T) {
	eachGeneration(t, func(t *testing.T, g *generation) {
		for _, revision := range []string{handshaken, stateless} {
			t.Run(revision, func(t *testing.T) {
				s := newSurface(t, answers(`{}`), of(g.surface))
				result := s.connect(t, revision).InitializeResult()
				if info := result.ServerInfo; info.Name != "agentmux-mcp" || info.Title == "" || info.Version != "1.2.3" {
					t.Errorf("server info: got %+v", info)
				}
				if want := g.surface.instructions(associatedWith(s.relay)); result.Instructions != want {
					t.Errorf("instructions:\n got %s\nwant %s", result.Instructions, want)
				}
				sameJSON(t, "capabilities", string(encode(result.Capabilities)), `{"tools":{}}`)
			})
		}
	})
}

func TestToolsAreListedInOrder(t *testing.T) {
	eachGeneration(t, func(t *testing.T, g *generation) {
		for _, revision := range []string{handshaken, stateless} {
			result, err := newSurface(t, answers(`{}`), of(g.surface)).connect(t, revision).ListTools(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			var names []string
			for _, tool := range result.Tools {
				names = append(names, tool.Name)
			}
			sameLines(t, "tools for "+revision, names, g.tools)
		}
	})
}

// A server whose configuration names no surface has that of 0.8.
func TestDefaultSurface(t *testing.T) {
	if s := newSurface(t, answers(`{}`)); s.cfg.Surface != Surface08 {
		t.Errorf("got another surface, whose tools are %v", s.queries())
	}
}

// Clients decide by these hints what to ask their user about, so their values are part of the contract.
func TestAnnotations(t *testing.T) {
	want := map[string]struct{ readOnly, destructive, idempotent bool }{
		"list":   {readOnly: true, idempotent: true},
		"help":   {readOnly: true, idempotent: true},
		"look":   {readOnly: true, idempotent: true},
		"send":   {},
		"new":    {},
		"raww":   {destructive: true},
		"choose": {destructive: true},
		"grant":  {destructive: true},
		"change": {destructive: true},
		"updown": {destructive: true, idempotent: true},
	}
	eachGeneration(t, func(t *testing.T, g *generation) {
		for name, declared := range declarations(t, g) {
			var tool struct {
				Title       string
				Annotations map[string]any
			}
			if err := json.Unmarshal(declared, &tool); err != nil {
				t.Fatal(err)
			}
			if tool.Title == "" || tool.Annotations["title"] != tool.Title {
				t.Errorf("%s: the titles are %q and %q, want one for both", name, tool.Title, tool.Annotations["title"])
			}
			for hint, value := range map[string]bool{
				"readOnlyHint":    want[name].readOnly,
				"destructiveHint": want[name].destructive,
				"idempotentHint":  want[name].idempotent,
				"openWorldHint":   false,
			} {
				if got := tool.Annotations[hint]; got != value {
					t.Errorf("%s: %s is %v, want %v", name, hint, got, value)
				}
			}
		}
	})
}

// declarations returns each tool as the server lists it, by name.
func declarations(t *testing.T, g *generation) map[string]json.RawMessage {
	t.Helper()
	client := newSurface(t, answers(`{}`), of(g.surface)).connectRaw(t)
	client.initialize(t, handshaken)
	var result struct{ Tools []json.RawMessage }
	if err := json.Unmarshal(client.ask(t, "tools/list", `{}`).Result, &result); err != nil {
		t.Fatal(err)
	}
	tools := make(map[string]json.RawMessage)
	for _, raw := range result.Tools {
		var tool struct{ Name string }
		if err := json.Unmarshal(raw, &tool); err != nil {
			t.Fatal(err)
		}
		tools[tool.Name] = raw
	}
	sameLines(t, "tools", slices.Sorted(maps.Keys(tools)), slices.Sorted(slices.Values(g.tools)))
	return tools
}

// A result holds the same object as text and as structured content. Numbers stay as the relay wrote them,
// and the text holds <, > and & as they are.
func TestResultForm(t *testing.T) {
	response := lookResponse[:len(lookResponse)-1] + `,"numbers":[12345678901234567890,1.0,1e400],"nil":null,"text":"<a> & b"}`
	client := newSurface(t, answers(response)).connectRaw(t)
	client.initialize(t, handshaken)
	result := client.ask(t, "tools/call", `{"name":"look","arguments":{"target_session":"bravo@demo"}}`).Result
	var got struct {
		Content           []struct{ Type, Text string }
		StructuredContent json.RawMessage
		IsError           bool
	}
	if err := json.Unmarshal(result, &got); err != nil {
		t.Fatal(err)
	}
	if len(got.Content) != 1 || got.Content[0].Type != "text" || got.IsError {
		t.Fatalf("got %s, want one text and no error", result)
	}
	const want = `{"captured_at":"2026-01-01T00:00:00.000000001Z","nil":null,"numbers":[12345678901234567890,1.0,1e400],"requester_session":"alpha@demo","schema_version":"1",` +
		`"snapshot_format":"lines","snapshot_lines":["$ <b>","\u001b[31mred"],"target_session":"bravo@demo","text":"<a> & b"}`
	if got.Content[0].Text != want {
		t.Errorf("text:\n got %s\nwant %s", got.Content[0].Text, want)
	}
	sameJSON(t, "structured content", string(got.StructuredContent), want)
}

// A call that waits for the relay holds up no other.
func TestCallsRunSideBySide(t *testing.T) {
	asked, answered := make(chan struct{}), make(chan struct{})
	s := newSurface(t, answering(blocking(asked, answered, lookResponse)))
	session := s.connect(t, handshaken)
	looked := make(chan error)
	go func() {
		_, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "look", Arguments: json.RawMessage(`{"target_session":"bravo@demo"}`)})
		looked <- err
	}()
	<-asked
	if _, err := callTool(t, session, "help", `{}`); err != nil {
		t.Error(err)
	}
	close(answered)
	if err := <-looked; err != nil {
		t.Error(err)
	}
}
