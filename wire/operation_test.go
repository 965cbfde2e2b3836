package wire

import (
	"encoding/json"
	"testing"
)

func TestOperations(t *testing.T) {
	for _, test := range []struct {
		name      string
		operation Operation
		want      string
	}{
		{"list", &List{RequesterSession: new("alpha")}, `{"operation":"list","requester_session":"alpha"}`},
		{"list of nobody", &List{}, `{"operation":"list","requester_session":null}`},
		{
			"send",
			&Send{RequesterSession: "alpha", Message: "hi", Targets: []string{"bravo@demo", "x@GLOBAL"}},
			`{"operation":"send","request_id":null,"requester_session":"alpha","message":"hi","targets":["bravo@demo","x@GLOBAL"],"broadcast":false}`,
		},
		{
			"broadcast",
			&Send{RequestID: new("m-1"), RequesterSession: "alpha", Message: "hi", Targets: []string{}, Broadcast: true, QuietWindowMS: new(int64(0))},
			`{"operation":"send","request_id":"m-1","requester_session":"alpha","message":"hi","targets":[],"broadcast":true,"quiet_window_ms":0}`,
		},
		{
			"look",
			&Look{RequesterSession: "alpha", TargetSession: "bravo@demo"},
			`{"operation":"look","requester_session":"alpha","target_session":"bravo@demo","lines":null,"offset":null}`,
		},
		{
			"look at a window",
			&Look{RequesterSession: "alpha", TargetSession: "bravo@demo", Lines: new(int64(1000)), Offset: new(int64(0))},
			`{"operation":"look","requester_session":"alpha","target_session":"bravo@demo","lines":1000,"offset":0}`,
		},
		{
			"raww",
			&Raww{RequesterSession: "alpha", TargetSession: "bravo@demo", Text: ""},
			`{"operation":"raww","request_id":null,"requester_session":"alpha","target_session":"bravo@demo","text":"","no_enter":false}`,
		},
		{
			"raww without enter",
			&Raww{RequestID: new(""), RequesterSession: "alpha", TargetSession: "bravo@demo", Text: "ls", NoEnter: true},
			`{"operation":"raww","request_id":"","requester_session":"alpha","target_session":"bravo@demo","text":"ls","no_enter":true}`,
		},
		{"choices_list", &ChoicesList{}, `{"operation":"choices_list"}`},
		{
			"choices_pick",
			&ChoicesPick{ChoiceRequestID: "c", Outcome: OutcomeSelected, OptionID: new("allow")},
			`{"operation":"choices_pick","choice_request_id":"c","outcome":"selected","option_id":"allow"}`,
		},
		{
			"choices_pick, cancelled",
			&ChoicesPick{ChoiceRequestID: "c", Outcome: OutcomeCancelled},
			`{"operation":"choices_pick","choice_request_id":"c","outcome":"cancelled","option_id":null}`,
		},
		{"up", &Up{}, `{"operation":"up"}`},
		{"down", &Down{}, `{"operation":"down"}`},
		{
			"new_peer",
			&NewPeer{PrincipalID: "carol@demo"},
			`{"operation":"new_peer","principal_id":"carol@demo","scope":null,"output_path":null}`,
		},
		{
			"new_peer to a file",
			&NewPeer{
				PrincipalID: "carol@demo", Scope: new("demo"), OutputPath: new("/srv/key"),
				Destination: &Destination{Kind: "path", Path: new("/srv/key")},
			},
			`{"operation":"new_peer","principal_id":"carol@demo","scope":"demo","output_path":"/srv/key","destination":{"kind":"path","path":"/srv/key"}}`,
		},
		{
			"new_peer to the answer",
			&NewPeer{PrincipalID: "carol@demo", Destination: &Destination{Kind: "response", Extra: Extra{"mode": json.RawMessage(`384`)}}},
			`{"operation":"new_peer","principal_id":"carol@demo","scope":null,"output_path":null,"destination":{"kind":"response","mode":384}}`,
		},
		{"change_psk", &ChangePSK{PrincipalID: "carol@demo"}, `{"operation":"change_psk","principal_id":"carol@demo"}`},
		{
			"identity_introspect",
			&IdentityIntrospect{TargetSession: "carol@demo"},
			`{"operation":"identity_introspect","target_session":"carol@demo"}`,
		},
		{
			"unknown operation",
			&UnknownOperation{Name: "list_relays", Extra: Extra{"b": json.RawMessage(`null`), "a": json.RawMessage(`[1]`)}},
			`{"operation":"list_relays","a":[1],"b":null}`,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			checkFrame(t, &RequestFrame{RequestID: "1", Request: test.operation}, `{"frame":"request","request_id":"1","request":`+test.want+`}`)
		})
	}
}

// TestNilTargetsAreAnEmptyArray is about relays, which hang up on "targets":null.
func TestNilTargetsAreAnEmptyArray(t *testing.T) {
	line, err := Encode(&RequestFrame{RequestID: "1", Request: &Send{RequesterSession: "alpha", Message: "hi", Broadcast: true}})
	const want = `{"frame":"request","request_id":"1","request":{"operation":"send","request_id":null,"requester_session":"alpha","message":"hi","targets":[],"broadcast":true}}` + "\n"
	if err != nil || string(line) != want {
		t.Errorf("got  %s, %v\nwant %s", line, err, want)
	}
}
