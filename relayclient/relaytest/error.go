package relaytest

import "fmt"

// An Error is a script that can't be read, or one that the client did not keep to. It quotes what the client
// sent, identity tokens too: scripts are for made-up ones.
type Error struct {
	Script     string // its name
	Line       int    // of the script, from 1
	Connection int    // from 1; 0 when it is not about one
	Problem    string // can have several lines
}

func (e *Error) Error() string {
	if e.Connection == 0 {
		return fmt.Sprintf("%s:%d: %s", e.Script, e.Line, e.Problem)
	}
	return fmt.Sprintf("%s:%d: connection %d: %s", e.Script, e.Line, e.Connection, e.Problem)
}

// maxShown is how many bytes of a line an error shows.
const maxShown = 4096

// shown is line as an error shows it.
func shown(line string) string {
	if len(line) <= maxShown {
		return line
	}
	return fmt.Sprintf("%s… (%d bytes)", line[:maxShown], len(line))
}
