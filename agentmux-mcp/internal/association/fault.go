package association

import (
	"errors"

	"github.com/agentmux/agentmux-go/mcptools"
)

var (
	errNoHome             = errors.New("the account database has no home directory for this user")
	errNoWorkingDirectory = errors.New("the working directory is unknown")
)

// restart is the next step that all faults of what somebody wrote have.
const restart = "Files are read anew at the next call; flags and variables count when the server is started again."

// fault is a refusal in the shape that faults of start-up have. Its cause says what is wrong, where, and
// what mends it; hint is the next step.
func fault(code, cause, hint string) *mcptools.Refusal {
	return &mcptools.Refusal{
		Code:    code,
		Message: cause + " " + hint,
		Details: map[string]any{"phase": "startup", "cause": cause, "hint": hint},
	}
}

// faultOf is the fault of configuration that could not be read.
func faultOf(err error) *mcptools.Refusal {
	code, message := described(err)
	return fault(code, message, restart)
}

// described returns the code and the message of an error of package bundles.
func described(err error) (code, message string) {
	if r, ok := errors.AsType[*mcptools.Refusal](err); ok {
		return r.Code, r.Message
	}
	return mcptools.CodeStartupFailed, err.Error() + "."
}
