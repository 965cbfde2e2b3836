package scripts_test

import (
	"os"
	"slices"
	"strings"

	"github.com/agentmux/agentmux-go/wire"
)

// recordedParts are recorded one after the other.
var recordedParts = []recordedPart{
	{"hello", recordHello},
	{"messages", recordMessages},
	{"decisions", recordDecisions},
	{"transitions", recordTransitions},
	{"keys", recordKeys},
	{"reloads", recordReloads},
	{"connection limit", recordConnectionLimit},
	{"required credentials", recordRequiredCredentials},
}

// Requests, most of them of alpha.

func list(requester string) wire.Operation { return &wire.List{RequesterSession: &requester} }

func send(message string, targets ...string) *wire.Send {
	if targets == nil {
		targets = []string{} // null would end the connection
	}
	return &wire.Send{RequesterSession: "alpha", Message: message, Targets: targets}
}

func look(target string) *wire.Look {
	return &wire.Look{RequesterSession: "alpha", TargetSession: target}
}

func raww(target, text string) *wire.Raww {
	return &wire.Raww{RequesterSession: "alpha", TargetSession: target, Text: text}
}

func pick(choice, option string) *wire.ChoicesPick {
	return &wire.ChoicesPick{ChoiceRequestID: choice, Outcome: wire.OutcomeSelected, OptionID: &option}
}

func cancel(choice string) *wire.ChoicesPick {
	return &wire.ChoicesPick{ChoiceRequestID: choice, Outcome: wire.OutcomeCancelled}
}

func newPeer(principal string) *wire.NewPeer { return &wire.NewPeer{PrincipalID: principal} }

// newPeerInFile names the file as each release wants it.
func newPeerInFile(principal, path string) *wire.NewPeer {
	return &wire.NewPeer{PrincipalID: principal, OutputPath: &path, Destination: &wire.Destination{Kind: "path", Path: &path}}
}

func changePSK(principal string) *wire.ChangePSK { return &wire.ChangePSK{PrincipalID: principal} }

func introspect(target string) *wire.IdentityIntrospect {
	return &wire.IdentityIntrospect{TargetSession: target}
}

func recordHello(r *recorder) {
	r.start()
	holder := r.join("alpha@demo")
	holder.save("hello", "A hello that the relay accepts.")
	good := wire.Hello{SchemaVersion: "1", PrincipalID: "alpha@demo", IdentityToken: wire.NewSecret(wire.SocketTrust)}
	for _, refused := range []struct {
		name, title string
		change      func(*wire.Hello)
	}{
		{"conflict", "A hello for a principal that another connection holds.", func(*wire.Hello) {}},
		{"schema_version", "A hello of a protocol version that the relay does not speak.", func(h *wire.Hello) { h.SchemaVersion = "2" }},
		{"principal_id", "A hello whose principal names no namespace.", func(h *wire.Hello) { h.PrincipalID = "alpha" }},
		{"bundle", "A hello for a bundle that the relay does not know.", func(h *wire.Hello) { h.PrincipalID = "alpha@nowhere" }},
		{"session", "A hello for a session that the bundle does not have.", func(h *wire.Hello) { h.PrincipalID = "zed@demo" }},
		{"credential", "A hello with a key that the relay does not know.", func(h *wire.Hello) {
			h.PrincipalID, h.IdentityToken = "bravo@demo", wire.NewSecret(strings.Repeat("A", 43))
		}},
		{"external", "A hello of an application without a key.", func(h *wire.Hello) { h.PrincipalID = "ci@EXTERNAL" }},
	} {
		c := r.dial()
		hello := good
		refused.change(&hello)
		c.say(&hello)
		c.hearOut()
		c.save("hello_refused_"+refused.name, refused.title)
	}
	holder.say(&good)
	holder.hearOut()
	holder.save("hello_twice", "A second hello for the same principal is refused.")

	c := r.dial()
	c.ask("demo", &wire.ChoicesList{})
	hello := good
	hello.PrincipalID = "guest@demo"
	c.say(&hello)
	c.hear(patience)
	c.save("missing_hello", "A request before the hello is refused; the connection stays.")

	c = r.join("alpha@demo")
	c.ask("demo", &wire.UnknownOperation{Name: "ping"})
	c.save("unparsable_operation", "An operation that the relay does not know ends the connection; the error names no request.")
	c = r.join("alpha@demo")
	c.sayText(`{"frame":"request","request_id":"$id","namespace":"demo","request":{"operation":"look","requester_session":"alpha","target_session":"bravo@demo","lines":null,"offset":"ten"}}`)
	c.hearOut()
	c.save("unparsable_type", "A value of the wrong type ends the connection; the error names no request.")
}

