package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/agentmux/agentmux-go/agentmux-mcp/internal/association"
	"github.com/agentmux/agentmux-go/agentmux-mcp/internal/bundles"
	"github.com/agentmux/agentmux-go/agentmux-mcp/internal/inscriptions"
	"github.com/agentmux/agentmux-go/mcptools"
	"github.com/agentmux/agentmux-go/relayclient"
	"github.com/agentmux/agentmux-go/wire"
)

// relookPause is the least time between two looks at an association that was found wanting.
const relookPause = time.Second

// A resident knows who this process is. What was wrong with that is looked at again when a call asks, so
// that who mends it need not start the server anew. Once it is right it stays.
type resident struct {
	input   association.Input
	socket  string   // "" is the one in the state root
	surface *surface // nil before the first look: that of the relay that is there
	stderr  io.Writer
	log     *inscriptions.Log // nil before the first look

	mu       sync.Mutex
	looking  bool      // while a call finds out the association
	looked   time.Time // when that was last done; zero before the first time
	found    association.Association
	standing mcptools.Standing
	client   relay // nil until there is a session to connect for
}

// Standing returns who this process is.
func (r *resident) Standing(ctx context.Context) mcptools.Standing {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.client == nil && !r.looking && time.Since(r.looked) >= relookPause {
		r.look(ctx)
	}
	return r.standing
}

// look finds out who this process is. r.mu is held, but not while that takes: other calls go by what is known.
func (r *resident) look(ctx context.Context) {
	r.looking = true
	defer func() { r.looking = false }()
	a := r.resolve(ctx)
	before, first := r.standing, r.looked.IsZero()
	r.found, r.looked = a, time.Now()
	if r.surface == nil {
		r.surface = surfaceOf(a.Roots.State.Path, a.Bundle)
	}
	if r.log == nil {
		r.log = inscriptions.New(a.Roots.Inscriptions.Path, r.stderr)
	}
	r.standing = mcptools.Standing{Bundle: a.Bundle, Session: a.Session, Reason: a.Reason, Fault: a.Fault}
	if r.standing.Associated() {
		r.connect()
	}
	if !first && !changed(before, r.standing) {
		return
	}
	r.log.Associate(a.Bundle, a.Session)
	r.log.Inscribe("mcp.startup", startupDetails(a))
	if a.Fault != nil {
		fmt.Fprintf(r.stderr, "agentmux-mcp: %s\n", printable(a.Fault.Error()))
	}
}

// resolve finds the association out, without r.mu, which is held before and after.
func (r *resident) resolve(ctx context.Context) association.Association {
	r.mu.Unlock()
	defer r.mu.Lock()
	// A call that is cancelled must not leave half an answer for the others.
	return association.Resolve(context.WithoutCancel(ctx), r.input)
}

// printable keeps text on one line. A fault can quote paths and files of a repository that anybody made.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, text)
}

// changed reports whether there is news in b.
func changed(a, b mcptools.Standing) bool {
	return a.Session != b.Session || a.Bundle != b.Bundle || a.Reason != b.Reason || text(a.Fault) != text(b.Fault)
}

func text(r *mcptools.Refusal) string {
	if r == nil {
		return ""
	}
	return r.Error()
}

// connect makes the client for the session. It dials when the first call needs it. r.mu is held.
func (r *resident) connect() {
	a, surface := r.found, r.surface
	state := a.Roots.State.Path
	socket := func(bundle string) string {
		if r.socket != "" && bundle == a.Bundle {
			return r.socket
		}
		return surface.socket(state, bundle)
	}
	r.client = surface.connect(a.Session, a.Bundle, state, socket, listener{
		reconnecting: func(reason string) {
			r.log.Inscribe("mcp.relay.reconnecting", map[string]any{
				"namespace": a.Bundle, "session_id": a.Session, "reason": reason,
			})
		},
		warn: func(text string) { fmt.Fprintf(r.stderr, "agentmux-mcp: %s\n", text) },
	})
	r.standing.Relay = r.client
	r.standing.Remedy = func(e *relayclient.Error) string { return r.remedy(a, e) }
}

