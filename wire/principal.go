package wire

import "strings"

// Namespaces that are no bundle (PROTOCOL.md, "Principals and namespaces").
const (
	NamespaceGlobal   = "GLOBAL"
	NamespaceExternal = "EXTERNAL"
	NamespaceRelay    = "RELAY"
	NamespaceAll      = "ALL"
)

// PrincipalID returns session@namespace, or session itself where it names a namespace already.
func PrincipalID(session, namespace string) string {
	if strings.Contains(session, "@") {
		return session
	}
	return session + "@" + namespace
}
