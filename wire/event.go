package wire

import (
	"encoding/json"
	"reflect"
)

// An Event is something that happened at the relay (PROTOCOL.md, "Events"). [Event.DecodePayload] gives
// its payload a type.
type Event struct {
	EventType     string          `json:"event_type" wire:"required"`
	TargetSession string          `json:"target_session"`
	CreatedAt     string          `json:"created_at"` // RFC 3339
	Payload       json.RawMessage `json:"payload"`
	Extra         Extra           `json:"-"`
}

// A Payload is [*IncomingMessage], [*DeliveryOutcome], [*PendingRequest] (choices.requested),
// [*ChoicesResolved], [*IdentityRevoked], or [*UnknownPayload].
type Payload any

// IncomingMessage is a message for the connected session.
type IncomingMessage struct {
	MessageID     string   `json:"message_id"`
	SenderSession string   `json:"sender_session"`
	Body          string   `json:"body"`
	CCSessions    []string `json:"cc_sessions,omitempty"` // nil where the relay wrote null
	Extra         Extra    `json:"-"`
}

// DeliveryOutcome is the progress of a message that the connected session sent or is to receive. The
// event's TargetSession is the message's.
type DeliveryOutcome struct {
	MessageID  string  `json:"message_id"`
	Phase      string  `json:"phase"`   // "routed", "delivered", "failed", …
	Outcome    *string `json:"outcome"` // nil until it is known; "success", "failed", …
	ReasonCode *string `json:"reason_code,omitempty"`
	Reason     *string `json:"reason,omitempty"`
	Extra      Extra   `json:"-"`
}

// ChoicesResolved says that a decision no longer waits.
type ChoicesResolved struct {
	MessageID       string          `json:"message_id"`
	ChoiceRequestID string          `json:"choice_request_id"`
	Outcome         string          `json:"outcome"`
	DecidedBy       json.RawMessage `json:"decided_by,omitempty"`
	ReasonCode      *string         `json:"reason_code"`
	Reason          *string         `json:"reason"`
	ResolvedAt      string          `json:"resolved_at"` // RFC 3339
	Extra           Extra           `json:"-"`
}

// IdentityRevoked says that a principal's credential is no longer valid.
type IdentityRevoked struct {
	PrincipalID string `json:"principal_id"`
	RevokedAt   string `json:"revoked_at"` // RFC 3339
	Extra       Extra  `json:"-"`
}

// UnknownPayload is the payload of an event type without a Go type of its own.
type UnknownPayload struct {
	Extra Extra
}

// DecodePayload reads the payload, and shares its memory. The error is a [*DecodeError]: a payload that is no
// object.
func (e *Event) DecodePayload() (Payload, error) {
	if err := valid(e.Payload); err != nil {
		return nil, within("payload", err)
	}
	m, err := members(e.Payload)
	if err != nil {
		return nil, within("payload", err)
	}
	var p Payload
	switch e.EventType {
	case "incoming_message":
		p = &IncomingMessage{}
	case "delivery_outcome":
		p = &DeliveryOutcome{}
	case "choices.requested":
		p = &PendingRequest{}
	case "choices.resolved":
		p = &ChoicesResolved{}
	case "identity.revoked":
		p = &IdentityRevoked{}
	default:
		return &UnknownPayload{Extra: m}, nil
	}
	if err := decodeMembers(m, reflect.ValueOf(p)); err != nil {
		return nil, within("payload", err)
	}
	return p, nil
}
