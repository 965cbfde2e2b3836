package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// TestLenience feeds what a peer of another version could write. Nothing of it is an error, and all of it is
// written again.
func TestLenience(t *testing.T) {
	for _, test := range []struct {
		name string
		line string
	}{
		{"unknown frame", `{"frame":"farewell","reason":{"code":[1,2]}}`},
		{"unknown operation", `{"frame":"request","request_id":"1","request":{"operation":"drop_peer","principal_id":"a@b"}}`},
		{"unknown response", `{"frame":"response","request_id":"1","response":{"kind":"drop_peer","principal_id":"a@b"}}`},
		{"unknown event", `{"frame":"event","event":{"event_type":"weather","target_session":"","created_at":"","payload":{"sky":"blue"}}}`},
		{"unknown key with null", `{"frame":"farewell","a":null}`},
		{"unknown enumeration values", `{"frame":"response","response":{"kind":"send","schema_version":"9","request_id":null,"requester_session":"","results":[{"target_session":"","message_id":"","outcome":"peer_unavailable"}]}}`},
		{"unknown keys in elements", `{"frame":"response","response":{"kind":"bundle_transition","schema_version":"1","action":"up","bundles":[{"bundle_name":"demo","outcome":"degraded","details":{"failed_sessions":[]}}],"changed_bundle_count":0,"skipped_bundle_count":0,"failed_bundle_count":0,"changed_any":true,"degraded_bundle_count":1}}`},
		{"unknown keys in nested objects", `{"frame":"response","response":{"kind":"list","schema_version":"1","bundle":{"id":"demo","hosted":true,"state":"up","startup_failure_count":0,"recent_startup_failures":[],"principals":[{"id":"a@demo","transport":"pty","ready":true,"pid":7}],"principals_partial":true}}}`},
		{"optional keys of another type", `{"frame":"response","response":{"kind":"list","schema_version":1,"bundle":{"id":"demo","hosted":"yes","state":{"up":true},"startup_health":0,"startup_failure_count":"3","recent_startup_failures":{},"principals":[{"id":"a@demo","transport":"tmux","ready":true},5]}}}`},
		{"optional elements that are null", `{"frame":"event","event":{"event_type":"e","target_session":"","created_at":"","payload":[null]}}`},
		{"optional objects of another shape", `{"frame":"request","request_id":"1","request":{"operation":"new_peer","principal_id":"a@b","scope":null,"output_path":null,"destination":{"path":"/srv/key"}}}`},
		{"request_id and namespace of another type", `{"frame":"request","request_id":5,"namespace":["demo"],"request":{"operation":"up"}}`},
		{"request_id of a response of another type", `{"frame":"response","request_id":5,"response":{"kind":"error","error":{"code":"c","message":""}}}`},
		{"number that is not whole", `{"frame":"request","request_id":"1","request":{"operation":"look","requester_session":"a","target_session":"b@c","lines":1.5,"offset":1e99}}`},
		{"key of another case", `{"frame":"response","response":{"kind":"error","error":{"code":"c","message":"","Code":"d","DETAILS":1}}}`},
	} {
		t.Run(test.name, func(t *testing.T) {
			frame, err := Decode([]byte(test.line))
			if err != nil {
				t.Fatal(err)
			}
			line, err := Encode(frame)
			if err != nil {
				t.Fatal(err)
			}
			if got, want := meaning(t, line), meaning(t, []byte(test.line)); !reflect.DeepEqual(got, want) {
				t.Errorf("got  %s\nwant %s", line, test.line)
			}
			if again, err := Decode(line); err != nil || !reflect.DeepEqual(withoutRaw(again), withoutRaw(frame)) {
				t.Errorf("decoded  %#v\nthen %#v, %v", frame, again, err)
			}
		})
	}
}

func TestValueOfAnotherTypeGoesToExtra(t *testing.T) {
	frame, err := Decode([]byte(`{"frame":"response","response":{"kind":"send","schema_version":1,"results":[{"message_id":["m"],"outcome":"queued"}]}}`))
	if err != nil {
		t.Fatal(err)
	}
	want := &SendResponse{
		Results: []SendResult{{Outcome: "queued", Extra: Extra{"message_id": json.RawMessage(`["m"]`)}}},
		Extra:   Extra{"schema_version": json.RawMessage(`1`)},
	}
	if got := frame.(*ResponseFrame).Response; !reflect.DeepEqual(got, Response(want)) {
		t.Errorf("got %#v, want %#v", got, want)
	}
}

