package association

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/agentmux/agentmux-go/mcptools"
)

// member returns the member of the bundle that the session's name stands for, or what the problem is.
func (a *Association) member(bundle *mcptools.Bundle, directory string) (id, problem string) {
	sought := a.SoughtSession
	var ids, here []string
	for _, m := range bundle.Members {
		if m.ID == sought.Text {
			return m.ID, ""
		}
		ids = append(ids, m.ID)
		if sought.Guessed && sameDirectory(m.Directory, directory) {
			here = append(here, m.ID)
		}
	}
	if len(here) == 1 {
		return here[0], ""
	}
	configured := fmt.Sprintf("bundle %q (%s)", bundle.Name, a.Roots.Bundles().Path(bundle.Name))
	all := strings.Join(ids, ", ")
	switch {
	case !sought.Guessed:
		problem = fmt.Sprintf("%s has no member %q. Use the id of a member (%s) as it stands, without the bundle, "+
			"or add a [[sessions]] table.", configured, sought.Text, all)
	case len(here) > 1:
		problem = fmt.Sprintf("%s has several members whose directory is %s: %s.",
			configured, directory, strings.Join(here, ", "))
	case directory == "":
		problem = fmt.Sprintf("the members of %s are %s.", configured, all)
	default:
		problem = fmt.Sprintf("%s has no member %q and none whose directory is %s, only %s.",
			configured, sought.Text, directory, all)
	}
	return "", problem
}

// sameDirectory reports whether the directory of a member is the one at path, by whatever links either is
// reached. A member's directory that is relative is not relative to us.
func sameDirectory(member, path string) bool {
	if !filepath.IsAbs(member) || path == "" {
		return false
	}
	first, err := os.Stat(member)
	if err != nil {
		return false
	}
	second, err := os.Stat(path)
	return err == nil && os.SameFile(first, second)
}
