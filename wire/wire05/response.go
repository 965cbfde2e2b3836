package wire05

import (
	"encoding/json"

	"github.com/agentmux/agentmux-go/wire"
)

// ListResponse is the state of the bundle.
type ListResponse struct {
	SchemaVersion string     `json:"schema_version"`
	Bundle        Bundle     `json:"bundle" wire:"required"`
	Extra         wire.Extra `json:"-"`
}

// Bundle is a bundle as a relay sees it.
type Bundle struct {
	ID                    string           `json:"id" wire:"required"`
	State                 string           `json:"state"`                    // "up" or "down"
	StartupHealth         *string          `json:"startup_health,omitempty"` // "healthy" or "degraded"; nil where it is down
	StateReasonCode       *string          `json:"state_reason_code,omitempty"`
	StateReason           *string          `json:"state_reason,omitempty"`
	StartupFailureCount   int64            `json:"startup_failure_count"`
	RecentStartupFailures []StartupFailure `json:"recent_startup_failures"`
	Sessions              []Session        `json:"sessions"`
	Extra                 wire.Extra       `json:"-"`
}

// Session is a member of a bundle.
type Session struct {
	ID        string     `json:"id"` // session@bundle
	Name      *string    `json:"name,omitempty"`
	Transport string     `json:"transport"` // a Transport constant of package wire
	Extra     wire.Extra `json:"-"`
}

// StartupFailure is a member that did not start.
type StartupFailure struct {
	BundleName string          `json:"bundle_name"`
	SessionID  string          `json:"session_id"` // without its namespace
	Transport  string          `json:"transport"`
	Code       string          `json:"code"`
	Reason     string          `json:"reason"`
	Timestamp  string          `json:"timestamp"` // RFC 3339
	Sequence   int64           `json:"sequence"`
	Details    json.RawMessage `json:"details,omitempty"`
	Extra      wire.Extra      `json:"-"`
}

// ChatResponse says that a message is on its way, target by target.
type ChatResponse struct {
	SchemaVersion     string            `json:"schema_version"`
	BundleName        string            `json:"bundle_name"`
	RequestID         *string           `json:"request_id"`
	SenderSession     string            `json:"sender_session"`
	SenderDisplayName *string           `json:"sender_display_name,omitempty"`
	Results           []wire.SendResult `json:"results" wire:"required"`
	Extra             wire.Extra        `json:"-"`
}

// SnapshotACPEntriesV1 is the format of a [LookResponse] beside [wire.SnapshotLines].
const SnapshotACPEntriesV1 = "acp_entries_v1"

// LookResponse is the end of a session's screen or replay buffer. SnapshotFormat says which of the keys after it
// are there.
type LookResponse struct {
	SchemaVersion    string `json:"schema_version"`
	BundleName       string `json:"bundle_name"`
	RequesterSession string `json:"requester_session"`
	TargetSession    string `json:"target_session"`
	CapturedAt       string `json:"captured_at"` // RFC 3339, nanoseconds, UTC
	SnapshotFormat   string `json:"snapshot_format" wire:"required"`

	// With [wire.SnapshotLines]: the screen, top line first, without the blank lines at its end.
	SnapshotLines []string `json:"snapshot_lines,omitempty" wire:"required if snapshot_format=lines"`

	// With [SnapshotACPEntriesV1]: the replay buffer of an ACP session, oldest entry first.
	SnapshotEntries []wire.SnapshotEntry `json:"snapshot_entries,omitempty" wire:"required if snapshot_format=acp_entries_v1"`
	Freshness       *string              `json:"freshness,omitempty"`       // "fresh" or "stale"
	SnapshotSource  *string              `json:"snapshot_source,omitempty"` // "live_buffer" or "none"
	StaleReasonCode *string              `json:"stale_reason_code,omitempty"`
	SnapshotAgeMS   *int64               `json:"snapshot_age_ms,omitempty"`
	Extra           wire.Extra           `json:"-"`
}

// RawwResponse says that text was handed to a terminal or an agent.
type RawwResponse struct {
	SchemaVersion string          `json:"schema_version"`
	Status        string          `json:"status" wire:"required"` // "accepted"
	TargetSession string          `json:"target_session"`
	Transport     string          `json:"transport"`
	RequestID     *string         `json:"request_id,omitempty"`
	MessageID     *string         `json:"message_id,omitempty"`
	Details       json.RawMessage `json:"details,omitempty"` // an object with delivery_phase
	Extra         wire.Extra      `json:"-"`
}

// PermissionListResponse is the list of permissions that are waited for.
type PermissionListResponse struct {
	SchemaVersion   string              `json:"schema_version"`
	BundleName      string              `json:"bundle_name"`
	PendingRequests []PermissionRequest `json:"pending_requests" wire:"required"`
	Extra           wire.Extra          `json:"-"`
}

// PermissionRequest is a permission that a session waits for.
type PermissionRequest struct {
	MessageID           string          `json:"message_id"`
	PermissionRequestID string          `json:"permission_request_id"`
	TargetSession       string          `json:"target_session"`
	RequestedKind       string          `json:"requested_kind"`
	RequestedDetails    json.RawMessage `json:"requested_details"` // any JSON
	EnqueuedAt          string          `json:"enqueued_at"`       // RFC 3339
	Extra               wire.Extra      `json:"-"`
}

// PermissionDecisionResponse says what became of a permission.
type PermissionDecisionResponse struct {
	SchemaVersion       string     `json:"schema_version"`
	Status              string     `json:"status" wire:"required"` // "resolved"
	PermissionRequestID string     `json:"permission_request_id"`
	Outcome             string     `json:"outcome"`
	ReasonCode          *string    `json:"reason_code,omitempty"`
	Reason              *string    `json:"reason,omitempty"`
	Extra               wire.Extra `json:"-"`
}

// LifecycleResponse says what going up or down changed.
type LifecycleResponse struct {
	SchemaVersion      string                  `json:"schema_version"`
	Action             string                  `json:"action"` // "up" or "down"
	Bundles            []wire.BundleTransition `json:"bundles" wire:"required"`
	ChangedBundleCount int64                   `json:"changed_bundle_count"`
	SkippedBundleCount int64                   `json:"skipped_bundle_count"`
	FailedBundleCount  int64                   `json:"failed_bundle_count"`
	ChangedAny         bool                    `json:"changed_any"`
	Extra              wire.Extra              `json:"-"`
}

func (*ListResponse) ResponseKind() string               { return "list" }
func (*ChatResponse) ResponseKind() string               { return "chat" }
func (*LookResponse) ResponseKind() string               { return "look" }
func (*RawwResponse) ResponseKind() string               { return "raww" }
func (*PermissionListResponse) ResponseKind() string     { return "permission_list" }
func (*PermissionDecisionResponse) ResponseKind() string { return "permission_decision" }
func (*LifecycleResponse) ResponseKind() string          { return "lifecycle" }
