package mcptools

import "github.com/agentmux/agentmux-go/wire"

func updown() tool {
	return tool{
		name:  "updown",
		title: "Start or stop your bundle",
		description: "Starts (up) or stops (down) all sessions of your own bundle; down ends the other agents' processes. It can take a minute. " +
			`Example: {"command":"up"}. The answer tells what changed.`,
		hints: hints{destructive: true, idempotent: true},
		output: properties{
			{"action", schema{Type: "string", Description: "up or down"}},
			{"bundles", schema{Type: "array", Items: &schema{Type: "object"}, Description: "bundle_name, outcome, and why"}},
			{"changed_any", schema{Type: "boolean"}},
		},
		commands: []command{
			transition("up", "starts the sessions that are down", &wire.Up{}),
			transition("down", "stops the sessions that run", &wire.Down{}),
		},
	}
}

func transition(name, description string, op wire.Operation) command {
	return exchange[none, *wire.BundleTransitionResponse]{
		prefix: "mcp.tool.updown." + name,
		request: func(s Standing, _ none) map[string]any {
			return map[string]any{"namespace": optional(s.Bundle), "command": name}
		},
		operation: func(Standing, none) (wire.Operation, error) { return op, nil },
		success: func(s Standing, r *wire.BundleTransitionResponse) map[string]any {
			return map[string]any{
				"namespace": s.Bundle, "action": r.Action, "changed_bundle_count": r.ChangedBundleCount,
				"skipped_bundle_count": r.SkippedBundleCount, "failed_bundle_count": r.FailedBundleCount,
			}
		},
	}.command(name, description, map[string]any{})
}
