package configfile

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"github.com/agentmux/agentmux-go/mcptools"
)

// A Table is a table of a TOML file. Its methods return the value of a key, or the refusal of [Broken]
// where the value has another type.
//
// The TOML library fills structs too, but folds the case of keys, which the owner of these files does not.
type Table struct {
	Path   string // of the file
	place  string // of the table in the file, "" for the file itself
	values map[string]any
}

// FromLayers parses the file called name, a slash-separated path, of the first layer that has it. The
// error is [fs.ErrNotExist] where no layer has it, and else a refusal.
func FromLayers(layers []string, name string) (Table, error) {
	for _, layer := range layers {
		path := filepath.Join(layer, filepath.FromSlash(name))
		data, err := Read(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return Table{}, err
		}
		return Parse(path, data)
	}
	return Table{}, fs.ErrNotExist
}

// Parse returns the content of the TOML file at path. A byte order mark and CRLF are accepted. The error
// is a refusal.
func Parse(path string, data []byte) (Table, error) {
	switch {
	case bytes.HasPrefix(data, []byte{0xFF, 0xFE}), bytes.HasPrefix(data, []byte{0xFE, 0xFF}):
		return Table{}, Broken(path, "it is UTF-16 text; TOML is UTF-8")
	case bytes.IndexByte(data, 0) >= 0:
		return Table{}, Broken(path, "it has a NUL byte, so it is no UTF-8 text")
	}
	t := Table{Path: path}
	if err := toml.Unmarshal(bytes.TrimPrefix(data, []byte("\uFEFF")), &t.values); err != nil {
		cause := strings.TrimPrefix(err.Error(), "toml: ")
		if e, ok := errors.AsType[*toml.DecodeError](err); ok {
			line, column := e.Position()
			cause = fmt.Sprintf("line %d, column %d: %s", line, column, cause)
		}
		return Table{}, Broken(path, cause)
	}
	return t, nil
}

// Named returns the table with another name for its place in the file, for messages.
func (t Table) Named(place string) Table {
	t.place = place
	return t
}

// Broken refuses the file for something in this table.
func (t Table) Broken(format string, args ...any) *mcptools.Refusal {
	cause := fmt.Sprintf(format, args...)
	if t.place != "" {
		cause = t.place + ": " + cause
	}
	return Broken(t.Path, cause)
}

// Has reports whether the table has the key.
func (t Table) Has(key string) bool {
	_, ok := t.values[key]
	return ok
}

// Keys returns the table's keys in byte order.
func (t Table) Keys() []string { return slices.Sorted(maps.Keys(t.values)) }

// Text returns a string; "" where the key is absent.
func (t Table) Text(key string) (string, error) { return value[string](t, key) }

// Integer returns an integer; 0 where the key is absent.
func (t Table) Integer(key string) (int64, error) { return value[int64](t, key) }

// Texts returns an array of strings; nil where the key is absent.
func (t Table) Texts(key string) ([]string, error) { return elements[string](t, key) }

// Tables returns an array of tables; nil where the key is absent. Each is named noun and its number,
// counted from 1.
func (t Table) Tables(key, noun string) ([]Table, error) {
	all, err := elements[map[string]any](t, key)
	if err != nil {
		return nil, err
	}
	tables := make([]Table, len(all))
	for i, values := range all {
		tables[i] = Table{t.Path, fmt.Sprintf("%s %d", noun, i+1), values}
	}
	return tables, nil
}

// HasTable reports whether the key holds a table.
func (t Table) HasTable(key string) (bool, error) {
	_, err := value[map[string]any](t, key)
	return t.Has(key) && err == nil, err
}

func value[T any](t Table, key string) (T, error) {
	v, ok := t.values[key].(T)
	if !ok && t.Has(key) {
		return v, t.Broken("%s is %s, not %s", key, typeName(t.values[key]), typeName(v))
	}
	return v, nil
}

func elements[T any](t Table, key string) ([]T, error) {
	all, err := value[[]any](t, key)
	if err != nil {
		return nil, err
	}
	typed := make([]T, len(all))
	for i, v := range all {
		var ok bool
		if typed[i], ok = v.(T); !ok {
			return nil, t.Broken("element %d of %s is %s, not %s", i+1, key, typeName(v), typeName(typed[i]))
		}
	}
	return typed, nil
}

// typeName names the type of a TOML value.
func typeName(v any) string {
	switch v.(type) {
	case string:
		return "a string"
	case int64:
		return "an integer"
	case float64:
		return "a float"
	case bool:
		return "a boolean"
	case []any:
		return "an array"
	case map[string]any:
		return "a table"
	default:
		return "a date or time"
	}
}
