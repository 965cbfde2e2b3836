package wire

import (
	"encoding/json"
	"fmt"
)

// A Response is what a relay answers (PROTOCOL.md, "Responses"): the response type that the operation
// names, or an [*ErrorResponse]. Enumerations are open: a value beyond those named is carried through.
type Response interface {
	// ResponseKind is the value of the kind key.
	ResponseKind() string
}

// ListResponse is the state of one bundle.
type ListResponse struct {
	SchemaVersion string       `json:"schema_version"`
	Bundle        ListedBundle `json:"bundle" wire:"required"`
	Extra         Extra        `json:"-"`
}

// ListedBundle is a bundle as a relay sees it.
type ListedBundle struct {
	ID                    string           `json:"id" wire:"required"`
	Hosted                bool             `json:"hosted"`
	State                 string           `json:"state"`                    // "up" or "down"
	StartupHealth         *string          `json:"startup_health,omitempty"` // "healthy" or "degraded"
	StateReasonCode       *string          `json:"state_reason_code,omitempty"`
	StateReason           *string          `json:"state_reason,omitempty"`
	StartupFailureCount   int64            `json:"startup_failure_count"`
	RecentStartupFailures []StartupFailure `json:"recent_startup_failures"`
	Principals            []Principal      `json:"principals"`
	Extra                 Extra            `json:"-"`
}

// Transports of a [Principal].
const (
	TransportTmux   = "tmux"
	TransportACP    = "acp"
	TransportPTY    = "pty" // relay 0.10 and later
	TransportUI     = "ui"
	TransportPubSub = "pubsub"
)

// Principal is a member of a bundle.
type Principal struct {
	ID        string  `json:"id"` // session@namespace
	Name      *string `json:"name,omitempty"`
	Transport string  `json:"transport"`
	Ready     bool    `json:"ready"`
	Extra     Extra   `json:"-"`
}

// StartupFailure is a member that did not start.
type StartupFailure struct {
	SessionID string          `json:"session_id"`
	Transport string          `json:"transport"`
	Code      string          `json:"code"`
	Reason    string          `json:"reason"`
	Timestamp string          `json:"timestamp"` // RFC 3339
	Sequence  int64           `json:"sequence"`
	Details   json.RawMessage `json:"details,omitempty"`
	Extra     Extra           `json:"-"`
}

// SendResponse says what became of a message, target by target.
type SendResponse struct {
	SchemaVersion         string          `json:"schema_version"`
	RequestID             *string         `json:"request_id"`
	RequesterSession      string          `json:"requester_session"`
	SenderDisplayName     *string         `json:"sender_display_name,omitempty"`
	AuthenticatedIdentity json.RawMessage `json:"authenticated_identity,omitempty"`
	OnBehalfOf            json.RawMessage `json:"on_behalf_of,omitempty"`
	Results               []SendResult    `json:"results" wire:"required"`
	Extra                 Extra           `json:"-"`
}

// SendResult is the fate of a message at one target.
type SendResult struct {
	TargetSession string          `json:"target_session"`
	MessageID     string          `json:"message_id"`
	Outcome       string          `json:"outcome"` // "queued", "delivered", "timeout", "dropped_on_shutdown", "failed"
	ReasonCode    *string         `json:"reason_code,omitempty"`
	Reason        *string         `json:"reason,omitempty"`
	Details       json.RawMessage `json:"details,omitempty"`
	Extra         Extra           `json:"-"`
}

// Snapshot formats of a [LookResponse].
const (
	SnapshotLines               = "lines"
	SnapshotStructuredEntriesV1 = "structured_entries_v1"
)

