package wire05

import "github.com/agentmux/agentmux-go/wire"

// Hello is the first frame of a connection: which session of the socket's bundle the client is.
type Hello struct {
	SchemaVersion string     `json:"schema_version"` // [wire.SchemaVersion]
	BundleName    string     `json:"bundle_name" wire:"required"`
	SessionID     string     `json:"session_id" wire:"required"` // without its namespace, or user@GLOBAL
	Extra         wire.Extra `json:"-"`
}

// HelloAck is the relay's acceptance of a [Hello]. One that comes later is a probe of whether the client is still
// there, and wants no answer.
type HelloAck struct {
	SchemaVersion string     `json:"schema_version"`
	BundleName    string     `json:"bundle_name"` // as the hello had it
	SessionID     string     `json:"session_id"`  // as the hello had it
	Extra         wire.Extra `json:"-"`
}

func (*Hello) FrameKind() string    { return "hello" }
func (*HelloAck) FrameKind() string { return "hello_ack" }

var vocabulary = wire.NewVocabulary(
	[]wire.Frame{&Hello{}, &HelloAck{}},
	[]wire.Operation{&List{}, &Chat{}, &Look{}, &Raww{}, &PermissionList{}, &PermissionResolve{}, &wire.Up{}, &wire.Down{}},
	[]wire.Response{
		&ListResponse{}, &ChatResponse{}, &LookResponse{}, &RawwResponse{}, &PermissionListResponse{},
		&PermissionDecisionResponse{}, &LifecycleResponse{}, &wire.ErrorResponse{},
	},
)

// Vocabulary returns the vocabulary of relay 0.5.
func Vocabulary() *wire.Vocabulary { return vocabulary }

// Decode reads one line of relay 0.5 or of its client. It is [wire.Vocabulary.Decode] of [Vocabulary].
func Decode(line []byte) (wire.Frame, error) { return vocabulary.Decode(line) }
