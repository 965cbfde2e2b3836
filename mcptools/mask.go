package mcptools

import (
	"bytes"
	"encoding/json"

	"github.com/agentmux/agentmux-go/wire"
)

// secretKeys are the members that hold secrets, wherever they stand.
var secretKeys = map[string]bool{"psk": true, "identity_token": true}

// maskSecrets returns JSON with the values of secret members masked, at every depth. What can't be read is
// replaced as a whole: it can't be told to be free of secrets.
func maskSecrets(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 {
		return nil
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return encode(wire.SecretMask)
	}
	if !mask(v) {
		return raw
	}
	return encode(v)
}

// mask masks the secrets in v and reports whether there were any.
func mask(v any) (found bool) {
	switch v := v.(type) {
	case map[string]any:
		for key, value := range v {
			if secretKeys[key] && value != nil {
				v[key] = wire.SecretMask
				found = true
			} else if mask(value) {
				found = true
			}
		}
	case []any:
		for _, element := range v {
			if mask(element) {
				found = true
			}
		}
	}
	return found
}
