package scripts_test

// Both tables below are templates: MARK stands for what tells a call from all others, SERIAL for the number of a
// request in the order in which the relay got it. The relay puts that number into whatever it says about a request,
// so that a client's answer leads back to the request that it answers.

// A soakKind is a kind of call: how it is made, what the relay sees of it, and what its answer holds.
type soakKind struct {
	weight    int // how often it is made, beside the others'
	tool      string
	arguments string   // JSON
	asks      []string // the relay's requests that it makes: see soakRequest.name
	answer    string   // JSON: members that the answer has, whatever else it has
	log       string   // prefix of its records in the event log; "": it leaves none
}

var soakKinds = []soakKind{
	{6, "send", `{"message":"MARK","targets":["b@demo"]}`, []string{"send MARK"}, `{"request_id":null}`, "mcp.tool.send"},
	{2, "send", `{"message":"MARK","broadcast":true,"request_id":"MARK"}`, []string{"send MARK"}, `{}`, "mcp.tool.send"},
	{5, "look", `{"target_session":"MARK@demo","lines":5}`, []string{"look MARK@demo"}, `{"target_session":"MARK@demo"}`, "mcp.tool.look"},
	{4, "raww", `{"target_session":"b@demo","text":"MARK","no_enter":true}`, []string{"raww MARK"}, `{"status":"queued"}`, "mcp.tool.raww"},
	{2, "choose", `{"choice_request_id":"MARK","outcome":"selected","option_id":"once"}`, []string{"choices_pick MARK"}, `{"choice_request_id":"MARK"}`, "mcp.tool.choose"},
	{2, "choose", `{"choice_request_id":"MARK","outcome":"cancelled"}`, []string{"choices_pick MARK"}, `{"choice_request_id":"MARK"}`, "mcp.tool.choose"},
	{2, "updown", `{"command":"up"}`, []string{"up demo"}, `{"action":"up"}`, "mcp.tool.updown.up"},
	{2, "updown", `{"command":"down","args":{}}`, []string{"down demo"}, `{"action":"down"}`, "mcp.tool.updown.down"},
	{3, "new", `{"command":"peer","args":{"principal_id":"MARK@demo"}}`, []string{"new_peer MARK@demo"}, `{"psk":"SECRET-SERIAL","output_path":null}`, "mcp.tool.new.peer"},
	{3, "new", `{"command":"peer","args":{"principal_id":"MARK@demo","output_path":"/MARK.psk"}}`, []string{"new_peer MARK@demo"}, `{"psk":null,"output_path":"/MARK.psk"}`, "mcp.tool.new.peer"},
	{3, "change", `{"command":"psk","args":{"principal_id":"MARK@demo"}}`, []string{"change_psk MARK@demo"}, `{"psk":"SECRET-SERIAL"}`, "mcp.tool.change.psk"},
	{2, "list", `{"command":"decisions"}`, []string{"choices_list demo"}, `{}`, "mcp.tool.list.decisions"},
	{2, "list", `{"command":"principals"}`, []string{"list demo", "list GLOBAL"}, `{}`, "mcp.tool.list"},
	{1, "list", `{"command":"principals","args":{"namespace":"east"}}`, []string{"list east", "list GLOBAL"}, `{}`, "mcp.tool.list"},
	{1, "list", `{"command":"principals","args":{"namespace":"GLOBAL"}}`, []string{"list GLOBAL"}, `{}`, "mcp.tool.list"},
	{1, "list", `{"command":"principals","args":{"namespace":"*"}}`, []string{"list demo", "list east", "list west", "list GLOBAL"}, `{}`, "mcp.tool.list"},
	{1, "help", `{}`, nil, `{"namespace":"agentmux"}`, ""},
	{1, "help", `{"query":"new.peer"}`, nil, `{"command":"new.peer"}`, ""},
	{1, "help", `{"query":"send"}`, nil, `{"command":"send"}`, ""},
}

// soakSecret is part of every secret, and of nothing else. The templates have SECRET in its place.
const soakSecret = "s3cret"

// A soakOperation is how the relay answers an operation. Here MARK is the value of key in the request, or its namespace
// where there is none.
type soakOperation struct {
	key    string
	answer string // JSON
}

var soakOperations = map[string]soakOperation{
	"send":         {"message", `{"kind":"send","serial":SERIAL,"results":[{"target_session":"b@demo","message_id":"m","outcome":"queued"}]}`},
	"look":         {"target_session", `{"kind":"look","serial":SERIAL,"target_session":"MARK","snapshot_format":"lines","snapshot_lines":["$ "]}`},
	"raww":         {"text", `{"kind":"raww","serial":SERIAL,"status":"queued","target_session":"b@demo","transport":"tmux"}`},
	"choices_pick": {"choice_request_id", `{"kind":"choices_pick","serial":SERIAL,"status":"resolved","choice_request_id":"MARK","outcome":"selected"}`},
	"up":           {"", `{"kind":"bundle_transition","serial":SERIAL,"action":"up","bundles":[]}`},
	"down":         {"", `{"kind":"bundle_transition","serial":SERIAL,"action":"down","bundles":[]}`},
	"new_peer":     {"principal_id", `{"kind":"new_peer","serial":SERIAL,"principal_id":"MARK","principal_type":"session","psk":"SECRET-SERIAL"}`},
	"change_psk":   {"principal_id", `{"kind":"change_psk","serial":SERIAL,"principal_id":"MARK","psk":"SECRET-SERIAL"}`},
	"choices_list": {"", `{"kind":"choices_list","serial":SERIAL,"pending_requests":[]}`},
	"list":         {"", `{"kind":"list","bundle":{"id":"MARK","serial":SERIAL,"hosted":true,"state":"up","principals":[]}}`},
}

// writtenPeer is the answer to new_peer with an output path.
const writtenPeer = `{"kind":"new_peer","serial":SERIAL,"principal_id":"MARK","principal_type":"session","output_path":"PATH"}`
