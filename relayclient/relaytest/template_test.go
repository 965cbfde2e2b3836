package relaytest

import "testing"

func TestTemplate(t *testing.T) {
	bound := map[string]string{"id": `a"b<`, "1": "", "_x": "é\n"}
	for _, test := range []struct{ text, want string }{
		{`{"a": 1,  "b":"x"}`, `{"a": 1,  "b":"x"}`},
		{`{"a":"$id"}`, `{"a":"a\"b\u003c"}`},
		{`["$1","$_x","$id"]`, `["","é\n","a\"b\u003c"]`},
		{`{"$id":1}`, `{"a\"b\u003c":1}`},
		{`"$$id"`, `"$id"`},
		{`"$$$id"`, `"$$id"`},
		{`["$5.00","$","$ ls","a $id","...","$id x"]`, `["$5.00","$","$ ls","a $id","...","$id x"]`},
		// An escaped quote begins no string.
		{`"say \"$id\" or \"$$id\""`, `"say \"$id\" or \"$$id\""`},
		{`"\\","$1"`, `"\\",""`},
		// A torn frame need not begin or end between strings.
		{`rest","id":"$1`, `rest","id":"$1`},
		{`rest","id":"$1"`, `rest","id":""`},
	} {
		if got := parseTemplate(test.text).expand(bound); got != test.want {
			t.Errorf("%s\n\tgives %s\n\twant  %s", test.text, got, test.want)
		}
	}
}