func recordMessages(r *recorder) {
	r.start()
	c := r.join("alpha@demo")
	c.remark("The home bundle: hosted, degraded by two sessions of kinds that the relay does not start yet.")
	c.ask("demo", list("alpha"))
	c.remark("A bundle that is down.")
	c.ask("spare", list("alpha"))
	c.remark("The users of the relay.")
	c.ask("GLOBAL", list("alpha"))
	c.save("list", "List: bundles up and down.")
	c.rewind()
	c.ask("", list("alpha"))
	c.save("list_without_namespace", "List without a namespace: the home bundle.")
	c.rewind()
	for _, namespace := range []string{"nowhere", "EXTERNAL", "ALL"} {
		c.ask(namespace, list("alpha"))
	}
	c.ask("demo", &wire.List{})
	c.ask("demo", list("zed"))
	c.save("list_refused", "List, refused.")

	c.rewind()
	c.ask("", send("Can you look at this?", "bravo@demo"))
	c.remark("With a mark of the caller, which comes back, and two targets.")
	marked := send("Please run the tests.\nThen tell me.", "bravo@demo", "reviewer@demo")
	mark := "m-1"
	marked.RequestID = &mark
	c.ask("", marked)
	c.remark("To all other sessions of the home bundle, which the relay can't deliver to two of.")
	all := send("all hands")
	all.Broadcast = true
	c.ask("", all)
	c.remark("To a bundle that is down.")
	c.ask("", send("hello", "alpha@spare"))
	c.remark("The same target twice.")
	c.ask("", send("hello", "bravo@demo", "bravo@demo"))
	c.save("send", "Send.")

	c.rewind()
	c.ask("", send("hello", "nobody@demo", "bravo@demo", "alpha@nowhere"))
	c.ask("", send("hello", "bravo"))
	c.ask("", send("hello", "x@EXTERNAL"))
	c.ask("", send("hello"))
	both := send("hello", "bravo@demo")
	both.Broadcast = true
	c.ask("", both)
	c.ask("", send(" ", "bravo@demo"))
	stranger := send("hello", "bravo@demo")
	stranger.RequesterSession = "zed"
	c.ask("", stranger)
	c.save("send_refused", "Send, refused: one bad target refuses the whole message.")

	one, two, ten, many := int64(1), int64(2), int64(10), int64(500)
	none, tooMany := int64(0), int64(1001)
	c.ask("", send("Look here.", "guest@demo", "reviewer@demo"))
	eventually(r.t, "the message is on guest's screen", func() bool {
		screen := c.ask("demo", look("guest@demo")).(*wire.LookResponse).SnapshotLines
		return slices.Contains(screen, "Look here.")
	})
	const typed = "naïve <b>日本 & 😀"
	c.ask("", raww("guest@demo", typed))
	eventually(r.t, "the text is on guest's screen", func() bool {
		screen := c.ask("demo", look("guest@demo")).(*wire.LookResponse).SnapshotLines
		return slices.Contains(screen, typed)
	})
	c.rewind()
	c.ask("demo", look("guest@demo"))
	c.ask("demo", &wire.Look{RequesterSession: "alpha", TargetSession: "guest@demo", Lines: &one, Offset: &none})
	c.remark("Any session may be looked at, the own one too.")
	c.ask("demo", &wire.Look{RequesterSession: "alpha", TargetSession: "alpha@demo", Lines: &one})
	c.save("look_tmux", "Look at the screen of a tmux session.")

	eventually(r.t, "the agent has answered", func() bool {
		var users, agents int
		seen := false
		for _, entry := range c.ask("demo", look("reviewer@demo")).(*wire.LookResponse).SnapshotEntries {
			switch entry.Kind {
			case "user":
				users++
				seen = seen || slices.Contains(entry.Lines, "Look here.")
			case "agent":
				agents++
			}
		}
		return seen && users == agents
	})
	c.rewind()
	c.ask("demo", look("reviewer@demo"))
	c.ask("demo", &wire.Look{RequesterSession: "alpha", TargetSession: "reviewer@demo", Lines: &two, Offset: &one})
	c.remark("Past the oldest entry.")
	c.ask("demo", &wire.Look{RequesterSession: "alpha", TargetSession: "reviewer@demo", Offset: &many})
	c.save("look_acp", "Look at the replay buffer of an ACP session.")

	c.rewind()
	for _, target := range []string{"bravo", "zed@demo", "alpha@nowhere", "x@EXTERNAL", "desk@demo"} {
		c.ask("demo", look(target))
	}
	c.ask("demo", &wire.Look{RequesterSession: "alpha", TargetSession: "bravo@demo", Lines: &none})
	c.ask("demo", &wire.Look{RequesterSession: "alpha", TargetSession: "bravo@demo", Lines: &tooMany})
	c.ask("demo", &wire.Look{RequesterSession: "alpha", TargetSession: "bravo@demo", Offset: &ten})
	c.ask("demo", look("alpha@spare"))
	c.ask("demo", &wire.Look{RequesterSession: "guest", TargetSession: "bravo@demo"})
	c.save("look_refused", "Look, refused.")

	c.rewind()
	c.ask("", raww("bravo@demo", "ls"))
	mark = "r-1"
	c.ask("", &wire.Raww{RequestID: &mark, RequesterSession: "alpha", TargetSession: "bravo@demo", Text: "abc", NoEnter: true})
	c.ask("", raww("reviewer@demo", "/compact"))
	c.save("raww", "Raww.")
	c.rewind()
	for _, target := range []string{"bravo", "zed@demo", "alpha@nowhere", "x@EXTERNAL", "desk@demo"} {
		c.ask("", raww(target, "ls"))
	}
	c.ask("", &wire.Raww{RequesterSession: "guest", TargetSession: "bravo@demo", Text: "ls"})
	c.save("raww_refused", "Raww, refused.")

	desk := r.join("desk@demo")
	desk.drain() // the broadcast
	desk.rewind()
	c.ask("", send("NUL \x00, ESC \x1b[1m, DEL \x7f, <b>&amp;</b>, \u2028, \U0001d11e 😀", "desk@demo"))
	desk.drain()
	desk.save("text", "What a string can hold: an incoming message at a ui session.")

	desk.rewind()
	desk.remark("Two messages of another session arrive, the second with a copy to bravo.")
	c.ask("", send("hi desk", "desk@demo"))
	desk.drain()
	c.ask("", send("hi both", "desk@demo", "bravo@demo"))
	desk.drain()
	desk.remark("What became of its own messages comes as events, before or after the answer.")
	desk.ask("", &wire.Send{RequesterSession: "desk", Message: "from desk", Targets: []string{"bravo@demo"}})
	desk.drain()
	desk.ask("", &wire.Send{RequesterSession: "desk", Message: "from desk", Targets: []string{"bus@demo", "alpha@spare"}})
	desk.drain()
	desk.save("ui_events", "Events of a ui session.")
}