// LookResponse is a window of a session's screen or replay buffer. SnapshotFormat says which of the keys
// after it are there.
type LookResponse struct {
	SchemaVersion         string          `json:"schema_version"`
	RequesterSession      string          `json:"requester_session"`
	TargetSession         string          `json:"target_session"`
	CapturedAt            string          `json:"captured_at"` // RFC 3339, nanoseconds, UTC
	AuthenticatedIdentity json.RawMessage `json:"authenticated_identity,omitempty"`
	OnBehalfOf            json.RawMessage `json:"on_behalf_of,omitempty"`
	SnapshotFormat        string          `json:"snapshot_format" wire:"required"`

	// With SnapshotLines: the screen, top line first. Escape sequences and control characters can occur.
	SnapshotLines []string `json:"snapshot_lines,omitempty" wire:"required if snapshot_format=lines"`

	// With SnapshotStructuredEntriesV1: the replay buffer of an ACP session, oldest entry first.
	SnapshotEntries      []SnapshotEntry `json:"snapshot_entries,omitempty" wire:"required if snapshot_format=structured_entries_v1"`
	EntriesTotal         *int64          `json:"entries_total,omitempty"`
	ReturnedEntriesCount *int64          `json:"returned_entries_count,omitempty"`
	Freshness            *string         `json:"freshness,omitempty"`       // "fresh" or "stale"
	SnapshotSource       *string         `json:"snapshot_source,omitempty"` // "live_buffer" or "none"
	StaleReasonCode      *string         `json:"stale_reason_code,omitempty"`
	SnapshotAgeMS        *int64          `json:"snapshot_age_ms,omitempty"`
	Extra                Extra           `json:"-"`
}

// SnapshotEntry is one entry of an ACP session's replay buffer. Kind "user", "agent" and "cognition" have
// Lines; "invocation" has the call; "update" has UpdateKind and Lines.
type SnapshotEntry struct {
	Kind       string          `json:"kind"`
	Lines      []string        `json:"lines,omitempty"`
	CallID     *string         `json:"call_id,omitempty"`
	Status     *string         `json:"status,omitempty"` // "Pending" or "Completed"
	Invocation json.RawMessage `json:"invocation,omitempty"`
	Result     json.RawMessage `json:"result,omitempty"`
	UpdateKind *string         `json:"update_kind,omitempty"`
	Extra      Extra           `json:"-"`
}

// RawwResponse says that text is on its way to a terminal.
type RawwResponse struct {
	SchemaVersion string  `json:"schema_version"`
	Status        string  `json:"status" wire:"required"` // "queued"
	TargetSession string  `json:"target_session"`
	Transport     string  `json:"transport"`
	RequestID     *string `json:"request_id,omitempty"`
	MessageID     *string `json:"message_id,omitempty"`
	Extra         Extra   `json:"-"`
}

// ChoicesListResponse is the list of decisions that wait.
type ChoicesListResponse struct {
	SchemaVersion   string           `json:"schema_version"`
	PendingRequests []PendingRequest `json:"pending_requests" wire:"required"`
	Extra           Extra            `json:"-"`
}

// PendingRequest is a decision that a session waits for. It is the payload of the event
// choices.requested too.
type PendingRequest struct {
	MessageID        string          `json:"message_id"`
	ChoiceRequestID  string          `json:"choice_request_id"`
	TargetSession    string          `json:"target_session"`
	RequestedKind    string          `json:"requested_kind"`
	RequestedDetails json.RawMessage `json:"requested_details"` // any JSON
	EnqueuedAt       string          `json:"enqueued_at"`       // RFC 3339
	Extra            Extra           `json:"-"`
}

// ChoicesPickResponse says what became of a decision.
type ChoicesPickResponse struct {
	SchemaVersion   string          `json:"schema_version"`
	Status          string          `json:"status" wire:"required"`
	ChoiceRequestID string          `json:"choice_request_id"`
	Outcome         string          `json:"outcome"`
	DecidedBy       json.RawMessage `json:"decided_by,omitempty"`
	ReasonCode      *string         `json:"reason_code,omitempty"`
	Reason          *string         `json:"reason,omitempty"`
	Extra           Extra           `json:"-"`
}

