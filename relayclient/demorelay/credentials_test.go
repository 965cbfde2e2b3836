package demorelay_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/agentmux/agentmux-go/relayclient/demorelay"
	"github.com/agentmux/agentmux-go/wire"
)

func TestHello(t *testing.T) {
	tests := []struct {
		name string
		line string
		want string
	}{
		{"session", hello("builder@demo", "socket-trust"), "hello_ack builder@demo"},
		{"session of a bundle that is down", hello("agent@other", "socket-trust"), "hello_ack agent@other"},
		{"user", hello("operator@GLOBAL", "socket-trust"), "hello_ack operator@GLOBAL"},
		{"version", `{"frame":"hello","schema_version":"2","principal_id":"bare","identity_token":"socket-trust"}`,
			`!validation_invalid_schema_version {"schema_version":"2","supported_schema_version":"1"}`},
		{"bare id", hello("bare", "wrong"), `!validation_invalid_principal_id {"principal_id":"bare"}`},
		{"no id", hello("@demo", "socket-trust"), `!validation_invalid_principal_id {"principal_id":"@demo"}`},
		{"unknown key", hello("zed@demo", "wrong"), `!validation_unrecognized_credential {"principal_id":"zed@demo"}`},
		{"empty key", hello("builder@demo", ""), `!validation_unrecognized_credential {"principal_id":"builder@demo"}`},
		{"application without a key", hello("app@EXTERNAL", "socket-trust"), `!validation_credential_required {"principal_id":"app@EXTERNAL"}`},
		{"unknown bundle", hello("you@nope", "socket-trust"), `!validation_unknown_bundle {"bundle_name":"nope"}`},
		{"unknown session", hello("zed@demo", "socket-trust"), `!validation_unknown_sender {"bundle_name":"demo","session_id":"zed"}`},
		{"unknown user", hello("zed@GLOBAL", "socket-trust"), `!validation_unknown_sender {"principal_id":"zed@GLOBAL"}`},
		{"claimed", hello("you@demo", "socket-trust"),
			`!runtime_identity_claim_conflict {"existing_connection_id":"id-2","principal_id":"you@demo","reason":"the other connection is live"}`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			serve(t, func(t *testing.T, r *demorelay.Relay) {
				first := connect(t, r, "you@demo", wire.SocketTrust)
				c := dial(t, r)
				if got := c.ask(test.line); got != test.want {
					t.Fatalf("got %s, want %s", got, test.want)
				}
				if strings.HasPrefix(test.want, "!") {
					if got := c.hear(); got != "closed" {
						t.Errorf("after a refused hello: got %s, want closed", got)
					}
				}
				if got, want := first.ask(in("other", `{"operation":"choices_list"}`)), `choices_list {"pending_requests":[]}`; got != want {
					t.Errorf("the connection beside it: got %s, want %s", got, want)
				}
			})
		})
	}
}

func TestRequestBeforeHello(t *testing.T) {
	serve(t, func(t *testing.T, r *demorelay.Relay) {
		c := dial(t, r)
		for range 2 {
			if got, want := c.ask(request(`{"operation":"down"}`)), "validation_missing_hello"; got != want {
				t.Errorf("got %s, want %s", got, want)
			}
		}
		if got, want := c.ask(hello("you@demo", wire.SocketTrust)), "hello_ack you@demo"; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	})
}

func TestSecondHello(t *testing.T) {
	conflict := func(principal string) string {
		return `!runtime_identity_claim_conflict {"existing_connection_id":"id-2","principal_id":"` + principal + `","reason":"the other connection is live"}`
	}
	serve(t, func(t *testing.T, r *demorelay.Relay) {
		c := connect(t, r, "you@demo", wire.SocketTrust)
		if got, want := c.ask(hello("builder@demo", wire.SocketTrust)), "hello_ack builder@demo"; got != want {
			t.Errorf("another principal: got %s, want %s", got, want)
		}
		if got, want := c.ask(hello("builder@demo", wire.SocketTrust)), conflict("builder@demo"); got != want {
			t.Errorf("the same principal: got %s, want %s", got, want)
		}
		if got := c.hear(); got != "closed" {
			t.Errorf("got %s, want closed", got)
		}
		connect(t, r, "builder@demo", wire.SocketTrust)
		if got, want := dial(t, r).ask(hello("you@demo", wire.SocketTrust)), conflict("you@demo"); got != want {
			t.Errorf("the first principal: got %s, want %s", got, want)
		}
	})
}

