package mcptools

import (
	"fmt"
	"strings"

	"github.com/agentmux/agentmux-go/wire"
	"github.com/agentmux/agentmux-go/wire/wire05"
)

type grantListParams struct {
	BundleName *string `json:"bundle_name,omitempty" doc:"your own bundle: the relay refuses any other"`
}

type grantResolveParams struct {
	PermissionRequestID text    `json:"permission_request_id,omitempty" doc:"required: which permission, as grant list shows it"`
	Outcome             text    `json:"outcome,omitempty" enum:"selected,cancelled" doc:"required: selected takes an option, cancelled takes none"`
	OptionID            *text   `json:"option_id,omitempty" doc:"the option to take, with selected only: an id from requested_details"`
	BundleName          *string `json:"bundle_name,omitempty" doc:"your own bundle: the relay refuses any other"`
}

func grant05() tool {
	return tool{
		name:  "grant",
		title: "Decide what another agent may do",
		description: "Shows the permissions that agents wait for (command list), and grants or refuses one (command resolve). " +
			"Read what is asked, and decide only what you are meant to decide. " +
			`Example: {"command":"list"}, then {"command":"resolve","args":{"permission_request_id":"…","outcome":"selected","option_id":"allow"}}. ` +
			"Take option_id exactly as it is listed: the relay refuses any other and drops the request with it.",
		hints: hints{destructive: true},
		output: properties{
			{"schema_version", schema{Type: "string"}},
			{"bundle_name", schema{Type: "string"}},
			{"pending_requests", schema{Type: "array", Items: &schema{Type: "object"}, Description: "list: what is asked, by whom"}},
			{"status", schema{Type: "string", Description: "resolve: what became of it"}},
			{"permission_request_id", schema{Type: "string"}},
			{"outcome", schema{Type: "string"}},
			{"reason_code", schema{Description: "string or null"}},
			{"reason", schema{Description: "string or null"}},
		},
		commands: []command{
			exchange[grantListParams, *wire05.PermissionListResponse]{
				prefix: "mcp.tool.grant.list",
				check:  func(p grantListParams) error { return checkBundleName(p.BundleName) },
				request: func(s Standing, _ grantListParams) map[string]any {
					return map[string]any{"bundle_name": optional(s.Bundle)}
				},
				operation: func(_ Standing, p grantListParams) (wire.Operation, error) {
					return &wire05.PermissionList{BundleName: p.BundleName}, nil
				},
				success: func(s Standing, r *wire05.PermissionListResponse) map[string]any {
					return map[string]any{"bundle_name": s.Bundle, "pending_count": len(r.PendingRequests)}
				},
			}.command("list", "what agents wait for a permission to do", map[string]any{}),
			exchange[grantResolveParams, *wire05.PermissionDecisionResponse]{
				prefix: "mcp.tool.grant.resolve",
				check:  grantResolveParams.check,
				request: func(s Standing, p grantResolveParams) map[string]any {
					return map[string]any{
						"bundle_name": optional(s.Bundle), "permission_request_id": p.PermissionRequestID,
						"outcome": p.Outcome, "has_option_id": p.OptionID != nil,
					}
				},
				operation: func(_ Standing, p grantResolveParams) (wire.Operation, error) {
					return &wire05.PermissionResolve{
						PermissionRequestID: string(p.PermissionRequestID), Outcome: string(p.Outcome),
						OptionID: (*string)(p.OptionID), BundleName: p.BundleName,
					}, nil
				},
				nulls: []string{"reason_code", "reason"},
				success: func(s Standing, r *wire05.PermissionDecisionResponse) map[string]any {
					return map[string]any{
						"bundle_name": s.Bundle, "permission_request_id": r.PermissionRequestID, "status": r.Status, "outcome": r.Outcome,
					}
				},
			}.command("resolve", "grants or refuses one", map[string]any{"permission_request_id": "…", "outcome": "selected", "option_id": "allow"}),
		},
		open:       true,
		identities: []string{"decided_by", "ui_session_id", "operator_session_id", "decider", "decider_session"},
	}
}

func (p grantResolveParams) check() error {
	option := map[string]any{"field": "option_id", "outcome": p.Outcome}
	switch {
	case p.PermissionRequestID == "":
		return refuse(CodeInvalidParams, "permission_request_id is missing: take it from grant list", map[string]any{"field": "permission_request_id"})
	case p.Outcome == "":
		return refuse(CodeInvalidParams, "outcome is missing: it is selected or cancelled", map[string]any{"field": "outcome"})
	case p.Outcome != wire.OutcomeSelected && p.Outcome != wire.OutcomeCancelled:
		return refuse(CodeInvalidParams, fmt.Sprintf("outcome must be selected or cancelled, not %q", p.Outcome),
			map[string]any{"field": "outcome", "value": p.Outcome})
	case p.Outcome == wire.OutcomeSelected && (p.OptionID == nil || *p.OptionID == ""):
		return refuse(CodeInvalidParams, "outcome selected needs option_id: take one from requested_details of the permission", option)
	case p.Outcome == wire.OutcomeCancelled && p.OptionID != nil:
		return refuse(CodeInvalidParams, "outcome cancelled takes no option: leave option_id out", option)
	}
	return checkBundleName(p.BundleName)
}

// checkBundleName refuses a blank name. The relay refuses that of another bundle.
func checkBundleName(name *string) error {
	if name != nil && strings.TrimSpace(*name) == "" {
		return refuse(CodeInvalidParams, "bundle_name is blank: leave it out, it is your own bundle's", nil)
	}
	return nil
}
