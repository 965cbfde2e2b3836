package scripts_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// scriptMasks are what differs from run to run, and what golden sections have in its place.
var scriptMasks = []struct {
	pattern *regexp.Regexp
	mask    string
}{
	{regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`), "<uuid>"},
	{regexp.MustCompile(`--agentmux-[0-9a-f]{32}`), "--agentmux-<uuid>"},
	{regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z`), "<time>"},
	{regexp.MustCompile(regexp.QuoteMeta(filepath.Join(os.TempDir(), "amx")) + `\d+`), "$$STATE"},
	{regexp.MustCompile(`"version":"[^"]*"`), `"version":"<version>"`},
	{regexp.MustCompile(`/[^ "]*/script-[a-z0-9_]+`), "$$WORK"},
}

func maskText(text string) string {
	for _, m := range scriptMasks {
		text = m.pattern.ReplaceAllString(text, m.mask)
	}
	return text
}

// masked is JSON as golden sections show it.
func masked(answer string) string { return maskText(laidOut(answer)) }

func sameJSON(a, b string) bool { return laidOut(a) == laidOut(b) }

// laidOut is JSON with an indentation and sorted keys.
func laidOut(text string) string {
	dec := json.NewDecoder(strings.NewReader(text))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return err.Error()
	}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(v); err != nil {
		return err.Error()
	}
	return strings.TrimSpace(out.String())
}
