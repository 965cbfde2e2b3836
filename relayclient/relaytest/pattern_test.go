package relaytest

import (
	"maps"
	"testing"
)

func TestMatch(t *testing.T) {
	for _, test := range []struct {
		name           string
		pattern, line  string
		want           string // difference
		bound, binding map[string]string
	}{
		{name: "equal", pattern: `{"a":[1,true,null,"x"]}`, line: `{"a":[1,true,null,"x"]}`},
		{name: "order and spaces", pattern: `{"a":1,"b":2}`, line: ` { "b":2 , "a":1 } `},
		{name: "escapes", pattern: `"é\u2028<"`, line: `"\u00e9\u2028\u003c"`},

		{name: "other string", pattern: `{"a":"x"}`, line: `{"a":"y"}`, want: `a: want "x", got "y"`},
		{name: "other type", pattern: `{"a":"1"}`, line: `{"a":1}`, want: `a: want "1", got 1`},
		{name: "null is not absent", pattern: `{"a":null}`, line: `{}`, want: `a: want null, got nothing`},
		{name: "absent is not null", pattern: `{}`, line: `{"a":null}`, want: `a: want nothing, got null`},
		{name: "numbers by digit", pattern: `9007199254740993`, line: `9007199254740992`, want: `the line: want 9007199254740993, got 9007199254740992`},
		{name: "numbers as written", pattern: `[1]`, line: `[1.0]`, want: `[0]: want 1, got 1.0`},
		{name: "boolean", pattern: `{"a":{"b":true}}`, line: `{"a":{"b":false}}`, want: `a.b: want true, got false`},
		{name: "object for a scalar", pattern: `{"a":1}`, line: `{"a":{"b":"<"}}`, want: `a: want 1, got {"b":"<"}`},
		{name: "scalar for an object", pattern: `{"a":{}}`, line: `{"a":1}`, want: `a: want {}, got 1`},
		{name: "scalar for an array", pattern: `[]`, line: `null`, want: `the line: want [], got null`},
		{name: "in an array", pattern: `{"a":[{"b":1}]}`, line: `{"a":[{"b":2}]}`, want: `a[0].b: want 1, got 2`},
		{name: "longer array", pattern: `[1]`, line: `[1,2]`, want: `the line: want [1], got [1,2]`},
		{name: "first key in order", pattern: `{"b":1,"a":1}`, line: `{"b":2,"a":2}`, want: `a: want 1, got 2`},

		{name: "any value", pattern: `{"a":"...","b":"...","c":["..."]}`, line: `{"a":null,"b":{"x":1},"c":[[]]}`},
		{name: "any value, not none", pattern: `{"a":"..."}`, line: `{}`, want: `a: want "...", got nothing`},
		{name: "any keys", pattern: `{"a":1,"...":0}`, line: `{"a":1,"b":2}`},
		{name: "any keys, or none", pattern: `{"a":1,"...":0}`, line: `{"a":1}`},
		{name: "any keys beside those listed", pattern: `{"a":1,"...":0}`, line: `{"b":2}`, want: `a: want 1, got nothing`},
		{name: "any keys of this object only", pattern: `{"a":{},"...":0}`, line: `{"a":{"b":1}}`, want: `a.b: want nothing, got 1`},

		{name: "bind", pattern: `{"a":"$id"}`, line: `{"a":"x"}`, binding: map[string]string{"id": "x"}},
		{name: "bind the empty string", pattern: `"$id"`, line: `""`, binding: map[string]string{"id": ""}},
		{name: "bound", pattern: `["$id"]`, line: `["x"]`, bound: map[string]string{"id": "x"}, binding: map[string]string{"id": "x"}},
		{name: "bound to another", pattern: `["$id"]`, line: `["y"]`, bound: map[string]string{"id": "x"}, binding: map[string]string{"id": "x"}, want: `[0]: want $id, which is "x", got "y"`},
		{name: "twice in a line", pattern: `["$id","$id"]`, line: `["x","y"]`, want: `[1]: want $id, which is "x", got "y"`},
		{name: "a difference binds nothing", pattern: `["$id",1]`, line: `["x",2]`, want: `[1]: want 1, got 2`},
		{name: "strings only", pattern: `["$id"]`, line: `[1]`, want: `[0]: want $id, a string, got 1`},
		{name: "any string", pattern: `["$_","$_"]`, line: `["x","y"]`},
		{name: "any string only", pattern: `["$_"]`, line: `[null]`, want: `[0]: want $_, a string, got null`},
		{name: "escaped", pattern: `["$$id","$$$"]`, line: `["$id","$$"]`},
		{name: "escaped, and another", pattern: `["$$id"]`, line: `["x"]`, want: `[0]: want "$id", got "x"`},
		{name: "no name", pattern: `["$ ls","$5.00","a$id","$"]`, line: `["$ ls","$5.00","a$id","$"]`},
		{name: "no name, and another", pattern: `["$ ls"]`, line: `["x"]`, want: `[0]: want "$ ls", got "x"`},
	} {
		t.Run(test.name, func(t *testing.T) {
			value, err := decode(test.pattern)
			if err != nil {
				t.Fatal(err)
			}
			line, err := decode(test.line)
			if err != nil {
				t.Fatal(err)
			}
			bound := map[string]string{}
			maps.Copy(bound, test.bound)
			if got := (&pattern{value: value}).match(line, bound); got != test.want {
				t.Errorf("difference %q, want %q", got, test.want)
			}
			if !maps.Equal(bound, test.binding) {
				t.Errorf("bound %q, want %q", bound, test.binding)
			}
		})
	}
}
