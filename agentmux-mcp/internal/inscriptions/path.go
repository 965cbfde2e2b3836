package inscriptions

import (
	"path/filepath"
	"strings"
)

// pathOf is where the records of a session go.
func pathOf(root, bundle, session string) string {
	if bundle == "" || session == "" {
		return filepath.Join(root, "mcp", "unassociated.log")
	}
	return filepath.Join(root, "bundles", fileName(bundle), "sessions", fileName(session), "mcp.log")
}

// fileName makes one file name of any name: not a path, and not one of the names that lead elsewhere.
func fileName(name string) string {
	safe := strings.Map(func(r rune) rune {
		switch {
		case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9', r == '-', r == '_', r == '.':
			return r
		default:
			return '_'
		}
	}, name)
	if safe == "." || safe == ".." {
		return strings.Repeat("_", len(safe))
	}
	return safe
}
