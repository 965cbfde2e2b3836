package demorelay

import (
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/agentmux/agentmux-go/wire"
)

// A credential is what a principal was registered with.
type credential struct {
	psk   wire.Secret
	scope string // of an application: the namespace or principal that it may ask about
}

// hello lets a principal in.
func (r *Relay) hello(c *connection, h *wire.Hello) *wire.Error {
	if h.SchemaVersion != wire.SchemaVersion {
		return refuse("validation_invalid_schema_version", "the relay speaks another version",
			details{"schema_version": h.SchemaVersion, "supported_schema_version": wire.SchemaVersion})
	}
	id, namespace, ok := split(h.PrincipalID)
	if !ok {
		return refuse("validation_invalid_principal_id", "a principal is session@namespace", details{"principal_id": h.PrincipalID})
	}
	authenticated, refused := r.authenticate(h, namespace)
	if refused != nil {
		return refused
	}
	if refused := r.configured(id, namespace); refused != nil {
		return refused
	}
	if holder := r.claims[h.PrincipalID]; holder != nil {
		return refuse("runtime_identity_claim_conflict", "another connection holds the principal", details{
			"principal_id":           h.PrincipalID,
			"reason":                 "the other connection is live",
			"existing_connection_id": holder.id,
		})
	}
	// As at a real relay, a second hello is accepted if it names another principal, and the first one
	// then stays claimed for good.
	r.claims[h.PrincipalID] = c
	c.principal, c.home, c.authenticated = h.PrincipalID, namespace, authenticated
	_ = c.push(&wire.HelloAck{SchemaVersion: wire.SchemaVersion, PrincipalID: h.PrincipalID}) // holds nothing raw
	return nil
}

// authenticate reports whether the hello presents the principal's key, rather than trust in the socket.
func (r *Relay) authenticate(h *wire.Hello, namespace string) (bool, *wire.Error) {
	token := h.IdentityToken.Reveal()
	if token == wire.SocketTrust {
		if namespace == wire.NamespaceExternal || namespace == wire.NamespaceRelay {
			return false, refuse("validation_credential_required", "applications and relays need a key",
				details{"principal_id": h.PrincipalID})
		}
		return false, nil
	}
	for principal, registered := range r.registered {
		if subtle.ConstantTimeCompare([]byte(token), []byte(registered.psk.Reveal())) != 1 {
			continue
		}
		if principal != h.PrincipalID {
			return false, refuse("validation_identity_binding_mismatch", "the key belongs to another principal",
				details{"principal_id": h.PrincipalID, "registered_principal_id": principal})
		}
		return true, nil
	}
	return false, refuse("validation_unrecognized_credential", "the key belongs to no principal",
		details{"principal_id": h.PrincipalID})
}

// configured refuses a principal that a key alone does not make a member of anything.
func (r *Relay) configured(id, namespace string) *wire.Error {
	switch {
	case namespace == wire.NamespaceExternal, namespace == wire.NamespaceRelay, r.session(id, namespace) != nil:
		return nil
	case namespace == wire.NamespaceGlobal:
		return refuse("validation_unknown_sender", "there is no such user",
			details{"principal_id": id + "@" + namespace})
	case r.bundle(namespace) == nil:
		return unknownBundle(namespace)
	default:
		return refuse("validation_unknown_sender", "the bundle has no such session",
			details{"bundle_name": namespace, "session_id": id})
	}
}

// release gives up the connection's claim.
func (r *Relay) release(c *connection) {
	if r.claims[c.principal] == c {
		delete(r.claims, c.principal)
	}
}

