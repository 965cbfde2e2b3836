package wire

// An Operation is what a request asks for (PROTOCOL.md, "Operations"). Where a field is a pointer, nil is
// written as null and leaves the choice to the relay.
type Operation interface {
	// OperationName is the value of the operation key.
	OperationName() string
}

// List asks for the state of the bundle that the request's namespace names. The relay answers with a
// [ListResponse].
type List struct {
	RequesterSession *string `json:"requester_session"` // bare session id
	Extra            Extra   `json:"-"`
}

// Send queues a message for other sessions. The relay answers with a [SendResponse].
type Send struct {
	RequestID        *string  `json:"request_id"` // the caller's own mark, returned in the answer
	RequesterSession string   `json:"requester_session" wire:"required"`
	Message          string   `json:"message" wire:"required"`
	Targets          []string `json:"targets" wire:"required"` // session@namespace each; empty with Broadcast
	Broadcast        bool     `json:"broadcast"`               // to every other session of the home bundle
	QuietWindowMS    *int64   `json:"quiet_window_ms,omitempty"`
	Extra            Extra    `json:"-"`
}

// Look asks for a window of one session's screen or replay buffer. The relay answers with a
// [LookResponse].
type Look struct {
	RequesterSession string `json:"requester_session" wire:"required"`
	TargetSession    string `json:"target_session" wire:"required"`
	// Lines is the size of the window, 1 to 1000: screen lines of a tmux session, replay entries of an
	// ACP session. Nil leaves it to the relay (120 and 50).
	Lines *int64 `json:"lines"`
	// Offset skips that many entries from the newest end. The relay refuses it for tmux sessions.
	Offset *int64 `json:"offset"`
	Extra  Extra  `json:"-"`
}

// Raww types text into a session's terminal. The relay answers with a [RawwResponse].
type Raww struct {
	RequestID        *string `json:"request_id"`
	RequesterSession string  `json:"requester_session" wire:"required"`
	TargetSession    string  `json:"target_session" wire:"required"`
	Text             string  `json:"text" wire:"required"`
	NoEnter          bool    `json:"no_enter"` // do not press Enter after the text
	Extra            Extra   `json:"-"`
}

// ChoicesList asks for the decisions that sessions of the namespace wait for. The relay answers with a
// [ChoicesListResponse].
type ChoicesList struct {
	Extra Extra `json:"-"`
}

// Outcomes of [ChoicesPick].
const (
	OutcomeSelected  = "selected"
	OutcomeCancelled = "cancelled"
)

// ChoicesPick takes a decision. The relay answers with a [ChoicesPickResponse].
type ChoicesPick struct {
	ChoiceRequestID string  `json:"choice_request_id" wire:"required"`
	Outcome         string  `json:"outcome" wire:"required"` // [OutcomeSelected] or [OutcomeCancelled]
	OptionID        *string `json:"option_id"`               // with OutcomeSelected only
	Extra           Extra   `json:"-"`
}

// Up starts the sessions of the namespace's bundle. The relay answers with a
// [BundleTransitionResponse].
type Up struct {
	Extra Extra `json:"-"`
}

// Down stops the sessions of the namespace's bundle. The relay answers with a
// [BundleTransitionResponse].
type Down struct {
	Extra Extra `json:"-"`
}

// NewPeer registers a principal and makes its pre-shared key. The relay answers with a
// [NewPeerResponse].
type NewPeer struct {
	PrincipalID string  `json:"principal_id" wire:"required"`
	Scope       *string `json:"scope"`
	// OutputPath is a file on the relay's machine to write the key to, instead of returning it, as
	// relay 0.8 reads it. Newer relays read Destination; give both.
	OutputPath  *string      `json:"output_path"`
	Destination *Destination `json:"destination,omitempty"` // never null on the wire
	Extra       Extra        `json:"-"`
}

// Destination says where a newer relay puts a key: Kind is "response", or "path" with Path.
type Destination struct {
	Kind  string  `json:"kind" wire:"required"`
	Path  *string `json:"path,omitempty"`
	Extra Extra   `json:"-"`
}

// ChangePSK gives a principal a new pre-shared key and revokes its connections. The relay answers with a
// [ChangePSKResponse].
type ChangePSK struct {
	PrincipalID string `json:"principal_id" wire:"required"`
	Extra       Extra  `json:"-"`
}

// IdentityIntrospect asks what the relay knows of a principal. The relay answers with an
// [IdentityIntrospectResponse].
type IdentityIntrospect struct {
	TargetSession string `json:"target_session" wire:"required"`
	Extra         Extra  `json:"-"`
}

// UnknownOperation is an operation that this package does not know.
type UnknownOperation struct {
	Name  string
	Extra Extra // all members but operation
}

func (*List) OperationName() string               { return "list" }
func (*Send) OperationName() string               { return "send" }
func (*Look) OperationName() string               { return "look" }
func (*Raww) OperationName() string               { return "raww" }
func (*ChoicesList) OperationName() string        { return "choices_list" }
func (*ChoicesPick) OperationName() string        { return "choices_pick" }
func (*Up) OperationName() string                 { return "up" }
func (*Down) OperationName() string               { return "down" }
func (*NewPeer) OperationName() string            { return "new_peer" }
func (*ChangePSK) OperationName() string          { return "change_psk" }
func (*IdentityIntrospect) OperationName() string { return "identity_introspect" }
func (o *UnknownOperation) OperationName() string { return o.Name }
