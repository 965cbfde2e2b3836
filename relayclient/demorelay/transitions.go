package demorelay

import "github.com/agentmux/agentmux-go/wire"

func (r *Relay) list(c *connection, namespace string, op *wire.List) (wire.Response, *wire.Error) {
	if namespace == wire.NamespaceGlobal {
		return r.listUsers(), nil
	}
	b, refused := r.routed(c, namespace)
	if refused != nil {
		return nil, refused
	}
	if op.RequesterSession == nil {
		return nil, refuse("validation_unknown_sender", "list needs a requester", nil)
	}
	if _, refused := r.requester(c, *op.RequesterSession); refused != nil {
		return nil, refused
	}
	listed := wire.ListedBundle{
		ID:                    b.name,
		Hosted:                b.up,
		State:                 "up",
		StartupFailureCount:   int64(len(b.failures)),
		RecentStartupFailures: b.failures,
	}
	switch {
	case !b.up:
		listed.State = "down"
		listed.StateReasonCode = new("runtime_startup_failed")
		listed.StateReason = new("no session is ready")
	case len(b.failures) > 0:
		listed.StartupHealth = new("degraded")
	default:
		listed.StartupHealth = new("healthy")
	}
	for _, s := range b.sessions {
		p := wire.Principal{ID: s.principal(), Transport: s.Transport}
		p.Ready = b.up && (s.Transport == wire.TransportTmux || s.Transport == wire.TransportACP)
		if s.Name != "" {
			p.Name = &s.Name
		}
		listed.Principals = append(listed.Principals, p)
	}
	return &wire.ListResponse{SchemaVersion: wire.SchemaVersion, Bundle: listed}, nil
}

// listUsers lists GLOBAL, which is up while a user is connected. Anybody may ask.
func (r *Relay) listUsers() wire.Response {
	listed := wire.ListedBundle{ID: wire.NamespaceGlobal, State: "down"}
	for _, s := range r.users {
		connected := r.claims[s.principal()] != nil
		if connected {
			listed.Hosted = true
			listed.State = "up"
		}
		listed.Principals = append(listed.Principals,
			wire.Principal{ID: s.principal(), Transport: s.Transport, Ready: connected})
	}
	return &wire.ListResponse{SchemaVersion: wire.SchemaVersion, Bundle: listed}
}

// transition starts or stops a bundle: action is "up" or "down".
func (r *Relay) transition(c *connection, namespace, action string) (wire.Response, *wire.Error) {
	b, refused := r.routed(c, namespace)
	if refused != nil {
		return nil, refused
	}
	response := &wire.BundleTransitionResponse{SchemaVersion: wire.SchemaVersion, Action: action}
	done := wire.BundleTransition{BundleName: b.name, Outcome: "hosted"}
	skipped := "already_hosted"
	if action == "down" {
		done.Outcome = "unhosted"
		skipped = "already_unhosted"
	}
	switch up := action == "up"; {
	case up == b.up:
		done.Outcome = "skipped"
		done.ReasonCode = &skipped
		done.Reason = new("the bundle is " + action + " already")
		response.SkippedBundleCount = 1
	case up:
		b.start()
		response.ChangedBundleCount = 1
	default:
		b.stop()
		response.ChangedBundleCount = 1
	}
	response.ChangedAny = response.ChangedBundleCount > 0
	response.Bundles = []wire.BundleTransition{done}
	return response, nil
}
