package association

import (
	"fmt"
	"path/filepath"
	"slices"

	"github.com/agentmux/agentmux-go/agentmux-mcp/internal/bundles"
	"github.com/agentmux/agentmux-go/mcptools"
)

// SourceDefault is the source of a root that nobody named.
const SourceDefault = "the default"

// A Root is a directory and what named it: a flag, a variable, a key of a file, or [SourceDefault].
type Root struct {
	Path   string // absolute; "" where it cannot be told
	Source string
}

// Roots are the directories that this process shares with the relay. None of them need exist.
type Roots struct {
	Configuration       []string // layers, the first wins
	ConfigurationSource string
	State               Root
	Inscriptions        Root // inside the state root, with its source, unless it was named
}

// Bundles returns the bundles that are configured in these roots.
func (r Roots) Bundles() bundles.Directory {
	return bundles.Directory{Layers: r.Configuration, StateRoot: r.State.Path}
}

// roots finds the roots; override is the configuration root that an association file has, if any. Those
// that can be told are returned with the fault of the first that cannot.
func (in Input) roots(override Root) (Roots, *mcptools.Refusal) {
	var r Roots
	var first *mcptools.Refusal
	keep := func(root, flag string, err error) {
		if err != nil && first == nil {
			first = fault(mcptools.CodeStartupFailed,
				fmt.Sprintf("there is no telling the %s directory: %v.", root, err),
				fmt.Sprintf("Start the server with an absolute %s, or with HOME in its environment.", flag))
		}
	}
	var err error
	r.Configuration, r.ConfigurationSource, err = in.configuration(override)
	keep("configuration", "--config-directory", err)
	r.State, err = in.state()
	keep("state", "--state-directory", err)
	r.Inscriptions, err = in.inscriptions(r.State)
	keep("inscriptions", "--inscriptions-directory", err)
	return r, first
}

func (in Input) configuration(override Root) (layers []string, source string, err error) {
	if named := notBlank(in.ConfigurationDirectories); len(named) > 0 {
		layers, err = in.absoluteAll(named)
		return layers, in.Flag("config-directory"), err
	}
	if override.Path != "" {
		return []string{override.Path}, override.Source, nil
	}
	if named := notBlank(filepath.SplitList(in.getenv(variableConfiguration))); len(named) > 0 {
		layers, err = in.absoluteAll(named)
		return layers, variableConfiguration, err
	}
	root, err := in.conventional("XDG_CONFIG_HOME", ".config")
	if err != nil {
		return nil, "", err
	}
	return []string{root.Path}, root.Source, nil
}

func notBlank(paths []string) []string {
	return slices.DeleteFunc(slices.Clone(paths), func(path string) bool { return present(path) == "" })
}

func (in Input) absoluteAll(paths []string) ([]string, error) {
	all := make([]string, len(paths))
	for i, path := range paths {
		var err error
		if all[i], err = in.absolute(path); err != nil {
			return nil, err
		}
	}
	return all, nil
}

func (in Input) state() (Root, error) {
	if dir := present(in.StateDirectory); dir != "" {
		return in.named(dir, in.Flag("state-directory"))
	}
	if dir := in.getenv(variableState); dir != "" {
		return in.named(dir, variableState)
	}
	return in.conventional("XDG_STATE_HOME", ".local/state")
}

func (in Input) inscriptions(state Root) (Root, error) {
	if dir := present(in.InscriptionsDirectory); dir != "" {
		return in.named(dir, in.Flag("inscriptions-directory"))
	}
	if state.Path == "" {
		return Root{}, nil // for which the state root is to blame
	}
	return Root{filepath.Join(state.Path, "inscriptions"), state.Source}, nil
}

func (in Input) named(dir, source string) (Root, error) {
	path, err := in.absolute(dir)
	return Root{path, source}, err
}

// conventional returns the directory of agentmux where the XDG base directory specification puts it.
func (in Input) conventional(variable, inHome string) (Root, error) {
	if dir := in.getdir(variable); dir != "" {
		return Root{filepath.Join(dir, "agentmux"), variable}, nil
	}
	home, err := in.home()
	if err != nil {
		return Root{}, fmt.Errorf("HOME is not set, and %w", err)
	}
	return Root{filepath.Join(home, inHome, "agentmux"), SourceDefault}, nil
}
