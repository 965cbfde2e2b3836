package bundles

import (
	"fmt"
	"strings"

	"github.com/agentmux/agentmux-go/agentmux-mcp/internal/bundles/configfile"
	"github.com/agentmux/agentmux-go/mcptools"
)

// reservedGroup is the group of all bundles, which none can be put in by name.
const reservedGroup = "ALL"

func checkGroups(t configfile.Table) error {
	groups, err := t.Texts("groups")
	if err != nil {
		return err
	}
	for _, group := range groups {
		group = strings.TrimSpace(group)
		switch {
		case group == reservedGroup:
			return groupRefusal(mcptools.CodeReservedGroupName, t.Path, group,
				"every bundle is in that one anyway. Remove it and repeat the call.")
		case !legalGroup(group):
			return groupRefusal(mcptools.CodeInvalidGroupName, t.Path, group,
				"a group has lower-case ASCII letters, digits, '_' and '-'. Correct it and repeat the call.")
		}
	}
	return nil
}

func groupRefusal(code, path, group, reason string) *mcptools.Refusal {
	return &mcptools.Refusal{
		Code:    code,
		Message: fmt.Sprintf("%s cannot be used: groups has %q, but %s", path, group, reason),
		Details: map[string]any{"path": path, "group_name": group},
	}
}

func legalGroup(name string) bool {
	return name != "" && !strings.ContainsFunc(name, func(r rune) bool {
		return (r < 'a' || 'z' < r) && !isDigit(r) && r != '_' && r != '-'
	})
}
