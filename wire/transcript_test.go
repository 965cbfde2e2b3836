package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// A recordedLine is a line of a conversation with a real relay.
type recordedLine struct {
	at         string // file:line
	text       string
	fromClient bool
}

// recordedLines returns every line of testdata/transcripts. A transcript has a line of the client after "> ", one
// of the relay after "< ", and a remark after "# ".
func recordedLines(tb testing.TB) []recordedLine {
	tb.Helper()
	files, err := filepath.Glob("testdata/transcripts/*/*.txt")
	if err != nil || len(files) == 0 {
		tb.Fatalf("transcripts: %d, %v", len(files), err)
	}
	var lines []recordedLine
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			tb.Fatal(err)
		}
		for i, text := range strings.Split(string(content), "\n") {
			at := fmt.Sprintf("%s:%d", file, i+1)
			mark, text, _ := strings.Cut(text, " ")
			switch mark {
			case ">", "<":
				lines = append(lines, recordedLine{at, text, mark == ">"})
			case "", "#":
			default:
				tb.Fatalf("%s: no line of a transcript", at)
			}
		}
	}
	return lines
}

func TestTranscriptsSurviveRoundTrip(t *testing.T) {
	for _, line := range recordedLines(t) {
		first, err := Decode([]byte(line.text))
		if err != nil {
			t.Errorf("%s: %v", line.at, err)
			continue
		}
		encoded, err := Encode(first)
		if err != nil {
			t.Errorf("%s: %v", line.at, err)
			continue
		}
		second, err := Decode(encoded)
		if err != nil {
			t.Errorf("%s: decoding %s: %v", line.at, encoded, err)
			continue
		}
		if !reflect.DeepEqual(withoutRaw(first), withoutRaw(second)) {
			t.Errorf("%s: decoded  %#v\nthen %#v", line.at, first, second)
		}
		if got, want := meaning(t, encoded), meaning(t, []byte(line.text)); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got  %s\nwant %s", line.at, encoded, line.text)
		}
		// The client of the recordings writes what this package writes.
		if got := strings.TrimSuffix(string(encoded), "\n"); line.fromClient && got != line.text {
			t.Errorf("%s: got  %s\nwant %s", line.at, got, line.text)
		}
	}
}

// TestTypesNameWhatRelaysSend makes sure that no key of a recorded relay is left to Extra, and that the
// recordings show every operation and response.
func TestTypesNameWhatRelaysSend(t *testing.T) {
	unseen := map[string]bool{}
	for name := range operations {
		unseen["operation "+name] = true
	}
	for kind := range responses {
		unseen["response "+kind] = true
	}
	for _, line := range recordedLines(t) {
		frame, err := Decode([]byte(line.text))
		if err != nil {
			t.Errorf("%s: %v", line.at, err)
			continue
		}
		switch f := frame.(type) {
		case *RequestFrame:
			delete(unseen, "operation "+f.Request.OperationName())
		case *ResponseFrame:
			delete(unseen, "response "+f.Response.ResponseKind())
		case *EventFrame:
			payload, err := f.Event.DecodePayload()
			if err != nil {
				t.Errorf("%s: %v", line.at, err)
			}
			_, unknown := payload.(*UnknownPayload)
			if snapshot := strings.HasSuffix(f.Event.EventType, ".snapshot"); unknown != snapshot {
				t.Errorf("%s: payload of %s decoded as %T", line.at, f.Event.EventType, payload)
			}
			if !unknown {
				reportExtra(t, line.at, reflect.ValueOf(payload))
			}
		}
		if !line.fromClient {
			reportExtra(t, line.at, reflect.ValueOf(frame))
		}
	}
	for _, what := range slices.Sorted(maps.Keys(unseen)) {
		t.Errorf("no transcript shows %s", what)
	}
}

// reportExtra reports every filled Extra within v.
func reportExtra(t *testing.T, at string, v reflect.Value) {
	t.Helper()
	switch {
	case v.Type() == extraType && v.Len() > 0:
		t.Errorf("%s: keys without a field: %v", at, slices.Sorted(maps.Keys(v.Interface().(Extra))))
	case v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface:
		if !v.IsNil() {
			reportExtra(t, at, v.Elem())
		}
	case v.Kind() == reflect.Slice:
		for i := range v.Len() {
			reportExtra(t, at, v.Index(i))
		}
	case openTypeOf(v.Type()) != nil:
		for i := range v.NumField() {
			reportExtra(t, at, v.Field(i))
		}
	}
}

// withoutRaw returns f without the form in which its response came.
func withoutRaw(f Frame) Frame {
	if response, ok := f.(*ResponseFrame); ok {
		bare := *response
		bare.Raw = nil
		return &bare
	}
	return f
}

// meaning returns a line as values. A member that is null counts as one that is not there, as it does for
// relays and for Decode.
func meaning(t *testing.T, line []byte) any {
	t.Helper()
	decoder := json.NewDecoder(bytes.NewReader(line))
	decoder.UseNumber()
	var v any
	if err := decoder.Decode(&v); err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	dropNulls(v)
	return v
}

func dropNulls(v any) {
	switch v := v.(type) {
	case map[string]any:
		maps.DeleteFunc(v, func(_ string, member any) bool { return member == nil })
		for _, member := range v {
			dropNulls(member)
		}
	case []any:
		for _, element := range v {
			dropNulls(element)
		}
	}
}