// awaitChoice makes reviewer wait for a decision, and returns its id.
func (r *recorder) awaitChoice() string {
	r.t.Helper()
	c := r.join("bravo@demo")
	defer c.leave()
	c.ask("", &wire.Send{RequesterSession: "bravo", Message: "Please ask for permission.", Targets: []string{"reviewer@demo"}})
	var choice string
	eventually(r.t, "a decision waits", func() bool {
		waiting := c.ask("demo", &wire.ChoicesList{}).(*wire.ChoicesListResponse).PendingRequests
		if len(waiting) == 1 {
			choice = waiting[0].ChoiceRequestID
		}
		return choice != ""
	})
	return choice
}

func recordDecisions(r *recorder) {
	r.start()
	operator := r.join("operator@GLOBAL")
	operator.drain()
	choice := r.awaitChoice()
	operator.remark("A session starts to wait for a decision.")
	operator.drain()
	operator.ask("demo", &wire.ChoicesList{})
	operator.remark("The event comes before the answer.")
	operator.ask("demo", pick(choice, "yes-once"))
	operator.drain()
	choice = r.awaitChoice()
	operator.remark("Another session takes the next decision.")
	c := r.join("alpha@demo")
	c.ask("demo", cancel(choice))
	operator.drain()
	operator.save("choices_events", "Events of a user: decisions.")

	c.rewind()
	c.ask("demo", &wire.ChoicesList{})
	choice = r.awaitChoice()
	c.ask("demo", &wire.ChoicesList{})
	c.save("choices_list", "Decisions that wait: none, then one.")
	c.rewind()
	c.ask("demo", pick(choice, "yes-once"))
	c.ask("demo", cancel(r.awaitChoice()))
	c.save("choices_pick", "Decisions taken: an option selected, a request cancelled.")

	choice = r.awaitChoice()
	c.rewind()
	c.remark("No option with selected, one with cancelled, another outcome: nothing happens.")
	option := "yes-once"
	c.ask("demo", &wire.ChoicesPick{ChoiceRequestID: choice, Outcome: wire.OutcomeSelected})
	c.ask("demo", &wire.ChoicesPick{ChoiceRequestID: choice, Outcome: wire.OutcomeCancelled, OptionID: &option})
	c.ask("demo", &wire.ChoicesPick{ChoiceRequestID: choice, Outcome: "maybe"})
	c.remark("An option that the request does not offer. The relay drops the request all the same.")
	c.ask("demo", pick(choice, "never"))
	c.ask("demo", &wire.ChoicesList{})
	c.ask("demo", pick(choice, "yes-once"))
	c.save("choices_refused", "Decisions, refused.")

	guest := r.join("guest@demo")
	guest.ask("demo", &wire.ChoicesList{})
	guest.save("choices_forbidden", "Decisions, forbidden by policy.")
}

