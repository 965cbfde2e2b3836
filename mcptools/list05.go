package mcptools

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/agentmux/agentmux-go/wire"
	"github.com/agentmux/agentmux-go/wire/wire05"
)

type listSessionsParams struct {
	BundleName *text `json:"bundle_name,omitempty" doc:"a bundle's name; default: your own bundle"`
	All        bool  `json:"all,omitempty" doc:"true lists all configured bundles; leave bundle_name out then"`
}

func (t *Tools) list05() tool {
	return tool{
		name:  "list",
		title: "List agents",
		description: "Shows who is there: the sessions of your bundle, or of others. " +
			`Start here: the ids that it shows are the targets of the other tools. Example: {"command":"sessions"}; all bundles: {"command":"sessions","args":{"all":true}}.`,
		hints: hints{readOnly: true, idempotent: true},
		output: properties{
			{"schema_version", schema{Type: "string"}},
			{"bundle", schema{Type: "object", Description: "of one bundle: its id, state and sessions"}},
			{"bundles", schema{Type: "array", Items: &schema{Type: "object"}, Description: "with all: each bundle's"}},
		},
		commands: []command{
			bound("sessions", "who is in a bundle, or in all of them", map[string]any{}, listSessionsParams.check, t.listSessions),
		},
		open: true, openArgs: true,
	}
}

func (p listSessionsParams) check() error {
	switch {
	case p.BundleName == nil:
		return nil
	case p.All:
		return refuse(CodeInvalidParams, "all means every bundle: leave bundle_name out, or all", nil)
	case *p.BundleName == "":
		return refuse(CodeInvalidParams, "bundle_name is blank: name a bundle, or leave it out for your own", nil)
	case !IsBundleName(string(*p.BundleName)):
		return refuse(CodeInvalidParams, fmt.Sprintf("%q can't be a bundle's name: it has letters, digits, -, _ and . only", *p.BundleName),
			map[string]any{"bundle_name": p.BundleName})
	}
	return nil
}

// name is what [Tools.named] takes.
func (p listSessionsParams) name() string {
	switch {
	case p.All:
		return allBundles
	case p.BundleName != nil:
		return string(*p.BundleName)
	default:
		return ""
	}
}

func (t *Tools) listSessions(p listSessionsParams) work {
	return work{
		prefix: "mcp.tool.list",
		request: func(s Standing) map[string]any {
			return map[string]any{"sender_session": optional(s.Session), "command": "sessions", "bundle_name": p.BundleName, "all": p.All}
		},
		run: func(ctx context.Context, s Standing) (answer, map[string]any, error) {
			names, err := t.named(s, p.name())
			if err != nil {
				return nil, nil, err
			}
			bundles, err := t.load(names)
			if err != nil {
				return nil, nil, err
			}
			listed, err := gather(len(bundles), func(i int) (json.RawMessage, error) { return t.listSessionsOf(ctx, s, bundles[i]) })
			if err != nil {
				return nil, nil, err
			}
			if p.All {
				return answer{"schema_version": encode(wire.SchemaVersion), "bundles": encode(listed)},
					map[string]any{"all": true, "bundle_count": len(listed)}, nil
			}
			var bundle struct {
				Sessions []json.RawMessage `json:"sessions"`
			}
			if err := json.Unmarshal(listed[0], &bundle); err != nil {
				return nil, nil, err
			}
			return answer{"schema_version": encode(wire.SchemaVersion), "bundle": listed[0]},
				map[string]any{"all": false, "bundle_name": names[0], "session_count": len(bundle.Sessions)}, nil
		},
	}
}

func (t *Tools) listSessionsOf(ctx context.Context, s Standing, b *Bundle) (json.RawMessage, error) {
	reply, _, err := ask[*wire05.ListResponse](ctx, s.Relay, b.Name, &wire05.List{SenderSession: optional(s.Session)})
	if e := unavailable(err); e != nil && b.Name == s.Bundle {
		down := struct {
			downBundle
			Sessions []downMember `json:"sessions"`
		}{t.homeBundleDown(s, b, e), []downMember{}}
		for _, m := range b.Members {
			down.Sessions = append(down.Sessions, downMemberOf(m))
		}
		return encode(down), nil
	}
	if err != nil {
		return nil, err
	}
	response, err := reply.Raw.Members()
	return response["bundle"], err
}
