package relaytest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// A pattern is a line that the client has to send.
type pattern struct {
	line  int    // of the script
	text  string // as the script has it
	value any    // as JSON, numbers as json.Number
}

// anything is the string that as a value stands for any value, and as a key for any further keys.
const anything = "..."

var variable = regexp.MustCompile(`^\$(\w+)$`)

// variableName returns the name of a "$name".
func variableName(s string) (name string, ok bool) {
	m := variable.FindStringSubmatch(s)
	if m == nil {
		return "", false
	}
	return m[1], true
}

// nameless is the variable that takes any string and keeps none.
const nameless = "_"

// decode reads a line as one JSON value.
func decode(text string) (any, error) {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var value any
	if err := d.Decode(&value); err != nil {
		if err == io.EOF {
			return nil, errors.New("empty")
		}
		return nil, err
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, errors.New("something follows the JSON value")
	}
	return value, nil
}

// variables calls visit for the name of each variable in value, a pattern or a part of one.
func variables(value any, visit func(name string)) {
	switch value := value.(type) {
	case string:
		if name, ok := variableName(value); ok && name != nameless {
			visit(name)
		}
	case []any:
		for _, element := range value {
			variables(element, visit)
		}
	case map[string]any:
		for key, member := range value {
			if key != anything {
				variables(member, visit)
			}
		}
	}
}

// match compares a value that the client sent with the pattern. It returns "" and binds the pattern's
// variables in bound, or returns the first difference and binds nothing.
func (p *pattern) match(got any, bound map[string]string) (difference string) {
	c := comparison{bound: maps.Clone(bound)}
	if difference := c.differ("", p.value, got); difference != "" {
		return difference
	}
	maps.Copy(bound, c.bound)
	return ""
}

type comparison struct {
	bound map[string]string
}

// differ returns the first difference of got from want, which stand at path; "" if there is none.
func (c *comparison) differ(path string, want, got any) string {
	switch want := want.(type) {
	case string:
		return c.differString(path, want, got)
	case map[string]any:
		if got, ok := got.(map[string]any); ok {
			return c.differObject(path, want, got)
		}
	case []any:
		if got, ok := got.([]any); ok && len(got) == len(want) {
			for i := range want {
				if d := c.differ(fmt.Sprintf("%s[%d]", path, i), want[i], got[i]); d != "" {
					return d
				}
			}
			return ""
		}
	default: // a number, a boolean or null
		if want == got {
			return ""
		}
	}
	return difference(path, jsonText(want), jsonText(got))
}

func (c *comparison) differString(path, want string, got any) string {
	if want == anything {
		return ""
	}
	text, isString := got.(string)
	name, isVariable := variableName(want)
	switch {
	case !isVariable:
		literal := want
		if strings.HasPrefix(want, "$$") {
			literal = want[1:]
		}
		if !isString || text != literal {
			return difference(path, jsonText(literal), jsonText(got))
		}
	case !isString:
		return difference(path, want+", a string", jsonText(got))
	case name == nameless:
	default:
		value, known := c.bound[name]
		if !known {
			c.bound[name] = text
		} else if text != value {
			return difference(path, want+", which is "+jsonText(value), jsonText(got))
		}
	}
	return ""
}

func (c *comparison) differObject(path string, want, got map[string]any) string {
	_, open := want[anything]
	for _, key := range slices.Sorted(maps.Keys(want)) {
		if key == anything {
			continue
		}
		value, ok := got[key]
		if !ok {
			return difference(join(path, key), jsonText(want[key]), "nothing")
		}
		if d := c.differ(join(path, key), want[key], value); d != "" {
			return d
		}
	}
	if open {
		return ""
	}
	for _, key := range slices.Sorted(maps.Keys(got)) {
		if _, ok := want[key]; !ok {
			return difference(join(path, key), "nothing", jsonText(got[key]))
		}
	}
	return ""
}

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

func difference(path, want, got string) string {
	if path == "" {
		path = "the line"
	}
	return fmt.Sprintf("%s: want %s, got %s", path, shown(want), shown(got))
}

func jsonText(value any) string {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	_ = e.Encode(value) // it was read from JSON
	return strings.TrimSuffix(out.String(), "\n")
}
