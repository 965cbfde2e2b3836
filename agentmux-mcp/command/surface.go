package command

import (
	"os"
	"path/filepath"
	"slices"

	"github.com/agentmux/agentmux-go/mcptools"
	"github.com/agentmux/agentmux-go/relayclient"
	"github.com/agentmux/agentmux-go/relayclient/relay05"
	"github.com/agentmux/agentmux-go/wire"
)

// A surface is the tools of one generation of agentmux, and how its relays are found and spoken to.
type surface struct {
	name   string // as --surface has it
	relays string // which relays serve it
	tools  *mcptools.Surface
	// socket is where a relay listens for the sessions of a bundle.
	socket func(state, bundle string) string
	// credential is the file that holds the identity token of a session; nil where there are none.
	credential func(state, bundle, session string) string
	// connect returns a client for the session, which dials when it is asked for something. socket returns
	// the path of a bundle's socket; state is the state root.
	connect func(session, bundle, state string, socket func(bundle string) string, listen listener) relay
}

// A relay is a client that tools can use.
type relay interface {
	mcptools.Relay
	Close()
}

// A listener is told what a client does besides answering.
type listener struct {
	reconnecting func(reason string)
	warn         func(text string)
}

var surface08 = &surface{
	name:       "0.8",
	relays:     "agentmux 0.8 or later",
	tools:      mcptools.Surface08,
	socket:     func(state, _ string) string { return filepath.Join(state, "relay.sock") },
	credential: credentialFile,
	connect: func(session, bundle, state string, socket func(string) string, listen listener) relay {
		return relayclient.New(relayclient.Config{
			Socket:       socket(bundle),
			Principal:    wire.PrincipalID(session, bundle),
			Token:        relayclient.TokenFile(credentialFile(state, bundle, session), listen.warn),
			Reconnecting: listen.reconnecting,
		})
	},
}

func credentialFile(state, bundle, session string) string {
	return filepath.Join(state, "bundles", bundle, "sessions", session, "identity.psk")
}

var surface05 = &surface{
	name:   "0.5",
	relays: "agentmux 0.5",
	tools:  mcptools.Surface05,
	socket: func(state, bundle string) string { return filepath.Join(state, "bundles", bundle, "relay.sock") },
	connect: func(session, bundle, _ string, socket func(string) string, listen listener) relay {
		return relay05.New(relay05.Config{
			Bundle: bundle, Session: session, Socket: socket, Reconnecting: listen.reconnecting,
		})
	},
}

// surfaces are all of them, the one that is served unless another is asked for first.
var surfaces = []*surface{surface08, surface05}

// automatic asks for the surface of the relay that is there.
const automatic = "auto"

// surfaceNamed returns the surface that --surface asks for; nil stands for automatic, and false for one that does
// not exist.
func surfaceNamed(name string) (*surface, bool) {
	switch name {
	case "":
		return surfaces[0], true
	case automatic:
		return nil, true
	}
	for _, s := range surfaces {
		if s.name == name {
			return s, true
		}
	}
	return nil, false
}

// surfaceOf returns the surface of the relay that has a socket in a state root, for a bundle or, where that is "", for
// any: the first of [surfaces], if there are several, or none.
func surfaceOf(state, bundle string) *surface {
	if state == "" {
		return surfaces[0]
	}
	names := []string{bundle}
	if bundle == "" {
		entries, _ := os.ReadDir(filepath.Join(state, "bundles")) // where it can't be read, there is no relay
		for _, e := range entries {
			names = append(names, e.Name())
		}
	}
	for _, s := range surfaces {
		if slices.ContainsFunc(names, func(name string) bool { return exists(s.socket(state, name)) }) {
			return s
		}
	}
	return surfaces[0]
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
