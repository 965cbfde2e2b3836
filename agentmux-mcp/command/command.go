// Package command is the agentmux-mcp command: flags, signals and exit status. It composes the transport, the
// tools and the relay client, and decides nothing that they decide.
//
// Standard output belongs to MCP: while serving, nothing but protocol is written to it. What people are to
// read goes to standard error.
package command

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/agentmux/agentmux-go/mcptools"
	"github.com/urfave/cli/v2"
)

// Exit statuses. A server that a signal ended exits with 128 and the signal's number.
const (
	exitOK    = 0
	exitError = 1
	exitUsage = 2
)

// Main runs the command with the process's arguments and streams, and returns its exit status.
func Main() int {
	return run(os.Args, os.Stdin, os.Stdout, os.Stderr)
}

// A usageError is a command line that can't be carried out.
type usageError struct{ err error }

func (e *usageError) Error() string { return e.err.Error() }

// An exitStatus ends the process without a message.
type exitStatus int

func (exitStatus) Error() string { return "exit" }

func run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	app := newApp(stdin, stdout, stderr)
	err := app.Run(args)
	if status, ok := errors.AsType[exitStatus](err); ok {
		return int(status)
	}
	if usage, ok := errors.AsType[*usageError](err); ok {
		fmt.Fprintf(stderr, "agentmux-mcp: %v (see agentmux-mcp --help)\n", usage)
		return exitUsage
	}
	if err != nil {
		fmt.Fprintf(stderr, "agentmux-mcp: %v\n", err)
		return exitError
	}
	return exitOK
}

// Names of the flags. Each has a variable too; see variable.
const (
	flagBundle        = "bundle"
	flagSession       = "session-name"
	flagConfiguration = "config-directory"
	flagState         = "state-directory"
	flagInscriptions  = "inscriptions-directory"
	flagRepository    = "repository-root"
	flagSurface       = "surface"
	flagErrors        = "errors"
	flagDemo          = "demo"
	flagSocket        = "relay-socket"
)

