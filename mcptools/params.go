package mcptools

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// Parameters are declared as structs, once, for schema, decoding and help alike. A field's type is its
// JSON type; its json tag names it and, with omitempty, makes it optional; doc describes it; enum, min and
// max restrict it in the schema. Optional fields are pointers where absence means something of its own.

// text is a string that is taken without surrounding white space: ids, names, commands. Plain strings
// are taken as they come.
type text string

// A whole is an integer of any size, kept within the range of int64.
type whole struct {
	value   int64
	written json.Number // as it came
}

var (
	textType  = reflect.TypeFor[text]()
	wholeType = reflect.TypeFor[whole]()
)

// none are the parameters of a command that takes no arguments.
type none struct{}

// params is what the pipeline knows of a parameter struct.
type params []param

type param struct {
	name     string
	index    int
	required bool
	schema   schema
}

// paramsOf reads the declaration of the parameter struct P.
func paramsOf[P any]() params {
	t := reflect.TypeFor[P]()
	var ps params
	for i := range t.NumField() {
		f := t.Field(i)
		name, option, _ := strings.Cut(f.Tag.Get("json"), ",")
		s := typeSchema(f.Type)
		s.Description = f.Tag.Get("doc")
		if enum := f.Tag.Get("enum"); enum != "" {
			s.Enum = strings.Split(enum, ",")
		}
		s.Minimum, s.Maximum = limitOf(f.Tag.Get("min")), limitOf(f.Tag.Get("max"))
		ps = append(ps, param{name: name, index: i, required: option != "omitempty", schema: s})
	}
	return ps
}

func typeSchema(t reflect.Type) schema {
	switch {
	case t == wholeType:
		return schema{Type: "integer"}
	case t.Kind() == reflect.Pointer:
		return typeSchema(t.Elem())
	case t.Kind() == reflect.Slice:
		items := typeSchema(t.Elem())
		return schema{Type: "array", Items: &items}
	case t.Kind() == reflect.Bool:
		return schema{Type: "boolean"}
	default:
		return schema{Type: "string"}
	}
}

func limitOf(tag string) *int64 {
	n, err := strconv.ParseInt(tag, 10, 64)
	if err != nil {
		return nil
	}
	return &n
}

// schema returns the schema of the arguments object; open: others may be in it.
func (ps params) schema(open bool) schema {
	props := properties{}
	for _, p := range ps {
		props = append(props, property{p.name, p.schema})
	}
	return object(open, ps.required(), props)
}

func (ps params) required() []string {
	var names []string
	for _, p := range ps {
		if p.required {
			names = append(names, p.name)
		}
	}
	return names
}

// unknown returns the keys of m that are no parameters, each behind prefix.
func (ps params) unknown(m map[string]json.RawMessage, prefix string) []string {
	var keys []string
	for key := range m {
		if !slices.ContainsFunc(ps, func(p param) bool { return p.name == key }) {
			keys = append(keys, prefix+key)
		}
	}
	return keys
}

// decode fills the parameter struct that v points to. Errors name a parameter behind prefix.
func (ps params) decode(m map[string]json.RawMessage, prefix string, v any) error {
	target := reflect.ValueOf(v).Elem()
	for _, p := range ps {
		raw, ok := m[p.name]
		switch {
		case ok && !isNull(raw):
			if err := p.decodeValue(raw, prefix+p.name, target.Field(p.index)); err != nil {
				return err
			}
		case p.required:
			return mistyped(prefix+p.name, p.expected(), raw)
		}
	}
	return nil
}

