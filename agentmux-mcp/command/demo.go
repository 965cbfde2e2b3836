package command

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"

	"github.com/agentmux/agentmux-go/mcptools"
	"github.com/agentmux/agentmux-go/relayclient"
	"github.com/agentmux/agentmux-go/relayclient/demorelay"
	"github.com/agentmux/agentmux-go/wire"
)

// Who the server is in a demonstration: a session of the sample world.
const (
	demoBundle  = "demo"
	demoSession = "you"
)

// demoConfig is what the tools work with in a demonstration, and what ends it: a relay in this process,
// nothing on the disk.
func (o options) demoConfig(_ context.Context, stderr io.Writer) (cfg mcptools.Config, end func()) {
	world := demorelay.Sample()
	relay := demorelay.New(world)
	client := relayclient.New(relayclient.Config{
		Socket:    "the sample relay in this process",
		Principal: wire.PrincipalID(demoSession, demoBundle),
		Dial: func(ctx context.Context, _ string) (net.Conn, error) {
			ours, theirs := net.Pipe()
			// The relay's Close ends it and waits for it.
			go relay.ServeConn(context.WithoutCancel(ctx), theirs)
			return ours, nil
		},
	})
	standing := mcptools.Standing{Bundle: demoBundle, Session: demoSession, Relay: client}
	cfg = mcptools.Config{
		Version:         version(),
		Standing:        func(context.Context) mcptools.Standing { return standing },
		Bundles:         demoBundles(world.Bundles),
		CheckOutputPath: checkOutputPath,
		Errors:          o.errors,
		Stderr:          stderr,
	}
	return cfg, func() {
		client.Close()
		relay.Close()
	}
}

// demoBundles are the bundles of a sample world as its configuration would have them.
type demoBundles []demorelay.Bundle

func (d demoBundles) Names() ([]string, error) {
	var names []string
	for _, b := range d {
		names = append(names, b.Name)
	}
	return names, nil
}

func (d demoBundles) Load(name string) (*mcptools.Bundle, error) {
	for _, b := range d {
		if b.Name != name {
			continue
		}
		loaded := &mcptools.Bundle{Name: name}
		for _, s := range b.Sessions {
			loaded.Members = append(loaded.Members, mcptools.Member{ID: s.ID, Name: s.Name, Transport: s.Transport})
		}
		return loaded, nil
	}
	return nil, &mcptools.Refusal{
		Code:    mcptools.CodeUnknownBundle,
		Message: fmt.Sprintf("the demonstration has no bundle %q, only %s", name, demoBundle),
		Details: map[string]any{"bundle_name": name, "path": nil},
	}
}

func (demoBundles) StartupFailures(string) []json.RawMessage { return nil }
