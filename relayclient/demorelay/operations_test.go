package demorelay_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/agentmux/agentmux-go/relayclient/demorelay"
	"github.com/agentmux/agentmux-go/wire"
)

func TestOperations(t *testing.T) {
	const (
		list     = `{"operation":"list","requester_session":"you"}`
		noTarget = `"requester_session":"you","message":"hi","broadcast":false,"targets":`
		choices  = `{"operation":"choices_list"}`
		up       = `{"operation":"up"}`
		down     = `{"operation":"down"}`
		start    = `"2000-01-01T00:00:00Z"`
	)
	send := func(targets string) string { return request(`{"operation":"send",` + noTarget + targets + `}`) }
	look := func(target, window string) string {
		return request(fmt.Sprintf(`{"operation":"look","requester_session":"you","target_session":%q%s}`, target, window))
	}
	raww := func(target, text string) string {
		return request(fmt.Sprintf(`{"operation":"raww","requester_session":"you","target_session":%q,"text":%q}`, target, text))
	}
	pick := func(id, outcome, option string) string {
		return request(fmt.Sprintf(`{"operation":"choices_pick","choice_request_id":%q,"outcome":%q,"option_id":%s}`, id, outcome, option))
	}
	noSender := `validation_unknown_sender {"field":"requester_session","value":"zed"}`
	resolved := `runtime_choices_request_already_resolved {"choice_request_id":"choice"}`
	transition := func(action, bundle, outcome string, changed int) string {
		reason := ""
		if outcome == "skipped" {
			reason = `,"reason":"the bundle is ` + action + ` already","reason_code":"already_` + map[string]string{"up": "hosted", "down": "unhosted"}[action] + `"`
		}
		return fmt.Sprintf(`bundle_transition {"action":%q,"bundles":[{"bundle_name":%q,"outcome":%q%s}],"changed_any":%t,"changed_bundle_count":%d,"failed_bundle_count":0,"skipped_bundle_count":%d}`,
			action, bundle, outcome, reason, changed == 1, changed, 1-changed)
	}
	listed := `list {"bundle":{"hosted":true,"id":"demo","principals":[` +
		`{"id":"you@demo","name":"You","ready":true,"transport":"tmux"},{"id":"builder@demo","name":"Builder","ready":true,"transport":"tmux"},` +
		`{"id":"reviewer@demo","ready":true,"transport":"acp"},{"id":"dashboard@demo","ready":false,"transport":"ui"},` +
		`{"id":"bus@demo","ready":false,"transport":"pubsub"}],"recent_startup_failures":[],"startup_failure_count":0,"startup_health":"healthy","state":"up"}}`
	failure := `{"code":"runtime_startup_failed","reason":"","sequence":0,"session_id":"you","timestamp":"","transport":""}`

	tests := []struct {
		name  string
		steps []step
	}{
		{"list own bundle", []step{{request(list), listed}, {in("demo", list), listed}}},
		{"list another bundle", []step{
			{in("other", list), `list {"bundle":{"hosted":false,"id":"other","principals":[{"id":"you@other","ready":false,"transport":"tmux"},` +
				`{"id":"agent@other","ready":false,"transport":"acp"}],"recent_startup_failures":[` + failure + `],"startup_failure_count":1,"state":"down",` +
				`"state_reason":"no session is ready","state_reason_code":"runtime_startup_failed"}}`},
			{in("other", up), transition("up", "other", "hosted", 1)},
			{in("other", list), `list {"bundle":{"hosted":true,"id":"other","principals":[{"id":"you@other","ready":true,"transport":"tmux"},` +
				`{"id":"agent@other","ready":true,"transport":"acp"}],"recent_startup_failures":[` + failure + `],"startup_failure_count":1,"startup_health":"degraded","state":"up"}}`},
		}},
		{"list users", []step{{in("GLOBAL", `{"operation":"list"}`), `list {"bundle":{"hosted":false,"id":"GLOBAL","principals":[` +
			`{"id":"operator@GLOBAL","ready":false,"transport":"ui"}],"recent_startup_failures":[],"startup_failure_count":0,"state":"down"}}`}}},
		{"list refused", []step{
			{request(`{"operation":"list"}`), "validation_unknown_sender"},
			{request(`{"operation":"list","requester_session":"zed"}`), noSender},
			{request(`{"operation":"list","requester_session":"you@demo"}`), `validation_unknown_sender {"field":"requester_session","value":"you@demo"}`},
			{request(`{"operation":"list","requester_session":"operator@GLOBAL"}`), listed},
			{in("nope", list), `validation_unknown_bundle {"bundle_name":"nope"}`},
			{in("RELAY", list), `validation_unsupported_namespace {"namespace":"RELAY"}`},
		}},

		{"send", []step{
			{send(`["operator@GLOBAL"," builder@demo ","you@other"]`), `send {"request_id":null,"requester_session":"you@demo","results":[` +
				`{"message_id":"id-3","outcome":"queued","target_session":"builder@demo"},{"message_id":"id-4","outcome":"queued","target_session":"you@other"},` +
				`{"message_id":"id-5","outcome":"queued","target_session":"operator@GLOBAL"}],"sender_display_name":"You"}`},
			{request(`{"operation":"send","requester_session":"you@demo","message":"hi","broadcast":false,"targets":["bus@demo"]}`),
				`send {"request_id":null,"requester_session":"you@demo","results":[{"message_id":"id-6","outcome":"queued","target_session":"bus@demo"}],"sender_display_name":"You"}`},
			{request(`{"operation":"send","request_id":"r","requester_session":"operator@GLOBAL","message":"hi","broadcast":false,"targets":["you@demo"]}`),
				`send {"request_id":"r","requester_session":"operator@GLOBAL","results":[{"message_id":"id-7","outcome":"queued","target_session":"you@demo"}]}`},
		}},
		{"broadcast", []step{
			{request(`{"operation":"send","requester_session":"builder","message":"hi","broadcast":true,"targets":[]}`),
				`send {"request_id":null,"requester_session":"builder@demo","results":[{"message_id":"id-3","outcome":"queued","target_session":"you@demo"},` +
					`{"message_id":"id-4","outcome":"queued","target_session":"reviewer@demo"},{"message_id":"id-5","outcome":"queued","target_session":"dashboard@demo"},` +
					`{"message_id":"id-6","outcome":"queued","target_session":"bus@demo"}],"sender_display_name":"Builder"}`},
			{request(list), listed},
			{request(`{"operation":"send","requester_session":"operator@GLOBAL","message":"hi","broadcast":true,"targets":[]}`), "validation_invalid_arguments"},
		}},
		{"send refused", []step{
			{request(`{"operation":"send","requester_session":"zed","message":" \n","broadcast":false,"targets":[]}`), "validation_invalid_arguments"},
			{request(`{"operation":"send","requester_session":"zed","message":"hi","broadcast":true,"targets":["x"]}`), "validation_conflicting_targets"},
			{request(`{"operation":"send","requester_session":"zed","message":"hi","broadcast":false,"targets":[]}`), "validation_empty_targets"},
			{request(`{"operation":"send","requester_session":"zed","message":"hi","broadcast":false,"targets":["x"]}`), noSender},
			{send(`["zed@demo","builder"]`), `validation_unqualified_target {"target":"builder"}`},
			{send(`["@demo"]`), `validation_unqualified_target {"target":"@demo"}`},
			{send(`["builder@"]`), `validation_unqualified_target {"target":"builder@"}`},
			{send(`[" a@b@demo "]`), `validation_unknown_target {"unknown_targets":["a@b@demo"]}`},
			{send(`["x@EXTERNAL"]`), `validation_unsupported_namespace {"namespace":"EXTERNAL","target":"x@EXTERNAL"}`},
			{send(`["zed@demo","builder@demo","x@nope","x@GLOBAL"]`), `validation_unknown_target {"unknown_targets":["zed@demo","x@nope","x@GLOBAL"]}`},
		}},

		{"look at a pane", []step{
			{look("builder@demo", ""), `look {"captured_at":` + start + `,"requester_session":"you@demo","snapshot_format":"lines","snapshot_lines":["one","two","$"],"target_session":"builder@demo"}`},
			{request(`{"operation":"look","requester_session":"you@demo","target_session":"builder@demo","lines":1}`),
				`look {"captured_at":` + start + `,"requester_session":"you@demo","snapshot_format":"lines","snapshot_lines":["$"],"target_session":"builder@demo"}`},
			{look(" builder@demo ", `,"lines":2,"offset":0`), `look {"captured_at":` + start + `,"requester_session":"you@demo","snapshot_format":"lines","snapshot_lines":["two","$"],"target_session":"builder@demo"}`},
			{look("builder@demo", `,"lines":1000`), `look {"captured_at":` + start + `,"requester_session":"you@demo","snapshot_format":"lines","snapshot_lines":["one","two","$"],"target_session":"builder@demo"}`},
			{look("builder@demo", `,"offset":3`), `validation_offset_unsupported {"code":"validation_offset_unsupported","details":{"offset":3},"target_session":"builder"}`},
			{look("you@other", ""), `internal_unexpected_failure {"code":"internal_unexpected_failure","details":{"cause":"the bundle is down"},"target_session":"you"}`},
		}},
		{"look at a replay buffer", []step{
			{look("reviewer@demo", ""), `look {"captured_at":` + start + `,"entries_total":1,"freshness":"fresh","requester_session":"you@demo","returned_entries_count":1,` +
				`"snapshot_entries":[{"kind":"agent","lines":["hello"]}],"snapshot_format":"structured_entries_v1","snapshot_source":"live_buffer","target_session":"reviewer@demo"}`},
			{raww("reviewer@demo", "a\n\nb"), `raww {"message_id":"id-3","status":"queued","target_session":"reviewer@demo","transport":"acp"}`},
			{look("reviewer@demo", `,"lines":1,"offset":1`), `look {"captured_at":` + start + `,"entries_total":3,"freshness":"fresh","requester_session":"you@demo","returned_entries_count":1,` +
				`"snapshot_entries":[{"kind":"user","lines":["a","b"]}],"snapshot_format":"structured_entries_v1","snapshot_source":"live_buffer","target_session":"reviewer@demo"}`},
			{look("reviewer@demo", `,"offset":7`), `look {"captured_at":` + start + `,"entries_total":3,"freshness":"fresh","requester_session":"you@demo","returned_entries_count":0,` +
				`"snapshot_entries":[],"snapshot_format":"structured_entries_v1","snapshot_source":"live_buffer","target_session":"reviewer@demo"}`},
		}},
		{"look refused", []step{
			{look("zed", `,"lines":0`), `validation_invalid_lines {"lines":0,"max":1000,"min":1}`},
			{look("zed", `,"lines":1001`), `validation_invalid_lines {"lines":1001,"max":1000,"min":1}`},
			{request(`{"operation":"look","requester_session":"zed","target_session":"builder"}`), noSender},
			{look("builder", ""), `validation_unqualified_target {"target":"builder"}`},
			{look("  ", ""), `validation_unqualified_target {"target":""}`},
			{look("x@RELAY", ""), `validation_unsupported_namespace {"namespace":"RELAY","target":"x@RELAY"}`},
			{look("x@nope", ""), `validation_unknown_bundle {"bundle_name":"nope"}`},
			{look("zed@demo", ""), `validation_unknown_target {"target_session":"zed@demo"}`},
			{look(" a@b@demo", ""), `validation_unknown_target {"target_session":"a@b@demo"}`},
			{look("zed@GLOBAL", ""), `validation_unknown_target {"target_session":"zed@GLOBAL"}`},
			{look("dashboard@demo", ""), `validation_unsupported_operation {"can_be_looked":false,"session_type":"ui","target_session":"dashboard@demo"}`},
			{look("operator@GLOBAL", ""), `validation_unsupported_operation {"can_be_looked":false,"session_type":"ui","target_session":"operator@GLOBAL"}`},
		}},

		{"raww", []step{
			{raww("builder@demo", "ls"), `raww {"message_id":"id-3","status":"queued","target_session":"builder@demo","transport":"tmux"}`},
			{request(`{"operation":"raww","request_id":"r","requester_session":"you@demo","target_session":"builder@demo","text":"a\nb","no_enter":true}`),
				`raww {"message_id":"id-4","request_id":"r","status":"queued","target_session":"builder@demo","transport":"tmux"}`},
			{look("builder@demo", `,"lines":3`), `look {"captured_at":` + start + `,"requester_session":"you@demo","snapshot_format":"lines","snapshot_lines":["$ ls","$ a","b"],"target_session":"builder@demo"}`},
			{raww("builder@demo", strings.Repeat("x", 32768)), `raww {"message_id":"id-5","status":"queued","target_session":"builder@demo","transport":"tmux"}`},
			{raww("you@other", "lost"), `raww {"message_id":"id-6","status":"queued","target_session":"you@other","transport":"tmux"}`},
			{in("other", up), transition("up", "other", "hosted", 1)},
			{look("you@other", ""), `look {"captured_at":` + start + `,"requester_session":"you@demo","snapshot_format":"lines","snapshot_lines":[],"target_session":"you@other"}`},
			{raww("you@other", "x"), `raww {"message_id":"id-7","status":"queued","target_session":"you@other","transport":"tmux"}`},
			{look("you@other", ""), `look {"captured_at":` + start + `,"requester_session":"you@demo","snapshot_format":"lines","snapshot_lines":["x"],"target_session":"you@other"}`},
		}},
		{"raww refused", []step{
			{raww(" ", strings.Repeat("x", 32769)), `validation_invalid_params {"field":"target_session"}`},
			{raww("zed", strings.Repeat("x", 32769)), `validation_invalid_params {"bytes":32769,"field":"text","max_bytes":32768}`},
			{request(`{"operation":"raww","requester_session":"zed","target_session":"builder","text":""}`), noSender},
			{raww("builder", ""), `validation_unqualified_target {"target":"builder"}`},
			{raww("bus@demo", ""), `validation_unsupported_operation {"can_be_written":false,"session_type":"pubsub","target_session":"bus@demo"}`},
		}},

		{"choices", []step{
			{request(choices), `choices_list {"pending_requests":[{"choice_request_id":"choice","enqueued_at":` + start + `,"message_id":"id-1",` +
				`"requested_details":{"acp_request_id":1,"options":[{"kind":"allow_once","name":"Yes","option_id":"yes"}],` +
				`"raw":{"options":[{"kind":"allow_once","name":"Yes","optionId":"yes"}],"toolCall":{"status":"pending","title":"Run it"}},"tool_call_title":"Run it"},` +
				`"requested_kind":"other","target_session":"reviewer@demo"}]}`},
			{in("other", choices), `choices_list {"pending_requests":[]}`},
			{in("GLOBAL", choices), `validation_unknown_bundle {"bundle_name":"GLOBAL"}`},
			{pick("choice", "selected", `"yes"`), `choices_pick {"choice_request_id":"choice","decided_by":"you@demo","outcome":"selected","status":"resolved"}`},
			{request(choices), `choices_list {"pending_requests":[]}`},
			{pick("choice", "selected", `"yes"`), resolved},
		}},
		{"choices cancelled", []step{{pick("choice", "cancelled", "null"),
			`choices_pick {"choice_request_id":"choice","decided_by":"you@demo","outcome":"cancelled","reason_code":"runtime_choices_request_cancelled","status":"resolved"}`}}},
		{"choices refused", []step{
			{in("nope", `{"operation":"choices_pick","choice_request_id":"","outcome":"maybe"}`), `validation_unknown_bundle {"bundle_name":"nope"}`},
			{pick(" ", "maybe", `""`), `validation_invalid_params {"field":"choice_request_id"}`},
			{pick("choice", "maybe", `" "`), `validation_invalid_params {"field":"option_id"}`},
			{pick("choice", "maybe", "null"), `validation_invalid_params {"field":"outcome","value":"maybe"}`},
			{pick("choice", "selected", "null"), `validation_invalid_params {"field":"option_id","outcome":"selected"}`},
			{pick("choice", "cancelled", `"yes"`), `validation_invalid_params {"field":"option_id","outcome":"cancelled"}`},
			{pick("nope", "selected", `"yes"`), `runtime_choices_request_already_resolved {"choice_request_id":"nope"}`},
			{in("other", `{"operation":"choices_pick","choice_request_id":"choice","outcome":"cancelled"}`), resolved},
			{pick("choice", "selected", `"no"`), `validation_invalid_params {"field":"option_id","value":"no"}`},
			{pick("choice", "selected", `"yes"`), resolved},
		}},

		{"transitions", []step{
			{request(up), transition("up", "demo", "skipped", 0)},
			{in("other", down), transition("down", "other", "skipped", 0)},
			{raww("builder@demo", "gone"), `raww {"message_id":"id-3","status":"queued","target_session":"builder@demo","transport":"tmux"}`},
			{request(down), transition("down", "demo", "unhosted", 1)},
			{look("builder@demo", ""), `internal_unexpected_failure {"code":"internal_unexpected_failure","details":{"cause":"the bundle is down"},"target_session":"builder"}`},
			{request(choices), `choices_list {"pending_requests":[{"choice_request_id":"choice","enqueued_at":` + start + `,"message_id":"id-1",` +
				`"requested_details":{"acp_request_id":1,"options":[{"kind":"allow_once","name":"Yes","option_id":"yes"}],` +
				`"raw":{"options":[{"kind":"allow_once","name":"Yes","optionId":"yes"}],"toolCall":{"status":"pending","title":"Run it"}},"tool_call_title":"Run it"},` +
				`"requested_kind":"other","target_session":"reviewer@demo"}]}`},
			{request(up), transition("up", "demo", "hosted", 1)},
			{look("builder@demo", ""), `look {"captured_at":` + start + `,"requester_session":"you@demo","snapshot_format":"lines","snapshot_lines":["one","two","$"],"target_session":"builder@demo"}`},
			{in("GLOBAL", up), `validation_unknown_bundle {"bundle_name":"GLOBAL"}`},
			{in("EXTERNAL", up), `validation_unsupported_namespace {"namespace":"EXTERNAL"}`},
		}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			serve(t, func(t *testing.T, r *demorelay.Relay) {
				c := connect(t, r, "you@demo", wire.SocketTrust)
				for _, s := range test.steps {
					if got := c.ask(s.say); got != s.want {
						t.Errorf("%s\n got %s\nwant %s", s.say, got, s.want)
					}
				}
			})
		})
	}
}

func TestUser(t *testing.T) {
	serve(t, func(t *testing.T, r *demorelay.Relay) {
		c := connect(t, r, "operator@GLOBAL", wire.SocketTrust)
		for _, s := range []step{
			{request(`{"operation":"choices_list"}`), "validation_missing_routing_namespace"},
			{in("other", `{"operation":"choices_list"}`), `choices_list {"pending_requests":[]}`},
			{in("GLOBAL", `{"operation":"list"}`), `list {"bundle":{"hosted":true,"id":"GLOBAL","principals":[` +
				`{"id":"operator@GLOBAL","ready":true,"transport":"ui"}],"recent_startup_failures":[],"startup_failure_count":0,"state":"up"}}`},
			{request(`{"operation":"raww","requester_session":"operator","target_session":"you@demo","text":""}`),
				`validation_unknown_sender {"field":"requester_session","value":"operator"}`},
		} {
			if got := c.ask(s.say); got != s.want {
				t.Errorf("%s\n got %s\nwant %s", s.say, got, s.want)
			}
		}
	})
}
