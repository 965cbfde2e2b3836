package mcptools

import (
	"fmt"
	"runtime/debug"
)

// A panicError is a panic that was caught. It has the type of the panic's value and not the value itself,
// which may hold what the call was given.
type panicError struct {
	valueType string
	stack     []byte
}

func (e *panicError) Error() string { return "panic (" + e.valueType + ")" }

// catch calls f and returns its error. A panic becomes a [*panicError]. Whatever runs in a goroutine of
// its own needs a catch of its own.
func catch(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &panicError{fmt.Sprintf("%T", p), debug.Stack()}
		}
	}()
	return f()
}

func (t *Tools) printStack(tool string, p *panicError) {
	if t.cfg.Stderr != nil {
		fmt.Fprintf(t.cfg.Stderr, "agentmux-mcp: %v in tool %s\n%s", p, tool, p.stack)
	}
}