func (r *Relay) newPeer(op *wire.NewPeer) (wire.Response, *wire.Error) {
	id, namespace, ok := split(op.PrincipalID)
	if !ok {
		return nil, refuse("validation_invalid_principal_id", "a principal is session@namespace",
			details{"principal_id": op.PrincipalID})
	}
	if _, exists := r.registered[op.PrincipalID]; exists {
		return nil, refuse("validation_principal_exists", "the principal is registered; its key can be changed",
			details{"principal_id": op.PrincipalID})
	}
	made := credential{psk: newPSK()}
	if op.Scope != nil {
		made.scope = *op.Scope
	}
	// As at a real relay, a principal stays registered though its key could not be written.
	r.registered[op.PrincipalID] = made
	response := &wire.NewPeerResponse{
		SchemaVersion: wire.SchemaVersion,
		PrincipalID:   op.PrincipalID,
		PrincipalType: "session",
		ConfigSnippet: "Write the key to <state-root>/bundles/" + namespace + "/sessions/" + id +
			"/identity.psk with mode 0600; the session presents it at its hello.",
	}
	switch namespace {
	case wire.NamespaceGlobal:
		response.PrincipalType = "user"
	case wire.NamespaceExternal:
		response.PrincipalType = "application"
	case wire.NamespaceRelay:
		response.PrincipalType = "relay"
	}
	if response.PrincipalType != "session" {
		response.ConfigSnippet = "Keep the key in a file of your choice with mode 0600; the principal presents it at its hello."
	}
	if op.OutputPath == nil {
		response.PSK = &made.psk
		return response, nil
	}
	if refused := writePSK(*op.OutputPath, made.psk); refused != nil {
		return nil, refused
	}
	response.OutputPath = op.OutputPath
	return response, nil
}

// writePSK writes a key to a file that must not be there yet.
func writePSK(path string, psk wire.Secret) *wire.Error {
	invalid := func(err error) *wire.Error {
		d := details{"path": path}
		if failed, ok := errors.AsType[*fs.PathError](err); ok {
			d["cause"] = failed.Err.Error() // without the path once more
		}
		return refuse("validation_invalid_output_path", "the key cannot be written there", d)
	}
	if !filepath.IsAbs(path) {
		return invalid(nil)
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return invalid(err)
	}
	_, err = f.WriteString(psk.Reveal())
	if err := errors.Join(err, f.Close()); err != nil {
		return invalid(errors.Join(err, os.Remove(path)))
	}
	return nil
}

func (r *Relay) changePSK(c *connection, op *wire.ChangePSK) (wire.Response, *wire.Error) {
	changed, exists := r.registered[op.PrincipalID]
	if !exists {
		return nil, unknownPrincipal(op.PrincipalID)
	}
	changed.psk = newPSK()
	r.registered[op.PrincipalID] = changed
	r.revoke(c, op.PrincipalID)
	return &wire.ChangePSKResponse{
		SchemaVersion: wire.SchemaVersion,
		PrincipalID:   op.PrincipalID,
		PSK:           &changed.psk,
	}, nil
}

// revoke ends the connection that presented the key that the principal had. If it is the one that asks, it
// still gets its answer, after the notice; from a real relay the answer can get lost.
func (r *Relay) revoke(asking *connection, principal string) {
	held := r.claims[principal]
	if held == nil || !held.authenticated {
		return
	}
	held.respond(nil, refusal(refuse("runtime_identity_revoked", "the key was changed; connect with the new one",
		details{"principal_id": principal})))
	r.release(held)
	if held == asking {
		held.revoked = true
		return
	}
	held.finish()
}

func (r *Relay) introspect(c *connection, op *wire.IdentityIntrospect) (wire.Response, *wire.Error) {
	_, namespace, ok := split(op.TargetSession)
	if !ok {
		return nil, invalid("target_session", "a principal is session@namespace", nil)
	}
	scope := r.registered[c.principal].scope
	if c.home != wire.NamespaceExternal || scope != namespace && scope != op.TargetSession {
		return nil, refuse("authorization_forbidden", "only an application may ask, and only within its scope",
			details{"capability": "identity.introspect", "target_principal_id": op.TargetSession})
	}
	if _, exists := r.registered[op.TargetSession]; !exists {
		return nil, unknownPrincipal(op.TargetSession)
	}
	return &wire.IdentityIntrospectResponse{
		SchemaVersion: wire.SchemaVersion,
		PrincipalID:   op.TargetSession,
		Verified:      true,
	}, nil
}

func unknownPrincipal(principal string) *wire.Error {
	return refuse("validation_unknown_principal", "the principal is not registered", details{"principal_id": principal})
}

func newPSK() wire.Secret {
	var key [32]byte
	rand.Read(key[:]) // never fails
	return wire.NewSecret(base64.RawStdEncoding.EncodeToString(key[:]))
}
