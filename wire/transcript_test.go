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
	version    string // of the relay
	at         string // file:line
	text       string
	fromClient bool
}

// recordedLines returns every line of testdata/transcripts but those of relay 0.5, which package wire05 tests. A
// transcript has a line of the client after "> ", one of the relay after "< ", and a remark after "# ".
func recordedLines(tb testing.TB) []recordedLine {
	tb.Helper()
	files, err := filepath.Glob("testdata/transcripts/*/*.txt")
	if err != nil || len(files) == 0 {
		tb.Fatalf("transcripts: %d, %v", len(files), err)
	}
	var lines []recordedLine
	for _, file := range files {
		if strings.HasPrefix(filepath.Base(filepath.Dir(file)), "0.5.") {
			continue
		}
		content, err := os.ReadFile(file)
		if err != nil {
			tb.Fatal(err)
		}
		for i, text := range strings.Split(string(content), "\n") {
			at := fmt.Sprintf("%s:%d", file, i+1)
			mark, text, _ := strings.Cut(text, " ")
			switch mark {
			case ">", "<":
				lines = append(lines, recordedLine{filepath.Base(filepath.Dir(file)), at, text, mark == ">"})
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

// describedVersion is the relay whose protocol the types describe.
const describedVersion = "0.8.0"

// A laterKey is a key that later relays send and that is left to Extra.
type laterKey struct{ structure, key string }

// laterKeys are all of them, each sent by every later relay.
var laterKeys = []laterKey{
	{"BundleTransitionResponse", "degraded_bundle_count"},
	{"BundleTransition", "details"},
	{"NewPeerResponse", "written_path"},
}

// TestTypesNameWhatRelaysSend makes sure that no key of a recorded relay is left to Extra but [laterKeys], and
// that the recordings of each relay show every operation and response.
func TestTypesNameWhatRelaysSend(t *testing.T) {
	versions := map[string][]recordedLine{}
	for _, line := range recordedLines(t) {
		versions[line.version] = append(versions[line.version], line)
	}
	for version, lines := range versions {
		t.Run(version, func(t *testing.T) { testTypesName(t, lines, version != describedVersion) })
	}
}

func testTypesName(t *testing.T, lines []recordedLine, later bool) {
	unseen := map[string]bool{}
	for name := range current.operations {
		unseen["operation "+name] = true
	}
	for kind := range current.responses {
		unseen["response "+kind] = true
	}
	if later {
		for _, k := range laterKeys {
			unseen["key "+k.structure+"."+k.key] = true
		}
	}
	for _, line := range lines {
		extra := func(structure, key string) {
			if !later || !slices.Contains(laterKeys, laterKey{structure, key}) {
				t.Errorf("%s: %s has no field for %s", line.at, structure, key)
			}
			delete(unseen, "key "+structure+"."+key)
		}
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
				visitExtra(reflect.ValueOf(payload), extra)
			}
		}
		if !line.fromClient {
			visitExtra(reflect.ValueOf(frame), extra)
		}
	}
	for _, what := range slices.Sorted(maps.Keys(unseen)) {
		t.Errorf("no transcript shows %s", what)
	}
}

// visitExtra calls visit for every key in an Extra within v, with the name of the structure that has it.
func visitExtra(v reflect.Value, visit func(structure, key string)) {
	switch {
	case v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface:
		if !v.IsNil() {
			visitExtra(v.Elem(), visit)
		}
	case v.Kind() == reflect.Slice:
		for i := range v.Len() {
			visitExtra(v.Index(i), visit)
		}
	case openTypeOf(v.Type()) != nil:
		for i := range v.NumField() {
			extra, ok := v.Field(i).Interface().(Extra)
			if !ok {
				visitExtra(v.Field(i), visit)
			}
			for _, key := range slices.Sorted(maps.Keys(extra)) {
				visit(v.Type().Name(), key)
			}
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
