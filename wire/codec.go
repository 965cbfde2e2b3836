package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// Extra holds the members of a JSON object that its Go type does not name, or whose value the named
// field cannot hold, by key. They are written again after the named ones, in the order of their keys.
type Extra map[string]json.RawMessage

// A DecodeError says what in a frame does not have the shape that the protocol gives it. It names keys
// and JSON types, never values: a value may be a secret.
type DecodeError struct {
	Key  string // path of the member, as in "response.bundle.id"; "" for the frame itself
	Want string // what the protocol has there: "a string"
	Got  string // what came: "a number", "nothing"
}

func (e *DecodeError) Error() string {
	key := e.Key
	if key == "" {
		key = "frame"
	}
	return fmt.Sprintf("%s: expected %s, got %s", key, e.Want, e.Got)
}

// within returns err with key put in front of its path.
func within(key string, err error) error {
	e, ok := err.(*DecodeError)
	if !ok {
		return err
	}
	path := key
	switch {
	case e.Key == "":
	case strings.HasPrefix(e.Key, "["):
		path += e.Key
	default:
		path += "." + e.Key
	}
	return &DecodeError{Key: path, Want: e.Want, Got: e.Got}
}

// Frames, operations, responses and payloads are read and written through their struct tags: json gives the
// key, omitempty leaves a zero value out, and wire:"required" makes a missing, null or unfit value an error;
// wire:"required if key=value" does so where the string field of that key, which stands before, has that value. A
// struct with a field of type Extra is open; every other type is left to encoding/json.

var (
	extraType  = reflect.TypeFor[Extra]()
	secretType = reflect.TypeFor[Secret]()
	rawType    = reflect.TypeFor[json.RawMessage]()
)

type field struct {
	index     int
	key       string
	required  bool
	omitempty bool
	when      *condition // the field is required where this holds; nil: never
}

// A condition holds where a string field, by index, has the value.
type condition struct {
	index int
	value string
}

// requiredIn reports whether the field is required in the struct v, whose fields before it are filled.
func (f *field) requiredIn(v reflect.Value) bool {
	return f.required || f.when != nil && v.Field(f.when.index).String() == f.when.value
}

// An openType is what the codec knows of a struct with Extra.
type openType struct {
	fields []field
	extra  int // index of the Extra field
}

var openTypes sync.Map // of reflect.Type to *openType, nil for a type that is not open

func openTypeOf(t reflect.Type) *openType {
	if cached, ok := openTypes.Load(t); ok {
		return cached.(*openType)
	}
	var open *openType
	if t.Kind() == reflect.Struct {
		found := openType{extra: -1}
		for i := range t.NumField() {
			f := t.Field(i)
			if f.Type == extraType {
				found.extra = i
				continue
			}
			key, option, _ := strings.Cut(f.Tag.Get("json"), ",")
			if key == "-" || !f.IsExported() {
				continue
			}
			found.fields = append(found.fields, field{
				index: i, key: key,
				required:  f.Tag.Get("wire") == "required",
				omitempty: option == "omitempty",
				when:      found.condition(f.Tag.Get("wire")),
			})
		}
		if found.extra >= 0 {
			open = &found
		}
	}
	openTypes.Store(t, open)
	return open
}

// condition reads a tag "required if key=value"; nil for any other.
func (t *openType) condition(tag string) *condition {
	rule, ok := strings.CutPrefix(tag, "required if ")
	if !ok {
		return nil
	}
	key, value, _ := strings.Cut(rule, "=")
	i := slices.IndexFunc(t.fields, func(f field) bool { return f.key == key })
	return &condition{t.fields[i].index, value}
}

// jsonType names the type of a JSON value as an error shows it.
func jsonType(raw []byte) string {
	raw = bytes.TrimLeft(raw, " \t\r\n")
	if len(raw) == 0 {
		return "nothing"
	}
	switch raw[0] {
	case '{':
		return "an object"
	case '[':
		return "an array"
	case '"':
		return "a string"
	case 't', 'f':
		return "a boolean"
	case 'n':
		return "null"
	default:
		return "a number"
	}
}

func isNull(raw []byte) bool { return string(bytes.TrimSpace(raw)) == "null" }

// decodeMembers fills the open struct that v points to with m, which it uses up.
func decodeMembers(m map[string]json.RawMessage, v reflect.Value) error {
	v = v.Elem()
	open := openTypeOf(v.Type())
	for i := range open.fields {
		f := &open.fields[i]
		raw, ok := m[f.key]
		if !ok || isNull(raw) {
			if f.requiredIn(v) {
				got := "nothing"
				if ok {
					got = "null"
				}
				return &DecodeError{Key: f.key, Want: want(v.Field(f.index).Type()), Got: got}
			}
			if ok {
				delete(m, f.key)
			}
			continue
		}
		value := reflect.New(v.Field(f.index).Type())
		if err := decodeValue(raw, value.Elem()); err != nil {
			if f.requiredIn(v) {
				return within(f.key, err)
			}
			continue // kept in Extra, as a value from a newer peer
		}
		v.Field(f.index).Set(value.Elem())
		delete(m, f.key)
	}
	if len(m) > 0 {
		v.Field(open.extra).Set(reflect.ValueOf(Extra(m)))
	}
	return nil
}

