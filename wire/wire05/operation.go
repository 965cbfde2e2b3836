package wire05

import "github.com/agentmux/agentmux-go/wire"

// Where a field of an operation is a pointer, nil is written as null and leaves the choice to the relay. Sessions
// are named by their bare ids; session@bundle of the socket's own bundle does as well.

// List asks for the state of the socket's bundle. It needs no hello: a relay takes it bare, on a connection of its
// own. The relay answers with a [ListResponse].
type List struct {
	SenderSession *string    `json:"sender_session"`
	Extra         wire.Extra `json:"-"`
}

// Chat queues a message for other sessions. The relay answers with a [ChatResponse].
type Chat struct {
	RequestID     *string  `json:"request_id"` // the caller's own mark, returned in the answer
	SenderSession string   `json:"sender_session" wire:"required"`
	Message       string   `json:"message" wire:"required"`
	Targets       []string `json:"targets" wire:"required"` // empty with Broadcast
	Broadcast     bool     `json:"broadcast"`               // to every other session of the bundle

	QuietWindowMS *int64 `json:"quiet_window_ms"`
	// QuiescenceTimeoutMS is how long to wait for a terminal to come to rest, from 1. It is refused where a
	// target is no tmux session, and together with ACPTurnTimeoutMS.
	QuiescenceTimeoutMS *int64 `json:"quiescence_timeout_ms"`
	// ACPTurnTimeoutMS is how long an agent's turn may take, from 1. It is refused where a target is no ACP
	// session.
	ACPTurnTimeoutMS *int64     `json:"acp_turn_timeout_ms"`
	Extra            wire.Extra `json:"-"`
}

// Look asks for the end of one session's screen or replay buffer. The relay answers with a [LookResponse].
type Look struct {
	RequesterSession string     `json:"requester_session" wire:"required"`
	TargetSession    string     `json:"target_session" wire:"required"`
	Lines            *int64     `json:"lines"`       // screen lines or entries, 1 to 1000; nil: 120
	BundleName       *string    `json:"bundle_name"` // refused unless it is the socket's
	Extra            wire.Extra `json:"-"`
}

// Raww types text into a session's terminal. The relay answers, once it was typed, with a [RawwResponse].
type Raww struct {
	RequestID     *string    `json:"request_id"`
	SenderSession string     `json:"sender_session" wire:"required"`
	TargetSession string     `json:"target_session" wire:"required"`
	Text          string     `json:"text" wire:"required"` // 32,768 bytes at most
	NoEnter       bool       `json:"no_enter"`             // do not press Enter after the text
	BundleName    *string    `json:"bundle_name"`          // refused unless it is the socket's
	Extra         wire.Extra `json:"-"`
}

// PermissionList asks for the permissions that sessions of the bundle wait for. The relay answers with a
// [PermissionListResponse].
type PermissionList struct {
	BundleName *string    `json:"bundle_name"` // refused unless it is the socket's
	Extra      wire.Extra `json:"-"`
}

// PermissionResolve grants or refuses a permission. The relay answers with a [PermissionDecisionResponse].
type PermissionResolve struct {
	PermissionRequestID string  `json:"permission_request_id" wire:"required"`
	Outcome             string  `json:"outcome" wire:"required"` // [wire.OutcomeSelected] or [wire.OutcomeCancelled]
	OptionID            *string `json:"option_id"`               // with OutcomeSelected only
	BundleName          *string `json:"bundle_name"`             // refused unless it is the socket's
	// UISessionID must be nil: who decides is whom the hello named.
	UISessionID *string    `json:"ui_session_id"`
	Extra       wire.Extra `json:"-"`
}

func (*List) OperationName() string              { return "list" }
func (*Chat) OperationName() string              { return "chat" }
func (*Look) OperationName() string              { return "look" }
func (*Raww) OperationName() string              { return "raww" }
func (*PermissionList) OperationName() string    { return "permission_list" }
func (*PermissionResolve) OperationName() string { return "permission_resolve" }
