package relayclient_test

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/agentmux/agentmux-go/relayclient"
	"github.com/agentmux/agentmux-go/wire"
)

// maxFrame is the cap, in bytes, under which faults are committed.
const maxFrame = 1000

// next is another request, and its answer.
const next = `> {"frame":"request","request_id":"$next","namespace":"demo","request":{"operation":"choices_list"}}
< {"frame":"response","request_id":"$next","response":{"kind":"choices_list","pending_requests":[]}}
`

// An effect is an operation that must not be repeated.
type effect struct {
	op     wire.Operation
	answer string // the relay's response
}

// effects are all operations that change something.
var effects = []effect{
	{&wire.Send{RequesterSession: "alpha", Message: "hi", Targets: []string{"bravo@demo"}}, `{"kind":"send","results":[]}`},
	{&wire.Raww{RequesterSession: "alpha", TargetSession: "bravo@demo", Text: "ls"}, `{"kind":"raww","status":"queued"}`},
	{&wire.ChoicesPick{ChoiceRequestID: "c", Outcome: wire.OutcomeCancelled}, `{"kind":"choices_pick","status":"resolved"}`},
	{&wire.Up{}, `{"kind":"bundle_transition","bundles":[]}`},
	{&wire.Down{}, `{"kind":"bundle_transition","bundles":[]}`},
	{&wire.NewPeer{PrincipalID: "carol@demo"}, `{"kind":"new_peer","principal_id":"carol@demo"}`},
	{&wire.ChangePSK{PrincipalID: "carol@demo"}, `{"kind":"change_psk","principal_id":"carol@demo"}`},
}

// late is when the answer to an effect is too late.
func (e effect) late() time.Duration {
	switch e.op.(type) {
	case *wire.Up, *wire.Down:
		return relayclient.TransitionTimeout + time.Second
	default:
		return relayclient.ResponseTimeout + time.Second
	}
}

// script is what a relay plays that is asked for the effect, commits the fault, and is asked for something else.
func (e effect) script(f fault) string {
	lines := strings.NewReplacer(
		"{request}", fmt.Sprintf(`> {"frame":"request","request_id":"$id","request":{"operation":%q,"...":""},"...":""}`, e.op.OperationName()),
		"{answer}", `{"frame":"response","request_id":"$id","response":`+e.answer+`}`,
		"{late}", e.late().String(),
	).Replace(hello + ack + f.before + "{request}\n" + f.lines + "\n")
	if f.fatal {
		lines += "connection\n" + hello + ack
	}
	return lines + next + "silence"
}

// A fault is what a relay does wrong about one request.
type fault struct {
	name   string
	before string // lines of the script between acknowledgement and request
	lines  string // lines after the request
	want   string // how the call fails
	fatal  bool   // to the connection
}

// Failures of calls that were sent.
const (
	broken = "receive unexpected InvalidData written"
	hungUp = "receive unavailable UnexpectedEof written"
	silent = "receive timeout TimedOut written"
)

