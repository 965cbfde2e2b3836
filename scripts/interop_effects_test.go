package scripts_test

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"
)

// typed is everything that was typed into bravo's terminal.
func (w *world) typed(t *testing.T) string {
	t.Helper()
	return w.read(t, "typed")
}

// A prompted is what reached the agent: a prompt, or the outcome of its request for permission.
type prompted struct {
	Prompt  *string
	Outcome object
}

// agentRecord is everything that reached the agent.
func (w *world) agentRecord(t *testing.T) []prompted {
	t.Helper()
	return readLines[prompted](t, w.read(t, "prompts"))
}

// An inscription is one record of the server's event log.
type inscription struct {
	Event   string
	Details object
}

// inscriptions are the records of an event that the server of a session wrote.
func (w *world) inscriptions(t *testing.T, session, event string) []inscription {
	t.Helper()
	var found []inscription
	log := w.read(t, "state", "inscriptions", "bundles", "demo", "sessions", session, "mcp.log")
	for _, i := range readLines[inscription](t, log) {
		if i.Event == event {
			found = append(found, i)
		}
	}
	return found
}

// readLines decodes lines of JSON; one that is still being written is left out.
func readLines[T any](t *testing.T, text string) []T {
	t.Helper()
	var values []T
	for line := range bytes.Lines([]byte(text)) {
		if !bytes.HasSuffix(line, []byte("\n")) {
			break
		}
		var v T
		if err := json.Unmarshal(line, &v); err != nil {
			t.Fatalf("%.200s: %v", line, err)
		}
		values = append(values, v)
	}
	return values
}

// awaitTyped waits until text has been typed into bravo's terminal, last of all.
func (w *world) awaitTyped(t *testing.T, text string) {
	t.Helper()
	eventually(t, "bravo's terminal gets "+text, func() bool { return strings.HasSuffix(w.typed(t), text) })
}

// awaitMessage waits until a message has been typed into bravo's terminal.
func (w *world) awaitMessage(t *testing.T, message string) {
	t.Helper()
	eventually(t, "bravo's terminal gets "+message, func() bool { return strings.Contains(w.typed(t), "\n\n"+message+"\n--agentmux-") })
}

// awaitPrompt waits for a prompt that contains text, and returns it.
func (w *world) awaitPrompt(t *testing.T, text string) string {
	t.Helper()
	var prompt string
	eventually(t, "the agent is told "+text, func() bool {
		for _, p := range w.agentRecord(t) {
			if p.Prompt != nil && strings.Contains(*p.Prompt, text) {
				prompt = *p.Prompt
				return true
			}
		}
		return false
	})
	return prompt
}

// awaitOutcome waits until the last that the agent learned is the outcome of its request for permission.
func (w *world) awaitOutcome(t *testing.T, outcome object) {
	t.Helper()
	eventually(t, "the agent learns the outcome", func() bool {
		record := w.agentRecord(t)
		return len(record) > 0 && reflect.DeepEqual(record[len(record)-1].Outcome, outcome)
	})
}

// awaitDecision waits until one decision is pending, as the call says that asks for them, and returns it.
func (c *client) awaitDecision(t *testing.T, decisions toolCall) object {
	t.Helper()
	var decision object
	eventually(t, "a decision is pending", func() bool {
		pending := c.ask(t, decisions)["pending_requests"].([]any)
		if len(pending) != 1 {
			return false
		}
		decision = pending[0].(object)
		return true
	})
	return decision
}
