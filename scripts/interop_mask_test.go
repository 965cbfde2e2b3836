package scripts_test

import (
	"encoding/json"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// What differs from run to run, and what a mask puts in its place.
var masks = []struct {
	pattern *regexp.Regexp
	mask    string
}{
	{regexp.MustCompile(`\b[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}\b`), "<uuid>"},
	{regexp.MustCompile(`\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z`), "<time>"},
}

// mask returns a JSON value in which ids, times, keys and the paths of the world are masked, and an agent's
// history is sorted by kind.
func (w *world) mask(v any) any {
	switch v := v.(type) {
	case string:
		v = strings.ReplaceAll(v, w.root, "<root>")
		for _, m := range masks {
			v = m.pattern.ReplaceAllString(v, m.mask)
		}
		return v
	case []any:
		masked := make([]any, len(v))
		for i, element := range v {
			masked[i] = w.mask(element)
		}
		return masked
	case object:
		masked := object{}
		for key, value := range v {
			if _, ok := value.(string); ok && key == "psk" {
				value = "<psk>"
			}
			masked[key] = w.mask(value)
		}
		// A relay takes note of a prompt when it has passed it on: a quick agent's answer can come first.
		if entries, ok := masked["snapshot_entries"].([]any); ok {
			slices.SortFunc(entries, func(a, b any) int { return strings.Compare(kindOf(a), kindOf(b)) })
		}
		return masked
	default:
		return v
	}
}

func kindOf(entry any) string { return entry.(object)["kind"].(string) }

// expect compares a JSON value, masked, with a JSON text.
func (w *world) expect(t *testing.T, got any, want string) {
	t.Helper()
	var value any
	if err := json.Unmarshal([]byte(want), &value); err != nil {
		t.Fatalf("%v in %s", err, want)
	}
	if masked := w.mask(got); !reflect.DeepEqual(masked, value) {
		t.Errorf("got  %s\nwant %s", encode(t, masked), encode(t, value))
	}
}

// encode encodes a JSON value.
func encode(t *testing.T, v any) []byte {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return text
}
