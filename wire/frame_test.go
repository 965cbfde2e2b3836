package wire

import (
	"encoding/json"
	"reflect"
	"testing"
)

// checkFrame checks that f is written as want and that want is read as f.
func checkFrame(t *testing.T, f Frame, want string) {
	t.Helper()
	line, err := Encode(f)
	if err != nil {
		t.Fatal(err)
	}
	if got := string(line); got != want+"\n" {
		t.Errorf("encoded as\n%s\nwant\n%s", got, want)
	}
	back, err := Decode([]byte(want))
	if err != nil {
		t.Fatal(err)
	}
	if back = withoutRaw(back); !reflect.DeepEqual(back, f) {
		t.Errorf("%s\ndecoded as %#v\nwant       %#v", want, back, f)
	}
}

func TestFrames(t *testing.T) {
	newer := Extra{"zone": json.RawMessage(`"b"`), "age": json.RawMessage(`{"days":[1,null]}`)}
	for _, test := range []struct {
		name  string
		frame Frame
		want  string
	}{
		{
			"hello",
			&Hello{SchemaVersion: SchemaVersion, PrincipalID: "alpha@demo", IdentityToken: NewSecret(SocketTrust)},
			`{"frame":"hello","schema_version":"1","principal_id":"alpha@demo","identity_token":"socket-trust"}`,
		},
		{
			"hello_ack",
			&HelloAck{SchemaVersion: SchemaVersion, PrincipalID: "alpha@demo"},
			`{"frame":"hello_ack","schema_version":"1","principal_id":"alpha@demo"}`,
		},
		{
			"request",
			&RequestFrame{RequestID: "7f", Namespace: "demo", Request: &ChoicesList{}},
			`{"frame":"request","request_id":"7f","namespace":"demo","request":{"operation":"choices_list"}}`,
		},
		{
			"request without namespace and id",
			&RequestFrame{Request: &Up{}},
			`{"frame":"request","request":{"operation":"up"}}`,
		},
		{
			"bare request",
			&RequestFrame{Request: &List{}, Bare: true},
			`{"operation":"list","requester_session":null}`,
		},
		{
			"bare response",
			&ResponseFrame{Response: &ErrorResponse{Error: Error{Code: "c", Message: "m"}}, Bare: true},
			`{"kind":"error","error":{"code":"c","message":"m"}}`,
		},
		{
			"response",
			&ResponseFrame{RequestID: new("7f"), Response: &ErrorResponse{Error: Error{Code: "c", Message: "m"}}},
			`{"frame":"response","request_id":"7f","response":{"kind":"error","error":{"code":"c","message":"m"}}}`,
		},
		{
			"response to no request",
			&ResponseFrame{Response: &ErrorResponse{Error: Error{Code: "c", Message: "m"}}},
			`{"frame":"response","response":{"kind":"error","error":{"code":"c","message":"m"}}}`,
		},
		{
			"event",
			&EventFrame{Event: Event{
				EventType: "ping", TargetSession: "alpha@demo", CreatedAt: "2026-01-01T00:00:00Z", Payload: json.RawMessage(`{"n":1}`),
			}},
			`{"frame":"event","event":{"event_type":"ping","target_session":"alpha@demo","created_at":"2026-01-01T00:00:00Z","payload":{"n":1}}}`,
		},
		{
			"unknown frame",
			&UnknownFrame{Kind: "farewell", Extra: newer},
			`{"frame":"farewell","age":{"days":[1,null]},"zone":"b"}`,
		},
		{
			"hello with unknown keys",
			&Hello{SchemaVersion: "2", PrincipalID: "a@b", IdentityToken: NewSecret(""), Extra: newer},
			`{"frame":"hello","schema_version":"2","principal_id":"a@b","identity_token":"","age":{"days":[1,null]},"zone":"b"}`,
		},
		{
			"request with unknown keys",
			&RequestFrame{RequestID: "1", Namespace: "demo", Request: &Down{Extra: newer}, Extra: newer},
			`{"frame":"request","request_id":"1","namespace":"demo","request":{"operation":"down","age":{"days":[1,null]},"zone":"b"},"age":{"days":[1,null]},"zone":"b"}`,
		},
		{
			"response with unknown keys",
			&ResponseFrame{RequestID: new("1"), Response: &ChoicesListResponse{SchemaVersion: "1", PendingRequests: []PendingRequest{}, Extra: newer}, Extra: newer},
			`{"frame":"response","request_id":"1","response":{"kind":"choices_list","schema_version":"1","pending_requests":[],"age":{"days":[1,null]},"zone":"b"},"age":{"days":[1,null]},"zone":"b"}`,
		},
		{
			"event with unknown keys",
			&EventFrame{Event: Event{EventType: "ping", Payload: json.RawMessage(`[]`), Extra: newer}, Extra: newer},
			`{"frame":"event","event":{"event_type":"ping","target_session":"","created_at":"","payload":[],"age":{"days":[1,null]},"zone":"b"},"age":{"days":[1,null]},"zone":"b"}`,
		},
	} {
		t.Run(test.name, func(t *testing.T) { checkFrame(t, test.frame, test.want) })
	}
}

