package command

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/agentmux/agentmux-go/wire"
)

// A stop of the tour is one call.
type stop struct {
	says string
	tool string
	args string                                  // JSON; "%s" is what the stop before it found
	find func(answer map[string]any) (id string) // for the next stop; may be nil
}

var stops = []stop{
	{says: "Who is there?", tool: "list", args: `{"command":"principals"}`},
	{says: "What does the builder's screen show?", tool: "look", args: `{"target_session":"builder@demo"}`},
	{says: "Tell the reviewer about the warning.", tool: "send", args: `{"message":"lexer.c:88 has an unused variable.","targets":["reviewer"]}`},
	{says: "Did it arrive?", tool: "look", args: `{"target_session":"reviewer@demo","lines":2}`},
	{says: "Does anybody wait for a decision?", tool: "list", args: `{"command":"decisions"}`, find: firstDecision},
	{says: "Take it.", tool: "choose", args: `{"choice_request_id":"%s","outcome":"selected","option_id":"allow-once"}`},
	{says: "Type a command into the tester's terminal.", tool: "raww", args: `{"target_session":"tester@demo","text":"make test"}`},
	{says: "Stop the bundle.", tool: "updown", args: `{"command":"down"}`},
	{says: "Start it again.", tool: "updown", args: `{"command":"up"}`},
	{says: "Register a principal.", tool: "new", args: `{"command":"peer","args":{"principal_id":"bob@GLOBAL"}}`},
	{says: "Change its key.", tool: "change", args: `{"command":"psk","args":{"principal_id":"bob@GLOBAL"}}`},
	{says: "Make a mistake on purpose.", tool: "look", args: `{"target_session":"builder@demo","lines":"40","colour":true}`},
	{says: "Ask for help.", tool: "help", args: `{"query":"look"}`},
}

func firstDecision(answer map[string]any) string {
	pending, _ := answer["pending_requests"].([]any)
	if len(pending) == 0 {
		return ""
	}
	first, _ := pending[0].(map[string]any)
	id, _ := first["choice_request_id"].(string)
	return id
}

// tour starts the server and a sample relay, calls the tools as an MCP client, and shows calls and answers.
func tour(ctx context.Context, out io.Writer) error {
	fmt.Fprint(out, "You are session \"you\" of bundle \"demo\". Server, client and relay all live in this process.\n"+
		"Each step is one MCP tool call (->) and what it returns (<-).\n")
	cfg, end := options{}.demoConfig(ctx, io.Discard)
	defer end()
	fromClient, toServer := io.Pipe()
	fromServer, toClient := io.Pipe()
	served := make(chan error, 1)
	go func() {
		served <- converse(ctx, cfg, fromClient, toClient)
		toClient.Close()
	}()

	client := mcp.NewClient(&mcp.Implementation{Name: "agentmux-mcp-demo", Version: version()}, nil)
	session, err := client.Connect(ctx, &mcp.IOTransport{Reader: fromServer, Writer: toServer}, nil)
	if err != nil {
		return err
	}
	found := ""
	for i, s := range stops {
		args := strings.Replace(s.args, "%s", found, 1)
		fmt.Fprintf(out, "\n%d. %s\n-> %s %s\n", i+1, s.says, s.tool, args)
		answer, err := visit(ctx, session, s.tool, args)
		if err != nil {
			return fmt.Errorf("step %d: %w", i+1, err)
		}
		fmt.Fprintf(out, "<- %s\n", layOut(answer, "   "))
		if object, ok := answer.(map[string]any); ok && s.find != nil {
			found = s.find(object)
		}
	}
	if err := session.Close(); err != nil {
		return err
	}
	return <-served
}

// visit calls a tool and returns what it answers, be it an error.
func visit(ctx context.Context, session *mcp.ClientSession, tool, args string) (any, error) {
	result, err := session.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: json.RawMessage(args)})
	if refusal, ok := errors.AsType[*jsonrpc.Error](err); ok {
		return decode(refusal.Data)
	}
	if err != nil {
		return nil, err
	}
	text, ok := result.Content[0].(*mcp.TextContent)
	if !ok {
		return nil, fmt.Errorf("%s returned content of type %T", tool, result.Content[0])
	}
	return decode([]byte(text.Text))
}

func decode(data []byte) (any, error) {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	var v any
	err := dec.Decode(&v)
	return v, err
}

// lineWidth is what a line of the tour may take.
const lineWidth = 100

// layOut writes a JSON value over as many lines as it needs, those after the first behind indent. Keys are
// masked: the ones made here are worth nothing, but nobody should get used to seeing them.
func layOut(v any, indent string) string {
	if object, ok := v.(map[string]any); ok && object["psk"] != nil {
		object["psk"] = wire.SecretMask
	}
	var flat bytes.Buffer
	enc := json.NewEncoder(&flat)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return err.Error()
	}
	if flat.Len() <= lineWidth-len(indent) {
		return strings.TrimSpace(flat.String())
	}
	inner := indent + "  "
	var lines []string
	switch v := v.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			lines = append(lines, fmt.Sprintf("%q: %s", key, layOut(v[key], inner)))
		}
		return "{\n" + inner + strings.Join(lines, ",\n"+inner) + "\n" + indent + "}"
	case []any:
		for _, element := range v {
			lines = append(lines, layOut(element, inner))
		}
		return "[\n" + inner + strings.Join(lines, ",\n"+inner) + "\n" + indent + "]"
	default:
		return strings.TrimSpace(flat.String())
	}
}
