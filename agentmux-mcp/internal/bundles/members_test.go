package bundles

import (
	"testing"

	"github.com/agentmux/agentmux-go/agentmux-mcp/internal/bundles/configfile"
)

func TestCodersAreReadOnce(t *testing.T) {
	bundle, err := configfile.Parse("demo.toml", []byte(
		"format-version = 1\n[[sessions]]\nid = 'a'\ncoder = 'c'\n[[sessions]]\nid = 'b'\ncoder = 'c'\n"))
	if err != nil {
		t.Fatal(err)
	}
	coderFile, err := configfile.Parse(codersFile, []byte("format-version = 1\n[[coders]]\nid = 'c'\n[coders.tmux]\n"))
	if err != nil {
		t.Fatal(err)
	}
	reads := 0
	members, err := membersOf(bundle, func() (coders, error) {
		reads++
		return codersOf(coderFile)
	})
	if len(members) != 2 || err != nil || reads != 1 {
		t.Errorf("got %v, %v after %d reads of the coders", members, err, reads)
	}
}