// variable is the environment variable that stands for a flag.
func variable(flag string) string {
	return "AGENTMUX_MCP_" + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

func newApp(stdin io.Reader, stdout, stderr io.Writer) *cli.App {
	onUsageError := func(_ *cli.Context, err error, _ bool) error { return &usageError{err} }
	return &cli.App{
		Name:      "agentmux-mcp",
		Usage:     "MCP server that connects a coding agent with its team on an agentmux relay",
		UsageText: "agentmux-mcp [flags]        serve MCP on standard input and output\nagentmux-mcp demo           show each tool against a sample relay, in the terminal",
		Version:   version(),
		Description: "A coding agent's MCP client starts this command; nothing needs to be set up where it runs in a session's directory.\n" +
			"Flags outrank variables, variables outrank the repository's overrides file, and what is not given is found out.",
		// Writer takes what was asked for: help and version. Usage errors are ours to report.
		Writer:          stdout,
		ErrWriter:       stderr,
		OnUsageError:    onUsageError,
		ExitErrHandler:  func(*cli.Context, error) {},
		HideHelpCommand: true,
		Flags:           flags(),
		Action: func(c *cli.Context) error {
			if stray := c.Args().First(); stray != "" {
				return &usageError{fmt.Errorf("unexpected argument %q", stray)}
			}
			o, err := readOptions(c)
			if err != nil {
				return &usageError{err}
			}
			return serve(o, stdin, stdout, stderr)
		},
		Commands: []*cli.Command{{
			Name:         "demo",
			Usage:        "show each tool against a sample relay, in the terminal",
			HideHelp:     true,
			OnUsageError: onUsageError,
			Action: func(c *cli.Context) error {
				if stray := c.Args().First(); stray != "" {
					return &usageError{fmt.Errorf("unexpected argument %q", stray)}
				}
				return tour(c.Context, stdout)
			},
		}},
	}
}

func flags() []cli.Flag {
	// also are the variables that stand for the flag beside its own.
	text := func(name, usage, also string, aliases ...string) cli.Flag {
		return &cli.StringFlag{Name: name, Aliases: aliases, Usage: fmt.Sprintf("%s [%s$%s]", usage, also, variable(name))}
	}
	return []cli.Flag{
		text(flagBundle, "`NAME` of the home bundle", "$AGENTMUX_BUNDLE, ", "bundle-name"),
		text(flagSession, "`NAME` of the sender session", "$AGENTMUX_SESSION, "),
		&cli.GenericFlag{
			Name: flagConfiguration, Aliases: []string{"configuration-directory"}, Value: new(paths),
			Usage: fmt.Sprintf("`PATH` of a configuration root; of several the first that has a file wins [$AGENTMUX_CONFIGURATION_DIRECTORY, $%s]",
				variable(flagConfiguration)),
		},
		text(flagState, "`PATH` of the state root", "$AGENTMUX_STATE_DIRECTORY, "),
		text(flagInscriptions, "`PATH` of the event log's root", "", "logs-directory"),
		text(flagRepository, "`PATH` to find out bundle and session from, in place of the working directory", ""),
		text(flagSurface, "`VERSION` of agentmux whose tools are served: 0.8 (its relay, and later ones), 0.5, or auto (that of the relay that is there)", ""),
		text(flagErrors, "`FORM` of tool errors: protocol (JSON-RPC errors), result (tool results), or auto (by revision of MCP)", ""),
		text(flagSocket, "`PATH` of the relay's socket, where it is not relay.sock in the state root", ""),
		&cli.BoolFlag{Name: flagDemo, Usage: fmt.Sprintf("serve a sample relay that lives in this process [$%s]", variable(flagDemo))},
	}
}

// paths is the value of a flag that may be given again. It keeps each path as it is, where that of a
// [cli.StringSliceFlag] takes off outer blanks and replaces bytes that are no UTF-8.
type paths []string

// sameAgain is what cli sets the value to for each further name of the flag: what Serialize returned. As the names
// share the value, there is nothing to do. No argument can hold a NUL.
const sameAgain = "\x00"

func (p *paths) Set(path string) error {
	if path != sameAgain {
		*p = append(*p, path)
	}
	return nil
}

func (p *paths) String() string { return strings.Join(*p, string(filepath.ListSeparator)) }

// Serialize makes p a [cli.Serializer].
func (p *paths) Serialize() string { return sameAgain }

// options are the command line and its environment.
type options struct {
	bundle, session, state, inscriptions, repository, socket string

	configuration []string
	surface       *surface // nil: that of the relay that is there
	errors        mcptools.ErrorForm
	demo          bool

	variables map[string]string // that flags got their values from, by flag
}

// readOptions reads the flags, and for those that are not given the variables that stand for them. A blank
// value counts as none.
func readOptions(c *cli.Context) (options, error) {
	variables := make(map[string]string)
	fromVariable := func(flag string) string {
		v := os.Getenv(variable(flag))
		if strings.TrimSpace(v) == "" {
			return ""
		}
		variables[flag] = variable(flag)
		return v
	}
	value := func(flag string) string {
		if v := c.String(flag); strings.TrimSpace(v) != "" {
			return v
		}
		return fromVariable(flag)
	}
	o := options{
		bundle:        value(flagBundle),
		session:       value(flagSession),
		state:         value(flagState),
		inscriptions:  value(flagInscriptions),
		repository:    value(flagRepository),
		socket:        value(flagSocket),
		configuration: *c.Generic(flagConfiguration).(*paths),
		demo:          c.Bool(flagDemo),
		variables:     variables,
	}
	if len(o.configuration) == 0 {
		o.configuration = filepath.SplitList(fromVariable(flagConfiguration))
	}
	if v := fromVariable(flagDemo); v != "" && !c.IsSet(flagDemo) {
		demo, err := strconv.ParseBool(strings.TrimSpace(v))
		if err != nil {
			return o, fmt.Errorf("$%s must be true or false, not %q", variable(flagDemo), v)
		}
		o.demo = demo
	}
	form := strings.TrimSpace(value(flagErrors))
	errorForm, ok := map[string]mcptools.ErrorForm{
		"": mcptools.ErrorsAuto, "auto": mcptools.ErrorsAuto, "protocol": mcptools.ErrorsProtocol, "result": mcptools.ErrorsResult,
	}[form]
	if !ok {
		return o, fmt.Errorf("--%s must be auto, protocol or result, not %q", flagErrors, form)
	}
	o.errors = errorForm
	if o.surface, ok = surfaceNamed(strings.TrimSpace(value(flagSurface))); !ok {
		return o, fmt.Errorf("--%s must be 0.8, 0.5 or auto, not %q", flagSurface, value(flagSurface))
	}
	switch {
	case o.demo && o.surface != surface08:
		return o, fmt.Errorf("--%s has tools of 0.8 alone: leave out --%s", flagDemo, flagSurface)
	case o.socket != "" && o.surface == nil:
		return o, fmt.Errorf("--%s does not tell the version of its relay: give --%s 0.8 or 0.5", flagSocket, flagSurface)
	}
	if o.socket != "" {
		absolute, err := filepath.Abs(o.socket)
		if err != nil {
			return o, fmt.Errorf("--%s: %w", flagSocket, err)
		}
		o.socket = absolute
	}
	return o, nil
}
