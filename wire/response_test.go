package wire

import (
	"encoding/json"
	"errors"
	"testing"
)

func TestResponses(t *testing.T) {
	for _, test := range []struct {
		name     string
		response Response
		want     string
	}{
		{
			"list",
			&ListResponse{SchemaVersion: "1", Bundle: ListedBundle{
				ID: "demo", Hosted: true, State: "up", StartupHealth: new("degraded"), StartupFailureCount: 1,
				RecentStartupFailures: []StartupFailure{{
					SessionID: "bus", Transport: TransportPubSub, Code: "c", Reason: "r",
					Timestamp: "2026-01-01T00:00:00Z", Sequence: 7, Details: json.RawMessage(`{}`),
				}},
				Principals: []Principal{{ID: "alpha@demo", Name: new("Alpha"), Transport: TransportTmux, Ready: true}, {ID: "bus@demo", Transport: TransportPubSub}},
			}},
			`{"kind":"list","schema_version":"1","bundle":{"id":"demo","hosted":true,"state":"up","startup_health":"degraded","startup_failure_count":1,` +
				`"recent_startup_failures":[{"session_id":"bus","transport":"pubsub","code":"c","reason":"r","timestamp":"2026-01-01T00:00:00Z","sequence":7,"details":{}}],` +
				`"principals":[{"id":"alpha@demo","name":"Alpha","transport":"tmux","ready":true},{"id":"bus@demo","transport":"pubsub","ready":false}]}}`,
		},
		{
			"list of a bundle that is down",
			&ListResponse{SchemaVersion: "1", Bundle: ListedBundle{
				ID: "spare", State: "down", StateReasonCode: new("c"), StateReason: new("r"),
				RecentStartupFailures: []StartupFailure{}, Principals: []Principal{},
			}},
			`{"kind":"list","schema_version":"1","bundle":{"id":"spare","hosted":false,"state":"down","state_reason_code":"c","state_reason":"r","startup_failure_count":0,"recent_startup_failures":[],"principals":[]}}`,
		},
		{
			"send",
			&SendResponse{SchemaVersion: "1", RequesterSession: "alpha@demo", Results: []SendResult{{TargetSession: "bravo@demo", MessageID: "m", Outcome: "queued"}}},
			`{"kind":"send","schema_version":"1","request_id":null,"requester_session":"alpha@demo","results":[{"target_session":"bravo@demo","message_id":"m","outcome":"queued"}]}`,
		},
		{
			"send with everything",
			&SendResponse{
				SchemaVersion: "1", RequestID: new("r"), RequesterSession: "alpha@demo", SenderDisplayName: new("Alpha"),
				AuthenticatedIdentity: json.RawMessage(`"alpha@demo"`), OnBehalfOf: json.RawMessage(`{"id":1}`),
				Results: []SendResult{{
					TargetSession: "bravo@demo", MessageID: "m", Outcome: "failed",
					ReasonCode: new("c"), Reason: new("r"), Details: json.RawMessage(`[1]`),
				}},
			},
			`{"kind":"send","schema_version":"1","request_id":"r","requester_session":"alpha@demo","sender_display_name":"Alpha","authenticated_identity":"alpha@demo","on_behalf_of":{"id":1},` +
				`"results":[{"target_session":"bravo@demo","message_id":"m","outcome":"failed","reason_code":"c","reason":"r","details":[1]}]}`,
		},
		{
			"look at a screen",
			&LookResponse{
				SchemaVersion: "1", RequesterSession: "alpha@demo", TargetSession: "bravo@demo", CapturedAt: "2026-01-01T00:00:00Z",
				AuthenticatedIdentity: json.RawMessage(`"alpha@demo"`), SnapshotFormat: SnapshotLines, SnapshotLines: []string{"$ ls", ""},
			},
			`{"kind":"look","schema_version":"1","requester_session":"alpha@demo","target_session":"bravo@demo","captured_at":"2026-01-01T00:00:00Z","authenticated_identity":"alpha@demo","snapshot_format":"lines","snapshot_lines":["$ ls",""]}`,
		},
		{
			"look at a replay buffer",
			&LookResponse{
				SchemaVersion: "1", RequesterSession: "alpha@demo", TargetSession: "acp@demo", CapturedAt: "2026-01-01T00:00:00Z",
				SnapshotFormat: SnapshotStructuredEntriesV1,
				SnapshotEntries: []SnapshotEntry{
					{Kind: "agent", Lines: []string{"done"}},
					{Kind: "invocation", CallID: new("t1"), Status: new("Completed"), Invocation: json.RawMessage(`{"a":1}`), Result: json.RawMessage(`[]`)},
					{Kind: "update", UpdateKind: new("plan"), Lines: []string{}},
				},
				EntriesTotal: new(int64(9)), ReturnedEntriesCount: new(int64(3)), Freshness: new("stale"),
				SnapshotSource: new("live_buffer"), StaleReasonCode: new("c"), SnapshotAgeMS: new(int64(12)),
			},
			`{"kind":"look","schema_version":"1","requester_session":"alpha@demo","target_session":"acp@demo","captured_at":"2026-01-01T00:00:00Z","snapshot_format":"structured_entries_v1",` +
				`"snapshot_entries":[{"kind":"agent","lines":["done"]},{"kind":"invocation","call_id":"t1","status":"Completed","invocation":{"a":1},"result":[]},{"kind":"update","lines":[],"update_kind":"plan"}],` +
				`"entries_total":9,"returned_entries_count":3,"freshness":"stale","snapshot_source":"live_buffer","stale_reason_code":"c","snapshot_age_ms":12}`,
		},
		{
			"look in a format of a newer relay",
			&LookResponse{SnapshotFormat: "pixels", Extra: Extra{"snapshot_pixels": json.RawMessage(`"AAA="`)}},
			`{"kind":"look","schema_version":"","requester_session":"","target_session":"","captured_at":"","snapshot_format":"pixels","snapshot_pixels":"AAA="}`,
		},
		{
			"raww",
			&RawwResponse{SchemaVersion: "1", Status: "queued", TargetSession: "bravo@demo", Transport: TransportTmux, RequestID: new("r"), MessageID: new("m")},
			`{"kind":"raww","schema_version":"1","status":"queued","target_session":"bravo@demo","transport":"tmux","request_id":"r","message_id":"m"}`,
		},
		{
			"choices_list",
			&ChoicesListResponse{SchemaVersion: "1", PendingRequests: []PendingRequest{{
				MessageID: "m", ChoiceRequestID: "c", TargetSession: "bravo@demo", RequestedKind: "edit",
				RequestedDetails: json.RawMessage(`{"options":[]}`), EnqueuedAt: "2026-01-01T00:00:00Z",
			}}},
			`{"kind":"choices_list","schema_version":"1","pending_requests":[{"message_id":"m","choice_request_id":"c","target_session":"bravo@demo","requested_kind":"edit","requested_details":{"options":[]},"enqueued_at":"2026-01-01T00:00:00Z"}]}`,
		},
		{
			"choices_pick",
			&ChoicesPickResponse{
				SchemaVersion: "1", Status: "resolved", ChoiceRequestID: "c", Outcome: OutcomeCancelled,
				DecidedBy: json.RawMessage(`"alpha@demo"`), ReasonCode: new("rc"), Reason: new("r"),
			},
			`{"kind":"choices_pick","schema_version":"1","status":"resolved","choice_request_id":"c","outcome":"cancelled","decided_by":"alpha@demo","reason_code":"rc","reason":"r"}`,
		},
		{
			"bundle_transition",
			&BundleTransitionResponse{
				SchemaVersion: "1", Action: "up",
				Bundles:            []BundleTransition{{BundleName: "demo", Outcome: "hosted"}, {BundleName: "spare", Outcome: "skipped", ReasonCode: new("c"), Reason: new("r")}},
				ChangedBundleCount: 1, SkippedBundleCount: 2, FailedBundleCount: 3, ChangedAny: true,
				Extra: Extra{"degraded_bundle_count": json.RawMessage(`0`)},
			},
			`{"kind":"bundle_transition","schema_version":"1","action":"up","bundles":[{"bundle_name":"demo","outcome":"hosted"},{"bundle_name":"spare","outcome":"skipped","reason_code":"c","reason":"r"}],` +
				`"changed_bundle_count":1,"skipped_bundle_count":2,"failed_bundle_count":3,"changed_any":true,"degraded_bundle_count":0}`,
		},
		{
			"new_peer",
			&NewPeerResponse{SchemaVersion: "1", PrincipalID: "carol@demo", PrincipalType: "session", PSK: new(NewSecret("k3y")), ConfigSnippet: "put it there"},
			`{"kind":"new_peer","schema_version":"1","principal_id":"carol@demo","principal_type":"session","psk":"k3y","config_snippet":"put it there"}`,
		},
		{
			"new_peer to a file",
			&NewPeerResponse{SchemaVersion: "1", PrincipalID: "carol@demo", PrincipalType: "session", OutputPath: new("/srv/key"), ConfigSnippet: "put it there"},
			`{"kind":"new_peer","schema_version":"1","principal_id":"carol@demo","principal_type":"session","output_path":"/srv/key","config_snippet":"put it there"}`,
		},
		{
			"change_psk",
			&ChangePSKResponse{SchemaVersion: "1", PrincipalID: "carol@demo", PSK: new(NewSecret("k3y"))},
			`{"kind":"change_psk","schema_version":"1","principal_id":"carol@demo","psk":"k3y"}`,
		},
		{
			"identity_introspect",
			&IdentityIntrospectResponse{SchemaVersion: "1", PrincipalID: "carol@demo", ExpiresAt: new("2026-01-01T00:00:00Z"), OnBehalfOf: json.RawMessage(`["x"]`), Verified: true},
			`{"kind":"identity_introspect","schema_version":"1","principal_id":"carol@demo","expires_at":"2026-01-01T00:00:00Z","on_behalf_of":["x"],"verified":true}`,
		},
		{
			"error",
			&ErrorResponse{Error: Error{Code: "validation_unknown_target", Message: "no", Details: json.RawMessage(`{"target":"x"}`)}},
			`{"kind":"error","error":{"code":"validation_unknown_target","message":"no","details":{"target":"x"}}}`,
		},
		{
			"error with a new key",
			&ErrorResponse{Error: Error{Code: "c", Extra: Extra{"retry": json.RawMessage(`true`)}}},
			`{"kind":"error","error":{"code":"c","message":"","retry":true}}`,
		},
		{
			"unknown response",
			&UnknownResponse{Kind: "list_relays", Extra: Extra{"relays": json.RawMessage(`[{"alias":"west"}]`)}},
			`{"kind":"list_relays","relays":[{"alias":"west"}]}`,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			checkFrame(t, &ResponseFrame{RequestID: new("1"), Response: test.response}, `{"frame":"response","request_id":"1","response":`+test.want+`}`)
		})
	}
}

func TestErrorIsAnErrorValue(t *testing.T) {
	var err error = &Error{Code: "validation_unknown_target", Message: "no such session", Details: json.RawMessage(`{"a":1}`)}
	if got, want := err.Error(), "relay: validation_unknown_target: no such session"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if refusal, ok := errors.AsType[*Error](errors.Join(err)); !ok || refusal.Code != "validation_unknown_target" {
		t.Errorf("got %v, %v", refusal, ok)
	}
}
