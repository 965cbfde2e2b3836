package bundles

import (
	"errors"
	"slices"
	"testing"

	"github.com/agentmux/agentmux-go/agentmux-mcp/internal/bundles/configfile"
	"github.com/agentmux/agentmux-go/mcptools"
	"github.com/agentmux/agentmux-go/wire"
)

// FuzzLoad reads a bundle file and a coder file of any content: what comes of them is a bundle that the
// tools can show, or a refusal that names the file.
func FuzzLoad(f *testing.F) {
	f.Fuzz(func(t *testing.T, bundle, coder []byte) {
		list, err := load(bundle, coder)
		if err == nil {
			checkMembers(t, list)
			return
		}
		r, ok := errors.AsType[*mcptools.Refusal](err)
		if !ok {
			t.Fatalf("got %v, want a refusal", err)
		}
		if path := r.Details["path"]; path != "demo.toml" && path != codersFile {
			t.Errorf("the refusal is about %v", path)
		}
		want := map[string]string{
			mcptools.CodeInvalidArguments:  "cause",
			mcptools.CodeInvalidGroupName:  "group_name",
			mcptools.CodeReservedGroupName: "group_name",
		}[r.Code]
		if _, ok := r.Details[want].(string); !ok {
			t.Errorf("got %s %v", r.Code, r.Details)
		}
	})
}

// load does what [Directory.Load] does, without files.
func load(bundle, coder []byte) ([]mcptools.Member, error) {
	t, err := configfile.Parse("demo.toml", bundle)
	if err != nil {
		return nil, err
	}
	return membersOf(t, func() (coders, error) {
		t, err := configfile.Parse(codersFile, coder)
		if err != nil {
			return coders{}, err
		}
		return codersOf(t)
	})
}

func checkMembers(t *testing.T, list []mcptools.Member) {
	if len(list) == 0 {
		t.Error("a bundle without members was accepted")
	}
	seen := map[string]bool{}
	for _, m := range list {
		if !legalID(m.ID) || seen[m.ID] {
			t.Errorf("the id %q was accepted", m.ID)
		}
		seen[m.ID] = true
		if !slices.Contains([]string{
			wire.TransportTmux, wire.TransportACP, wire.TransportPTY, wire.TransportUI, wire.TransportPubSub,
		}, m.Transport) {
			t.Errorf("%s has the transport %q", m.ID, m.Transport)
		}
	}
}
