package wire

import (
	"fmt"
	"log/slog"
)

// SecretMask stands for a secret wherever one would be printed.
const SecretMask = "[secret]"

// SocketTrust is the identity token of a client that holds no credential: the relay then trusts the
// owner of the socket (PROTOCOL.md, "hello"). It is a literal of the protocol and no secret.
const SocketTrust = "socket-trust"

// A Secret is a pre-shared key or an identity token. Printing, logging and encoding/json show
// [SecretMask]; only [Encode] writes the text, and [Secret.Reveal] returns it. The zero value is the
// empty secret. Two secrets are equal if what they reveal is; == compares something else.
type Secret struct {
	text *string // a pointer, for fmt prints what an unexported field holds and asks no method
}

// NewSecret returns text as a Secret.
func NewSecret(text string) Secret { return Secret{&text} }

// Reveal returns the text. Every call is a place to check: the result must go to the peer that the
// secret is for and nowhere else.
func (s Secret) Reveal() string {
	if s.text == nil {
		return ""
	}
	return *s.text
}

// String returns the mask.
func (Secret) String() string { return SecretMask }

// GoString returns the mask.
func (Secret) GoString() string { return SecretMask }

// Format writes the mask, whatever the verb.
func (Secret) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(SecretMask)) }

// LogValue returns the mask.
func (Secret) LogValue() slog.Value { return slog.StringValue(SecretMask) }

// MarshalText returns the mask. It serves encoding/json too.
func (Secret) MarshalText() ([]byte, error) { return []byte(SecretMask), nil }
