package association

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agentmux/agentmux-go/agentmux-mcp/internal/bundles/configfile"
)

// Association files. The first is of one worktree, the second of a configuration root, and of newer relays.
const (
	overridesFile = ".auxiliary/configuration/agentmux/overrides/mcp.toml"
	layeredFile   = "mcp.toml"
)

// Keys of association files.
const (
	keyBundle     = "bundle_name"
	keySession    = "session_name"
	keyConfigRoot = "config_root"
)

// associationFile is what an association file says. All of it is empty where there is no such file.
type associationFile struct {
	bundle, session Name
	configRoot      Root
}

// readOverrides reads the association file of a worktree.
func readOverrides(worktree string) (associationFile, error) {
	if worktree == "" {
		return associationFile{}, nil
	}
	file, err := readAssociation([]string{worktree}, overridesFile, keyBundle, keySession, keyConfigRoot)
	if root := file.configRoot.Path; root != "" && !filepath.IsAbs(root) {
		file.configRoot.Path = filepath.Join(worktree, root)
	}
	return file, err
}

// readLayered reads the association file of the first layer that has one.
func readLayered(layers []string) (associationFile, error) {
	return readAssociation(layers, layeredFile, keyBundle, keySession)
}

// readAssociation reads an association file, whose keys are all optional. Another key is refused: these
// files are for us alone, and a mistyped name must not turn into a guess.
func readAssociation(layers []string, name string, keys ...string) (associationFile, error) {
	var file associationFile
	t, err := configfile.FromLayers(layers, name)
	if errors.Is(err, fs.ErrNotExist) {
		return file, nil
	}
	if err != nil {
		return file, err
	}
	for _, key := range t.Keys() {
		if !slices.Contains(keys, key) {
			return file, t.Broken("the key %q is unknown, expected %s", key, strings.Join(keys, ", "))
		}
	}
	source := func(key string) string { return fmt.Sprintf("%s in %s", key, t.Path) }
	if file.bundle, err = nameIn(t, keyBundle, source(keyBundle)); err != nil {
		return associationFile{}, err
	}
	if file.session, err = nameIn(t, keySession, source(keySession)); err != nil {
		return associationFile{}, err
	}
	root, err := t.Text(keyConfigRoot)
	file.configRoot = Root{present(root), source(keyConfigRoot)}
	return file, err
}

func nameIn(t configfile.Table, key, source string) (Name, error) {
	text, err := t.Text(key)
	return said(text, source), err
}
