package scripts_test

import (
	"os"
	"slices"
	"strings"

	"github.com/agentmux/agentmux-go/wire"
	"github.com/agentmux/agentmux-go/wire/wire05"
)

var recordedParts05 = []recordedPart{
	{"hello", recordHello05},
	{"lists", recordLists05},
	{"chat", recordChat05},
	{"looks", recordLooks05},
	{"raww", recordRaww05},
	{"events", recordEvents05},
	{"permissions", recordPermissions05},
	{"transitions", recordTransitions05},
	{"configuration", recordConfiguration05},
	{"full queue", recordFullQueue05},
	{"connection queue", recordConnectionQueue05},
}

// Requests, most of them of alpha.

func list05(sender string) wire.Operation { return &wire05.List{SenderSession: &sender} }

func chat05(message string, targets ...string) *wire05.Chat {
	if targets == nil {
		targets = []string{} // null would end the connection
	}
	return &wire05.Chat{SenderSession: "alpha", Message: message, Targets: targets}
}

func look05(target string) *wire05.Look {
	return &wire05.Look{RequesterSession: "alpha", TargetSession: target}
}

func raww05(target, text string) *wire05.Raww {
	return &wire05.Raww{SenderSession: "alpha", TargetSession: target, Text: text}
}

func permissions05() wire.Operation { return &wire05.PermissionList{} }

func grant05(permission, option string) *wire05.PermissionResolve {
	return &wire05.PermissionResolve{PermissionRequestID: permission, Outcome: wire.OutcomeSelected, OptionID: &option}
}

func cancel05(permission string) *wire05.PermissionResolve {
	return &wire05.PermissionResolve{PermissionRequestID: permission, Outcome: wire.OutcomeCancelled}
}

// spareSocket is the one of bundle spare.
const spareSocket = "bundles/spare/relay.sock"

// hello05 is the hello of a session of bundle demo.
func hello05(session string) *wire05.Hello {
	return &wire05.Hello{SchemaVersion: wire.SchemaVersion, BundleName: "demo", SessionID: session}
}

// start05 starts the relay and waits until demo's terminals are there.
func (r *recorder) start05() {
	r.t.Helper()
	r.startRelay(r.t)
	c := r.join05("alpha")
	defer c.leave()
	eventually(r.t, "the terminals of demo are ready", func() bool {
		for _, session := range []string{"alpha", "bravo", "guest"} {
			screen, ok := c.ask("", look05(session)).(*wire05.LookResponse)
			if !ok || !slices.Contains(screen.SnapshotLines, "ready") {
				return false
			}
		}
		return true
	})
}

// join05 connects as a session of bundle demo, or as a user.
func (r *recorder) join05(session string) *conversation {
	r.t.Helper()
	return r.greet(r.surface.socket, hello05(session))
}

// askBare makes a request without a frame and waits for its answer.
func (c *conversation) askBare(op wire.Operation) wire.Response {
	c.t.Helper()
	c.say(&wire.RequestFrame{Request: op, Bare: true})
	frame, ok := c.hear(patience)
	if !ok {
		c.t.Fatal("no answer came")
	}
	return frame.(*wire.ResponseFrame).Response
}

// saveBare makes one request without a frame, on a connection of its own, and saves that.
func (r *recorder) saveBare(name, title string, op wire.Operation) {
	r.t.Helper()
	r.saveBareTo(r.surface.socket, name, title, op)
}

// saveBareTo makes the request at another socket than that of bundle demo.
func (r *recorder) saveBareTo(socket, name, title string, op wire.Operation) {
	r.t.Helper()
	c := r.dialTo(socket)
	defer c.leave()
	c.askBare(op)
	c.save(name, title)
}

