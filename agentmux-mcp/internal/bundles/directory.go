package bundles

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agentmux/agentmux-go/agentmux-mcp/internal/bundles/configfile"
	"github.com/agentmux/agentmux-go/mcptools"
	"github.com/agentmux/agentmux-go/wire"
)

// A Directory is where the configuration of bundles is read from. It keeps nothing between calls, and all
// its methods may be called concurrently. Errors are [*mcptools.Refusal].
type Directory struct {
	// Layers are the configuration roots. Of a file that several have, the first layer's counts; the
	// names of bundles are those of all layers together.
	Layers []string
	// StateRoot holds what the relay keeps about its bundles. "": nothing is known of that.
	StateRoot string
}

var _ mcptools.Bundles = Directory{}

// legal reports whether a bundle can have the name. The relay's own namespaces are none.
func legal(name string) bool {
	switch name {
	case wire.NamespaceGlobal, wire.NamespaceExternal, wire.NamespaceRelay, wire.NamespaceAll:
		return false
	}
	return mcptools.IsBundleName(name)
}

const suffix = ".toml"

// file is the path of a bundle's file in a layer.
func file(name string) string { return "bundles/" + name + suffix }

// Path returns the path of the bundle's file: the one that Load reads, or the one in the first layer where
// there is none.
func (d Directory) Path(name string) string {
	var first string
	for _, layer := range d.Layers {
		path := filepath.Join(layer, file(name))
		if _, err := os.Lstat(path); err == nil {
			return path
		}
		if first == "" {
			first = path
		}
	}
	return first
}

// Names returns the bundles that have a session, in byte order. A bundle whose file is broken is one of
// them, so that asking for all bundles does not pass over it in silence. A file without a session is how
// a bundle that is not in use is written; the relay does not know such a bundle either.
func (d Directory) Names() ([]string, error) {
	names, err := d.files()
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(names, func(name string) bool {
		t, err := d.parse(name)
		if err != nil {
			return errors.Is(err, fs.ErrNotExist) // removed since
		}
		return isUnused(t)
	}), nil
}

// files returns the names of all bundle files, in byte order.
func (d Directory) files() ([]string, error) {
	var names []string
	for _, layer := range d.Layers {
		dir := filepath.Join(layer, "bundles")
		entries, err := os.ReadDir(dir)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, configfile.Unreadable(dir, err)
		}
		for _, e := range entries {
			name, ok := strings.CutSuffix(e.Name(), suffix)
			if ok && legal(name) && isRegular(filepath.Join(dir, e.Name())) {
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

// isRegular follows symbolic links, as reading does.
func isRegular(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// Load reads a bundle. A name without a file is refused with validation_unknown_bundle, details
// {"bundle_name","path"}; a file that breaks the rules with validation_invalid_arguments, details
// {"path","cause"}, or, for the name of a group, validation_invalid_group_name or
// validation_reserved_group_name, details {"path","group_name"}.
//
// Rules are applied to what is used of the files: keys that are not, and coders that no session of the
// bundle has, are the relay's to judge.
func (d Directory) Load(name string) (*mcptools.Bundle, error) {
	t, err := d.parse(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, d.unknown(name)
	}
	if err != nil {
		return nil, err
	}
	members, err := membersOf(t, func() (coders, error) { return readCoders(d.Layers) })
	if err != nil {
		return nil, err
	}
	return &mcptools.Bundle{Name: name, Members: members}, nil
}

// parse parses the bundle's file. The error is [fs.ErrNotExist] where there is none.
func (d Directory) parse(name string) (configfile.Table, error) {
	if !legal(name) {
		return configfile.Table{}, fs.ErrNotExist
	}
	return configfile.FromLayers(d.Layers, file(name))
}

// unknown refuses a bundle that has no file.
func (d Directory) unknown(name string) *mcptools.Refusal {
	path := d.Path(name)
	return &mcptools.Refusal{
		Code:    mcptools.CodeUnknownBundle,
		Message: fmt.Sprintf("no bundle %q is configured. %s", name, d.remedy(name, path)),
		Details: map[string]any{"bundle_name": name, "path": path},
	}
}

// remedy says what to do about a bundle that has no file: the state of things first, the next step last.
func (d Directory) remedy(name, path string) string {
	if !legal(name) {
		return "A bundle's name has ASCII letters, digits, '-', '_' and '.', and is none of the relay's namespaces."
	}
	for _, layer := range d.Layers {
		if _, err := os.Stat(layer); errors.Is(err, fs.ErrNotExist) {
			return fmt.Sprintf("There is no directory %s. Check its path, or create the file %s.", layer, path)
		}
	}
	remedy := fmt.Sprintf("There is no file %s", path)
	names, err := d.Names()
	switch {
	case err != nil:
		return fmt.Sprintf("%s, and the others cannot be listed: %v", remedy, err)
	case len(names) == 0:
		return remedy + ", nor that of any other bundle. Check the path of the directory, or create the file."
	default:
		return fmt.Sprintf("%s. Use one of the configured bundles (%s), or create the file.",
			remedy, strings.Join(names, ", "))
	}
}
