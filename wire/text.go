package wire

import (
	"bytes"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// replacement is what stands for text that is no Unicode: U+FFFD, as bytes and as a JSON escape.
var (
	replacement       = []byte("\uFFFD")
	replacementEscape = []byte(`\ufffd`)
)

// repairText returns line with invalid UTF-8 and lone surrogate escapes replaced by U+FFFD. Both can
// stand in a relay's snapshot of a terminal, both are taken by encoding/json, and neither is taken by
// stricter readers that the raw JSON may be handed on to (PROTOCOL.md, "Sizes and text"). A line
// that needs no repair is returned as it is.
func repairText(line []byte) []byte {
	if !utf8.Valid(line) {
		line = bytes.ToValidUTF8(line, replacement)
	}
	if !bytes.Contains(line, []byte(`\u`)) {
		return line
	}
	var out []byte // nil until something had to be replaced
	done := 0      // line[:done] is in out
	for i := 0; i < len(line); {
		if line[i] != '\\' {
			i++
			continue
		}
		r, ok := surrogateAt(line, i)
		if !ok {
			i += 2 // an escape of another kind: a backslash and what it escapes
			continue
		}
		if low, ok := surrogateAt(line, i+6); ok && utf16.DecodeRune(r, low) != utf8.RuneError {
			i += 12
			continue
		}
		out = append(append(out, line[done:i]...), replacementEscape...)
		i += 6
		done = i
	}
	if out == nil {
		return line
	}
	return append(out, line[done:]...)
}

// surrogateAt reports the surrogate that is escaped at line[i:].
func surrogateAt(line []byte, i int) (rune, bool) {
	if len(line) < i+6 || line[i] != '\\' || line[i+1] != 'u' {
		return 0, false
	}
	n, err := strconv.ParseUint(string(line[i+2:i+6]), 16, 16)
	if err != nil {
		return 0, false
	}
	return rune(n), utf16.IsSurrogate(rune(n))
}