func recordTransitions(r *recorder) {
	r.start()
	c := r.join("alpha@demo")
	c.ask("demo", &wire.Down{})
	c.ask("demo", &wire.Down{})
	c.ask("demo", list("alpha"))
	c.ask("demo", &wire.Up{})
	c.ask("demo", &wire.Up{})
	c.save("up_down", "A bundle goes down and up; each again changes nothing.")

	c.rewind()
	c.ask("spare", &wire.Up{})
	c.ask("spare", list("alpha"))
	c.ask("spare", look("broken@spare"))
	c.ask("spare", &wire.Down{})
	c.save("up_degraded", "A bundle comes up although one member does not start.")

	c.rewind()
	c.ask("halt", &wire.Up{})
	c.drain()
	c.ask("halt", list("alpha"))
	c.save("up_unready", "A bundle whose only member ends at once.")

	c.rewind()
	c.ask("nowhere", &wire.Up{})
	c.ask("GLOBAL", &wire.Down{})
	c.remark("A bundle that has no session of the requester's id.")
	c.ask("crew", &wire.Down{})
	c.save("up_down_refused", "Up and down, refused.")

	guest := r.join("guest@demo")
	guest.ask("demo", &wire.Down{})
	guest.save("up_down_forbidden", "Down, forbidden by policy.")
}

