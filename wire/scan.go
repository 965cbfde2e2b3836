package wire

import (
	"bytes"
	"encoding/json"
	"slices"
)

// A line is checked once to be JSON. What follows walks JSON that has been, and copies nothing: the values that it
// returns are parts of what they were found in.

// valid returns an error unless raw is one JSON value.
func valid(raw []byte) error {
	switch {
	case json.Valid(raw):
		return nil
	case len(bytes.TrimSpace(raw)) == 0:
		return &DecodeError{Want: "an object", Got: "nothing"}
	default:
		return &DecodeError{Want: "an object", Got: "broken JSON"}
	}
}

// members returns the members of the JSON object raw. Of two with the same key the last one counts.
func members(raw []byte) (map[string]json.RawMessage, error) {
	if got := jsonType(raw); got != "an object" {
		return nil, &DecodeError{Want: "an object", Got: got}
	}
	m := make(map[string]json.RawMessage)
	i := skipSpace(raw, bytes.IndexByte(raw, '{')+1)
	for raw[i] != '}' {
		end := skipString(raw, i)
		key := text(raw[i:end])
		i = skipSpace(raw, skipSpace(raw, end)+1) // the colon
		end = skipValue(raw, i)
		m[key] = raw[i:end:end]
		i = skipComma(raw, end)
	}
	return m, nil
}

// elements returns the elements of the JSON array raw, and false if raw is no array.
func elements(raw []byte) ([]json.RawMessage, bool) {
	if jsonType(raw) != "an array" {
		return nil, false
	}
	var all []json.RawMessage
	i := skipSpace(raw, bytes.IndexByte(raw, '[')+1)
	for raw[i] != ']' {
		end := skipValue(raw, i)
		all = append(all, raw[i:end:end])
		i = skipComma(raw, end)
	}
	return all, true
}

// text returns the text of a JSON string.
func text(raw []byte) string {
	if !bytes.Contains(raw, []byte{'\\'}) {
		return string(raw[1 : len(raw)-1])
	}
	var s string
	_ = json.Unmarshal(raw, &s) // can't fail: it is a valid string
	return s
}

// skipComma returns where the next element begins, or where the bracket stands, after the value that ends at i.
func skipComma(raw []byte, i int) int {
	i = skipSpace(raw, i)
	if raw[i] == ',' {
		i = skipSpace(raw, i+1)
	}
	return i
}

func skipSpace(raw []byte, i int) int {
	for raw[i] == ' ' || raw[i] == '\t' || raw[i] == '\r' || raw[i] == '\n' {
		i++
	}
	return i
}

// skipString returns where the string that begins at i ends.
func skipString(raw []byte, i int) int {
	for i++; ; i += 2 { // past an escape, and at first past the quote
		i += bytes.IndexAny(raw[i:], `"\`)
		if raw[i] == '"' {
			return i + 1
		}
	}
}

// skipValue returns where the value that begins at i ends.
func skipValue(raw []byte, i int) int {
	depth := 0
	for {
		switch raw[i] {
		case '"':
			i = skipString(raw, i)
		case '{', '[':
			depth++
			i++
		case '}', ']':
			depth--
			i++
		default:
			i++
			if depth == 0 { // a number or a word: up to what can't be part of one
				for i < len(raw) && !slices.Contains([]byte(" \t\r\n,]}"), raw[i]) {
					i++
				}
			}
		}
		if depth == 0 {
			return i
		}
	}
}
