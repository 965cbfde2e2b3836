package demorelay

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/agentmux/agentmux-go/wire"
)

// answer performs one request.
func (r *Relay) answer(c *connection, f *wire.RequestFrame) (wire.Response, *wire.Error) {
	if c.principal == "" {
		return nil, refuse("validation_missing_hello", "the first frame has to be a hello", nil)
	}
	switch op := f.Request.(type) {
	case *wire.List:
		return r.list(c, f.Namespace, op)
	case *wire.Send:
		return r.send(c, op)
	case *wire.Look:
		return r.look(c, op)
	case *wire.Raww:
		return r.raww(c, op)
	case *wire.ChoicesList:
		return r.choicesList(c, f.Namespace)
	case *wire.ChoicesPick:
		return r.choicesPick(c, f.Namespace, op)
	case *wire.Up:
		return r.transition(c, f.Namespace, "up")
	case *wire.Down:
		return r.transition(c, f.Namespace, "down")
	case *wire.NewPeer:
		return r.newPeer(op)
	case *wire.ChangePSK:
		return r.changePSK(c, op)
	case *wire.IdentityIntrospect:
		return r.introspect(c, op)
	default: // parse lets no other through
		return nil, unexpected("the operation has no handler", errors.ErrUnsupported)
	}
}

// A details object goes with a refusal.
type details map[string]any

func refuse(code, message string, d details) *wire.Error {
	e := &wire.Error{Code: code, Message: message}
	if d != nil {
		e.Details = jsonOf(d)
	}
	return e
}

func refusal(e *wire.Error) *wire.ErrorResponse { return &wire.ErrorResponse{Error: *e} }

func unparsable(cause error) *wire.Error {
	return refuse("validation_invalid_arguments", "the line is no frame of this protocol", details{"cause": cause.Error()})
}

func unexpected(message string, cause error) *wire.Error {
	return refuse("internal_unexpected_failure", message, details{"cause": cause.Error()})
}

func invalid(field, message string, d details) *wire.Error {
	if d == nil {
		d = details{}
	}
	d["field"] = field
	return refuse("validation_invalid_params", message, d)
}

// jsonOf encodes what this package composed itself, which cannot fail.
func jsonOf(v any) json.RawMessage {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return raw
}

// split cuts a principal id at its last @; both parts have to be there.
func split(principal string) (id, namespace string, ok bool) {
	i := strings.LastIndexByte(principal, '@')
	if i <= 0 || i == len(principal)-1 {
		return "", "", false
	}
	return principal[:i], principal[i+1:], true
}

func (r *Relay) bundle(name string) *bundle {
	i := slices.IndexFunc(r.bundles, func(b *bundle) bool { return b.name == name })
	if i < 0 {
		return nil
	}
	return r.bundles[i]
}

// session returns the session or user of that id, nil where there is none.
func (r *Relay) session(id, namespace string) *session {
	among := r.users
	if namespace != wire.NamespaceGlobal {
		b := r.bundle(namespace)
		if b == nil {
			return nil
		}
		among = b.sessions
	}
	i := slices.IndexFunc(among, func(s *session) bool { return s.ID == id })
	if i < 0 {
		return nil
	}
	return among[i]
}

// routed returns the bundle that a request's envelope names: the connection's own where it names none.
func (r *Relay) routed(c *connection, namespace string) (*bundle, *wire.Error) {
	if namespace == "" {
		namespace = c.home
		if r.bundle(namespace) == nil {
			return nil, refuse("validation_missing_routing_namespace", "a principal without a bundle has to name one", nil)
		}
	}
	if namespace == wire.NamespaceExternal || namespace == wire.NamespaceRelay {
		return nil, refuse("validation_unsupported_namespace", "the namespace is the relay's own", details{"namespace": namespace})
	}
	b := r.bundle(namespace)
	if b == nil {
		return nil, unknownBundle(namespace)
	}
	return b, nil
}

func unknownBundle(name string) *wire.Error {
	return refuse("validation_unknown_bundle", "the relay has no such bundle", details{"bundle_name": name})
}

// requester returns who asks: a member of the connection's bundle by its bare id, or a user by its full one.
// It need not be the principal that said hello.
func (r *Relay) requester(c *connection, name string) (*session, *wire.Error) {
	var s *session
	if id, isUser := strings.CutSuffix(name, "@"+wire.NamespaceGlobal); isUser {
		s = r.session(id, wire.NamespaceGlobal)
	} else if c.home != wire.NamespaceGlobal {
		s = r.session(name, c.home)
	}
	if s == nil {
		return nil, refuse("validation_unknown_sender", "the requester is not configured",
			details{"field": "requester_session", "value": name})
	}
	return s, nil
}

// qualifiedRequester is requester for the operations that take a full id of the connection's bundle as well.
func (r *Relay) qualifiedRequester(c *connection, name string) (*session, *wire.Error) {
	return r.requester(c, strings.TrimSuffix(name, "@"+c.home))
}

// qualified cuts a target into its parts.
func qualified(target string) (id, namespace string, refused *wire.Error) {
	target = strings.TrimSpace(target)
	id, namespace, ok := split(target)
	switch {
	case !ok:
		return "", "", refuse("validation_unqualified_target", "a target is session@namespace", details{"target": target})
	case namespace == wire.NamespaceExternal, namespace == wire.NamespaceRelay:
		return "", "", refuse("validation_unsupported_namespace", "the namespace has no sessions",
			details{"namespace": namespace, "target": target})
	}
	return id, namespace, nil
}

// target returns the one session that a look or raww is for. Capability is the key that says of a session
// without a terminal or replay buffer that it has none.
func (r *Relay) target(name, capability string) (*session, *wire.Error) {
	id, namespace, refused := qualified(name)
	if refused != nil {
		return nil, refused
	}
	if namespace != wire.NamespaceGlobal && r.bundle(namespace) == nil {
		return nil, unknownBundle(namespace)
	}
	s := r.session(id, namespace)
	if s == nil {
		return nil, refuse("validation_unknown_target", "there is no such session",
			details{"target_session": strings.TrimSpace(name)})
	}
	if s.Transport != wire.TransportTmux && s.Transport != wire.TransportACP {
		return nil, refuse("validation_unsupported_operation", "the session's transport has nothing to look at or type into",
			details{capability: false, "session_type": s.Transport, "target_session": s.principal()})
	}
	return s, nil
}