func recordHello05(r *recorder) {
	r.start05()
	holder := r.join05("alpha")
	holder.save("hello", "A hello that the relay accepts.")
	for _, refused := range []struct {
		name, title string
		change      func(*wire05.Hello)
	}{
		{"conflict", "A hello for a session that another connection holds.", func(*wire05.Hello) {}},
		{"schema_version", "A hello of a protocol version that the relay does not speak.", func(h *wire05.Hello) { h.SchemaVersion = "2" }},
		{"bundle", "A hello for another bundle than the socket's.", func(h *wire05.Hello) { h.BundleName = "spare" }},
		{"session", "A hello for a session that the bundle does not have.", func(h *wire05.Hello) { h.SessionID = "zed" }},
		{"qualified", "A hello that names its session with the bundle.", func(h *wire05.Hello) { h.SessionID = "alpha@demo" }},
		{"user", "A hello for a user that there is not.", func(h *wire05.Hello) { h.SessionID = "zed@GLOBAL" }},
	} {
		c := r.dial()
		hello := hello05("alpha")
		refused.change(hello)
		c.say(hello)
		c.hearOut()
		c.save("hello_refused_"+refused.name, refused.title)
	}
	holder.remark("Another connection said the same hello: the relay makes sure that this one is still there.")
	if _, ok := holder.hear(patience); !ok {
		r.t.Error("the holder of the session was not asked")
	}
	holder.ask("", permissions05())
	holder.save("hello_probe", "An acknowledgement that comes without being asked for.")

	c := r.join05("bravo")
	c.say(hello05("bravo"))
	c.hearOut()
	c.save("hello_twice", "A second hello for the same session is refused; before that the relay probes the connection.")

	c = r.dial()
	c.sayText(`{"frame":"hello","schema_version":"1","bundle_name":"demo","session_id":"bravo","identity_token":"socket-trust","principal_id":"bravo@demo"}`)
	c.hear(patience)
	c.save("hello_of_both", "A hello in the words of relay 0.5 and of later ones is accepted.")
	c.leave()

	c = r.dial()
	c.ask("", permissions05())
	c.ask("", list05("alpha"))
	c.say(hello05("guest"))
	c.hear(patience)
	c.save("missing_hello", "A request in a frame before the hello is refused; the connection stays.")

	c = r.join05("desk")
	c.ask("", &wire.UnknownOperation{Name: "ping"})
	c.save("unparsable_operation", "An operation that the relay does not know ends the connection, after an error without a frame.")
	c = r.join05("desk")
	c.sayText(`{"frame":"request","request_id":"$id","request":{"operation":"look","requester_session":"alpha","target_session":"bravo","bundle_name":null,"lines":"ten"}}`)
	c.hearOut()
	c.save("unparsable_type", "A value of the wrong type ends the connection, after an error without a frame.")
	c = r.dial()
	c.say(&wire.RequestFrame{Request: &wire.UnknownOperation{Name: "ping"}, Bare: true})
	c.hearOut()
	c.save("unparsable_bare", "An operation that the relay does not know, without a frame.")
}

func recordLists05(r *recorder) {
	r.start05()
	r.saveBare("list", "List: degraded by two sessions of kinds that the relay does not start yet.", list05("alpha"))
	r.saveBare("list_no_sender", "List, refused: nobody asks.", &wire05.List{})
	r.saveBare("list_unknown_sender", "List, refused: who asks is not known.", list05("zed"))
	r.saveBare("permission_list_bare", "A list of permissions without a hello is refused.", permissions05())
	r.saveBare("permission_resolve_bare", "A decision without a hello is refused.", cancel05("x"))
	r.saveBareTo(spareSocket, "list_down", "List of a bundle that is down.", list05("alpha"))

	c := r.join05("alpha")
	c.ask("", list05("alpha"))
	c.ask("", list05("alpha@demo"))
	c.ask("", list05("operator@GLOBAL"))
	c.ask("", list05("zed"))
	c.save("list_framed", "List in a frame.")
	c.rewind()
	c.askBare(list05("alpha"))
	c.ask("", permissions05())
	c.save("list_mixed", "A request without a frame on a connection that said hello is answered without one.")
}

