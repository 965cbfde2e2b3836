package bundles

import (
	"fmt"
	"strings"
	"sync"

	"github.com/agentmux/agentmux-go/agentmux-mcp/internal/bundles/configfile"
	"github.com/agentmux/agentmux-go/mcptools"
	"github.com/agentmux/agentmux-go/wire"
)

// formatVersion is the format of bundle and coder files that this package reads.
const formatVersion = 1

func checkFormat(t configfile.Table) error {
	version, err := t.Integer("format-version")
	switch {
	case err != nil:
		return err
	case !t.Has("format-version"):
		return t.Broken("format-version is missing, expected format-version = %d", formatVersion)
	case version != formatVersion:
		return t.Broken("format-version is %d, expected %d", version, formatVersion)
	}
	return nil
}

// isUnused reports whether a bundle file is well-formed as far as it goes, but has no session.
func isUnused(bundle configfile.Table) bool {
	sessions, err := sessionsOf(bundle)
	return err == nil && len(sessions) == 0
}

func sessionsOf(bundle configfile.Table) ([]configfile.Table, error) {
	if err := checkFormat(bundle); err != nil {
		return nil, err
	}
	return bundle.Tables("sessions", "session")
}

// membersOf returns the members of a bundle file. It asks for the coders once, if a session has one.
func membersOf(bundle configfile.Table, readCoders func() (coders, error)) ([]mcptools.Member, error) {
	sessions, err := sessionsOf(bundle)
	if err != nil {
		return nil, err
	}
	if len(sessions) == 0 {
		return nil, bundle.Broken("it has no [[sessions]]")
	}
	if err := checkGroups(bundle); err != nil {
		return nil, err
	}
	readCoders = sync.OnceValues(readCoders)
	members := make([]mcptools.Member, len(sessions))
	ids, names := map[string]bool{}, map[string]bool{}
	for i, t := range sessions {
		m, err := member(t, readCoders)
		switch {
		case err != nil:
			return nil, err
		case ids[m.ID]:
			return nil, t.Broken("there is another session with the id %q", m.ID)
		case names[m.Name]:
			return nil, t.Broken("there is another session with the name %q", m.Name)
		}
		ids[m.ID] = true
		if m.Name != "" {
			names[m.Name] = true
		}
		members[i] = m
	}
	return members, nil
}

// member returns the member that a session is.
func member(t configfile.Table, readCoders func() (coders, error)) (m mcptools.Member, err error) {
	if m.ID, err = name(t, "id"); err != nil {
		return m, err
	}
	switch {
	case m.ID == "":
		return m, t.Broken("id is missing or blank")
	case !legalID(m.ID):
		return m, t.Broken("id %q is not an ASCII letter followed by letters, digits, '-' and '_'", m.ID)
	}
	t = t.Named(fmt.Sprintf("session %q", m.ID))
	if m.Name, err = name(t, "name"); err != nil {
		return m, err
	}
	if m.Directory, err = t.Text("directory"); err != nil {
		return m, err
	}
	m.Transport, err = transport(t, readCoders)
	return m, err
}

// name returns a string without the space around it, which the relay takes off all names.
func name(t configfile.Table, key string) (string, error) {
	text, err := t.Text(key)
	return strings.TrimSpace(text), err
}

// legalID reports whether a session can have the id. Ids are used in paths, so that this is more than
// good form.
func legalID(id string) bool {
	for i, r := range id {
		if !isLetter(r) && (i == 0 || !isDigit(r) && r != '-' && r != '_') {
			return false
		}
	}
	return id != ""
}

func isLetter(r rune) bool { return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' }

func isDigit(r rune) bool { return '0' <= r && r <= '9' }

// transport returns the transport of a session: its marker, or that of its coder.
func transport(t configfile.Table, readCoders func() (coders, error)) (string, error) {
	found, err := present(t, wire.TransportUI, wire.TransportPubSub)
	if err != nil {
		return "", err
	}
	coder, err := name(t, "coder")
	if err != nil {
		return "", err
	}
	hasCoder := t.Has("coder")
	if hasCoder {
		found = append(found, "coder")
	}
	switch {
	case len(found) == 0:
		return "", t.Broken("it has no transport, expected a coder or one of the tables ui and pubsub")
	case len(found) > 1:
		return "", t.Broken("it has %s, expected one of them", strings.Join(found, " and "))
	case !hasCoder:
		return found[0], nil
	}
	known, err := readCoders()
	if err != nil {
		return "", err
	}
	return known.transport(t, coder)
}

// present returns those of the keys that the table has. Each must hold a table.
func present(t configfile.Table, keys ...string) ([]string, error) {
	var found []string
	for _, key := range keys {
		ok, err := t.HasTable(key)
		if err != nil {
			return nil, err
		}
		if ok {
			found = append(found, key)
		}
	}
	return found, nil
}