// faults are those of a relay that has accepted the hello. In them, {answer} is the right answer, and {late} a
// time after which it is too late.
var faults = []fault{
	{name: "hang-up", lines: "hangup", want: hungUp, fatal: true},
	{name: "half-close", lines: "half-close\nsilence", want: hungUp, fatal: true},
	{name: "hang-up inside the answer", lines: "<< `{\"frame\":\"resp`\nhangup", want: hungUp, fatal: true},
	{name: "hang-up before the newline", lines: "<< `{answer}`\nhangup", want: hungUp, fatal: true},
	{name: "half-close inside the answer", lines: "<< `{\"frame\":\"resp`\nhalf-close\nsilence", want: hungUp, fatal: true},
	{name: "hang-up after the answer", lines: "< {answer}\nhangup", want: "<nil>", fatal: true},

	{name: "goodbye: identity revoked", lines: refusal("runtime_identity_revoked") + "hangup", want: "refused runtime_identity_revoked", fatal: true},
	{name: "goodbye: bundle reloaded", lines: refusal("runtime_bundle_reloaded") + "hangup", want: "refused runtime_bundle_reloaded", fatal: true},
	{name: "goodbye: bundle unloaded", lines: refusal("runtime_bundle_unloaded") + "hangup", want: "refused runtime_bundle_unloaded", fatal: true},
	{name: "goodbye: connection limit", lines: refusal("runtime_connection_limit_reached") + "hangup", want: "refused runtime_connection_limit_reached", fatal: true},
	{name: "goodbye: unreadable request", lines: refusal("validation_invalid_arguments") + "hangup", want: "refused validation_invalid_arguments", fatal: true},
	{name: "goodbye inside a line", lines: refusal("runtime_bundle_unloaded") + "<< `{\"fra`\nhangup", want: "refused runtime_bundle_unloaded", fatal: true},
	{name: "goodbye, then nonsense", lines: refusal("runtime_bundle_unloaded") + "<< \"{bad\\n\"\nsilence", want: broken, fatal: true},
	{name: "goodbye after the answer", lines: "< {answer}\n" + refusal("runtime_bundle_unloaded") + "hangup", want: "<nil>", fatal: true},
	{name: "goodbye without an end", lines: refusal("runtime_bundle_reloaded"), want: silent},
	{name: "claim conflict", lines: refusal("runtime_identity_claim_conflict") + "hangup", want: "refused runtime_identity_claim_conflict", fatal: true},

	{name: "silence", want: silent},
	{name: "silence in the middle of the answer", lines: "<< `{\"frame\":\"resp`\npause {late}\n<< `onse\",\"request_id\":\"$id\",\"response\":{\"kind\":\"look\",\"snapshot_format\":\"x\"}}`\n<< \"\\n\"", want: silent},
	{name: "a late answer", lines: "pause {late}\n< {answer}", want: silent},
	{name: "reading stops after the request", lines: "stall {late}\n< {answer}", want: silent},
	{name: "reading stops before the request", before: "stall {late}\n", lines: "< {answer}", want: silent},
	{name: "nothing but events", lines: `<* 1000 {"frame":"event","event":{"event_type":"x"}}`, want: silent},
	{name: "an answer to another request", lines: `< {"frame":"response","request_id":"x","response":{"kind":"up"}}`, want: silent},
	{name: "a frame of an unknown kind", lines: `< {"frame":"reply","request_id":"$id","response":{"kind":"up"}}`, want: silent},

	{name: "the answer twice", lines: "<* 2 {answer}", want: "<nil>"},
	{name: "the answer after another acknowledgement", lines: `< {"frame":"hello_ack","schema_version":"2","principal_id":"x"}` + "\n< {answer}", want: "<nil>"},
	{name: "an answer of an unknown kind", lines: `< {"frame":"response","request_id":"$id","response":{"kind":"of_a_newer_relay"}}`, want: "<nil>"},
	{name: "refusal", lines: `< {"frame":"response","request_id":"$id","response":{"kind":"error","error":{"code":"authorization_forbidden"}}}`, want: "refused authorization_forbidden"},
	{name: "refusal as if at the hello", lines: `< {"frame":"response","request_id":"$id","response":{"kind":"error","error":{"code":"runtime_identity_claim_conflict"}}}`, want: "refused runtime_identity_claim_conflict"},

	{name: "not JSON", lines: "<< \"{bad\\n\"\nsilence", want: broken, fatal: true},
	{name: "half a line", lines: "<< `{\"frame\":\"response\",\"request_id\":\"$id\"`\n<< \"\\n\"\nsilence", want: broken, fatal: true},
	{name: "a raw NUL", lines: `<< "{\"frame\":\"\x00\"}\n"` + "\nsilence", want: broken, fatal: true},
	{name: "null", lines: "< null\nsilence", want: broken, fatal: true},
	{name: "an array", lines: "< []\nsilence", want: broken, fatal: true},
	{name: "a number", lines: "< -1e9\nsilence", want: broken, fatal: true},
	{name: "a string", lines: `< "frame"` + "\nsilence", want: broken, fatal: true},
	{name: "nesting without end", lines: "<<* 500 \"[\"\n<< \"\\n\"\nsilence", want: broken, fatal: true},
	{name: "over the cap", lines: "<<* 300 \"1234\"\n<< \"\\n\"\nsilence", want: broken, fatal: true},
	{name: "over the cap, then the answer", lines: "<<* 300 \"1234\"\n<< \"\\n\"\n< {answer}\nsilence", want: broken, fatal: true},
	{name: "a line that never ends", lines: "<<* 300 \"1234\"\nsilence", want: broken, fatal: true},
	{name: "two objects on a line", lines: "<< `{answer} {}`\n<< \"\\n\"\nsilence", want: broken, fatal: true},
	{name: "a frame of no kind", lines: `< {"request_id":"$id","response":{"kind":7}}` + "\nsilence", want: broken, fatal: true},
	{name: "a response that is missing", lines: `< {"frame":"response","request_id":"$id"}` + "\nsilence", want: broken, fatal: true},
}

