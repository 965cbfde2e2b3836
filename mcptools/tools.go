package mcptools

import (
	"context"
	"encoding/json"
	"errors"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Tools is the surface of one MCP server.
type Tools struct {
	cfg    Config
	tools  []tool
	events *eventLog
}

// New returns the tools. The caller ends them with [Tools.Close].
func New(cfg Config) *Tools {
	if cfg.Inscribe == nil {
		cfg.Inscribe = func(string, map[string]any) {}
	}
	if cfg.Surface == nil {
		cfg.Surface = Surface08
	}
	t := &Tools{cfg: cfg, events: newEventLog(cfg.Inscribe, cfg.Surface.scope)}
	t.tools = cfg.Surface.tools(t)
	return t
}

// Close waits for what the tools started. The server must be done with them.
func (t *Tools) Close() { t.events.close() }

// Server returns an MCP server that offers the tools. Its instructions tell who it is now.
func (t *Tools) Server(ctx context.Context) *mcp.Server {
	server := mcp.NewServer(
		&mcp.Implementation{Name: "agentmux-mcp", Title: "agentmux: work with other coding agents", Version: t.cfg.Version},
		&mcp.ServerOptions{
			Instructions: t.cfg.Surface.instructions(t.cfg.Standing(ctx)),
			Capabilities: &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{}},
		})
	for i := range t.tools {
		server.AddTool(t.tools[i].declaration(), t.handler(&t.tools[i]))
	}
	server.AddReceivingMiddleware(t.inOrder)
	return server
}

// declaration is the tool as tools/list shows it.
func (t *tool) declaration() *mcp.Tool {
	openWorld := false
	return &mcp.Tool{
		Name:        t.name,
		Title:       t.title,
		Description: t.description,
		Annotations: &mcp.ToolAnnotations{
			Title:           t.title,
			ReadOnlyHint:    t.hints.readOnly,
			DestructiveHint: &t.hints.destructive,
			IdempotentHint:  t.hints.idempotent,
			OpenWorldHint:   &openWorld,
		},
		InputSchema:  encode(t.envelope().schema(t.open)),
		OutputSchema: encode(object(true, nil, t.output)),
	}
}

// inOrder lists the tools in the order of the catalogue, where the SDK sorts them by name.
func (t *Tools) inOrder(next mcp.MethodHandler) mcp.MethodHandler {
	rank := func(listed *mcp.Tool) int {
		return slices.IndexFunc(t.tools, func(tool tool) bool { return tool.name == listed.Name })
	}
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		res, err := next(ctx, method, req)
		if list, ok := res.(*mcp.ListToolsResult); ok && err == nil {
			slices.SortFunc(list.Tools, func(a, b *mcp.Tool) int { return rank(a) - rank(b) })
		}
		return res, err
	}
}

func (t *Tools) handler(tool *tool) mcp.ToolHandler {
	return func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		a, refusal := t.call(ctx, tool, req.Params.Arguments)
		switch {
		case refusal == nil:
			return contentOf(a), nil
		case t.asResult(req):
			return refusal.asResult(), nil
		default:
			return nil, refusal.asError()
		}
	}
}

// firstWithResults is the first revision of MCP that wants the faults of a tool's caller as tool results.
const firstWithResults = "2026-07-28"

// asResult reports whether a failure of req is to be a tool result. The revision is the request's own: those
// that have a handshake never negotiate one that wants results, whatever the client proposed in it.
func (t *Tools) asResult(req *mcp.CallToolRequest) bool {
	switch t.cfg.Errors {
	case ErrorsProtocol:
		return false
	case ErrorsResult:
		return true
	default:
		revision, _ := req.Params.GetMeta()[mcp.MetaKeyProtocolVersion].(string)
		return revision >= firstWithResults
	}
}

// call does one call in the order of work: arguments, then the request's inscription, then the
// sender, then the rest. Every request that was inscribed gets exactly one ending.
func (t *Tools) call(ctx context.Context, tool *tool, arguments json.RawMessage) (a json.RawMessage, refusal *Refusal) {
	var standing Standing
	ending := func(string, map[string]any) {}
	done := func() {}
	defer func() { done() }()
	err := catch(func() error {
		work, err := tool.resolve(arguments)
		if err != nil {
			return err
		}
		standing = t.cfg.Standing(ctx)
		if work.prefix != "" {
			t.cfg.Inscribe(work.prefix+".request", work.request(standing))
			ending = func(event string, details map[string]any) { t.cfg.Inscribe(work.prefix+"."+event, details) }
			if standing.Relay != nil {
				done = t.events.during(standing)
			}
			if err := senderCheck(standing); err != nil {
				return err
			}
		}
		object, success, err := work.run(ctx, standing)
		if err != nil {
			return err
		}
		a = object.encode()
		ending("success", success)
		return nil
	})
	if err == nil {
		return a, nil
	}
	if cause := context.Cause(ctx); cause != nil && errors.Is(err, cause) {
		err = context.Canceled // be it by the client or because the client has gone
	}
	if p, ok := errors.AsType[*panicError](err); ok {
		t.printStack(tool.name, p)
	}
	refusal = t.cfg.Surface.refusalOf(err, standing)
	ending(endingOf(err, refusal))
	return nil, refusal
}

// senderCheck refuses what an unassociated server can't do.
func senderCheck(s Standing) error {
	switch {
	case s.Fault != nil:
		return s.Fault
	case s.Session != "":
		return nil
	}
	const message = "this server is not associated with a session of a bundle, so it has nobody to act for"
	if s.Reason == "" {
		return refuse(CodeUnknownSender, message+": start it in a session's directory, or name the session with --bundle and --session-name", nil)
	}
	return refuse(CodeUnknownSender, message+": "+s.Reason, map[string]any{"reason": s.Reason})
}