func TestEncodeRefusesRawValueThatIsNoJSON(t *testing.T) {
	broken := json.RawMessage(`{"a":`)
	for _, test := range []struct {
		name  string
		frame Frame
	}{
		{"payload", &EventFrame{Event: Event{EventType: "ping", Payload: broken}}},
		{"unknown frame", &UnknownFrame{Kind: "farewell", Extra: Extra{"a": broken}}},
		{"details", &ResponseFrame{Response: &ErrorResponse{Error: Error{Code: "c", Details: broken}}}},
		{"unknown operation", &RequestFrame{Request: &UnknownOperation{Name: "ping", Extra: Extra{"a": broken}}}},
		{"unknown response", &ResponseFrame{Response: &UnknownResponse{Kind: "pong", Extra: Extra{"a": broken}}}},
		{"extra of a frame", &HelloAck{Extra: Extra{"a": broken}}},
		{"extra of a request frame", &RequestFrame{Request: &Up{}, Extra: Extra{"a": broken}}},
		{"element", &ResponseFrame{Response: &SendResponse{Results: []SendResult{{Details: broken}}}}},
	} {
		if line, err := Encode(test.frame); err == nil || line != nil {
			t.Errorf("%s: encoded as %s, %v", test.name, line, err)
		}
	}
}

// TestBrokenResponseStillNamesItsRequest is about the call that waits for that response.
func TestBrokenResponseStillNamesItsRequest(t *testing.T) {
	frame, err := Decode([]byte(`{"frame":"response","request_id":"7f","response":{"kind":"send"}}`))
	if want := (&DecodeError{"response.results", "an array", "nothing"}); !reflect.DeepEqual(err, error(want)) {
		t.Errorf("got error %v, want %v", err, want)
	}
	want := &ResponseFrame{RequestID: new("7f"), Raw: Raw(`{"kind":"send"}`)}
	if !reflect.DeepEqual(frame, Frame(want)) {
		t.Errorf("got %#v, want %#v", frame, want)
	}
}

func TestRawIsTheResponseAsItCame(t *testing.T) {
	const raw = `{"newer": 1.50, "kind":"choices_list", "pending_requests":[ ], "schema_version":null}`
	frame, err := Decode([]byte(`{"frame":"response","response":` + raw + `}`))
	if err != nil {
		t.Fatal(err)
	}
	if got := string(frame.(*ResponseFrame).Raw); got != raw {
		t.Errorf("got  %s\nwant %s", got, raw)
	}
}

func TestDecodeKeepsNothingOfItsLine(t *testing.T) {
	line := []byte(`{"frame":"response","response":{"kind":"look","snapshot_format":"lines","snapshot_lines":["a"],"newer":"b"}}`)
	frame, err := Decode(line)
	if err != nil {
		t.Fatal(err)
	}
	clear(line)
	response := frame.(*ResponseFrame)
	look := response.Response.(*LookResponse)
	if look.SnapshotLines[0] != "a" || string(look.Extra["newer"]) != `"b"` || !json.Valid(response.Raw) {
		t.Errorf("clearing the line changed the frame: %#v", response)
	}
}
