package stdio

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// Every line is a request that the engine can take, is answered with one line of JSON, or is ignored.
func FuzzParse(f *testing.F) {
	f.Fuzz(func(t *testing.T, input []byte) {
		line := bytes.Clone(input)
		m, refused := parse(line)
		if m != nil && refused != nil {
			t.Fatalf("%+v is refused with %+v", m, refused)
		}
		if refused != nil {
			checkRefusal(t, refused)
		}
		if m != nil {
			checkMessage(t, m, line)
		}
	})
}

func checkRefusal(t *testing.T, r *refusal) {
	switch r.err.Code {
	case jsonrpc.CodeParseError, jsonrpc.CodeInvalidRequest, jsonrpc.CodeInvalidParams:
	default:
		t.Errorf("code %d", r.err.Code)
	}
	line := answer{ID: r.id.raw, Error: r.err}.line()
	var got answer
	if err := json.Unmarshal(line, &got); err != nil || bytes.IndexByte(line, '\n') != len(line)-1 {
		t.Fatalf("answered with %q: %v", line, err)
	}
	want := r.id.raw
	if want == nil {
		want = json.RawMessage("null")
	}
	if !bytes.Equal(got.ID, want) || got.Error.Code != r.err.Code || got.Error.Message != r.err.Message {
		t.Errorf("answered with %q, want id %s and %+v", line, want, r.err)
	}
}

func checkMessage(t *testing.T, m *message, line []byte) {
	if m.isCall() != (m.id.key != "") {
		t.Errorf("id %s has the key %q", m.id.raw, m.id.key)
	}
	if m.params != nil && members(m.params) == nil {
		t.Errorf("params %s", m.params)
	}
	if m.isCall() && !bytes.Contains(line, m.id.raw) {
		t.Errorf("id %s is not what was written", m.id.raw)
	}
	before := string(m.id.raw) + m.method + string(m.params)
	clear(line) // as the next line does
	if after := string(m.id.raw) + m.method + string(m.params); after != before {
		t.Errorf("%q changed with the line to %q", before, after)
	}
}
