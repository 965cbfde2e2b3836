package bundles

import (
	"bytes"
	"encoding/json"
	"path/filepath"

	"github.com/agentmux/agentmux-go/agentmux-mcp/internal/bundles/configfile"
)

// historyVersion is the schema of failure histories that this package reads.
const historyVersion = 1

// StartupFailures returns what the relay wrote down of members that did not start, in the order of its
// file, each record as it is there. The result is never nil. It is empty where there is no such file; and
// where the file cannot be read or is not as expected, since it is the lesser part of an answer about a
// relay that is down.
func (d Directory) StartupFailures(name string) []json.RawMessage {
	none := []json.RawMessage{}
	if d.StateRoot == "" || !legal(name) {
		return none
	}
	data, err := configfile.Read(filepath.Join(d.StateRoot, "bundles", name, "startup_failures.json"))
	if err != nil {
		return none
	}
	var history struct {
		SchemaVersion int               `json:"schema_version"`
		Records       []json.RawMessage `json:"records"`
	}
	// A raw record keeps bytes that are no text, and a client's reader may refuse them.
	err = json.Unmarshal(bytes.ToValidUTF8(data, []byte("\uFFFD")), &history)
	if err != nil || history.SchemaVersion != historyVersion {
		return none
	}
	for _, record := range history.Records {
		if record[0] != '{' {
			return none
		}
	}
	return append(none, history.Records...)
}