// BundleTransitionResponse says what going up or down changed.
type BundleTransitionResponse struct {
	SchemaVersion      string             `json:"schema_version"`
	Action             string             `json:"action"` // "up" or "down"
	Bundles            []BundleTransition `json:"bundles" wire:"required"`
	ChangedBundleCount int64              `json:"changed_bundle_count"`
	SkippedBundleCount int64              `json:"skipped_bundle_count"`
	FailedBundleCount  int64              `json:"failed_bundle_count"`
	ChangedAny         bool               `json:"changed_any"`
	Extra              Extra              `json:"-"`
}

// BundleTransition is what became of one bundle.
type BundleTransition struct {
	BundleName string  `json:"bundle_name"`
	Outcome    string  `json:"outcome"` // "hosted", "unhosted", "skipped"; newer relays: "degraded", "failed"
	ReasonCode *string `json:"reason_code,omitempty"`
	Reason     *string `json:"reason,omitempty"`
	Extra      Extra   `json:"-"`
}

// NewPeerResponse is a principal that was registered.
type NewPeerResponse struct {
	SchemaVersion string  `json:"schema_version"`
	PrincipalID   string  `json:"principal_id" wire:"required"`
	PrincipalType string  `json:"principal_type"`        // "session", "user", "application", "relay"
	PSK           *Secret `json:"psk,omitempty"`         // nil where the relay wrote it to a file
	OutputPath    *string `json:"output_path,omitempty"` // relay 0.8; newer relays: written_path
	ConfigSnippet string  `json:"config_snippet"`
	Extra         Extra   `json:"-"`
}

// ChangePSKResponse is a principal's new key.
type ChangePSKResponse struct {
	SchemaVersion string  `json:"schema_version"`
	PrincipalID   string  `json:"principal_id" wire:"required"`
	PSK           *Secret `json:"psk,omitempty"` // nil where a newer relay wrote it to a file
	Extra         Extra   `json:"-"`
}

// IdentityIntrospectResponse is what a relay knows of a principal.
type IdentityIntrospectResponse struct {
	SchemaVersion string          `json:"schema_version"`
	PrincipalID   string          `json:"principal_id" wire:"required"`
	ExpiresAt     *string         `json:"expires_at,omitempty"` // RFC 3339
	OnBehalfOf    json.RawMessage `json:"on_behalf_of,omitempty"`
	Verified      bool            `json:"verified"`
	Extra         Extra           `json:"-"`
}

// ErrorResponse is a refusal.
type ErrorResponse struct {
	Error Error `json:"error" wire:"required"`
	Extra Extra `json:"-"`
}

// An Error is a relay's "no" (PROTOCOL.md, "Errors"). It is an error value. Code decides what to do;
// Message is the relay's own prose, to be shown and never matched.
type Error struct {
	Code    string          `json:"code" wire:"required"`
	Message string          `json:"message"`
	Details json.RawMessage `json:"details,omitempty"` // any JSON; nil where there is none
	Extra   Extra           `json:"-"`
}

func (e *Error) Error() string { return fmt.Sprintf("relay: %s: %s", e.Code, e.Message) }

// UnknownResponse is a response of a kind that this package does not know.
type UnknownResponse struct {
	Kind  string
	Extra Extra // all members but kind
}

func (*ListResponse) ResponseKind() string               { return "list" }
func (*SendResponse) ResponseKind() string               { return "send" }
func (*LookResponse) ResponseKind() string               { return "look" }
func (*RawwResponse) ResponseKind() string               { return "raww" }
func (*ChoicesListResponse) ResponseKind() string        { return "choices_list" }
func (*ChoicesPickResponse) ResponseKind() string        { return "choices_pick" }
func (*BundleTransitionResponse) ResponseKind() string   { return "bundle_transition" }
func (*NewPeerResponse) ResponseKind() string            { return "new_peer" }
func (*ChangePSKResponse) ResponseKind() string          { return "change_psk" }
func (*IdentityIntrospectResponse) ResponseKind() string { return "identity_introspect" }
func (*ErrorResponse) ResponseKind() string              { return "error" }
func (r *UnknownResponse) ResponseKind() string          { return r.Kind }
