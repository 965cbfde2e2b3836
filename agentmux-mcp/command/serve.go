package command

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	"github.com/agentmux/agentmux-go/agentmux-mcp/internal/association"
	"github.com/agentmux/agentmux-go/agentmux-mcp/internal/stdio"
	"github.com/agentmux/agentmux-go/mcptools"
	"golang.org/x/term"
)

// serve serves MCP until the input ends, the client has gone, or a signal comes.
func serve(o options, stdin io.Reader, stdout, stderr io.Writer) error {
	if f, ok := stdin.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		fmt.Fprintln(stderr, "agentmux-mcp is an MCP server: a client starts it and speaks to it here. See agentmux-mcp --help, or try agentmux-mcp demo.")
	}
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(400) // of a few MiB: what a call leaves behind is collected less often
	}
	// A client that stops reading is an error of the write, not the end of the process.
	signal.Ignore(syscall.SIGPIPE)
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer signal.Stop(signals)

	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	configure := o.config
	if o.demo {
		configure = o.demoConfig
	}
	ended := make(chan error, 1)
	go func() {
		cfg, end := configure(ctx, stderr)
		err := converse(ctx, cfg, stdin, stdout)
		end()
		ended <- err
	}()
	select {
	case err := <-ended:
		return err
	case s := <-signals:
		// What is under way is abandoned: a stream that is blocked would keep the process for good.
		return exitStatus(128 + int(s.(syscall.Signal)))
	}
}

// converse serves one client on a pair of streams.
func converse(ctx context.Context, cfg mcptools.Config, in io.Reader, out io.Writer) error {
	tools := mcptools.New(cfg)
	defer tools.Close()
	return tools.Server(ctx).Run(ctx, &stdio.Transport{Reader: in, Writer: out})
}

// config is what the tools work with outside of a demonstration, and what ends it.
func (o options) config(ctx context.Context, stderr io.Writer) (cfg mcptools.Config, end func()) {
	directory, err := os.Getwd()
	if err != nil {
		directory = "" // it was removed; what needs it will say so
	}
	r := &resident{
		input: association.Input{
			Bundle:                   o.bundle,
			Session:                  o.session,
			ConfigurationDirectories: o.configuration,
			StateDirectory:           o.state,
			InscriptionsDirectory:    o.inscriptions,
			RepositoryRoot:           o.repository,
			Variables:                o.variables,
			Environ:                  os.Environ(),
			WorkingDirectory:         directory,
		},
		socket:  o.socket,
		surface: o.surface,
		stderr:  stderr,
	}
	r.Standing(ctx)
	cfg = mcptools.Config{
		Version:  version(),
		Surface:  r.surface.tools,
		Standing: r.Standing,
		Bundles:  r,
		Inscribe: r.Inscribe,
		Errors:   o.errors,
		Stderr:   stderr,
	}
	if o.socket == "" {
		cfg.CheckOutputPath = checkOutputPath
	}
	return cfg, r.Close
}