func recordChat05(r *recorder) {
	r.start05()
	c := r.join05("alpha")
	c.ask("", chat05("Can you look at this?", "bravo"))
	c.remark("With a mark of the caller, which comes back, and two targets.")
	marked := chat05("Please run the tests.\nThen tell me.", "bravo@demo", "reviewer")
	mark := "m-1"
	marked.RequestID = &mark
	c.ask("", marked)
	c.remark("To all other sessions of the bundle, which the relay can't deliver to two of.")
	all := chat05("all hands")
	all.Broadcast = true
	c.ask("", all)
	c.remark("The same target in three spellings, and a user.")
	c.ask("", chat05("hello", "bravo", "bravo@demo", " bravo ", "operator@GLOBAL"))
	c.remark("Timeouts, each with the transport that has it.")
	second := int64(1000)
	c.ask("", &wire05.Chat{SenderSession: "alpha", Message: "hello", Targets: []string{"bravo"}, QuiescenceTimeoutMS: &second, QuietWindowMS: &second})
	c.ask("", &wire05.Chat{SenderSession: "alpha", Message: "hello", Targets: []string{"reviewer"}, ACPTurnTimeoutMS: &second})
	c.remark("A sender without a name, which is not the one of the hello.")
	c.ask("", &wire05.Chat{SenderSession: "bravo", Message: "hello", Targets: []string{"guest"}})
	c.save("chat", "Chat.")

	c.rewind()
	c.ask("", chat05(" ", "bravo"))
	c.ask("", chat05("hello"))
	both := chat05("hello", "bravo")
	both.Broadcast = true
	c.ask("", both)
	none := int64(0)
	c.ask("", &wire05.Chat{SenderSession: "alpha", Message: "hello", Targets: []string{"bravo"}, QuiescenceTimeoutMS: &none})
	c.ask("", &wire05.Chat{SenderSession: "alpha", Message: "hello", Targets: []string{"bravo"}, ACPTurnTimeoutMS: &none})
	c.ask("", &wire05.Chat{SenderSession: "alpha", Message: "hello", Targets: []string{"bravo"}, QuiescenceTimeoutMS: &second, ACPTurnTimeoutMS: &second})
	c.ask("", &wire05.Chat{SenderSession: "zed", Message: "hello", Targets: []string{"bravo"}})
	c.ask("", chat05("hello", "nobody", "bravo", "bravo@spare", "nobody@GLOBAL"))
	c.ask("", &wire05.Chat{SenderSession: "alpha", Message: "hello", Targets: []string{"reviewer"}, QuiescenceTimeoutMS: &second})
	c.ask("", &wire05.Chat{SenderSession: "alpha", Message: "hello", Targets: []string{"bravo"}, ACPTurnTimeoutMS: &second})
	c.save("chat_refused", "Chat, refused: one bad target refuses the whole message.")
}

