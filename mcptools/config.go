package mcptools

import (
	"context"
	"encoding/json"
	"io"

	"github.com/agentmux/agentmux-go/relayclient"
	"github.com/agentmux/agentmux-go/wire"
)

// Config is what the tools take from the process that serves them. Nothing in this package reads a file
// or the environment: what it needs of them comes in here.
type Config struct {
	Version string // of the build, as the server reports it

	Surface *Surface // nil: [Surface08]

	// Standing says who the server is at this moment. It is asked once for each call whose arguments are
	// good, and may look anew at what was wrong before. Required.
	Standing func(context.Context) Standing

	Bundles Bundles // required

	// Inscribe appends a record to the event log. It must be safe for concurrent use and must not
	// fail. Nil: there is no log.
	Inscribe func(event string, details map[string]any)

	// CheckOutputPath says why the relay could not write a new file at an absolute path, or returns
	// nil. Nil: the relay's files are out of sight, and only the form of a path is checked.
	CheckOutputPath func(path string) error

	Errors ErrorForm

	// Stderr takes the stack of a panic. Nil: it is dropped.
	Stderr io.Writer
}

// Standing is who the server is: a session of a bundle, or nobody yet.
type Standing struct {
	Bundle  string // home bundle; "" where the server is not associated
	Session string // sender session, without its namespace; "" where the server is not associated
	Relay   Relay  // nil where the server is not associated

	// Reason says why the server is not associated. "" where it is, or where nothing was found to say.
	Reason string

	// Fault is what start-up found wrong with configuration or association. Every call that needs the
	// relay fails with it. Nil where all is well.
	Fault *Refusal

	// Remedy says what to do about a relay that gives no answer, such as how to start the one that this
	// server looks for, and where it got the path from; "" where there is nothing to say. It ends the
	// message of the error. Nil: there is never anything to say.
	Remedy func(*relayclient.Error) string
}

// Associated reports whether the server has a sender session.
func (s Standing) Associated() bool { return s.Session != "" && s.Bundle != "" && s.Fault == nil }

// A Relay performs operations for the server's session: those of the surface in use. [*relayclient.Client] is one
// for [Surface08], and relay05.Client one for [Surface05].
type Relay interface {
	Do(ctx context.Context, namespace string, op wire.Operation) (*relayclient.Reply, error)
	Subscribe(buffer int) *relayclient.Events
}

// Bundles is the configuration of bundles, read anew at every call. Errors that a caller can mend are
// [*Refusal].
type Bundles interface {
	// Names returns the names of the configured bundles that have a session, in byte order.
	Names() ([]string, error)
	// Load reads one bundle. The name has been checked to be one file name.
	Load(name string) (*Bundle, error)
	// StartupFailures returns the bundle's failure history; empty or nil where there is none or it can't
	// be read.
	StartupFailures(name string) []json.RawMessage
}

// Bundle is a configured team.
type Bundle struct {
	Name    string
	Members []Member // in the order of the file
}

// Member is a configured session.
type Member struct {
	ID        string
	Name      string // "" where it has none
	Transport string // a Transport constant of package wire
	Directory string // as written
}

// ErrorForm says how a tool's failure is given to the client.
type ErrorForm int

const (
	// ErrorsAuto gives a JSON-RPC error to clients of protocol revisions before 2026-07-28 and a
	// result with isError to newer ones.
	ErrorsAuto ErrorForm = iota
	// ErrorsProtocol always gives a JSON-RPC error.
	ErrorsProtocol
	// ErrorsResult always gives a result with isError.
	ErrorsResult
)
