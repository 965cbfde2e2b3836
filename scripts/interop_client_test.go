package scripts_test

import (
	"bytes"
	"encoding/json"
	"os/exec"
	"reflect"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// An object is a JSON object.
type object = map[string]any

// A client is an MCP client with a server of its own.
type client struct {
	session *mcp.ClientSession // nil when closed
	server  *exec.Cmd
}

// Revisions of MCP.
const (
	newestRevision    = ""           // that the SDK knows: a tool's error is a result
	referenceRevision = "2025-06-18" // the reference ends when it is asked for a newer one's server/discover
)

// connect starts agentmux-mcp for a session of bundle demo. It ends with t.
func (w *world) connect(t *testing.T, session string) *client {
	t.Helper()
	return w.connectFor(t, "demo", session)
}

// connectFor starts agentmux-mcp for a session of a bundle.
func (w *world) connectFor(t *testing.T, bundle, session string) *client {
	t.Helper()
	return connectTo(t, newestRevision, w.command(w.server, append(w.serverFlags(bundle, session), w.surface.flags...)...))
}

// serverFlags are the flags that ours and the reference take.
func (w *world) serverFlags(bundle, session string) []string {
	return append(w.roots(), "--bundle", bundle, "--session-name", session)
}

// connectTo starts an MCP server.
func connectTo(t *testing.T, revision string, server *exec.Cmd) *client {
	t.Helper()
	var stderr bytes.Buffer
	server.Stderr = &stderr
	connection, err := mcp.NewClient(&mcp.Implementation{Name: "interop", Version: "1"}, nil).
		Connect(t.Context(), &mcp.CommandTransport{Command: server}, &mcp.ClientSessionOptions{ProtocolVersion: revision})
	if err != nil {
		t.Fatalf("%v: %v\n%s", server, err, &stderr)
	}
	c := &client{connection, server}
	t.Cleanup(func() {
		c.close(t)
		if t.Failed() && stderr.Len() > 0 {
			t.Logf("%v printed:\n%s", server, &stderr)
		}
	})
	return c
}

// close ends the server's input, and makes sure that the server ends well. It may be called again.
func (c *client) close(t *testing.T) {
	t.Helper()
	if c.session == nil {
		return
	}
	if err := c.session.Close(); err != nil {
		t.Errorf("%v ended: %v", c.server, err)
	}
	c.session = nil
}

// call calls a tool that must answer.
func (c *client) call(t *testing.T, tool string, args object) object {
	t.Helper()
	answer, refused := c.result(t, tool, args)
	if refused {
		t.Fatalf("%s %.200v: refused with %v", tool, args, answer)
	}
	return answer
}

// ask is call.
func (c *client) ask(t *testing.T, call toolCall) object {
	t.Helper()
	return c.call(t, call.tool, call.args)
}

// refused calls a tool that must refuse, with a code. It returns the refusal: code, message and details.
func (c *client) refused(t *testing.T, code, tool string, args object) object {
	t.Helper()
	answer, refused := c.result(t, tool, args)
	if !refused || answer["code"] != code {
		t.Fatalf("%s %.200v: got %v, want it refused with %s", tool, args, answer, code)
	}
	return answer
}

// result calls a tool, and reports what it answers and whether that is a refusal. The SDK speaks the newest
// revision of the protocol, so that a refusal is a result too.
func (c *client) result(t *testing.T, tool string, args object) (answer object, refused bool) {
	t.Helper()
	result, err := c.session.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		t.Fatalf("%s %.200v: %v", tool, args, err)
	}
	text, ok := result.Content[0].(*mcp.TextContent)
	if !ok || len(result.Content) != 1 {
		t.Fatalf("%s %.200v: got %+v, want one text", tool, args, result)
	}
	if err := json.Unmarshal([]byte(text.Text), &answer); err != nil {
		t.Fatalf("%s %.200v: %v", tool, args, err)
	}
	if !reflect.DeepEqual(any(answer), result.StructuredContent) {
		t.Errorf("%s %.200v: text and structured content differ:\n%v\n%v", tool, args, answer, result.StructuredContent)
	}
	return answer, result.IsError
}