// decodeValue sets v, which is addressable, to the JSON value raw, which is not null.
func decodeValue(raw json.RawMessage, v reflect.Value) error {
	t := v.Type()
	mismatch := func() error { return &DecodeError{Want: want(t), Got: jsonType(raw)} }
	switch {
	case t == rawType:
		v.SetBytes(raw)
		return nil
	case t == secretType:
		if jsonType(raw) != "a string" {
			return mismatch()
		}
		v.Set(reflect.ValueOf(NewSecret(text(raw))))
		return nil
	case openTypeOf(t) != nil:
		m, err := members(raw)
		if err != nil {
			return err
		}
		return decodeMembers(m, v.Addr())
	case t.Kind() == reflect.Pointer:
		v.Set(reflect.New(t.Elem()))
		return decodeValue(raw, v.Elem())
	case t.Kind() == reflect.Slice:
		all, ok := elements(raw)
		if !ok {
			return mismatch()
		}
		v.Set(reflect.MakeSlice(t, len(all), len(all)))
		for i, element := range all {
			if isNull(element) {
				return within(fmt.Sprintf("[%d]", i), &DecodeError{Want: want(t.Elem()), Got: "null"})
			}
			if err := decodeValue(element, v.Index(i)); err != nil {
				return within(fmt.Sprintf("[%d]", i), err)
			}
		}
		return nil
	case t.Kind() == reflect.String:
		if jsonType(raw) != "a string" {
			return mismatch()
		}
		v.SetString(text(raw))
		return nil
	case v.CanInt():
		n, ok := integer(raw)
		if !ok {
			return mismatch()
		}
		v.SetInt(n)
		return nil
	default:
		if json.Unmarshal(raw, v.Addr().Interface()) != nil {
			return mismatch()
		}
		return nil
	}
}

// integer reads a JSON number that is a whole one, however it is written.
func integer(raw json.RawMessage) (int64, bool) {
	if n, err := strconv.ParseInt(string(raw), 10, 64); err == nil {
		return n, true
	}
	f, err := strconv.ParseFloat(string(raw), 64)
	if err != nil || f != math.Trunc(f) || math.Abs(f) >= 1<<63 {
		return 0, false
	}
	return int64(f), true
}

// want names the JSON type that t is read from.
func want(t reflect.Type) string {
	switch {
	case t == secretType:
		return "a string"
	case t == rawType:
		return "a value"
	}
	switch t.Kind() {
	case reflect.Pointer:
		return want(t.Elem())
	case reflect.Struct:
		return "an object"
	case reflect.Slice:
		return "an array"
	case reflect.Bool:
		return "a boolean"
	case reflect.String:
		return "a string"
	default:
		return "a whole number"
	}
}

// An objectWriter writes one JSON object, member by member.
type objectWriter struct {
	out   *bytes.Buffer
	count int
}

func (w *objectWriter) key(key string) error {
	if w.count == 0 {
		w.out.WriteByte('{')
	} else {
		w.out.WriteByte(',')
	}
	w.count++
	if err := encodeJSON(w.out, key); err != nil {
		return err
	}
	w.out.WriteByte(':')
	return nil
}

func (w *objectWriter) member(key string, value any) error {
	if err := w.key(key); err != nil {
		return err
	}
	return encodeValue(w.out, reflect.ValueOf(value))
}

// open writes the members of the open struct v.
func (w *objectWriter) open(v reflect.Value) error {
	if err := w.fields(v); err != nil {
		return err
	}
	return w.extra(v.Field(openTypeOf(v.Type()).extra).Interface().(Extra))
}

// fields writes those members of the open struct v that its type names.
func (w *objectWriter) fields(v reflect.Value) error {
	t := openTypeOf(v.Type())
	extra := v.Field(t.extra).Interface().(Extra)
	for _, f := range t.fields {
		value := v.Field(f.index)
		if _, replaced := extra[f.key]; replaced && value.IsZero() {
			continue // the peer's own value, which the field could not hold
		}
		if f.omitempty && value.IsZero() {
			continue
		}
		if err := w.key(f.key); err != nil {
			return err
		}
		if err := encodeValue(w.out, value); err != nil {
			return err
		}
	}
	return nil
}

func (w *objectWriter) extra(extra Extra) error {
	for _, key := range slices.Sorted(maps.Keys(extra)) {
		if err := w.member(key, extra[key]); err != nil {
			return err
		}
	}
	return nil
}

func (w *objectWriter) end() {
	if w.count == 0 {
		w.out.WriteByte('{')
	}
	w.out.WriteByte('}')
}

func encodeValue(out *bytes.Buffer, v reflect.Value) error {
	t := v.Type()
	switch {
	case t == secretType:
		return encodeJSON(out, v.Interface().(Secret).Reveal())
	case t == rawType:
		if v.Len() == 0 {
			out.WriteString("null")
			return nil
		}
		return compact(out, v.Bytes())
	case openTypeOf(t) != nil:
		w := objectWriter{out: out}
		if err := w.open(v); err != nil {
			return err
		}
		w.end()
		return nil
	case t.Kind() == reflect.Pointer:
		if v.IsNil() {
			out.WriteString("null")
			return nil
		}
		return encodeValue(out, v.Elem())
	case t.Kind() == reflect.Slice:
		out.WriteByte('[')
		for i := range v.Len() {
			if i > 0 {
				out.WriteByte(',')
			}
			if err := encodeValue(out, v.Index(i)); err != nil {
				return err
			}
		}
		out.WriteByte(']')
		return nil
	default:
		return encodeJSON(out, v.Interface())
	}
}

// encodeJSON writes v without the escapes for HTML that encoding/json makes by default.
func encodeJSON(out *bytes.Buffer, v any) error {
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return err
	}
	out.Truncate(out.Len() - 1) // Encode's newline
	return nil
}

// compact writes raw on one line.
func compact(out *bytes.Buffer, raw json.RawMessage) error {
	if err := json.Compact(out, raw); err != nil {
		return fmt.Errorf("a raw value is not JSON: %w", err)
	}
	return nil
}
