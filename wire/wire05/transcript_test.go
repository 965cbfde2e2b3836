package wire05_test

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

	"github.com/agentmux/agentmux-go/wire"
	"github.com/agentmux/agentmux-go/wire/wire05"
)

// A recordedLine is a line of a conversation with a real relay.
type recordedLine struct {
	at         string // file:line
	text       string
	fromClient bool
}

// recordedLines returns every line of the transcripts of relay 0.5, whose form package wire's test describes.
func recordedLines(t testing.TB) []recordedLine {
	t.Helper()
	files, err := filepath.Glob("../testdata/transcripts/0.5.*/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("transcripts: %d, %v", len(files), err)
	}
	var lines []recordedLine
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for i, text := range strings.Split(string(content), "\n") {
			mark, text, _ := strings.Cut(text, " ")
			if mark == ">" || mark == "<" {
				lines = append(lines, recordedLine{fmt.Sprintf("%s:%d", file, i+1), text, mark == ">"})
			}
		}
	}
	return lines
}

// What relay 0.5 and its client say means the same when it was read and written again; what the client says is the same.
func TestTranscriptsSurviveRoundTrip(t *testing.T) {
	for _, line := range recordedLines(t) {
		frame, err := wire05.Decode([]byte(line.text))
		if err != nil {
			t.Errorf("%s: %v", line.at, err)
			continue
		}
		encoded, err := wire.Encode(frame)
		if err != nil {
			t.Errorf("%s: %v", line.at, err)
			continue
		}
		got, want := strings.TrimSuffix(string(encoded), "\n"), line.text
		if got != want && (line.fromClient || !reflect.DeepEqual(value(t, got), value(t, want))) {
			t.Errorf("%s: got  %s\nwant %s", line.at, got, want)
		}
	}
}

// value returns a line as values. A member that is null counts as one that is not there, as it does for relays and
// for Decode.
func value(t *testing.T, line string) (v any) {
	t.Helper()
	decoder := json.NewDecoder(bytes.NewReader([]byte(line)))
	decoder.UseNumber()
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

// No key that the relay sends is left to Extra but the bundle of an event, which nobody asks for; and the recordings
// show every operation and response.
func TestTypesNameWhatTheRelaySends(t *testing.T) {
	unseen := []string{
		"list", "chat", "look", "raww", "permission_list", "permission_resolve", "up", "down",
		"kind list", "kind chat", "kind look", "kind raww", "kind permission_list", "kind permission_decision", "kind lifecycle", "kind error",
	}
	see := func(name string) { unseen = slices.DeleteFunc(unseen, func(s string) bool { return s == name }) }
	for _, line := range recordedLines(t) {
		frame, err := wire05.Decode([]byte(line.text))
		if err != nil {
			t.Errorf("%s: %v", line.at, err)
			continue
		}
		switch f := frame.(type) {
		case *wire.RequestFrame:
			see(f.Request.OperationName())
		case *wire.ResponseFrame:
			see("kind " + f.Response.ResponseKind())
		}
		if !line.fromClient {
			checkExtra(t, line.at, reflect.ValueOf(frame))
		}
	}
	for _, name := range unseen {
		t.Errorf("no transcript shows %s", name)
	}
}

// checkExtra fails for every key in an Extra within v.
func checkExtra(t *testing.T, at string, v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			checkExtra(t, at, v.Elem())
		}
	case reflect.Slice:
		if v.Type().Elem().Kind() != reflect.Uint8 {
			for i := range v.Len() {
				checkExtra(t, at, v.Index(i))
			}
		}
	case reflect.Struct:
		for i := range v.NumField() {
			extra, ok := v.Field(i).Interface().(wire.Extra)
			if !ok {
				checkExtra(t, at, v.Field(i))
			}
			for key := range extra {
				if v.Type() == reflect.TypeFor[wire.Event]() && key == "bundle_name" {
					continue
				}
				t.Errorf("%s: %s has no field for %s", at, v.Type().Name(), key)
			}
		}
	}
}