func TestWholeNumbers(t *testing.T) {
	for number, want := range map[string]int64{
		`0`: 0, `-1`: -1, `7.0`: 7, `1e3`: 1000, `-0`: 0, `2.5e1`: 25,
		`9223372036854775807`: 1<<63 - 1, `-9223372036854775808`: -1 << 63, `9007199254740993`: 9007199254740993,
	} {
		if got, ok := integer(json.RawMessage(number)); !ok || got != want {
			t.Errorf("%s: got %d, %t, want %d", number, got, ok, want)
		}
	}
	for _, number := range []string{`0.5`, `9223372036854775808`, `-9223372036854775809`, `1e400`, `"7"`, `true`, `[]`} {
		if got, ok := integer(json.RawMessage(number)); ok {
			t.Errorf("%s: got %d, want none", number, got)
		}
	}
}

// required has, for each required key, a line that has it. The key's path is as a DecodeError shows it.
var required = []struct {
	field string // of the Go type; "" where the codec itself asks for the key
	path  string
	want  string
	line  string
}{
	{"", "frame", "a string", `{"frame":"hello_ack"}`},
	{"", "request", "an object", `{"frame":"request","request":{"operation":"up"}}`},
	{"", "request.operation", "a string", `{"frame":"request","request":{"operation":"up"}}`},
	{"", "response", "an object", `{"frame":"response","response":{"kind":"pong"}}`},
	{"", "response.kind", "a string", `{"frame":"response","response":{"kind":"pong"}}`},
	{"LookResponse.SnapshotLines", "response.snapshot_lines", "an array", `{"frame":"response","response":{"kind":"look","snapshot_format":"lines","snapshot_lines":[]}}`},
	{"LookResponse.SnapshotEntries", "response.snapshot_entries", "an array", `{"frame":"response","response":{"kind":"look","snapshot_format":"structured_entries_v1","snapshot_entries":[]}}`},
	{"Hello.PrincipalID", "principal_id", "a string", `{"frame":"hello","principal_id":"","identity_token":""}`},
	{"Hello.IdentityToken", "identity_token", "a string", `{"frame":"hello","principal_id":"","identity_token":""}`},
	{"EventFrame.Event", "event", "an object", `{"frame":"event","event":{"event_type":""}}`},
	{"Event.EventType", "event.event_type", "a string", `{"frame":"event","event":{"event_type":""}}`},
	{"Send.RequesterSession", "request.requester_session", "a string", requestLine(`"send","requester_session":"","message":"","targets":[]`)},
	{"Send.Message", "request.message", "a string", requestLine(`"send","requester_session":"","message":"","targets":[]`)},
	{"Send.Targets", "request.targets", "an array", requestLine(`"send","requester_session":"","message":"","targets":[]`)},
	{"Look.RequesterSession", "request.requester_session", "a string", requestLine(`"look","requester_session":"","target_session":""`)},
	{"Look.TargetSession", "request.target_session", "a string", requestLine(`"look","requester_session":"","target_session":""`)},
	{"Raww.RequesterSession", "request.requester_session", "a string", requestLine(`"raww","requester_session":"","target_session":"","text":""`)},
	{"Raww.TargetSession", "request.target_session", "a string", requestLine(`"raww","requester_session":"","target_session":"","text":""`)},
	{"Raww.Text", "request.text", "a string", requestLine(`"raww","requester_session":"","target_session":"","text":""`)},
	{"ChoicesPick.ChoiceRequestID", "request.choice_request_id", "a string", requestLine(`"choices_pick","choice_request_id":"","outcome":""`)},
	{"ChoicesPick.Outcome", "request.outcome", "a string", requestLine(`"choices_pick","choice_request_id":"","outcome":""`)},
	{"NewPeer.PrincipalID", "request.principal_id", "a string", requestLine(`"new_peer","principal_id":""`)},
	{"ChangePSK.PrincipalID", "request.principal_id", "a string", requestLine(`"change_psk","principal_id":""`)},
	{"IdentityIntrospect.TargetSession", "request.target_session", "a string", requestLine(`"identity_introspect","target_session":""`)},
	{"ListResponse.Bundle", "response.bundle", "an object", responseLine(`"list","bundle":{"id":""}`)},
	{"ListedBundle.ID", "response.bundle.id", "a string", responseLine(`"list","bundle":{"id":""}`)},
	{"SendResponse.Results", "response.results", "an array", responseLine(`"send","results":[]`)},
	{"LookResponse.SnapshotFormat", "response.snapshot_format", "a string", responseLine(`"look","snapshot_format":"pixels"`)},
	{"RawwResponse.Status", "response.status", "a string", responseLine(`"raww","status":""`)},
	{"ChoicesListResponse.PendingRequests", "response.pending_requests", "an array", responseLine(`"choices_list","pending_requests":[]`)},
	{"ChoicesPickResponse.Status", "response.status", "a string", responseLine(`"choices_pick","status":""`)},
	{"BundleTransitionResponse.Bundles", "response.bundles", "an array", responseLine(`"bundle_transition","bundles":[]`)},
	{"NewPeerResponse.PrincipalID", "response.principal_id", "a string", responseLine(`"new_peer","principal_id":""`)},
	{"ChangePSKResponse.PrincipalID", "response.principal_id", "a string", responseLine(`"change_psk","principal_id":""`)},
	{"IdentityIntrospectResponse.PrincipalID", "response.principal_id", "a string", responseLine(`"identity_introspect","principal_id":""`)},
	{"ErrorResponse.Error", "response.error", "an object", responseLine(`"error","error":{"code":""}`)},
	{"Error.Code", "response.error.code", "a string", responseLine(`"error","error":{"code":""}`)},
}

