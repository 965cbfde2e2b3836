package relaytest

import (
	"encoding/json"
	"regexp"
	"strings"
)

// A template is text for the client, cut at its placeholders.
type template []piece

// A piece is text as it goes out, or, with a name, the place of the string bound to that name.
type piece struct {
	text string
	name string
}

// placeholder finds a "$name", or the beginning of a "$$…". An escaped quote is the inside of a string;
// outside of strings, JSON has no backslash in front of a quote, so that the byte before tells the two apart
// even in a torn frame.
var placeholder = regexp.MustCompile(`\\?"\$(?:\$|(\w+)")`)

func parseTemplate(text string) template {
	var t template
	done := 0 // text[:done] is in t
	for _, m := range placeholder.FindAllStringSubmatchIndex(text, -1) {
		start, end := m[0], m[1]
		switch {
		case text[start] == '\\':
		case m[2] < 0: // "$$: leave one out
			t = append(t, piece{text: text[done : end-1]})
			done = end
		default:
			t = append(t, piece{text: text[done:start]}, piece{name: text[m[2]:m[3]]})
			done = end
		}
	}
	return append(t, piece{text: text[done:]})
}

// expand puts the bound strings in. The parser has made sure that each name is bound.
func (t template) expand(bound map[string]string) string {
	var out strings.Builder
	for _, p := range t {
		if p.name == "" {
			out.WriteString(p.text)
			continue
		}
		quoted, _ := json.Marshal(bound[p.name]) // a string always has JSON
		out.Write(quoted)
	}
	return out.String()
}
