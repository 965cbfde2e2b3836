package wire

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
)

const secretText = "correct horse battery staple"

// shows reports whether text holds the secret, in any form in which fmt or encoding/json write a string.
func shows(text string) bool {
	text = strings.ToLower(text)
	for _, form := range []string{
		secretText,
		"battery",
		hex.EncodeToString([]byte(secretText)),
		fmt.Sprintf("% x", secretText),
		strings.Trim(fmt.Sprint([]byte(secretText)), "[]"), // decimal
		strings.ToLower(base64.StdEncoding.EncodeToString([]byte(secretText))),
	} {
		if strings.Contains(text, form) {
			return true
		}
	}
	return false
}

// secretHolders returns values that hold the secret in every place where one can stand.
func secretHolders() map[string]any {
	secret := NewSecret(secretText)
	raw := []byte(`{"psk":"` + secretText + `"}`)
	extra := Extra{"psk": raw}
	return map[string]any{
		"raw":              Raw(raw),
		"response frame":   &ResponseFrame{Raw: raw, Extra: extra},
		"extra":            extra,
		"unknown frame":    &UnknownFrame{Kind: "key", Extra: extra},
		"unknown response": &UnknownResponse{Kind: "key", Extra: extra},
		"secret":           secret,
		"pointer":          &secret,
		"slice":            []Secret{secret},
		"map":              map[string]Secret{"psk": secret},
		"interface":        []any{secret, &secret},
		"exported field":   struct{ PSK Secret }{secret},
		"unexported field": struct{ psk Secret }{secret},
		"unexported, deep": struct {
			a struct{ b []*struct{ psk Secret } }
		}{struct{ b []*struct{ psk Secret } }{[]*struct{ psk Secret }{{secret}}}},
		"hello":    &Hello{PrincipalID: "a@b", IdentityToken: secret},
		"response": &ChangePSKResponse{PrincipalID: "a@b", PSK: &secret},
		"error":    fmt.Errorf("hello with %v: %w", secret, errors.New("refused")),
	}
}

func TestSecretIsNeverPrinted(t *testing.T) {
	for name, v := range secretHolders() {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "% x", "%#x", "%d", "%t", "%10.3s", "%T"} {
			if got := fmt.Sprintf(verb, v); shows(got) {
				t.Errorf("%s: %s shows %s", name, verb, got)
			}
		}
		if got := fmt.Sprintln(v); shows(got) {
			t.Errorf("%s: Sprintln shows %s", name, got)
		}
	}
}

func TestSecretIsNeverMarshalled(t *testing.T) {
	for name, v := range secretHolders() {
		out, err := json.Marshal(v)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if shows(string(out)) {
			t.Errorf("%s: json shows %s", name, out)
		}
	}
	if out, err := json.Marshal(map[Secret]int{NewSecret(secretText): 1}); err != nil || shows(string(out)) {
		t.Errorf("key of a map: json shows %s, %v", out, err)
	}
}

func TestSecretIsNeverLogged(t *testing.T) {
	for name, v := range secretHolders() {
		var out bytes.Buffer
		for _, handler := range []slog.Handler{slog.NewTextHandler(&out, nil), slog.NewJSONHandler(&out, nil)} {
			slog.New(handler).With("with", v).Info("hello", "value", v, slog.Group("group", "value", v))
		}
		if shows(out.String()) {
			t.Errorf("%s: slog shows %s", name, &out)
		}
	}
}

func TestMask(t *testing.T) {
	secret := NewSecret(secretText)
	marshalled, _ := json.Marshal(secret)
	for form, got := range map[string]string{
		"String": secret.String(), "GoString": secret.GoString(), "LogValue": secret.LogValue().String(),
		"%v": fmt.Sprintf("%v", secret), "%d": fmt.Sprintf("%d", secret), "json": strings.Trim(string(marshalled), `"`),
	} {
		if got != SecretMask {
			t.Errorf("%s: got %q, want %q", form, got, SecretMask)
		}
	}
}

// TestFormsThatShow makes sure that the tests above could fail.
func TestFormsThatShow(t *testing.T) {
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "% x"} {
		for _, v := range []any{secretText, struct{ psk string }{secretText}, []byte(secretText)} {
			text := fmt.Sprintf(verb, v)
			if verb == "%#v" && strings.Contains(text, "0x63") {
				continue // bytes as Go writes them
			}
			if !shows(text) {
				t.Errorf("%s of %T is not recognised: %s", verb, v, text)
			}
		}
	}
}

func TestEncodeAloneWritesSecrets(t *testing.T) {
	for _, frame := range []Frame{
		&Hello{PrincipalID: "a@b", IdentityToken: NewSecret(secretText)},
		&ResponseFrame{Response: &NewPeerResponse{PrincipalID: "a@b", PSK: new(NewSecret(secretText))}},
		&ResponseFrame{Response: &ChangePSKResponse{PrincipalID: "a@b", PSK: new(NewSecret(secretText))}},
	} {
		line, err := Encode(frame)
		if err != nil || strings.Count(string(line), `"`+secretText+`"`) != 1 {
			t.Errorf("got %s, %v", line, err)
		}
		back, err := Decode(line)
		if err != nil {
			t.Fatal(err)
		}
		var got Secret
		switch back := back.(type) {
		case *Hello:
			got = back.IdentityToken
		case *ResponseFrame:
			switch response := back.Response.(type) {
			case *NewPeerResponse:
				got = *response.PSK
			case *ChangePSKResponse:
				got = *response.PSK
			}
		}
		if got.Reveal() != secretText {
			t.Errorf("%s: decoded as %q", line, got.Reveal())
		}
	}
}

func TestZeroSecret(t *testing.T) {
	var zero Secret
	if zero.Reveal() != "" || zero.String() != SecretMask || fmt.Sprint(zero) != SecretMask {
		t.Errorf("got %q, %s", zero.Reveal(), zero)
	}
	line, err := Encode(&Hello{})
	if want := `{"frame":"hello","schema_version":"","principal_id":"","identity_token":""}` + "\n"; err != nil || string(line) != want {
		t.Errorf("got %s, %v", line, err)
	}
}