func requestLine(operation string) string {
	return `{"frame":"request","request":{"operation":` + operation + `}}`
}

func responseLine(response string) string {
	return `{"frame":"response","response":{"kind":` + response + `}}`
}

// confidential stands in every value that an error must not repeat.
const confidential = "c0nfidential"

func TestRequiredKeys(t *testing.T) {
	for _, test := range required {
		t.Run(test.field+" "+test.path, func(t *testing.T) {
			if _, err := Decode([]byte(test.line)); err != nil {
				t.Fatalf("complete: %v", err)
			}
			for value, got := range map[string]string{
				``:                               "nothing", // the key is left out
				`null`:                           "null",
				`true`:                           "a boolean",
				`90210`:                          "a number",
				`"` + confidential + `"`:         "a string",
				`["` + confidential + `"]`:       "an array",
				`{"a":"` + confidential + `"}`:   "an object",
				` { "a":"` + confidential + `"}`: "an object",
			} {
				if got == test.want {
					continue
				}
				_, err := Decode(replaceMember(t, test.line, strings.Split(test.path, "."), value))
				if want := (&DecodeError{test.path, test.want, got}); !reflect.DeepEqual(err, error(want)) {
					t.Errorf("%s: got %#v, want %#v", value, err, want)
				}
			}
		})
	}
}

// TestRequiredKeysAreAllTested looks for a tag that the table above does not know.
func TestRequiredKeysAreAllTested(t *testing.T) {
	tested := map[string]bool{}
	for _, test := range required {
		tested[test.field] = true
	}
	tested["Destination.Kind"] = true // within an optional member: see TestLenience
	types := []reflect.Type{reflect.TypeFor[Hello](), reflect.TypeFor[HelloAck](), reflect.TypeFor[EventFrame]()}
	types = slices.AppendSeq(types, maps.Values(current.operations))
	types = slices.AppendSeq(types, maps.Values(current.responses))
	found := 0
	for len(types) > 0 {
		typ := types[0]
		types = types[1:]
		if typ.Kind() == reflect.Pointer || typ.Kind() == reflect.Slice {
			types = append(types, typ.Elem())
			continue
		}
		if openTypeOf(typ) == nil {
			continue
		}
		for i := range typ.NumField() {
			field := typ.Field(i)
			types = append(types, field.Type)
			if !strings.HasPrefix(field.Tag.Get("wire"), "required") {
				continue
			}
			found++
			if name := typ.Name() + "." + field.Name; !tested[name] {
				t.Errorf("%s is required and not in the table", name)
			}
		}
	}
	if found < len(tested)-1 { // all but ""
		t.Errorf("found %d required fields, and %d in the table", found, len(tested)-1)
	}
}