func recordKeys(r *recorder) {
	r.start()
	c := r.join("alpha@demo")
	c.ask("demo", newPeer("carol@demo"))
	scope := "demo"
	c.ask("demo", &wire.NewPeer{PrincipalID: "ci@EXTERNAL", Scope: &scope})
	c.ask("demo", newPeer("west@RELAY"))
	c.ask("demo", newPeer("dana@GLOBAL"))
	c.remark("To a file: the answer has no key.")
	c.ask("demo", newPeerInFile("erin@demo", r.path("erin.psk")))
	c.save("new_peer", "New principals of each type.")

	c.rewind()
	c.remark("As relay 0.8 reads it.")
	byPath := newPeerInFile("frank@demo", r.path("frank.psk"))
	byPath.Destination = nil
	c.ask("demo", byPath)
	c.remark("As later relays read it.")
	byDestination := newPeerInFile("grace@demo", r.path("grace.psk"))
	byDestination.OutputPath = nil
	c.ask("demo", byDestination)
	c.save("new_peer_one_key", "A file that is named in one way only: a relay of the other kind answers with the key.")

	c.rewind()
	c.ask("demo", newPeer("carol@demo"))
	c.ask("demo", newPeer("frank"))
	c.ask("demo", newPeerInFile("heidi@demo", r.path("nowhere", "heidi.psk")))
	c.remark("Was it registered nevertheless?")
	c.ask("demo", newPeer("heidi@demo"))
	c.ask("demo", newPeerInFile("ivan@demo", "ivan.psk"))
	c.save("new_peer_refused", "New principals, refused.")

	c.rewind()
	c.ask("demo", changePSK("carol@demo"))
	c.save("change_psk", "A new key.")
	c.rewind()
	c.ask("demo", changePSK("zed@demo"))
	c.ask("demo", changePSK("carol"))
	c.save("change_psk_refused", "A new key, refused.")

	guest := r.join("guest@demo")
	guest.ask("demo", newPeer("judy@demo"))
	guest.ask("demo", changePSK("carol@demo"))
	guest.save("new_peer_forbidden", "Principals and keys, forbidden by policy.")
	guest.leave()

	key := r.key(c.ask("demo", newPeer("bravo@demo")))
	bravo := r.joinWith("bravo@demo", key)
	one := int64(1)
	bravo.ask("demo", &wire.Look{RequesterSession: "bravo", TargetSession: "guest@demo", Lines: &one})
	bravo.ask("", &wire.Send{RequesterSession: "bravo", Message: "hello", Targets: []string{"guest@demo"}})
	thief := r.dial()
	thief.say(&wire.Hello{SchemaVersion: "1", PrincipalID: "guest@demo", IdentityToken: wire.NewSecret(key)})
	thief.hearOut()
	thief.save("hello_refused_binding", "A hello with another principal's key.")

	application := r.joinWith("ci@EXTERNAL", r.key(c.ask("demo", changePSK("ci@EXTERNAL"))))
	application.drain()
	for _, target := range []string{"bravo@demo", "alpha@demo", "bravo"} {
		application.ask("demo", introspect(target))
	}
	bravo.remark("Another session changes the key.")
	c.ask("demo", changePSK("bravo@demo"))
	bravo.hearOut()
	bravo.save("identity_revoked", "A session with a key of its own; the key is changed.")
	application.drain()
	application.save("identity_events", "An application within its scope: snapshot, introspection, revocation.")

	c.rewind()
	c.ask("demo", introspect("bravo@demo"))
	c.save("identity_introspect_refused", "Introspection, forbidden.")

	// Relay 0.8 hangs up on the session, and now and then before the answer is out.
	eventually(r.t, "a session that changes its own key is told the new one", func() bool {
		bravo = r.joinWith("bravo@demo", r.key(c.ask("demo", changePSK("bravo@demo"))))
		defer bravo.leave()
		answered := bravo.ask("demo", changePSK("bravo@demo")) != nil
		bravo.drain()
		return answered
	})
	bravo.save("change_psk_self", "A session changes its own key.")
}

func recordReloads(r *recorder) {
	r.start()
	alpha, spare := r.join("alpha@demo"), r.join("alpha@spare")
	demo := r.read(r.t, "config", "bundles", "demo.toml")
	r.write(r.t, strings.Replace(demo, `"Alpha"`, `"Alpha the First"`, 1), "config", "bundles", "demo.toml")
	alpha.remark("The bundle's file is edited.")
	alpha.hearOut()
	alpha.save("bundle_reloaded", "The relay ends the connections of a bundle that is reloaded.")

	if err := os.Remove(r.path("config", "bundles", "spare.toml")); err != nil {
		r.t.Fatal(err)
	}
	spare.remark("The bundle's file is removed.")
	spare.hearOut()
	spare.save("bundle_unloaded", "The relay ends the connections of a bundle that is removed.")
}

func recordConnectionLimit(r *recorder) {
	r.variables = []string{"AGENTMUX_RELAY_MAX_CONNECTIONS=1"}
	r.start()
	r.join("alpha@demo")
	c := r.dial()
	c.hearOut()
	c.save("connection_limit", "More connections than the relay accepts: refused before the hello.")
}

func recordRequiredCredentials(r *recorder) {
	r.startRelay(r.t, "--require-credentials")
	c := r.dial()
	c.say(&wire.Hello{SchemaVersion: "1", PrincipalID: "alpha@demo", IdentityToken: wire.NewSecret(wire.SocketTrust)})
	c.hearOut()
	c.save("hello_refused_no_credential", "A hello without a key at a relay that requires one.")
}
