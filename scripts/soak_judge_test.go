package scripts_test

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// judge holds what the client of a call was told against what the relay saw of it, and enters it in the accounts. It
// returns the sort of outcome, and what is wrong with it. l.mu is held.
func (l *soakLedger) judge(c soakCall, o soakOutcome) (outcome string, err error) {
	switch {
	case o.lost != "":
		l.unknown(c.asks)
		return "lost", fmt.Errorf("it got no answer: %s", o.lost)
	case o.cancelled && c.wrong != "":
		return "cancelled", errors.New("a wrong call waited")
	case o.cancelled && c.patience == 0:
		return "cancelled", errors.New("nobody cancelled it")
	case o.cancelled:
		l.unknown(c.asks)
		return "cancelled", nil
	case o.Error == nil:
		return "answered", l.judgeAnswer(c, o.Result)
	default:
		return l.judgeFailure(c, o.Error)
	}
}

// judgeAnswer holds an answer against its call: it has the members that the call's kind gives it, leads back to the
// requests that the call made, and shows no secret but the one that was asked for.
func (l *soakLedger) judgeAnswer(c soakCall, result json.RawMessage) error {
	var r struct {
		StructuredContent map[string]any
		IsError           bool
	}
	if err := json.Unmarshal(result, &r); err != nil {
		return err
	}
	parts := soakParts(c, r.StructuredContent)
	switch {
	case c.wrong != "":
		return errors.New("a wrong call was answered")
	case r.IsError:
		return errors.New("a failure came as a result, in a revision that has errors for it")
	case len(parts) != len(c.asks):
		return fmt.Errorf("it has %d parts", len(parts))
	case strings.Contains(string(result), soakSecret) && !strings.Contains(c.answer, soakSecret):
		return errors.New("it shows a secret")
	}
	want := c.answer
	for i, name := range c.asks {
		serial, ok := parts[i]["serial"].(float64)
		if !ok { // list shows these two though the relay is not there
			l.accounts[name].unknown++
			down := parts[i]["state_reason_code"] == "not_started" || parts[i]["state_reason_code"] == "relay_unavailable"
			if !down || name != "list demo" && name != "list GLOBAL" || "list "+fmt.Sprint(parts[i]["id"]) != name {
				return fmt.Errorf("the relay did not make part %d", i)
			}
			continue
		}
		if err := l.answered(name, int(serial)); err != nil {
			return err
		}
		want = strings.ReplaceAll(want, "SERIAL", strconv.Itoa(int(serial)))
	}
	var members map[string]any
	if err := json.Unmarshal([]byte(want), &members); err != nil {
		return err
	}
	for key, value := range members {
		if got, ok := r.StructuredContent[key]; !ok || got != value {
			return fmt.Errorf("%s is %v, want %v", key, got, value)
		}
	}
	return nil
}

// soakParts are what an answer says of each request that its call made.
func soakParts(c soakCall, answer map[string]any) []map[string]any {
	if c.asks == nil {
		return nil
	}
	if c.log != "mcp.tool.list" {
		return []map[string]any{answer}
	}
	bundles, _ := answer["bundles"].([]any)
	parts := make([]map[string]any, len(bundles))
	for i, bundle := range bundles {
		parts[i], _ = bundle.(map[string]any)
	}
	return parts
}

// soakFailure is the error object of a call that failed. Where the relay answered the call's request, in whatever way,
// one of the serials is there.
type soakFailure struct {
	Code    int
	Message string
	Data    struct {
		Code, Message string
		Details       struct {
			Serial       *int
			RelayDetails struct{ Serial *int } `json:"relay_details"`
			Response     struct{ Serial *int }
		}
	}
}

// judgeFailure holds an error against its call: it says what became of the request.
func (l *soakLedger) judgeFailure(c soakCall, raw json.RawMessage) (outcome string, err error) {
	var e soakFailure
	if err := json.Unmarshal(raw, &e); err != nil {
		l.unknown(c.asks)
		return "failed", err
	}
	details := e.Data.Details
	serial := cmp.Or(details.Serial, details.RelayDetails.Serial, details.Response.Serial)
	switch {
	case strings.Contains(string(raw), soakSecret):
		err = errors.New("it shows a secret")
	case e.Message != e.Data.Code+": "+e.Data.Message:
		err = errors.New("message and data differ")
	}
	switch {
	case c.wrong != "":
		named := strings.Contains(e.Message, c.wrong)
		if e.Code != jsonrpc.CodeInvalidParams || e.Data.Code != "validation_invalid_params" || !named {
			err = fmt.Errorf("it does not name %q as the argument that is wrong", c.wrong)
		}
		return "wrong", err
	case serial != nil:
		// Of several requests, the others may have been made.
		asked := -1
		if *serial < len(l.answers) {
			asked = slices.Index(c.asks, l.answers[*serial])
		}
		if asked < 0 {
			l.unknown(c.asks)
			return "refused", fmt.Errorf("it is about request %d, which is another call's or was told before", *serial)
		}
		l.unknown(slices.Delete(slices.Clone(c.asks), asked, asked+1))
		return "refused", cmp.Or(l.answered(c.asks[asked], *serial), err)
	case strings.Contains(e.Message, "Nothing was sent"):
		if len(c.asks) > 1 { // one of them, that is to say
			l.unknown(c.asks)
		}
		return "not sent: " + e.Data.Code, err
	case strings.Contains(e.Message, "outcome is unknown"):
		l.unknown(c.asks)
		return "unknown: " + e.Data.Code, err
	default:
		l.unknown(c.asks)
		return "failed", errors.New("it does not say what became of the call")
	}
}
