package demorelay

import (
	"strings"
	"time"

	"github.com/agentmux/agentmux-go/wire"
)

// Limits of a look's window.
const (
	minLines       = 1
	maxLines       = 1000
	defaultLines   = 120 // of a pane
	defaultEntries = 50  // of a replay buffer
)

func (r *Relay) look(c *connection, op *wire.Look) (wire.Response, *wire.Error) {
	if op.Lines != nil && (*op.Lines < minLines || *op.Lines > maxLines) {
		return nil, refuse("validation_invalid_lines", "lines is out of range",
			details{"lines": *op.Lines, "min": minLines, "max": maxLines})
	}
	requester, refused := r.qualifiedRequester(c, op.RequesterSession)
	if refused != nil {
		return nil, refused
	}
	target, refused := r.target(op.TargetSession, "can_be_looked")
	if refused != nil {
		return nil, refused
	}
	response := &wire.LookResponse{
		SchemaVersion:         wire.SchemaVersion,
		RequesterSession:      requester.principal(),
		TargetSession:         target.principal(),
		CapturedAt:            r.timestamp(),
		AuthenticatedIdentity: c.identity(),
	}
	if target.Transport == wire.TransportACP {
		target.replay(response, op.Lines, op.Offset)
		return response, nil
	}
	if refused := target.capture(response, op.Lines, op.Offset); refused != nil {
		return nil, refused
	}
	return response, nil
}

// replay fills in a window of the replay buffer.
func (s *session) replay(response *wire.LookResponse, lines, offset *int64) {
	total := int64(len(s.Entries))
	end := total - min(total, or(offset, 0))
	start := max(0, end-or(lines, defaultEntries))
	returned := end - start
	response.SnapshotFormat = wire.SnapshotStructuredEntriesV1
	response.SnapshotEntries = append([]wire.SnapshotEntry{}, s.Entries[start:end]...)
	response.EntriesTotal = &total
	response.ReturnedEntriesCount = &returned
	response.Freshness = new("fresh")
	response.SnapshotSource = new("live_buffer")
}

// capture fills in the last lines of the pane.
func (s *session) capture(response *wire.LookResponse, lines, offset *int64) *wire.Error {
	if or(offset, 0) != 0 {
		return s.uncaptured("validation_offset_unsupported", "a pane has no offset", details{"offset": *offset})
	}
	if !s.bundle.up {
		return s.uncaptured("internal_unexpected_failure", "the pane is gone", details{"cause": "the bundle is down"})
	}
	screen := make([]string, len(s.pane))
	for i, line := range s.pane {
		screen[i] = strings.TrimRight(line, " ")
	}
	for len(screen) > 0 && screen[len(screen)-1] == "" {
		screen = screen[:len(screen)-1]
	}
	response.SnapshotFormat = wire.SnapshotLines
	response.SnapshotLines = screen[max(0, int64(len(screen))-or(lines, defaultLines)):]
	return nil
}

// uncaptured is a refusal in the form that it has when it comes from the terminal: code and details once
// more, inside the details.
func (s *session) uncaptured(code, message string, inner details) *wire.Error {
	return refuse(code, message, details{"code": code, "details": inner, "target_session": s.ID})
}

// or returns what p points to, or otherwise where p is nil.
func or(p *int64, otherwise int64) int64 {
	if p == nil {
		return otherwise
	}
	return *p
}

func (r *Relay) timestamp() string { return r.now().UTC().Format(time.RFC3339Nano) }