func recordLooks05(r *recorder) {
	r.start05()
	c := r.join05("alpha")
	one, two, none, tooMany := int64(1), int64(2), int64(0), int64(1001)
	own, other := "demo", "spare"
	c.ask("", look05("reviewer"))
	c.save("look_acp_new", "Look at an ACP session that was not told anything yet.")
	c.ask("", chat05("Look here.", "guest", "reviewer"))
	eventually(r.t, "the message is on guest's screen", func() bool {
		screen := c.ask("", look05("guest")).(*wire05.LookResponse).SnapshotLines
		return slices.Contains(screen, "Look here.")
	})
	c.rewind()
	c.ask("", look05("guest"))
	c.ask("", &wire05.Look{RequesterSession: "alpha", TargetSession: "guest@demo", Lines: &one, BundleName: &own})
	c.remark("A session may look at itself.")
	c.ask("", &wire05.Look{RequesterSession: "guest", TargetSession: "guest", Lines: &one})
	c.save("look_tmux", "Look at the screen of a tmux session.")

	turns := func(n int) func() bool {
		return func() bool {
			users, agents := 0, 0
			for _, entry := range c.ask("", look05("reviewer")).(*wire05.LookResponse).SnapshotEntries {
				switch entry.Kind {
				case "user":
					users++
				case "agent":
					agents++
				}
			}
			return users == n && agents == n
		}
	}
	eventually(r.t, "the agent has answered", turns(1))
	c.ask("", chat05("Please run the tests.", "reviewer"))
	eventually(r.t, "the agent has worked", turns(2))
	c.rewind()
	c.ask("", look05("reviewer"))
	c.ask("", &wire05.Look{RequesterSession: "alpha", TargetSession: "reviewer@demo", Lines: &two})
	c.save("look_acp", "Look at the replay buffer of an ACP session.")

	c.rewind()
	for _, target := range []string{"nobody", " bravo", "bravo@spare", "operator@GLOBAL", "desk", "bus"} {
		c.ask("", look05(target))
	}
	c.ask("", &wire05.Look{RequesterSession: "alpha", TargetSession: "bravo", Lines: &none})
	c.ask("", &wire05.Look{RequesterSession: "alpha", TargetSession: "bravo", Lines: &tooMany})
	c.ask("", &wire05.Look{RequesterSession: "alpha", TargetSession: "bravo", BundleName: &other})
	c.ask("", &wire05.Look{RequesterSession: "zed", TargetSession: "bravo"})
	c.ask("", &wire05.Look{RequesterSession: "guest", TargetSession: "bravo"})
	c.save("look_refused", "Look, refused.")
}

func recordRaww05(r *recorder) {
	r.start05()
	c := r.join05("alpha")
	other := "spare"
	c.ask("", raww05("bravo", "naïve <b>日本 & 😀"))
	mark := "r-1"
	c.ask("", &wire05.Raww{RequestID: &mark, SenderSession: "alpha", TargetSession: "bravo@demo", Text: "abc", NoEnter: true})
	c.ask("", raww05("reviewer", "/compact"))
	c.save("raww", "Raww.")

	c.rewind()
	for _, target := range []string{" ", "nobody", "bravo@spare", "operator@GLOBAL", "desk", "bus"} {
		c.ask("", raww05(target, "ls"))
	}
	c.ask("", &wire05.Raww{SenderSession: "alpha", TargetSession: "bravo", Text: "ls", BundleName: &other})
	c.ask("", &wire05.Raww{SenderSession: "zed", TargetSession: "bravo", Text: "ls"})
	c.ask("", &wire05.Raww{SenderSession: "guest", TargetSession: "bravo", Text: "ls"})
	c.save("raww_refused", "Raww, refused.")

	permission := r.awaitPermission05()
	c.rewind()
	c.asked++
	c.say(&wire.RequestFrame{RequestID: "$id", Request: raww05("reviewer", "/compact")})
	c.asked++
	c.say(&wire.RequestFrame{RequestID: "$id2", Request: permissions05()})
	if _, spoke := c.hear(quiet); spoke {
		r.t.Error("raww to an agent in a turn was answered")
	}
	c.remark("Another session resolves what the agent waits for, and so its turn ends.")
	decider := r.join05("bravo")
	decider.ask("", cancel05(permission))
	for range 2 {
		if _, ok := c.hear(patience); !ok {
			r.t.Error("raww was not answered after the turn")
		}
	}
	c.save("raww_busy", "Raww to an agent in a turn: no request of the connection is answered before the turn has ended.")
}