func (p param) decodeValue(raw json.RawMessage, name string, v reflect.Value) error {
	switch {
	case v.Kind() == reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		return p.decodeValue(raw, name, v.Elem())
	case v.Type() == wholeType:
		n, ok := parseWhole(raw)
		if !ok {
			return mistyped(name, p.expected(), raw)
		}
		v.Set(reflect.ValueOf(n))
		return nil
	case v.Kind() == reflect.Slice:
		var items []json.RawMessage
		if json.Unmarshal(raw, &items) != nil {
			return mistyped(name, p.expected(), raw)
		}
		v.Set(reflect.MakeSlice(v.Type(), len(items), len(items)))
		element := param{schema: *p.schema.Items}
		for i, item := range items {
			if err := element.decodeValue(item, fmt.Sprintf("%s[%d]", name, i), v.Index(i)); err != nil {
				return err
			}
		}
		return nil
	default:
		if isNull(raw) || json.Unmarshal(raw, v.Addr().Interface()) != nil {
			return mistyped(name, p.expected(), raw)
		}
		if v.Type() == textType {
			v.SetString(strings.TrimSpace(v.String()))
		}
		return nil
	}
}

// expected describes what a parameter takes.
func (p param) expected() string {
	s := p.schema
	switch {
	case s.Type == "integer" && s.Minimum != nil && s.Maximum != nil:
		return fmt.Sprintf("an integer from %d to %d", *s.Minimum, *s.Maximum)
	case s.Type == "integer" && s.Minimum != nil:
		return fmt.Sprintf("an integer of %d or more", *s.Minimum)
	case s.Type == "integer":
		return "an integer"
	case s.Type == "array":
		return "an array of strings"
	case len(s.Enum) > 0:
		return "one of the strings " + strings.Join(s.Enum, ", ")
	default:
		return "a " + s.Type
	}
}

// parseWhole reads a JSON number that has no fraction, however it is written. What int64 can't hold becomes
// the nearest value that it can.
func parseWhole(raw json.RawMessage) (whole, bool) {
	if jsonType(raw) != "number" {
		return whole{}, false
	}
	w := whole{written: json.Number(raw)}
	n, err := strconv.ParseInt(string(raw), 10, 64)
	if err == nil {
		w.value = n
		return w, true
	}
	f, _ := strconv.ParseFloat(string(raw), 64) // out of range: an infinity, which serves
	switch {
	case f >= math.MaxInt64:
		w.value = math.MaxInt64
	case f <= math.MinInt64:
		w.value = math.MinInt64
	case f == math.Trunc(f):
		w.value = int64(f)
	default:
		return whole{}, false
	}
	return w, true
}

// int64 returns the value for the relay; nil for an absent one.
func (w *whole) int64() *int64 {
	if w == nil {
		return nil
	}
	return &w.value
}

// unlessBlank returns an optional parameter that counts as absent where it is blank.
func unlessBlank(s *string) *string {
	if s == nil || strings.TrimSpace(*s) == "" {
		return nil
	}
	return s
}

// members returns the members of a JSON object; an absent one and null have none.
func members(raw json.RawMessage) (map[string]json.RawMessage, bool) {
	if len(raw) == 0 || isNull(raw) {
		return nil, true
	}
	var m map[string]json.RawMessage
	return m, json.Unmarshal(raw, &m) == nil
}

func isNull(raw json.RawMessage) bool { return string(bytes.TrimSpace(raw)) == "null" }

// jsonType names the type of a JSON value; "nothing" for an absent one.
func jsonType(raw json.RawMessage) string {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 {
		return "nothing"
	}
	switch raw[0] {
	case '{':
		return "object"
	case '[':
		return "array"
	case '"':
		return "string"
	case 't', 'f':
		return "boolean"
	case 'n':
		return "null"
	default:
		return "number"
	}
}

// mistyped refuses a parameter that has another type than it should, or is missing.
func mistyped(name, expected string, raw json.RawMessage) error {
	got := jsonType(raw)
	message := fmt.Sprintf("%s must be %s, and a value of type %s was given", name, expected, got)
	if got == "nothing" || got == "null" {
		message = fmt.Sprintf("%s is required: give %s", name, expected)
	}
	return refuse(CodeInvalidParams, message, map[string]any{"field": name, "expected": expected, "got": got})
}
