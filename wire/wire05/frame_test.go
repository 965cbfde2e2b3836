package wire05

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/agentmux/agentmux-go/wire"
)

// TestFrames has a frame for every operation and response, and how it is written.
func TestFrames(t *testing.T) {
	request := func(op wire.Operation) *wire.RequestFrame { return &wire.RequestFrame{RequestID: "7f", Request: op} }
	response := func(r wire.Response) *wire.ResponseFrame {
		return &wire.ResponseFrame{RequestID: new("7f"), Response: r}
	}
	const asked, answered = `{"frame":"request","request_id":"7f","request":`, `{"frame":"response","request_id":"7f","response":`
	for _, test := range []struct {
		name  string
		frame wire.Frame
		want  string
	}{
		{
			"hello", &Hello{SchemaVersion: "1", BundleName: "demo", SessionID: "alpha"},
			`{"frame":"hello","schema_version":"1","bundle_name":"demo","session_id":"alpha"}`,
		},
		{
			"hello_ack", &HelloAck{SchemaVersion: "1", BundleName: "demo", SessionID: "alpha"},
			`{"frame":"hello_ack","schema_version":"1","bundle_name":"demo","session_id":"alpha"}`,
		},
		{
			"list", &wire.RequestFrame{Request: &List{SenderSession: new("alpha")}, Bare: true},
			`{"operation":"list","sender_session":"alpha"}`,
		},
		{
			"chat", request(&Chat{SenderSession: "alpha", Message: "hi", Targets: []string{"bravo"}}),
			asked + `{"operation":"chat","request_id":null,"sender_session":"alpha","message":"hi","targets":["bravo"],"broadcast":false,"quiet_window_ms":null,"quiescence_timeout_ms":null,"acp_turn_timeout_ms":null}}`,
		},
		{
			"look", request(&Look{RequesterSession: "alpha", TargetSession: "bravo", Lines: new(int64(40))}),
			asked + `{"operation":"look","requester_session":"alpha","target_session":"bravo","lines":40,"bundle_name":null}}`,
		},
		{
			"raww", request(&Raww{SenderSession: "alpha", TargetSession: "bravo", Text: "y", NoEnter: true}),
			asked + `{"operation":"raww","request_id":null,"sender_session":"alpha","target_session":"bravo","text":"y","no_enter":true,"bundle_name":null}}`,
		},
		{
			"permission_list", request(&PermissionList{}),
			asked + `{"operation":"permission_list","bundle_name":null}}`,
		},
		{
			"permission_resolve", request(&PermissionResolve{PermissionRequestID: "p", Outcome: wire.OutcomeSelected, OptionID: new("allow")}),
			asked + `{"operation":"permission_resolve","permission_request_id":"p","outcome":"selected","option_id":"allow","bundle_name":null,"ui_session_id":null}}`,
		},
		{"up", request(&wire.Up{}), asked + `{"operation":"up"}}`},
		{
			"list response", &wire.ResponseFrame{Bare: true, Response: &ListResponse{SchemaVersion: "1", Bundle: Bundle{
				ID: "demo", State: "up", StartupHealth: new("degraded"), StartupFailureCount: 1,
				RecentStartupFailures: []StartupFailure{{
					BundleName: "demo", SessionID: "charlie", Transport: wire.TransportACP, Code: "c", Reason: "r", Timestamp: "2026-01-02T03:04:05Z", Sequence: 1,
				}},
				Sessions: []Session{{ID: "alpha@demo", Name: new("Alpha"), Transport: wire.TransportTmux}},
			}}},
			`{"kind":"list","schema_version":"1","bundle":{"id":"demo","state":"up","startup_health":"degraded","startup_failure_count":1,` +
				`"recent_startup_failures":[{"bundle_name":"demo","session_id":"charlie","transport":"acp","code":"c","reason":"r","timestamp":"2026-01-02T03:04:05Z","sequence":1}],` +
				`"sessions":[{"id":"alpha@demo","name":"Alpha","transport":"tmux"}]}}`,
		},
		{
			"chat response", response(&ChatResponse{
				SchemaVersion: "1", BundleName: "demo", SenderSession: "alpha@demo", SenderDisplayName: new("Alpha"),
				Results: []wire.SendResult{{TargetSession: "bravo@demo", MessageID: "m", Outcome: "queued"}},
			}),
			answered + `{"kind":"chat","schema_version":"1","bundle_name":"demo","request_id":null,"sender_session":"alpha@demo","sender_display_name":"Alpha","results":[{"target_session":"bravo@demo","message_id":"m","outcome":"queued"}]}}`,
		},
		{
			"look response, lines", response(&LookResponse{
				SchemaVersion: "1", BundleName: "demo", RequesterSession: "alpha@demo", TargetSession: "bravo@demo", CapturedAt: "2026-01-02T03:04:05Z",
				SnapshotFormat: wire.SnapshotLines, SnapshotLines: []string{"$ make"},
			}),
			answered + `{"kind":"look","schema_version":"1","bundle_name":"demo","requester_session":"alpha@demo","target_session":"bravo@demo","captured_at":"2026-01-02T03:04:05Z","snapshot_format":"lines","snapshot_lines":["$ make"]}}`,
		},
		{
			"look response, entries", response(&LookResponse{
				SchemaVersion: "1", BundleName: "demo", RequesterSession: "alpha@demo", TargetSession: "coder@demo", CapturedAt: "2026-01-02T03:04:05Z",
				SnapshotFormat: SnapshotACPEntriesV1, SnapshotEntries: []wire.SnapshotEntry{{Kind: "agent", Lines: []string{"done"}}},
				Freshness: new("stale"), SnapshotSource: new("live_buffer"), StaleReasonCode: new("acp_worker_recovering"), SnapshotAgeMS: new(int64(9)),
			}),
			answered + `{"kind":"look","schema_version":"1","bundle_name":"demo","requester_session":"alpha@demo","target_session":"coder@demo","captured_at":"2026-01-02T03:04:05Z","snapshot_format":"acp_entries_v1",` +
				`"snapshot_entries":[{"kind":"agent","lines":["done"]}],"freshness":"stale","snapshot_source":"live_buffer","stale_reason_code":"acp_worker_recovering","snapshot_age_ms":9}}`,
		},
		{
			"raww response", response(&RawwResponse{
				SchemaVersion: "1", Status: "accepted", TargetSession: "bravo@demo", Transport: wire.TransportTmux, MessageID: new("m"),
				Details: json.RawMessage(`{"delivery_phase":"accepted_dispatched"}`),
			}),
			answered + `{"kind":"raww","schema_version":"1","status":"accepted","target_session":"bravo@demo","transport":"tmux","message_id":"m","details":{"delivery_phase":"accepted_dispatched"}}}`,
		},
		{
			"permission_list response", response(&PermissionListResponse{SchemaVersion: "1", BundleName: "demo", PendingRequests: []PermissionRequest{{
				MessageID: "m", PermissionRequestID: "p", TargetSession: "coder@demo", RequestedKind: "other",
				RequestedDetails: json.RawMessage(`{"raw":{}}`), EnqueuedAt: "2026-01-02T03:04:05Z",
			}}}),
			answered + `{"kind":"permission_list","schema_version":"1","bundle_name":"demo","pending_requests":[{"message_id":"m","permission_request_id":"p","target_session":"coder@demo","requested_kind":"other","requested_details":{"raw":{}},"enqueued_at":"2026-01-02T03:04:05Z"}]}}`,
		},
		{
			"permission_decision", response(&PermissionDecisionResponse{
				SchemaVersion: "1", Status: "resolved", PermissionRequestID: "p", Outcome: wire.OutcomeCancelled, ReasonCode: new("c"), Reason: new("r"),
			}),
			answered + `{"kind":"permission_decision","schema_version":"1","status":"resolved","permission_request_id":"p","outcome":"cancelled","reason_code":"c","reason":"r"}}`,
		},
		{
			"lifecycle", response(&LifecycleResponse{
				SchemaVersion: "1", Action: "up", SkippedBundleCount: 1,
				Bundles: []wire.BundleTransition{{BundleName: "demo", Outcome: "skipped", ReasonCode: new("already_hosted"), Reason: new("r")}},
			}),
			answered + `{"kind":"lifecycle","schema_version":"1","action":"up","bundles":[{"bundle_name":"demo","outcome":"skipped","reason_code":"already_hosted","reason":"r"}],"changed_bundle_count":0,"skipped_bundle_count":1,"failed_bundle_count":0,"changed_any":false}}`,
		},
		{
			"error, bare", &wire.ResponseFrame{Bare: true, Response: &wire.ErrorResponse{Error: wire.Error{Code: "c", Message: "m"}}},
			`{"kind":"error","error":{"code":"c","message":"m"}}`,
		},
		{
			"event", &wire.EventFrame{Event: wire.Event{
				EventType: "permission.snapshot", TargetSession: "user@GLOBAL", CreatedAt: "2026-01-02T03:04:05Z", Payload: json.RawMessage(`{}`),
				Extra: wire.Extra{"bundle_name": json.RawMessage(`"demo"`)},
			}},
			`{"frame":"event","event":{"event_type":"permission.snapshot","target_session":"user@GLOBAL","created_at":"2026-01-02T03:04:05Z","payload":{},"bundle_name":"demo"}}`,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			line, err := wire.Encode(test.frame)
			if err != nil {
				t.Fatal(err)
			}
			if got := string(line); got != test.want+"\n" {
				t.Errorf("encoded as\n%s\nwant\n%s", got, test.want)
			}
			back, err := Decode([]byte(test.want))
			if err != nil {
				t.Fatal(err)
			}
			if response, ok := back.(*wire.ResponseFrame); ok {
				response.Raw = nil
			}
			if !reflect.DeepEqual(back, test.frame) {
				t.Errorf("decoded as %#v\nwant       %#v", back, test.frame)
			}
		})
	}
}

// What the later protocol has under the same names is not taken for what this one has, and the other way round.
func TestAnotherGeneration(t *testing.T) {
	for _, test := range []struct{ name, line, want string }{
		{"hello", `{"frame":"hello","schema_version":"1","principal_id":"alpha@demo","identity_token":"t"}`,
			"bundle_name: expected a string, got nothing"},
		{"look at entries", `{"frame":"response","response":{"kind":"look","snapshot_format":"acp_entries_v1"}}`,
			"response.snapshot_entries: expected an array, got nothing"},
	} {
		if _, err := Decode([]byte(test.line)); err == nil || err.Error() != test.want {
			t.Errorf("%s: got %v, want %s", test.name, err, test.want)
		}
	}
	if frame, err := Decode([]byte(`{"frame":"response","response":{"kind":"choices_list","pending_requests":[]}}`)); err != nil {
		t.Error(err)
	} else if _, ok := frame.(*wire.ResponseFrame).Response.(*wire.UnknownResponse); !ok {
		t.Errorf("got %#v", frame)
	}
}
