package wire

import (
	"bytes"
	"io"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// FuzzDecode checks that every line is either refused with a DecodeError or survives a round trip.
func FuzzDecode(f *testing.F) {
	for _, line := range recordedLines(f) {
		f.Add([]byte(line.text))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		first, err := Decode(line)
		if err != nil {
			if _, ok := err.(*DecodeError); !ok {
				t.Fatalf("%q: error %T: %v", line, err, err)
			}
			return
		}
		if event, ok := first.(*EventFrame); ok {
			if _, err := event.Event.DecodePayload(); err != nil {
				if _, ok := err.(*DecodeError); !ok {
					t.Fatalf("%q: error %T: %v", line, err, err)
				}
			}
		}
		encoded, err := Encode(first)
		if err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		if !utf8.Valid(encoded) || bytes.IndexByte(encoded, '\n') != len(encoded)-1 {
			t.Fatalf("%q: encoded as %q", line, encoded)
		}
		// A raw value loses its blanks when it is written, so it takes a second round to compare.
		second, err := Decode(encoded)
		if err != nil {
			t.Fatalf("%q: encoded as %q: %v", line, encoded, err)
		}
		again, err := Encode(second)
		if err != nil || !bytes.Equal(again, encoded) {
			t.Fatalf("%q: encoded as %q, then as %q, %v", line, encoded, again, err)
		}
		third, err := Decode(again)
		if err != nil || !reflect.DeepEqual(second, third) {
			t.Fatalf("%q: decoded  %#v\nthen %#v, %v", line, second, third, err)
		}
	})
}

// FuzzLineReader compares ReadLine with what a whole stream splits into, for pieces of any size.
func FuzzLineReader(f *testing.F) {
	for _, test := range lineTests {
		f.Add(test.in, 5, 3)
	}
	f.Fuzz(func(t *testing.T, text string, limit, size int) {
		if limit < 1 || limit > 1<<16 || size < 1 {
			t.Skip()
		}
		got := readLines(NewLineReader(&pieces{text, size}, limit))
		if want := splitLines(text, limit); !slices.Equal(got, want) {
			t.Errorf("%q with a limit of %d in pieces of %d:\ngot  %q\nwant %q", text, limit, size, got, want)
		}
	})
}

// splitLines is what readLines is to return for text.
func splitLines(text string, limit int) []string {
	var want []string
	for line := range strings.SplitAfterSeq(text, "\n") {
		line, terminated := strings.CutSuffix(line, "\n")
		line = strings.TrimSuffix(line, "\r")
		switch {
		case len(line) > limit:
			want = append(want, "<"+(&LineTooLongError{limit}).Error()+">")
		case strings.TrimSpace(line) == "":
		case terminated:
			want = append(want, line)
		default:
			want = append(want, line+"<"+io.ErrUnexpectedEOF.Error()+">")
		}
	}
	return append(want, end)
}
