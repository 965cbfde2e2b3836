package wire

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"slices"
)

// A Raw is a JSON value as it came. As it may hold a secret, such as the key of a principal, printing, logging and
// encoding/json show no more than its length. A conversion gives what it holds, as string(r) and json.RawMessage(r) do:
// every one of them is a place to check.
type Raw []byte

// String returns the length.
func (r Raw) String() string { return fmt.Sprintf("[%d bytes of JSON]", len(r)) }

// Format writes the length, whatever the verb.
func (r Raw) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(r.String())) }

// LogValue returns the length.
func (r Raw) LogValue() slog.Value { return slog.StringValue(r.String()) }

// MarshalText returns the length. It serves encoding/json too.
func (r Raw) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// Members returns the members of an object, whose values share its memory. The error, for anything else, is a
// [*DecodeError].
func (r Raw) Members() (map[string]json.RawMessage, error) {
	if err := valid(r); err != nil {
		return nil, err
	}
	return members(r)
}

// String returns the keys: a value may be a secret.
func (e Extra) String() string { return fmt.Sprint(slices.Sorted(maps.Keys(e))) }

// Format writes the keys, whatever the verb.
func (e Extra) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(e.String())) }

// MarshalText returns the keys. It serves encoding/json too.
func (e Extra) MarshalText() ([]byte, error) { return []byte(e.String()), nil }

// LogValue returns the keys.
func (e Extra) LogValue() slog.Value { return slog.StringValue(e.String()) }
