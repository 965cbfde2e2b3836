package scripts_test

import (
	"encoding/json"
	"io"
	"maps"
	"slices"
	"testing"
)

// Codex makes calls on behalf of a front end too, which is us here. What it is asked for is experimental there: a
// later version may know it by other names.
func testCodex(t *testing.T, a agent) {
	a.run(t, "mcp add agentmux -- agentmux-mcp --demo")
	cmd := a.command(t, "app-server")
	in, out := startPiped(t, cmd)
	codex := &appServer{in: json.NewEncoder(in), out: json.NewDecoder(out)}
	codex.ask(t, "initialize", object{"clientInfo": object{"name": "test", "version": "1"}})

	var servers struct {
		Data []struct {
			ServerInfo struct{ Name string }
			Tools      map[string]json.RawMessage
		}
	}
	codex.ask(t, "mcpServerStatus/list", object{})[0].decode(t, &servers)
	if len(servers.Data) != 1 {
		t.Fatalf("got %d servers, want one", len(servers.Data))
	}
	var started struct{ Thread struct{ ID string } }
	codex.ask(t, "thread/start", object{"ephemeral": true})[0].decode(t, &started)
	var calls []object
	for _, call := range clientCalls {
		calls = append(calls, object{
			"threadId": started.Thread.ID, "server": "agentmux", "tool": call.Tool, "arguments": call.Arguments,
		})
	}
	report := clientReport{
		Revision: handshakeRevision, // or an earlier one: Codex does not tell, but their failures are alike
		Server:   servers.Data[0].ServerInfo.Name,
		Tools:    slices.Collect(maps.Keys(servers.Data[0].Tools)),
	}
	for _, response := range codex.ask(t, "mcpServer/tool/call", calls...) {
		report.Outcomes = append(report.Outcomes, response.outcome(t))
	}
	report.check(t, handshakeRevision)

	_ = in.Close()
	_, _ = io.Copy(io.Discard, out)
	if err := cmd.Wait(); err != nil {
		t.Errorf("%v ended: %v", cmd, err)
	}
}

// An appServer is the other end of a conversation with codex app-server.
type appServer struct {
	in   *json.Encoder
	out  *json.Decoder
	last int // id of a request
}

// ask makes requests of one kind, all at once, and returns their responses in the same order.
func (s *appServer) ask(t *testing.T, method string, params ...object) []appResponse {
	t.Helper()
	first := s.last + 1
	for _, p := range params {
		s.last++
		if err := s.in.Encode(object{"id": s.last, "method": method, "params": p}); err != nil {
			t.Fatal(err)
		}
	}
	responses := make([]appResponse, len(params))
	for missing := len(params); missing > 0; {
		var message struct {
			ID     int
			Method string // "" for a response
			appResponse
		}
		if err := s.out.Decode(&message); err != nil {
			t.Fatalf("%s: %v", method, err)
		}
		if message.Method == "" {
			responses[message.ID-first] = message.appResponse
			missing--
		}
	}
	return responses
}

// An appResponse is a response of the app server. One of its members is nil.
type appResponse struct{ Result, Error json.RawMessage }

func (r appResponse) decode(t *testing.T, v any) {
	t.Helper()
	if r.Error != nil {
		t.Fatalf("refused: %s", r.Error)
	}
	if err := json.Unmarshal(r.Result, v); err != nil {
		t.Fatalf("%v in %s", err, r.Result)
	}
}

// outcome is what came of a call, as a [clientReport] has it.
func (r appResponse) outcome(t *testing.T) json.RawMessage {
	t.Helper()
	if r.Error != nil {
		var refusal struct {
			Code int             `json:"code"`
			Data json.RawMessage `json:"data"`
		}
		if err := json.Unmarshal(r.Error, &refusal); err != nil {
			t.Fatalf("%v in %s", err, r.Error)
		}
		return encode(t, object{"error": refusal})
	}
	var result struct{ StructuredContent json.RawMessage }
	r.decode(t, &result)
	return encode(t, object{"answer": result.StructuredContent})
}
