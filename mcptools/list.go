package mcptools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/agentmux/agentmux-go/relayclient"
	"github.com/agentmux/agentmux-go/wire"
)

type listPrincipalsParams struct {
	Namespace text `json:"namespace,omitempty" doc:"a bundle's name, * for all bundles, GLOBAL for principals outside of bundles; default: your own bundle"`
}

// allBundles is the namespace that stands for every configured bundle.
const allBundles = "*"

func (t *Tools) list() tool {
	return tool{
		name:  "list",
		title: "List agents or open decisions",
		description: "Shows who is there: the sessions of your bundle and whether they are ready (command principals), or what waits for a decision (command decisions). " +
			`Start here: the ids that it shows are the targets of the other tools. Example: {"command":"principals"}; other bundles: {"command":"principals","args":{"namespace":"*"}}.`,
		hints: hints{readOnly: true, idempotent: true},
		output: properties{
			{"schema_version", schema{Type: "string"}},
			{"bundles", schema{Type: "array", Items: &schema{Type: "object"}, Description: "principals: each bundle's id, state and principals"}},
			{"pending_requests", schema{Type: "array", Items: &schema{Type: "object"}, Description: "decisions: what is asked, by whom"}},
		},
		commands: []command{
			bound("principals", "who is in a bundle", map[string]any{}, listPrincipalsParams.check, t.listPrincipals),
			exchange[none, *wire.ChoicesListResponse]{
				prefix:    "mcp.tool.list.decisions",
				request:   func(s Standing, _ none) map[string]any { return map[string]any{"namespace": optional(s.Bundle)} },
				operation: func(Standing, none) (wire.Operation, error) { return &wire.ChoicesList{}, nil },
				success: func(_ Standing, r *wire.ChoicesListResponse) map[string]any {
					return map[string]any{"pending_count": len(r.PendingRequests)}
				},
			}.command("decisions", "what waits for a decision", map[string]any{}),
		},
	}
}

func (p listPrincipalsParams) check() error {
	namespace := string(p.Namespace)
	switch namespace {
	case "", allBundles, wire.NamespaceGlobal:
		return nil
	case wire.NamespaceAll, wire.NamespaceExternal, wire.NamespaceRelay:
		return refuse(CodeInvalidParams, fmt.Sprintf("%s is no bundle: name one, or use * for all", namespace), map[string]any{"namespace": namespace})
	}
	if !IsBundleName(namespace) {
		return refuse(CodeInvalidParams, fmt.Sprintf("%q can't be a bundle's name: it has letters, digits, -, _ and . only", namespace),
			map[string]any{"bundle_name": namespace})
	}
	return nil
}

// IsBundleName reports whether name can be a bundle's: ASCII letters, digits, -, _ and ., and neither "."
// nor "..". Such a name is safe as a file name.
func IsBundleName(name string) bool {
	return name != "" && name != "." && name != ".." && strings.IndexFunc(name, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '-' && r != '_' && r != '.'
	}) < 0
}

func (t *Tools) listPrincipals(p listPrincipalsParams) work {
	return work{
		prefix: "mcp.tool.list",
		request: func(s Standing) map[string]any {
			return map[string]any{"requester_session": optional(s.Session), "command": "principals", "namespace": optional(string(p.Namespace))}
		},
		run: func(ctx context.Context, s Standing) (answer, map[string]any, error) {
			bundles, err := t.listed(ctx, s, string(p.Namespace))
			if err != nil {
				return nil, nil, err
			}
			namespace := string(p.Namespace)
			if namespace == "" {
				namespace = s.Bundle
			}
			return answer{"schema_version": encode(wire.SchemaVersion), "bundles": encode(bundles)},
				map[string]any{"namespace": namespace, "bundle_count": len(bundles)}, nil
		},
	}
}

// listed returns the bundles that a namespace names, and the one of GLOBAL, as the relay shows them.
func (t *Tools) listed(ctx context.Context, s Standing, namespace string) ([]json.RawMessage, error) {
	bundles, err := t.configured(s, namespace)
	if err != nil {
		return nil, err
	}
	return gather(len(bundles)+1, func(i int) (json.RawMessage, error) {
		if i == len(bundles) {
			return listGlobal(ctx, s)
		}
		return t.listBundle(ctx, s, bundles[i])
	})
}

// gather makes n calls at once and returns what they return, in order, or the first error in that order.
func gather(n int, call func(i int) (json.RawMessage, error)) ([]json.RawMessage, error) {
	results := make([]json.RawMessage, n)
	failures := make([]error, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			failures[i] = catch(func() (err error) {
				results[i], err = call(i)
				return err
			})
		})
	}
	wg.Wait()
	for _, err := range failures {
		if err != nil {
			return nil, err
		}
	}
	return results, nil
}

