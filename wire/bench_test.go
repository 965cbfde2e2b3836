package wire

import (
	"strings"
	"testing"
)

// BenchmarkDecode reads the answer that every send gets, and a large one.
func BenchmarkDecode(b *testing.B) {
	lines := make([]string, 1<<20/128)
	for i := range lines {
		lines[i] = strings.Repeat("x", 119) + "\x1b[0m"
	}
	for _, bench := range []struct {
		name     string
		response Response
	}{
		{"send", &SendResponse{
			SchemaVersion: "1", RequesterSession: "alpha@demo", SenderDisplayName: new("Alpha"),
			Results: []SendResult{{TargetSession: "bravo@demo", MessageID: "00000000-0000-4000-8000-000000000001", Outcome: "queued"}},
		}},
		{"look 1 MiB", &LookResponse{
			SchemaVersion: "1", RequesterSession: "alpha@demo", TargetSession: "bravo@demo",
			SnapshotFormat: SnapshotLines, SnapshotLines: lines,
		}},
	} {
		b.Run(bench.name, func(b *testing.B) {
			line, err := Encode(&ResponseFrame{RequestID: new("00000000-0000-4000-8000-000000000002"), Response: bench.response})
			if err != nil {
				b.Fatal(err)
			}
			b.SetBytes(int64(len(line)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Decode(line); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkEncodeSend(b *testing.B) {
	request := &RequestFrame{
		RequestID: "00000000-0000-4000-8000-000000000001",
		Request:   &Send{RequesterSession: "alpha", Message: strings.Repeat("hello ", 20), Targets: []string{"bravo@demo"}},
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Encode(request); err != nil {
			b.Fatal(err)
		}
	}
}
