package wire05_test

import (
	"bytes"
	"testing"

	"github.com/agentmux/agentmux-go/wire"
	"github.com/agentmux/agentmux-go/wire/wire05"
)

// FuzzDecode checks that every line is either refused with a DecodeError or survives a round trip.
func FuzzDecode(f *testing.F) {
	for _, line := range recordedLines(f) {
		f.Add([]byte(line.text))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		frame, err := wire05.Decode(line)
		if err != nil {
			if _, ok := err.(*wire.DecodeError); !ok {
				t.Fatalf("%q: error %T: %v", line, err, err)
			}
			return
		}
		encoded, err := wire.Encode(frame)
		if err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		again, err := wire05.Decode(encoded)
		if err != nil {
			t.Fatalf("%q: encoded as %q: %v", line, encoded, err)
		}
		if twice, err := wire.Encode(again); err != nil || !bytes.Equal(twice, encoded) {
			t.Fatalf("%q: encoded as %q, then as %q, %v", line, encoded, twice, err)
		}
	})
}