// configured reads the bundles that a namespace names.
func (t *Tools) configured(s Standing, namespace string) ([]*Bundle, error) {
	if namespace == wire.NamespaceGlobal {
		return nil, nil
	}
	names, err := t.named(s, namespace)
	if err != nil {
		return nil, err
	}
	return t.load(names)
}

// named returns the names of the bundles that are asked for: all of them, the one that is named, or the home
// bundle for "".
func (t *Tools) named(s Standing, name string) ([]string, error) {
	switch {
	case name == allBundles:
		return t.cfg.Bundles.Names()
	case name != "":
		return []string{name}, nil
	case s.Bundle != "":
		return []string{s.Bundle}, nil
	default:
		return nil, refuse(CodeUnknownBundle, "this server has no bundle of its own: name one, or ask for all bundles", nil)
	}
}

func (t *Tools) load(names []string) ([]*Bundle, error) {
	bundles := make([]*Bundle, len(names))
	for i, name := range names {
		bundle, err := t.cfg.Bundles.Load(name)
		if err != nil {
			return nil, err
		}
		bundles[i] = bundle
	}
	return bundles, nil
}

func (t *Tools) listBundle(ctx context.Context, s Standing, b *Bundle) (json.RawMessage, error) {
	raw, err := askForBundle(ctx, s, b.Name)
	if e := unavailable(err); e != nil && b.Name == s.Bundle {
		down := downPrincipals{downBundle: t.homeBundleDown(s, b, e), Principals: []downPrincipal{}}
		for _, m := range b.Members {
			down.Principals = append(down.Principals, downPrincipal{downMember: downMemberOf(m)})
		}
		return encode(down), nil
	}
	return raw, err
}

func listGlobal(ctx context.Context, s Standing) (json.RawMessage, error) {
	raw, err := askForBundle(ctx, s, wire.NamespaceGlobal)
	if e := unavailable(err); e != nil {
		return encode(downPrincipals{
			downBundle: downBundle{
				ID: wire.NamespaceGlobal, State: "down",
				StateReasonCode: CodeRelayUnavailable, StateReason: e.Error(),
				RecentStartupFailures: []json.RawMessage{},
			},
			Principals: []downPrincipal{},
		}), nil
	}
	return raw, err
}

func askForBundle(ctx context.Context, s Standing, namespace string) (json.RawMessage, error) {
	reply, _, err := ask[*wire.ListResponse](ctx, s.Relay, namespace, &wire.List{RequesterSession: optional(s.Session)})
	if err != nil {
		return nil, err
	}
	response, err := reply.Raw.Members()
	return response["bundle"], err
}

// unavailable returns err as the error that stands for a relay that is not there, or nil.
func unavailable(err error) *relayclient.Error {
	if e, ok := errors.AsType[*relayclient.Error](err); ok && e.Kind == relayclient.Unavailable {
		return e
	}
	return nil
}

// downBundle is what is shown of a bundle while no relay hosts it, beside its members.
type downBundle struct {
	ID                    string            `json:"id"`
	State                 string            `json:"state"`
	StateReasonCode       string            `json:"state_reason_code"`
	StateReason           string            `json:"state_reason"`
	StartupFailureCount   int               `json:"startup_failure_count"`
	RecentStartupFailures []json.RawMessage `json:"recent_startup_failures"`
}

type downPrincipals struct {
	downBundle
	Hosted     bool            `json:"hosted"`
	Principals []downPrincipal `json:"principals"`
}

type downPrincipal struct {
	downMember
	Ready bool `json:"ready"`
}

type downMember struct {
	ID        string `json:"id"`
	Name      string `json:"name,omitempty"`
	Transport string `json:"transport"`
}

func downMemberOf(m Member) downMember {
	return downMember{ID: m.ID, Name: m.Name, Transport: m.Transport}
}

// homeBundleDown shows the home bundle as its failure history does, and what to do about the relay.
func (t *Tools) homeBundleDown(s Standing, b *Bundle, e *relayclient.Error) downBundle {
	failures := append([]json.RawMessage{}, t.cfg.Bundles.StartupFailures(b.Name)...) // never null
	down := downBundle{
		ID: b.Name, State: "down", StateReasonCode: CodeRelayUnavailable, StateReason: s.withRemedy(e.Error()+".", e),
		StartupFailureCount: len(failures), RecentStartupFailures: failures,
	}
	if e.IO == relayclient.NotFound {
		down.StateReasonCode = "not_started"
	}
	return down
}

// optional is a string for the log or the relay, null where it is empty.
func optional(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
