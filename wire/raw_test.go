package wire

import (
	"encoding/json"
	"maps"
	"testing"
)

func TestRawMembers(t *testing.T) {
	for _, test := range []struct{ raw, want string }{
		{` {"a":1, "b":{"c":[ ]},"a":2}`, ""},
		{`[]`, "frame: expected an object, got an array"},
		{`null`, "frame: expected an object, got null"},
		{``, "frame: expected an object, got nothing"},
		{`{"a":1}}`, "frame: expected an object, got broken JSON"},
	} {
		members, err := Raw(test.raw).Members()
		if test.want != "" {
			if err == nil || err.Error() != test.want {
				t.Errorf("%s: got %v, want %s", test.raw, err, test.want)
			}
			continue
		}
		want := map[string]json.RawMessage{"a": json.RawMessage("2"), "b": json.RawMessage(`{"c":[ ]}`)}
		equal := func(a, b json.RawMessage) bool { return string(a) == string(b) }
		if err != nil || !maps.EqualFunc(members, want, equal) {
			t.Errorf("%s: got %q, %v", test.raw, map[string]json.RawMessage(members), err)
		}
	}
}