func TestClaimEndsWithItsConnection(t *testing.T) {
	serve(t, func(t *testing.T, r *demorelay.Relay) {
		for range 3 {
			c := connect(t, r, "you@demo", wire.SocketTrust)
			c.conn.Close()
			synctest.Wait()
		}
	})
}

func TestCredentials(t *testing.T) {
	newPeer := func(principal, more string) string {
		return request(fmt.Sprintf(`{"operation":"new_peer","principal_id":%q%s}`, principal, more))
	}
	changePSK := func(principal string) string {
		return request(fmt.Sprintf(`{"operation":"change_psk","principal_id":%q}`, principal))
	}
	introspect := func(principal string) string {
		return request(fmt.Sprintf(`{"operation":"identity_introspect","target_session":%q}`, principal))
	}
	// psk takes the key out of the summary of an answer.
	psk := func(t *testing.T, answer string) string {
		t.Helper()
		var got struct{ PSK string }
		_, object, _ := strings.Cut(answer, " ")
		if err := json.Unmarshal([]byte(object), &got); err != nil || len(got.PSK) != 43 {
			t.Fatalf("no key in %s", answer)
		}
		return got.PSK
	}

	t.Run("registered", func(t *testing.T) {
		for principal, kind := range map[string]string{"a@demo": "session", "a@nowhere": "session", "a@GLOBAL": "user", "a@EXTERNAL": "application", "a@RELAY": "relay"} {
			serve(t, func(t *testing.T, r *demorelay.Relay) {
				c := connect(t, r, "you@demo", wire.SocketTrust)
				answer := c.ask(newPeer(principal, ""))
				file := ""
				if kind == "session" {
					file = "bundles/" + strings.TrimPrefix(principal, "a@") + "/sessions/a/identity.psk"
				}
				want := fmt.Sprintf(`new_peer {"config_snippet":%q,"principal_id":%q,"principal_type":%q,"psk":%q}`, file, principal, kind, psk(t, answer))
				if answer != want {
					t.Errorf("got %s, want %s", answer, want)
				}
				if got, want := c.ask(newPeer(principal, "")), fmt.Sprintf(`validation_principal_exists {"principal_id":%q}`, principal); got != want {
					t.Errorf("again: got %s, want %s", got, want)
				}
			})
		}
	})

	t.Run("refused", func(t *testing.T) {
		serve(t, func(t *testing.T, r *demorelay.Relay) {
			c := connect(t, r, "you@demo", wire.SocketTrust)
			for _, s := range []step{
				{newPeer("bare", ""), `validation_invalid_principal_id {"principal_id":"bare"}`},
				{changePSK("builder@demo"), `validation_unknown_principal {"principal_id":"builder@demo"}`},
				{introspect("bare"), `validation_invalid_params {"field":"target_session"}`},
				{introspect("you@demo"), `authorization_forbidden {"capability":"identity.introspect","target_principal_id":"you@demo"}`},
			} {
				if got := c.ask(s.say); got != s.want {
					t.Errorf("%s: got %s, want %s", s.say, got, s.want)
				}
			}
		})
	})

	t.Run("presented", func(t *testing.T) {
		serve(t, func(t *testing.T, r *demorelay.Relay) {
			you := connect(t, r, "you@demo", wire.SocketTrust)
			key := psk(t, you.ask(newPeer("builder@demo", "")))
			builder := connect(t, r, "builder@demo", key)
			if got, want := builder.ask(request(`{"operation":"look","requester_session":"builder","target_session":"you@demo"}`)),
				`look {"authenticated_identity":"builder@demo","captured_at":"2000-01-01T00:00:00Z","requester_session":"builder@demo","snapshot_format":"lines","snapshot_lines":["$"],"target_session":"you@demo"}`; got != want {
				t.Errorf("got %s, want %s", got, want)
			}
			if got, want := dial(t, r).ask(hello("reviewer@demo", key)),
				`!validation_identity_binding_mismatch {"principal_id":"reviewer@demo","registered_principal_id":"builder@demo"}`; got != want {
				t.Errorf("somebody else's key: got %s, want %s", got, want)
			}

			changed := psk(t, you.ask(changePSK("builder@demo")))
			connect(t, r, "builder@demo", changed) // though the other one has not heard of it yet
			if got, want := builder.hear(), `!runtime_identity_revoked {"principal_id":"builder@demo"}`; got != want {
				t.Errorf("got %s, want %s", got, want)
			}
			if got := builder.hear(); got != "closed" {
				t.Errorf("got %s, want closed", got)
			}
			if got, want := dial(t, r).ask(hello("builder@demo", key)), `!validation_unrecognized_credential {"principal_id":"builder@demo"}`; got != want {
				t.Errorf("the old key: got %s, want %s", got, want)
			}
		})
	})

	t.Run("one's own", func(t *testing.T) {
		serve(t, func(t *testing.T, r *demorelay.Relay) {
			c := connect(t, r, "you@demo", wire.SocketTrust)
			key := psk(t, c.ask(newPeer("you@demo", "")))
			if got := c.ask(changePSK("you@demo")); !strings.HasPrefix(got, "change_psk ") {
				t.Errorf("a connection that trusts the socket: got %s", got)
			} else {
				key = psk(t, got)
			}
			if got, want := c.ask(introspect("bare")), `validation_invalid_params {"field":"target_session"}`; got != want {
				t.Errorf("a connection that trusts the socket, afterwards: got %s, want %s", got, want)
			}
			c.conn.Close()
			synctest.Wait()
			c = connect(t, r, "you@demo", key)
			if got, want := c.ask(changePSK("you@demo")), `!runtime_identity_revoked {"principal_id":"you@demo"}`; got != want {
				t.Errorf("got %s, want %s", got, want)
			}
			changed := psk(t, c.hear())
			if got := c.hear(); got != "closed" {
				t.Errorf("got %s, want closed", got)
			}
			connect(t, r, "you@demo", changed)
		})
	})

	t.Run("introspected", func(t *testing.T) {
		serve(t, func(t *testing.T, r *demorelay.Relay) {
			you := connect(t, r, "you@demo", wire.SocketTrust)
			app := connect(t, r, "app@EXTERNAL", psk(t, you.ask(newPeer("app@EXTERNAL", `,"scope":"demo"`))))
			you.ask(newPeer("builder@demo", ""))
			for _, s := range []step{
				{introspect("builder@demo"), `identity_introspect {"principal_id":"builder@demo","verified":true}`},
				{introspect("you@demo"), `validation_unknown_principal {"principal_id":"you@demo"}`},
				{introspect("you@other"), `authorization_forbidden {"capability":"identity.introspect","target_principal_id":"you@other"}`},
				{request(`{"operation":"up"}`), "validation_missing_routing_namespace"},
			} {
				if got := app.ask(s.say); got != s.want {
					t.Errorf("%s: got %s, want %s", s.say, got, s.want)
				}
			}
		})
	})

	t.Run("written", func(t *testing.T) {
		serve(t, func(t *testing.T, r *demorelay.Relay) {
			c := connect(t, r, "you@demo", wire.SocketTrust)
			path := filepath.Join(t.TempDir(), "key")
			output := func(path string) string { return fmt.Sprintf(`,"output_path":%q`, path) }
			if got, want := c.ask(newPeer("a@demo", output(path))), fmt.Sprintf(`new_peer {"config_snippet":"bundles/demo/sessions/a/identity.psk","output_path":%q,"principal_id":"a@demo","principal_type":"session"}`, path); got != want {
				t.Errorf("got %s, want %s", got, want)
			}
			info, err := os.Stat(path)
			if err != nil || info.Mode() != 0o600 {
				t.Fatalf("the key's file: %v, %v", info, err)
			}
			key, err := os.ReadFile(path)
			if err != nil || len(key) != 43 {
				t.Fatalf("the key has %d characters, %v", len(key), err)
			}
			for _, s := range []step{
				{newPeer("b@demo", output("key")), `validation_invalid_output_path {"path":"key"}`},
				{newPeer("c@demo", output(path)), fmt.Sprintf(`validation_invalid_output_path {"cause":"file exists","path":%q}`, path)},
				{newPeer("d@demo", output(path+"/x")), fmt.Sprintf(`validation_invalid_output_path {"cause":"not a directory","path":%q}`, path+"/x")},
				{newPeer("d@demo", ""), `validation_principal_exists {"principal_id":"d@demo"}`},
			} {
				if got := c.ask(s.say); got != s.want {
					t.Errorf("%s: got %s, want %s", s.say, got, s.want)
				}
			}
			if again, err := os.ReadFile(path); err != nil || string(again) != string(key) {
				t.Errorf("the file was written again: %v", err)
			}
		})
	})
}
