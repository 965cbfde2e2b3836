package bundles

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/agentmux/agentmux-go/agentmux-mcp/internal/bundles/configfile"
	"github.com/agentmux/agentmux-go/wire"
)

const codersFile = "coders.toml"

// coders are the programs that sessions run, by id. Each is judged when a session names it.
type coders struct {
	source string // where they were looked for, for messages
	byID   map[string][]configfile.Table
}

// readCoders reads the coders of the first layer that has any. No file means no coders.
func readCoders(layers []string) (coders, error) {
	t, err := configfile.FromLayers(layers, codersFile)
	if errors.Is(err, fs.ErrNotExist) {
		return coders{source: fmt.Sprintf("there is no %s in %s", codersFile, strings.Join(layers, " or "))}, nil
	}
	if err != nil {
		return coders{}, err
	}
	return codersOf(t)
}

func codersOf(t configfile.Table) (coders, error) {
	if err := checkFormat(t); err != nil {
		return coders{}, err
	}
	tables, err := t.Tables("coders", "coder")
	if err != nil {
		return coders{}, err
	}
	all := coders{source: t.Path + " has no such coder", byID: map[string][]configfile.Table{}}
	for _, t := range tables {
		id, err := name(t, "id")
		if err != nil {
			return coders{}, err
		}
		all.byID[id] = append(all.byID[id], t.Named(fmt.Sprintf("coder %q", id)))
	}
	return all, nil
}

// transport returns the transport of the coder that a session names.
func (c coders) transport(session configfile.Table, coder string) (string, error) {
	defined := c.byID[coder]
	switch {
	case coder == "":
		return "", session.Broken("coder is blank")
	case len(defined) == 0:
		return "", session.Broken("coder %q is unknown: %s", coder, c.source)
	case len(defined) > 1:
		return "", defined[0].Broken("there are %d coders with this id", len(defined))
	}
	found, err := present(defined[0], wire.TransportTmux, wire.TransportACP, wire.TransportPTY)
	switch {
	case err != nil:
		return "", err
	case len(found) == 0:
		return "", defined[0].Broken("it has no transport, expected one of the tables tmux, acp and pty")
	case len(found) > 1:
		return "", defined[0].Broken("it has %s, expected one of them", strings.Join(found, " and "))
	}
	return found[0], nil
}
