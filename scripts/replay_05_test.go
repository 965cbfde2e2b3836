package scripts_test

import (
	"github.com/agentmux/agentmux-go/mcptools"
	"github.com/agentmux/agentmux-go/relayclient/relay05"
	"github.com/agentmux/agentmux-go/wire"
	"github.com/agentmux/agentmux-go/wire/wire05"
)

// connect05 returns a client that says a hello.
func connect05(hello wire.Frame, dial dialFunc) relayClient {
	h, ok := hello.(*wire05.Hello)
	if !ok { // there was none
		h = hello05("alpha")
	}
	return relay05.New(relay05.Config{
		Bundle: h.BundleName, Session: h.SessionID, Dial: dial,
		Socket: func(string) string { return "/run/relay.sock" },
	})
}

// unplayable05 are transcripts of what our client never does, and why.
var unplayable05 = map[string]string{
	"hello_refused_schema_version": "it speaks one version of the protocol",
	"hello_twice":                  "it says one hello",
	"hello_of_both":                "it says hello in the words of one relay",
	"missing_hello":                "it says hello first",
	"list_framed":                  "it asks for a list without a frame",
	"list_mixed":                   "it asks for a list on a connection of its own",
	"permission_list_bare":         "it asks for anything else in a frame",
	"permission_resolve_bare":      "it asks for anything else in a frame",
	"unparsable_bare":              "it asks for anything else in a frame",
	"raww_busy":                    "it waits for one answer after the other here",
}

var toolReplay05 = toolReplay{
	surface: mcptools.Surface05,
	calls: map[string]replayedCall{
		"list":               {"list", `{"command": "sessions"}`},
		"chat":               {"send", `{"message": "hello", "targets": ["bravo"]}`},
		"look":               {"look", `{"target_session": "bravo"}`},
		"raww":               {"raww", `{"target_session": "bravo", "text": "ls"}`},
		"permission_list":    {"grant", `{"command": "list"}`},
		"permission_resolve": {"grant", `{"command": "resolve", "args": {"permission_request_id": "x", "outcome": "cancelled"}}`},
	},
	added: map[string][]string{
		"chat":               {"sender_display_name"},
		"raww":               {"request_id"},
		"permission_resolve": {"reason_code", "reason"},
	},
	listed: func(bundle any) object { return object{"schema_version": "1", "bundle": bundle} },
	passed: func(string) bool { return true },
}
