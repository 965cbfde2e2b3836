package mcptools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// The last revision with a handshake, and the first without one.
const (
	handshaken = "2025-11-25"
	stateless  = "2026-07-28"
)

// connect returns a client that speaks a revision of the protocol.
func (s *surface) connect(t testing.TB, revision string) *mcp.ClientSession {
	t.Helper()
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	session, err := client.Connect(t.Context(), s.serve(t), &mcp.ClientSessionOptions{ProtocolVersion: revision})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = session.Close() })
	if got := session.InitializeResult().ProtocolVersion; got != revision {
		t.Fatalf("the session speaks %s, want %s", got, revision)
	}
	return session
}

// serve runs the server for one client and returns the client's end.
func (s *surface) serve(t testing.TB) mcp.Transport {
	t.Helper()
	ours, theirs := mcp.NewInMemoryTransports()
	// The test's own context ends before its cleanups, and would take the session with it.
	session, err := s.Server(t.Context()).Connect(context.WithoutCancel(t.Context()), ours, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = session.Close()
		_ = session.Wait()
	})
	return theirs
}

// callTool calls a tool with arguments that are JSON text.
func callTool(t testing.TB, session *mcp.ClientSession, name, arguments string) (*mcp.CallToolResult, error) {
	t.Helper()
	return session.CallTool(t.Context(), &mcp.CallToolParams{Name: name, Arguments: json.RawMessage(arguments)})
}

// textOf returns the one text of a result.
func textOf(t testing.TB, result *mcp.CallToolResult) string {
	t.Helper()
	if len(result.Content) != 1 {
		t.Fatalf("got %d contents, want one", len(result.Content))
	}
	text, ok := result.Content[0].(*mcp.TextContent)
	if !ok {
		t.Fatalf("got content of type %T, want text", result.Content[0])
	}
	return text.Text
}

// rpcError returns err as the JSON-RPC error that it must be.
func rpcError(t testing.TB, err error) *jsonrpc.Error {
	t.Helper()
	e, ok := errors.AsType[*jsonrpc.Error](err)
	if !ok {
		t.Fatalf("got %v, want a JSON-RPC error", err)
	}
	return e
}

// A rawClient exchanges JSON-RPC messages as they are on the wire, one at a time.
type rawClient struct {
	conn mcp.Connection
	id   int
}

func (s *surface) connectRaw(t testing.TB) *rawClient {
	t.Helper()
	conn, err := s.serve(t).Connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return &rawClient{conn: conn}
}

// ask sends a request and returns its response.
func (c *rawClient) ask(t testing.TB, method, params string) *jsonrpc.Response {
	t.Helper()
	c.id++
	c.write(t, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"%s","params":%s}`, c.id, method, params))
	msg, err := c.conn.Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	response, ok := msg.(*jsonrpc.Response)
	if !ok {
		t.Fatalf("got a message of type %T, want a response", msg)
	}
	return response
}

func (c *rawClient) write(t testing.TB, text string) {
	t.Helper()
	msg, err := jsonrpc.DecodeMessage([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if err := c.conn.Write(t.Context(), msg); err != nil {
		t.Fatal(err)
	}
}

// initialize makes the handshake and returns the server's side of it.
func (c *rawClient) initialize(t testing.TB, revision string) *mcp.InitializeResult {
	t.Helper()
	response := c.ask(t, "initialize", `{"protocolVersion":"`+revision+`","capabilities":{},"clientInfo":{"name":"test","version":"1"}}`)
	var result mcp.InitializeResult
	if err := json.Unmarshal(response.Result, &result); err != nil {
		t.Fatal(err)
	}
	c.write(t, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	return &result
}
