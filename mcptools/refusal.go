package mcptools

import "encoding/json"

// Codes of refusals that are made on this side of the relay.
const (
	CodeInvalidParams      = "validation_invalid_params"
	CodeInvalidArguments   = "validation_invalid_arguments"
	CodeConflictingTargets = "validation_conflicting_targets"
	CodeEmptyTargets       = "validation_empty_targets"
	CodeUnqualifiedTarget  = "validation_unqualified_target"
	CodeUnknownTarget      = "validation_unknown_target"
	CodeInvalidLines       = "validation_invalid_lines"
	CodeInvalidOutputPath  = "validation_invalid_output_path"
	CodeUnknownBundle      = "validation_unknown_bundle"
	CodeUnknownSender      = "validation_unknown_sender"
	CodeInvalidGroupName   = "validation_invalid_group_name"
	CodeReservedGroupName  = "validation_reserved_group_name"
	CodeStartupFailed      = "runtime_startup_failed"
	CodeRelayTimeout       = "relay_timeout"
	CodeRelayUnavailable   = "relay_unavailable"
	CodeUnexpectedFailure  = "internal_unexpected_failure"

	// Of the 0.5 surface.
	CodeInvalidQuiescenceTimeout = "validation_invalid_quiescence_timeout"
	CodeInvalidACPTurnTimeout    = "validation_invalid_acp_turn_timeout"
	CodeConflictingTimeouts      = "validation_conflicting_timeout_fields"

	codeForbidden           = "authorization_forbidden" // the relay's
	codePrefixForValidation = "validation_"
)

// A Refusal is a failure as an agent sees it: the object under data of a JSON-RPC error. Message says
// the cause, the state and the next step, in that order. Details hold what a program needs; nil is shown
// as null.
type Refusal struct {
	Code    string
	Message string
	Details map[string]any

	relays bool            // the code is the relay's
	raw    json.RawMessage // details that the relay made, in place of Details
}

func (r *Refusal) Error() string { return r.Code + ": " + r.Message }

// refuse returns a Refusal as an error.
func refuse(code, message string, details map[string]any) error {
	return &Refusal{Code: code, Message: message, Details: details}
}
