package mcptools

import (
	"encoding/json"
	"testing"
)

func TestMaskSecrets(t *testing.T) {
	for _, test := range []struct{ name, raw, want string }{
		{"no secrets, so as it is", ` {"b": 1.0, "a":"psk"}`, ` {"b": 1.0, "a":"psk"}`},
		{"at the top", `{"psk":"s3cret","a":1}`, `{"psk":"[secret]","a":1}`},
		{"an identity token", `{"identity_token":"s3cret"}`, `{"identity_token":"[secret]"}`},
		{"at any depth", `[{"a":[[{"b":{"psk":"s3cret"}}]]},{"psk":"s3cret"}]`, `[{"a":[[{"b":{"psk":"[secret]"}}]]},{"psk":"[secret]"}]`},
		{"of any type", `[{"psk":{"value":"s3cret"}},{"psk":["s3cret"]},{"psk":53},{"psk":true},{"psk":""}]`, `[{"psk":"[secret]"},{"psk":"[secret]"},{"psk":"[secret]"},{"psk":"[secret]"},{"psk":"[secret]"}]`},
		{"null is none", `{"psk":null,"identity_token":null}`, `{"psk":null,"identity_token":null}`},
		{"null beside one", `[{"psk":null},{"psk":"s3cret"}]`, `[{"psk":null},{"psk":"[secret]"}]`},
		{"numbers and text beside one", `{"psk":"s3cret","n":[12345678901234567890,1.0,1e400],"t":"<&>"}`, `{"psk":"[secret]","n":[12345678901234567890,1.0,1e400],"t":"<&>"}`},
		{"written with escapes", `{"\u0070sk":"s3cret"}`, `{"psk":"[secret]"}`},
		{"a bare string", `"psk"`, `"psk"`},
		{"what can't be read", `{"psk":"s3cret"`, `"[secret]"`},
	} {
		t.Run(test.name, func(t *testing.T) {
			sameJSON(t, "masked", string(maskSecrets(json.RawMessage(test.raw))), test.want)
		})
	}
	if got := maskSecrets(nil); got != nil {
		t.Errorf("nothing: got %s", got)
	}
}
