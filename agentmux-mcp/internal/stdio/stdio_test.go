package stdio_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/agentmux/agentmux-go/agentmux-mcp/internal/stdio"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	initialize = `{"jsonrpc":"2.0","id":"init","method":"initialize","params":{"protocolVersion":"2025-06-18",` +
		`"capabilities":{},"clientInfo":{"name":"t","version":"0"}}}`
	initialized = `{"jsonrpc":"2.0","method":"notifications/initialized"}`
	ping        = `{"jsonrpc":"2.0","id":"p","method":"ping"}`
	pong        = `{"jsonrpc":"2.0","id":"p","result":{}}`
)

// inBubble runs a test that fails at once, instead of hanging, when an answer does not come.
func inBubble(t *testing.T, name string, test func(t *testing.T)) {
	t.Helper()
	t.Run(name, func(t *testing.T) { synctest.Test(t, test) })
}

// A client talks to a server of the SDK through the transport.
type client struct {
	t      *testing.T
	in     *io.PipeWriter
	out    *bufio.Reader
	ended  <-chan error // what Server.Run returned
	cancel context.CancelFunc

	waiting chan string   // names of the calls of the tool "wait" that have started
	release chan struct{} // ends one of them
	given   chan string   // and of those whose context was cancelled
}

// connect starts a server. The tool "wait" answers when it is released or cancelled, "fail" with
// the error of its arguments.
func connect(t *testing.T, transport stdio.Transport, configure ...func(*mcp.Server)) *client {
	t.Helper()
	inReader, inWriter := io.Pipe()
	outReader, outWriter := io.Pipe()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	c := &client{
		t: t, in: inWriter, out: bufio.NewReader(outReader), ended: ended, cancel: cancel,
		waiting: make(chan string, 100), release: make(chan struct{}), given: make(chan string, 100),
	}
	if transport.Reader == nil {
		transport.Reader = inReader
	}
	if transport.Writer == nil {
		transport.Writer = outWriter
	}
	t.Cleanup(func() {
		cancel()
		outReader.Close()
		inWriter.Close()
	})
	server := c.server()
	for _, configure := range configure {
		configure(server)
	}
	go func() {
		err := server.Run(ctx, &transport)
		outWriter.Close()
		ended <- err
	}()
	return c
}

func (c *client) server() *mcp.Server {
	server := mcp.NewServer(&mcp.Implementation{Name: "test", Version: "0"},
		&mcp.ServerOptions{Capabilities: &mcp.ServerCapabilities{
			Tools:   &mcp.ToolCapabilities{},
			Prompts: &mcp.PromptCapabilities{ListChanged: true}, // something to subscribe to
		}})
	schema := map[string]any{"type": "object"}
	server.AddTool(&mcp.Tool{Name: "wait", InputSchema: schema},
		func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			name := string(r.Params.Arguments)
			c.waiting <- name
			select {
			case <-c.release:
			case <-ctx.Done():
				c.given <- name
			}
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: name}}}, nil
		})
	server.AddTool(&mcp.Tool{Name: "fail", InputSchema: schema},
		func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			var e jsonrpc.Error
			if err := json.Unmarshal(r.Params.Arguments, &e); err != nil {
				return nil, err
			}
			if e.Message == "broken data" {
				e.Data = json.RawMessage("{")
			}
			return nil, &e
		})
	return server
}

// initializedClient returns a client after the handshake.
func initializedClient(t *testing.T, transport stdio.Transport, configure ...func(*mcp.Server)) *client {
	t.Helper()
	c := connect(t, transport, configure...)
	c.send(initialize)
	if got := c.receive(); !strings.HasPrefix(got, `{"jsonrpc":"2.0","id":"init","result":{`) {
		t.Fatalf("initialize: %s", got)
	}
	c.send(initialized)
	return c
}

func (c *client) send(lines ...string) {
	c.t.Helper()
	for _, line := range lines {
		if _, err := io.WriteString(c.in, line+"\n"); err != nil {
			c.t.Fatalf("send %.100s: %v", line, err)
		}
	}
}

func (c *client) receive() string {
	c.t.Helper()
	line, err := c.out.ReadString('\n')
	if err != nil {
		c.t.Fatalf("receive: %q, %v", line, err)
	}
	return strings.TrimSuffix(line, "\n")
}

func (c *client) expect(want ...string) {
	c.t.Helper()
	for _, want := range want {
		if got := c.receive(); got != want {
			c.t.Fatalf("got  %s\nwant %s", got, want)
		}
	}
}

// rest returns what is left of the output, and what Server.Run returned.
func (c *client) rest() ([]string, error) {
	c.t.Helper()
	text, err := io.ReadAll(c.out)
	if err != nil {
		c.t.Fatal(err)
	}
	return strings.Split(strings.TrimSuffix(string(text), "\n"), "\n"), <-c.ended
}

func wait(id, name string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{"name":"wait","arguments":%s}}`, id, name)
}

func waited(id, name string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"%s"}]}}`, id, name)
}

func cancelled(id string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%s,"reason":7}}`, id)
}

func refused(code int, id, message string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":%q}}`, id, code, message)
}
