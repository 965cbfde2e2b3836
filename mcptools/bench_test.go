package mcptools

import (
	"encoding/json"
	"testing"

	"github.com/agentmux/agentmux-go/relayclient"
	"github.com/agentmux/agentmux-go/wire"
)

// BenchmarkLook is what the pipeline adds to a relay: a look at 120 lines, from arguments to answer.
func BenchmarkLook(b *testing.B) {
	lines := make([]string, 120)
	for i := range lines {
		lines[i] = "\x1b[32m    internal/widget/widget_test.go:42: <got> & <want> differ \x1b[0m"
	}
	raw := encode(map[string]any{
		"kind": "look", "schema_version": "1", "requester_session": "alpha@demo", "target_session": "bravo@demo",
		"captured_at": "2026-01-01T00:00:00Z", "snapshot_format": "lines", "snapshot_lines": lines,
	})
	frame, err := wire.Decode(raw)
	if err != nil {
		b.Fatal(err)
	}
	s := newSurface(b, answers(`{}`), func(cfg *Config) { cfg.Inscribe = nil })
	s.cfg.Standing = standing(associatedWith(replyingRelay{s.relay, &relayclient.Reply{Response: frame.(*wire.ResponseFrame).Response, Raw: wire.Raw(raw)}}))
	tool := s.named(b, "look")
	arguments := json.RawMessage(`{"target_session":"bravo@demo","lines":120}`)
	b.SetBytes(int64(len(raw)))
	b.ReportAllocs()
	for b.Loop() {
		if _, refusal := s.call(b.Context(), tool, arguments); refusal != nil {
			b.Fatal(refusal)
		}
	}
}
