package inscriptions

import (
	"bytes"
	"encoding/json"
	"os"
	"time"
)

// timestampFormat is RFC 3339 in UTC with a fraction of fixed width, so that lines sort as text.
const timestampFormat = "2006-01-02T15:04:05.000000Z"

// record returns an event as a line of the log. Text that is no UTF-8 has U+FFFD for what is wrong in it.
// Details that are no JSON give way to a note that says so: that the event happened is worth more.
func record(at time.Time, event string, details map[string]any) []byte {
	if details == nil {
		details = map[string]any{}
	}
	line, err := encode(at, event, details)
	if err != nil {
		line, _ = encode(at, event, map[string]any{"inscription_error": err.Error()}) // strings cannot fail
	}
	return line
}

func encode(at time.Time, event string, details map[string]any) ([]byte, error) {
	var line bytes.Buffer
	encoder := json.NewEncoder(&line)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(struct {
		Timestamp string         `json:"timestamp"`
		PID       int            `json:"pid"`
		Event     string         `json:"event"`
		Details   map[string]any `json:"details"`
	}{at.UTC().Format(timestampFormat), os.Getpid(), event, details})
	return line.Bytes(), err
}
