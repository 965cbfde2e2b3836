package relayclient

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"

	"github.com/agentmux/agentmux-go/wire"
)

// Kind is what a missing answer means to the caller.
type Kind int

const (
	// Unexpected: a broken protocol, a refused hello, a lack of permission. Trying again does not help.
	Unexpected Kind = iota
	// Timeout: something holds the socket and stays silent, or keeps the principal to itself.
	Timeout
	// Unavailable: nobody serves the socket, or who did has gone. Starting the relay helps.
	Unavailable
)

func (k Kind) String() string {
	switch k {
	case Timeout:
		return "timeout"
	case Unavailable:
		return "unavailable"
	default:
		return "unexpected"
	}
}

// IOKind names the kind of the I/O error behind a failure, in the words that agentmux uses.
type IOKind string

const (
	NotFound          IOKind = "NotFound"
	PermissionDenied  IOKind = "PermissionDenied"
	ConnectionRefused IOKind = "ConnectionRefused"
	ConnectionReset   IOKind = "ConnectionReset"
	ConnectionAborted IOKind = "ConnectionAborted"
	NotConnected      IOKind = "NotConnected"
	BrokenPipe        IOKind = "BrokenPipe"
	UnexpectedEOF     IOKind = "UnexpectedEof"
	TimedOut          IOKind = "TimedOut"
	InvalidData       IOKind = "InvalidData"
	InvalidInput      IOKind = "InvalidInput"
	Other             IOKind = "Other"
)

// An Error means that no answer came. A relay that answers "no" is a [*wire.Error] instead; within
// an Error, a wire.Error in the chain is the refusal of the hello.
type Error struct {
	Op      string // "connect", "hello", "send" or "receive"
	Socket  string // path that was dialled
	Kind    Kind
	IO      IOKind
	Written bool  // part of the request was written: whether it took effect is unknown
	Err     error // cause; never nil
}

func (e *Error) Error() string {
	text := fmt.Sprintf("%s %s: %v", e.Op, e.Socket, e.Err)
	if e.Written {
		text += " (the request was sent: whether it took effect is unknown)"
	}
	return text
}

func (e *Error) Unwrap() error { return e.Err }

// An UnsupportedError means that the relay could not read a request and hung up: it is of a version that does not
// have the operation, or has it in another form. Nothing of it took effect.
type UnsupportedError struct {
	Operation string
	Refusal   *wire.Error // what the relay said
}

func (e *UnsupportedError) Error() string {
	return fmt.Sprintf("this relay does not support %s: %v", e.Operation, e.Refusal)
}

func (e *UnsupportedError) Unwrap() error { return e.Refusal }

// A FarewellError means that the relay hung up before it answered a request, and said why. Whether the request took
// effect is unknown.
type FarewellError struct {
	Refusal *wire.Error // what the relay said
}

func (e *FarewellError) Error() string {
	return fmt.Sprintf("the relay hung up before it answered (whether the request took effect is unknown): %v", e.Refusal)
}

func (e *FarewellError) Unwrap() error { return e.Refusal }

// newError classifies cause.
func newError(op, socket string, cause error) *Error {
	// The path is in Socket already; the network's error would say it again.
	if dial, ok := errors.AsType[*net.OpError](cause); ok {
		cause = dial.Err
	}
	kind := ioKind(cause)
	return &Error{Op: op, Socket: socket, Kind: kind.kind(), IO: kind, Err: cause}
}

// kind is the row of PROTOCOL.md, "Classification", that k belongs to.
func (k IOKind) kind() Kind {
	switch k {
	case NotFound, ConnectionRefused, ConnectionAborted, ConnectionReset, BrokenPipe, UnexpectedEOF:
		return Unavailable
	case TimedOut:
		return Timeout
	default:
		return Unexpected
	}
}

// A timeoutError says what did not happen in time. It is a [context.DeadlineExceeded] in plain words.
type timeoutError string

func (e timeoutError) Error() string { return string(e) }

func (timeoutError) Is(target error) bool { return target == context.DeadlineExceeded }

// errInput marks a cause that lies in what the caller gave.
var errInput = errors.New("invalid input")

// ioKinds pairs causes with their kinds; the first that errors.Is finds decides.
var ioKinds = []struct {
	cause error
	kind  IOKind
}{
	{io.EOF, UnexpectedEOF},
	{io.ErrUnexpectedEOF, UnexpectedEOF},
	{os.ErrDeadlineExceeded, TimedOut},
	{context.DeadlineExceeded, TimedOut},
	{syscall.ETIMEDOUT, TimedOut},
	{syscall.ENOENT, NotFound},
	{syscall.ECONNREFUSED, ConnectionRefused},
	{syscall.ECONNRESET, ConnectionReset},
	{syscall.ECONNABORTED, ConnectionAborted},
	{syscall.ENOTCONN, NotConnected},
	{net.ErrClosed, NotConnected},
	{syscall.EPIPE, BrokenPipe},
	{syscall.ENAMETOOLONG, InvalidInput},
	{syscall.EINVAL, InvalidInput},
	{errInput, InvalidInput},
	{os.ErrPermission, PermissionDenied},
}

func ioKind(err error) IOKind {
	if _, ok := errors.AsType[*wire.DecodeError](err); ok {
		return InvalidData
	}
	if _, ok := errors.AsType[*wire.LineTooLongError](err); ok {
		return InvalidData
	}
	for _, k := range ioKinds {
		if errors.Is(err, k.cause) {
			return k.kind
		}
	}
	return Other
}

// Codes of the relay that mean something to the client (PROTOCOL.md, "Connecting" and "Uncorrelated errors").
const (
	codeClaimConflict   = "runtime_identity_claim_conflict"
	codeConnectionLimit = "runtime_connection_limit_reached"
	codeQueueFull       = "runtime_connection_queue_full" // relay 0.5
	codeUnreadable      = "validation_invalid_arguments"  // of a refusal that answers no request
)

// saturated reports whether err is a refusal that ends when another connection does.
func saturated(err error) (code string, ok bool) {
	refusal, ok := errors.AsType[*wire.Error](err)
	if !ok {
		return "", false
	}
	switch refusal.Code {
	case codeClaimConflict, codeConnectionLimit, codeQueueFull:
		return refusal.Code, true
	}
	return refusal.Code, false
}

// transient reports whether an attempt to connect that ended with err is worth repeating.
func transient(err error) bool {
	if _, ok := saturated(err); ok {
		return true
	}
	switch ioKind(err) {
	case ConnectionRefused, ConnectionReset, ConnectionAborted, NotConnected, BrokenPipe, TimedOut, UnexpectedEOF:
		return true
	}
	return errors.Is(err, syscall.EAGAIN) || errors.Is(err, syscall.EINTR)
}
