// Acpagent is a small agent of the Agent Client Protocol, for tests: a relay starts it as it would a coding
// agent. It takes note of each prompt, calls a tool where the prompt says [workWord], asks for permission where
// it says [askWord], and keeps a record of what reached it, since what arrives at an agent is what the tests are
// about.
//
// Usage: acpagent RECORD, where RECORD is the file that the record is appended to.
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
)

// Words in a prompt.
const (
	askWord  = "ask for permission" // makes the agent ask before it ends its turn
	workWord = "run the tests"      // makes the agent call a tool, and plan
)

// A record is one line of the record: a prompt, or the outcome of a request for permission.
type record struct {
	Prompt  *string         `json:"prompt,omitempty"`
	Outcome json.RawMessage `json:"outcome,omitempty"`
}

// A message is one line of JSON-RPC, in either direction: a request, a notification or a response.
type message struct {
	JSONRPC string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  json.RawMessage `json:"params,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   *rpcError       `json:"error,omitempty"`
}

type rpcError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

// object is a JSON object that is written once and never read.
type object map[string]any

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: acpagent RECORD")
		os.Exit(2)
	}
	recorded, err := os.OpenFile(os.Args[1], os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err == nil {
		err = (&agent{out: os.Stdout, recorded: recorded}).serve(os.Stdin)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "acpagent:", err)
		os.Exit(1)
	}
}

// An agent speaks with one client.
type agent struct {
	out      io.Writer
	recorded io.Writer
	sessions int             // made so far
	asked    int             // requests for permission made so far
	waiting  json.RawMessage // id of the prompt that waits for permission; nil: none
}

// serve answers what the client says until it hangs up.
func (a *agent) serve(in io.Reader) error {
	lines := bufio.NewReader(in)
	for {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		var m message
		if err := json.Unmarshal(line, &m); err != nil {
			return err
		}
		if err := a.handle(m); err != nil {
			return fmt.Errorf("%s: %w", m.Method, err)
		}
	}
}

func (a *agent) handle(m message) error {
	switch m.Method {
	case "initialize":
		return a.result(m.ID, object{
			"protocolVersion": 1,
			"agentCapabilities": object{
				"loadSession":        true,
				"promptCapabilities": object{"image": false, "audio": false, "embeddedContext": false},
			},
			"authMethods": []any{},
		})
	case "session/new":
		a.sessions++
		return a.result(m.ID, object{"sessionId": fmt.Sprintf("session-%d", a.sessions)})
	case "session/load":
		return a.result(m.ID, object{})
	case "session/prompt":
		return a.prompt(m)
	case "": // the answer to the one kind of request that the agent makes
		return a.decided(m.Result)
	default:
		if m.ID == nil { // a notification
			return nil
		}
		return a.write(message{ID: m.ID, Error: &rpcError{Code: -32601, Message: "no such method"}})
	}
}

func (a *agent) prompt(m message) error {
	var params struct {
		SessionID string `json:"sessionId"`
		Prompt    []struct {
			Text string `json:"text"`
		} `json:"prompt"`
	}
	if err := json.Unmarshal(m.Params, &params); err != nil {
		return err
	}
	var text strings.Builder
	for _, block := range params.Prompt {
		text.WriteString(block.Text)
	}
	prompt := text.String()
	if err := a.keep(record{Prompt: &prompt}); err != nil {
		return err
	}
	updates := []object{{"sessionUpdate": "agent_thought_chunk", "content": object{"type": "text", "text": "What was I told?"}}}
	if strings.Contains(prompt, workWord) {
		updates = append(updates,
			object{"sessionUpdate": "tool_call", "toolCallId": "work", "title": "Run tests", "kind": "execute", "status": "pending", "rawInput": object{"command": "make test"}},
			object{"sessionUpdate": "tool_call_update", "toolCallId": "work", "status": "completed", "rawOutput": object{"ok": true}},
			object{"sessionUpdate": "plan", "entries": []object{{"content": "go on", "priority": "high", "status": "pending"}}})
	}
	updates = append(updates, object{"sessionUpdate": "agent_message_chunk", "content": object{"type": "text", "text": "Noted."}})
	for _, update := range updates {
		if err := a.notify("session/update", object{"sessionId": params.SessionID, "update": update}); err != nil {
			return err
		}
	}
	if !strings.Contains(prompt, askWord) {
		return a.endTurn(m.ID)
	}
	a.asked++
	a.waiting = m.ID
	return a.send(message{ID: encode(a.asked), Method: "session/request_permission"}, object{
		"sessionId": params.SessionID,
		"toolCall":  object{"toolCallId": fmt.Sprintf("call-%d", a.asked), "title": "delete everything", "kind": "delete", "status": "pending"},
		"options": []object{
			{"optionId": "yes-once", "name": "Yes, once", "kind": "allow_once"},
			{"optionId": "no", "name": "No", "kind": "reject_once"},
		},
	})
}

// decided ends the turn that waited for permission.
func (a *agent) decided(result json.RawMessage) error {
	var decision struct {
		Outcome json.RawMessage `json:"outcome"`
	}
	if err := json.Unmarshal(result, &decision); err != nil {
		return err
	}
	if err := a.keep(record{Outcome: decision.Outcome}); err != nil {
		return err
	}
	prompt := a.waiting
	a.waiting = nil
	return a.endTurn(prompt)
}

func (a *agent) endTurn(prompt json.RawMessage) error {
	return a.result(prompt, object{"stopReason": "end_turn"})
}

func (a *agent) result(id json.RawMessage, result object) error {
	return a.write(message{ID: id, Result: encode(result)})
}

func (a *agent) notify(method string, params object) error {
	return a.send(message{Method: method}, params)
}

func (a *agent) send(m message, params object) error {
	m.Params = encode(params)
	return a.write(m)
}

func (a *agent) write(m message) error {
	m.JSONRPC = "2.0"
	_, err := a.out.Write(append(encode(m), '\n'))
	return err
}

// keep appends to the record, one write a line.
func (a *agent) keep(r record) error {
	_, err := a.recorded.Write(append(encode(r), '\n'))
	return err
}

// encode makes JSON of what always can be made JSON of.
func encode(v any) json.RawMessage {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return raw
}