func recordEvents05(r *recorder) {
	r.start05()
	c := r.join05("alpha")
	desk := r.join05("desk")
	c.ask("", chat05("NUL \x00, ESC \x1b[1m, DEL \x7f, <b>&amp;</b>, \u2028, \U0001d11e 😀", "desk"))
	desk.drain()
	desk.save("text", "What a string can hold: an incoming message at a ui session.")

	desk.rewind()
	desk.remark("Two messages of another session arrive, the second with a copy to bravo.")
	c.ask("", chat05("hi desk", "desk"))
	desk.drain()
	c.ask("", chat05("hi both", "desk", "bravo"))
	desk.drain()
	desk.remark("What became of its own messages comes as events, before or after the answer.")
	desk.ask("", &wire05.Chat{SenderSession: "desk", Message: "from desk", Targets: []string{"bravo"}})
	desk.drain()
	desk.ask("", &wire05.Chat{SenderSession: "desk", Message: "from desk", Targets: []string{"bus"}})
	desk.drain()
	desk.save("ui_events", "Events of a ui session.")

	operator := r.join05("operator@GLOBAL")
	operator.drain()
	permission := r.awaitPermission05()
	operator.remark("A session starts to wait for a permission.")
	operator.drain()
	operator.ask("", permissions05())
	operator.ask("", grant05(permission, "yes-once"))
	operator.drain()
	permission = r.awaitPermission05()
	operator.remark("Another session takes the next decision.")
	c.ask("", cancel05(permission))
	operator.drain()
	operator.save("permission_events", "Events of a user: permissions.")
}

// awaitPermission05 makes reviewer wait for a permission, and returns its id.
func (r *recorder) awaitPermission05() string {
	r.t.Helper()
	c := r.join05("bus")
	defer c.leave()
	c.ask("", &wire05.Chat{SenderSession: "bravo", Message: "Please ask for permission.", Targets: []string{"reviewer"}})
	var permission string
	eventually(r.t, "a permission is waited for", func() bool {
		waiting := c.ask("", permissions05()).(*wire05.PermissionListResponse).PendingRequests
		if len(waiting) == 1 {
			permission = waiting[0].PermissionRequestID
		}
		return permission != ""
	})
	return permission
}

func recordPermissions05(r *recorder) {
	r.start05()
	c := r.join05("alpha")
	c.ask("", permissions05())
	c.ask("", cancel05("never-asked-for"))
	c.save("permission_unavailable", "A decision before any permission was asked for.")

	c.rewind()
	permission := r.awaitPermission05()
	c.ask("", permissions05())
	c.save("permission_list", "A permission that is waited for.")
	c.rewind()
	c.ask("", grant05(permission, "yes-once"))
	c.ask("", cancel05(r.awaitPermission05()))
	c.ask("", permissions05())
	c.save("permission_resolve", "Decisions: an option selected, a request cancelled.")

	permission = r.awaitPermission05()
	guest := r.join05("guest")
	guest.ask("", permissions05())
	guest.ask("", cancel05(permission))
	guest.save("permission_forbidden", "Permissions, forbidden by policy.")

	c.rewind()
	spare, me, option, blank := "spare", "alpha", "yes-once", " "
	c.ask("", &wire05.PermissionList{BundleName: &spare})
	resolve := func(change func(*wire05.PermissionResolve)) {
		r.t.Helper()
		op := cancel05(permission)
		change(op)
		c.ask("", op)
	}
	resolve(func(op *wire05.PermissionResolve) { op.BundleName = &spare })
	resolve(func(op *wire05.PermissionResolve) { op.UISessionID = &me })
	resolve(func(op *wire05.PermissionResolve) { op.PermissionRequestID = blank })
	resolve(func(op *wire05.PermissionResolve) { op.OptionID = &blank })
	resolve(func(op *wire05.PermissionResolve) { op.OptionID = &option })
	resolve(func(op *wire05.PermissionResolve) { op.Outcome = wire.OutcomeSelected })
	resolve(func(op *wire05.PermissionResolve) { op.Outcome = "maybe" })
	c.remark("An option that the request does not offer. The relay drops the request all the same.")
	c.ask("", grant05(permission, "never"))
	c.ask("", permissions05())
	c.ask("", grant05(permission, "yes-once"))
	c.save("permission_refused", "Decisions, refused.")
}

