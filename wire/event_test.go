package wire

import (
	"encoding/json"
	"reflect"
	"testing"
)

func TestDecodePayload(t *testing.T) {
	for _, test := range []struct {
		eventType string
		payload   string
		want      Payload
	}{
		{
			"incoming_message",
			`{"body":"hi","cc_sessions":["bravo@demo"],"message_id":"m","sender_session":"alpha@demo"}`,
			&IncomingMessage{MessageID: "m", SenderSession: "alpha@demo", Body: "hi", CCSessions: []string{"bravo@demo"}},
		},
		{
			"incoming_message",
			`{"body":"","cc_sessions":null,"message_id":"m","sender_session":"alpha@demo","on_behalf_of":"x"}`,
			&IncomingMessage{MessageID: "m", SenderSession: "alpha@demo", Extra: Extra{"on_behalf_of": json.RawMessage(`"x"`)}},
		},
		{"delivery_outcome", `{"message_id":"m","outcome":null,"phase":"routed"}`, &DeliveryOutcome{MessageID: "m", Phase: "routed"}},
		{
			"delivery_outcome",
			`{"message_id":"m","outcome":"failed","phase":"failed","reason":"r","reason_code":"c"}`,
			&DeliveryOutcome{MessageID: "m", Phase: "failed", Outcome: new("failed"), ReasonCode: new("c"), Reason: new("r")},
		},
		{
			"choices.requested",
			`{"choice_request_id":"c","enqueued_at":"t","message_id":"m","requested_details":[1],"requested_kind":"edit","target_session":"bravo@demo"}`,
			&PendingRequest{
				MessageID: "m", ChoiceRequestID: "c", TargetSession: "bravo@demo", RequestedKind: "edit",
				RequestedDetails: json.RawMessage(`[1]`), EnqueuedAt: "t",
			},
		},
		{
			"choices.resolved",
			`{"choice_request_id":"c","decided_by":"alpha@demo","message_id":"m","outcome":"selected","reason":null,"reason_code":null,"resolved_at":"t"}`,
			&ChoicesResolved{MessageID: "m", ChoiceRequestID: "c", Outcome: OutcomeSelected, DecidedBy: json.RawMessage(`"alpha@demo"`), ResolvedAt: "t"},
		},
		{"identity.revoked", `{"principal_id":"alpha@demo","revoked_at":"t"}`, &IdentityRevoked{PrincipalID: "alpha@demo", RevokedAt: "t"}},
		{"identity.revoked", `{}`, &IdentityRevoked{}},
		{"weather", `{"sky":"blue"}`, &UnknownPayload{Extra: Extra{"sky": json.RawMessage(`"blue"`)}}},
	} {
		event := Event{EventType: test.eventType, Payload: json.RawMessage(test.payload)}
		got, err := event.DecodePayload()
		if err != nil || !reflect.DeepEqual(got, test.want) {
			t.Errorf("%s %s: got %#v, %v, want %#v", test.eventType, test.payload, got, err, test.want)
		}
	}
}

func TestPayloadThatIsNoObject(t *testing.T) {
	for payload, got := range map[string]string{``: "nothing", `null`: "null", `[]`: "an array", `"x"`: "a string", `{`: "broken JSON"} {
		event := Event{EventType: "identity.revoked", Payload: json.RawMessage(payload)}
		p, err := event.DecodePayload()
		want := &DecodeError{Key: "payload", Want: "an object", Got: got}
		if p != nil || !reflect.DeepEqual(err, error(want)) {
			t.Errorf("%q: got %v, %v, want %v", payload, p, err, want)
		}
	}
}