func TestElementsOfRequiredArrays(t *testing.T) {
	for _, test := range []struct {
		line string
		want DecodeError
	}{
		{requestLine(`"send","requester_session":"","message":"","targets":["a",null]`), DecodeError{"request.targets[1]", "a string", "null"}},
		{requestLine(`"send","requester_session":"","message":"","targets":["a","b",{"c":"` + confidential + `"}]`), DecodeError{"request.targets[2]", "a string", "an object"}},
		{responseLine(`"send","results":[90210]`), DecodeError{"response.results[0]", "an object", "a number"}},
		{responseLine(`"bundle_transition","bundles":[{},null]`), DecodeError{"response.bundles[1]", "an object", "null"}},
		{responseLine(`"look","snapshot_format":"lines","snapshot_lines":["",["` + confidential + `"]]`), DecodeError{"response.snapshot_lines[1]", "a string", "an array"}},
		{responseLine(`"look","snapshot_format":"structured_entries_v1","snapshot_entries":[true]`), DecodeError{"response.snapshot_entries[0]", "an object", "a boolean"}},
	} {
		if _, err := Decode([]byte(test.line)); !reflect.DeepEqual(err, error(&test.want)) {
			t.Errorf("%s: got %#v, want %#v", test.line, err, &test.want)
		}
	}
}

func TestLinesThatAreNoFrame(t *testing.T) {
	for line, got := range map[string]string{
		``: "nothing", " \t\r\n": "nothing", `null`: "null", `true`: "a boolean", `-7`: "a number",
		`"` + confidential + `"`: "a string", `["` + confidential + `"]`: "an array",
		confidential: "broken JSON", `{"frame":"` + confidential: "broken JSON", `{"frame":"hello_ack"} {}`: "broken JSON",
		"{\"frame\":\"\x01\"}": "broken JSON", `{"frame":"\x"}`: "broken JSON", `{'frame':1}`: "broken JSON",
		`{"frame":"hello_ack","deep":` + strings.Repeat("[", 20000) + strings.Repeat("]", 20000) + `}`: "broken JSON",
	} {
		frame, err := Decode([]byte(line))
		if want := (&DecodeError{"", "an object", got}); frame != nil || !reflect.DeepEqual(err, error(want)) {
			t.Errorf("%.40q: got %#v, %v, want %v", line, frame, err, want)
		}
	}
}

func TestDecodeErrorNamesKeysAndNoValues(t *testing.T) {
	for _, test := range []struct {
		err  DecodeError
		want string
	}{
		{DecodeError{"response.bundle.id", "a string", "nothing"}, "response.bundle.id: expected a string, got nothing"},
		{DecodeError{"", "an object", "broken JSON"}, "frame: expected an object, got broken JSON"},
	} {
		if got := test.err.Error(); got != test.want {
			t.Errorf("got %q, want %q", got, test.want)
		}
	}
	for _, line := range []string{
		confidential,
		`{"frame":["` + confidential + `"]}`,
		`{"frame":"hello","` + confidential + `":1,"identity_token":"` + confidential + `"}`,
		`{"frame":"hello","principal_id":"a@b","identity_token":["` + confidential + `"]}`,
		requestLine(`{"` + confidential + `":1}`),
		responseLine(`"new_peer","psk":"` + confidential + `"`),
		responseLine(`"error","error":{"code":{"` + confidential + `":1}}`),
	} {
		if _, err := Decode([]byte(line)); err == nil || strings.Contains(fmt.Sprintf("%v %+v %#v", err, err, err), confidential) {
			t.Errorf("%s: got %v", line, err)
		}
	}
}

// replaceMember returns line with the member at path replaced by the JSON value, or left out where value is "".
func replaceMember(t *testing.T, line string, path []string, value string) []byte {
	t.Helper()
	var object map[string]json.RawMessage
	if err := json.Unmarshal([]byte(line), &object); err != nil {
		t.Fatal(err)
	}
	key := path[0]
	switch {
	case len(path) > 1:
		object[key] = replaceMember(t, string(object[key]), path[1:], value)
	case value == "":
		delete(object, key)
	default:
		object[key] = json.RawMessage(value)
	}
	var out bytes.Buffer
	for i, key := range slices.Sorted(maps.Keys(object)) {
		fmt.Fprintf(&out, "%c%q:%s", "{,"[min(i, 1)], key, object[key])
	}
	if out.Len() == 0 {
		out.WriteByte('{')
	}
	out.WriteByte('}')
	return out.Bytes()
}