// A helloFault is what a relay does wrong about every hello.
type helloFault struct {
	name  string
	lines string // of the script, after the hello
	want  string // how the call fails
	after time.Duration
}

// helloFaults are those of a relay that has got a hello. Those that can pass by themselves last for the whole
// budget of connecting.
func helloFaults() []helloFault {
	const (
		refused = "hello unexpected Other"
		broken  = "hello unexpected InvalidData"
		silent  = "hello timeout TimedOut"
		hungUp  = "hello unavailable UnexpectedEof"
	)
	all := []helloFault{
		{"unknown credential", refusal("validation_unrecognized_credential"), refused, 0},
		{"identity revoked", refusal("runtime_identity_revoked"), refused, 0},
		{"refusal of an unknown kind", refusal("x"), refused, 0},
		{"claim conflict", refusal("runtime_identity_claim_conflict"), silent, relayclient.ConnectBudget},
		{"connection limit", refusal("runtime_connection_limit_reached"), silent, relayclient.ConnectBudget},
		{"hang-up", "", hungUp, relayclient.ConnectBudget},
		{"half-close", "half-close\nsilence", hungUp, relayclient.ConnectBudget},
		{"hang-up inside the acknowledgement", "<< `{\"frame\":\"hello_a`\nhangup", hungUp, relayclient.ConnectBudget},
		{"silence", "silence", silent, relayclient.HelloTimeout},
		{"an acknowledgement just too late", "stall 2001ms\n" + ack + "silence", silent, relayclient.HelloTimeout},
		{"an acknowledgement without an end", "<< " + strconv.Quote(strings.TrimPrefix(strings.TrimSpace(ack), "< ")) + "\nsilence", silent, relayclient.HelloTimeout},
		{"reading stops", "stall", silent, relayclient.HelloTimeout},
		{"nothing but events", `<* 1000 {"frame":"event","event":{"event_type":"x"}}` + "\nsilence", silent, relayclient.HelloTimeout},
		{"frames of an unknown kind", `<* 9 {"frame":"banner"}` + "\nsilence", silent, relayclient.HelloTimeout},
		{"an answer without an id", `< {"frame":"response","response":{"kind":"change_psk","principal_id":"alpha@demo"}}` + "\nsilence", silent, relayclient.HelloTimeout},
		{"not JSON", "<< \"hello?\\n\"\nsilence", broken, 0},
		{"an array", "< []\nsilence", broken, 0},
		{"over the cap", "<<* 300 \"1234\"\n<< \"\\n\"\nsilence", broken, 0},
		{"a line that never ends", "<<* 300 \"1234\"\nsilence", broken, 0},
		{"a refusal without a code", `< {"frame":"response","response":{"kind":"error","error":{"message":"no"}}}` + "\nsilence", broken, 0},
	}
	for _, value := range []string{``, `null`, `{}`, `[]`, `1`, `true`, `"2"`, nested(200), nested(20000)} {
		all = append(all,
			helloFault{"schema version " + value[:min(len(value), 9)], acknowledgement(member("schema_version", value), `,"principal_id":"alpha@demo"`), broken, 0},
			helloFault{"principal " + value[:min(len(value), 9)], acknowledgement(`,"schema_version":"1"`, member("principal_id", value)), broken, 0})
	}
	return all
}

func acknowledgement(members ...string) string {
	return "<< " + strconv.Quote(`{"frame":"hello_ack"`+strings.Join(members, "")+"}\n") + "\nsilence"
}

// member is one more member of a JSON object; none if it has no value.
func member(key, value string) string {
	if value == "" {
		return ""
	}
	return `,"` + key + `":` + value
}

// nested is an array in an array, and so on.
func nested(depth int) string { return strings.Repeat("[", depth) + strings.Repeat("]", depth) }