func recordTransitions05(r *recorder) {
	r.start05()
	c := r.join05("alpha")
	c.ask("", &wire.Down{})
	c.ask("", &wire.Down{})
	c.remark("What is down has no screen.")
	c.ask("", look05("bravo"))
	c.ask("", raww05("bravo", "ls"))
	c.ask("", chat05("hello", "bravo"))
	c.ask("", &wire.Up{})
	c.ask("", &wire.Up{})
	c.save("up_down", "A bundle goes down and up; each again changes nothing.")

	hello := hello05("alpha")
	hello.BundleName = "spare"
	spare := r.greet(spareSocket, hello)
	spare.ask("", &wire.Up{})
	r.saveBareTo(spareSocket, "list_degraded", "List of a bundle one of whose sessions did not start.", list05("alpha"))
	spare.remark("A session whose agent did not start.")
	spare.ask("", look05("broken"))
	spare.ask("", raww05("broken", "ls"))
	spare.ask("", chat05("hello", "broken"))
	spare.ask("", &wire.Down{})
	spare.save("up_degraded", "A bundle comes up although one member does not start.")
}

func recordConfiguration05(r *recorder) {
	r.start05()
	c := r.join05("alpha")
	edit := func(file, remark string, change func(string) string) {
		r.t.Helper()
		before := r.read(r.t, "config", file)
		r.write(r.t, change(before), "config", file)
		c.remark(remark)
		c.ask("", permissions05())
		r.write(r.t, before, "config", file)
	}
	demo := "bundles/demo.toml"
	edit(demo, "The bundle's file has a key that is none.", func(s string) string { return s + "\nsize = 1\n" })
	edit(demo, "A group whose name can't be.", func(s string) string { return "groups = [\"Crew\"]\n" + s })
	edit(demo, "A group whose name means all bundles.", func(s string) string { return "groups = [\"ALL\"]\n" + s })
	edit(demo, "A session has a policy that there is not.", func(s string) string { return strings.Replace(s, `"closed"`, `"none"`, 1) })
	edit("policies.toml", "A control that does not have that scope.", func(s string) string { return strings.Replace(s, `raww = "all:home"`, `raww = "all:all"`, 1) })
	edit("policies.toml", "Another one.", func(s string) string { return strings.Replace(s, `list = "all:all"`, `list = "none"`, 1) })
	edit("users.toml", "A user has a policy that there is not.", func(s string) string { return strings.Replace(s, `"open"`, `"none"`, 1) })

	c.remark("The bundle's file is removed.")
	if err := os.Remove(r.path("config", demo)); err != nil {
		r.t.Fatal(err)
	}
	c.ask("", permissions05())
	c.save("configuration_refused", "The relay reads its configuration for each request.")
	late := r.dial()
	late.say(hello05("bravo"))
	late.hearOut()
	late.save("hello_refused_configuration", "A hello for a bundle whose file is gone.")
}

// recordFullQueue05 keeps an agent waiting until no more fits into its queue.
func recordFullQueue05(r *recorder) {
	r.start05()
	r.awaitPermission05()
	c := r.join05("alpha")
	for {
		c.rewind()
		answer := c.ask("", chat05("Are you there?", "reviewer"))
		if _, refused := answer.(*wire.ErrorResponse); refused {
			break
		}
	}
	c.ask("", raww05("reviewer", "/compact"))
	c.save("queue_full", "An agent in a turn for which too much waits already.")
}

func recordConnectionQueue05(r *recorder) {
	r.variables = []string{"AGENTMUX_RELAY_CONNECTION_WORKERS=1", "AGENTMUX_RELAY_CONNECTION_QUEUE_CAPACITY=8"}
	r.startRelay(r.t)
	r.join05("alpha") // which the worker serves from now on
	for range 8 {
		r.dial() // which waits
	}
	c := r.dial()
	c.hearOut()
	c.save("connection_queue", "More connections than the relay has room for: refused before the hello.")
}