// remedy says what to do about a relay that gave no answer.
func (r *resident) remedy(a association.Association, e *relayclient.Error) string {
	if refusal, ok := errors.AsType[*wire.Error](e); ok {
		return r.remedyOfRefusal(a, refusal)
	}
	if e.Kind != relayclient.Unavailable {
		return ""
	}
	if e.Socket == r.socket {
		return fmt.Sprintf("The socket comes from %s: check the path, and that what serves it runs.", r.input.Flag(flagSocket))
	}
	state := a.Roots.State
	if there := surfaceOf(state.Path, a.Bundle); there != r.surface && exists(there.socket(state.Path, a.Bundle)) {
		return fmt.Sprintf("There is a relay of %s at %s: to use it, start this server with --%s %s.",
			there.relays, there.socket(state.Path, a.Bundle), flagSurface, there.name)
	}
	return fmt.Sprintf("Start a relay with: agentmux host relay --state-directory %s. The state directory comes from %s: if the relay uses another one, give it with --state-directory.",
		state.Path, state.Source)
}

// credentialCodes are of the relay's refusals of an identity token.
var credentialCodes = []string{
	"validation_unrecognized_credential", "validation_identity_binding_mismatch", "validation_credential_required", "runtime_identity_expired",
}

// remedyOfRefusal says what to do about a relay that did not want to talk.
func (r *resident) remedyOfRefusal(a association.Association, refusal *wire.Error) string {
	switch {
	case refusal.Code == mcptools.CodeInvalidArguments:
		return fmt.Sprintf("The relay may be of another generation than the tools, which are for %s: choose those with %s.",
			r.surface.relays, r.input.Flag(flagSurface))
	case r.surface.credential != nil && slices.Contains(credentialCodes, refusal.Code):
		return fmt.Sprintf("The credential of %s is read from %s whenever the relay is connected to: have the current one put there.",
			wire.PrincipalID(a.Session, a.Bundle), r.surface.credential(a.Roots.State.Path, a.Bundle, a.Session))
	}
	return ""
}

// Inscribe appends to the event log. There must have been a first look.
func (r *resident) Inscribe(event string, details map[string]any) { r.log.Inscribe(event, details) }

// Close ends the connection to the relay and the log.
func (r *resident) Close() {
	r.mu.Lock()
	client := r.client
	r.mu.Unlock()
	if client != nil {
		client.Close()
	}
	r.log.Close()
}

// bundles returns those of the configuration roots in force.
func (r *resident) bundles() bundles.Directory {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.found.Roots.Bundles()
}

// The bundles of a resident are an [mcptools.Bundles].

func (r *resident) Names() ([]string, error)                   { return r.bundles().Names() }
func (r *resident) Load(name string) (*mcptools.Bundle, error) { return r.bundles().Load(name) }
func (r *resident) StartupFailures(name string) []json.RawMessage {
	return r.bundles().StartupFailures(name)
}

// startupDetails are what the log shows of an association.
func startupDetails(a association.Association) map[string]any {
	status := "associated"
	if a.Session == "" {
		status = "unassociated"
	}
	var fault any
	if a.Fault != nil {
		fault = map[string]any{"code": a.Fault.Code, "message": a.Fault.Message}
	}
	return map[string]any{
		"version":             version(),
		"association_status":  status,
		"association_reason":  orNull(a.Reason),
		"bundle_name":         orNull(a.SoughtBundle.Text),
		"session_name":        orNull(a.SoughtSession.Text),
		"runtime_bundle_name": orNull(a.Bundle),
		"configuration_root":  orNull(strings.Join(a.Roots.Configuration, string(filepath.ListSeparator))),
		"state_root":          orNull(a.Roots.State.Path),
		"inscriptions_root":   orNull(a.Roots.Inscriptions.Path),
		"fault":               fault,
	}
}

func orNull(s string) any {
	if s == "" {
		return nil
	}
	return s
}
