package mcptools

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/agentmux/agentmux-go/wire"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

func TestNewPeer(t *testing.T) {
	// Relay 0.8 reads output_path, newer ones destination, and each ignores the other.
	const toFile = `demo {"operation":"new_peer","principal_id":"bob@demo","scope":null,"output_path":"/keys/bob.psk","destination":{"kind":"path","path":"/keys/bob.psk"}}`
	const written = `mcp.tool.new.peer.success {"principal_id":"bob@demo","principal_type":"session","written":true}`
	testExchanges(t, Surface08, []exchangeTest{
		{
			name:      "the key in the answer",
			tool:      "new",
			arguments: `{"command":"peer","args":{"principal_id":" west@RELAY ","scope":" demo, Other "}}`,
			request:   `demo {"operation":"new_peer","principal_id":"west@RELAY","scope":" demo, Other ","output_path":null}`,
			response:  `{"kind":"new_peer","schema_version":"1","principal_id":"west@RELAY","principal_type":"relay","psk":"s3cret","config_snippet":"put it there","diagnostics":[{"code":"c"}]}`,
			answer:    `{"schema_version":"1","principal_id":"west@RELAY","principal_type":"relay","psk":"s3cret","output_path":null,"config_snippet":"put it there","diagnostics":[{"code":"c"}]}`,
			log: []string{
				`mcp.tool.new.peer.request {"namespace":"demo","principal_id":"west@RELAY","has_output":false}`,
				`mcp.tool.new.peer.success {"principal_id":"west@RELAY","principal_type":"relay","written":false}`,
			},
		},
		{
			name:      "blank options count as absent",
			tool:      "new",
			arguments: `{"command":"peer","args":{"principal_id":"bob@demo","scope":" ","output_path":"\t"}}`,
			request:   `demo {"operation":"new_peer","principal_id":"bob@demo","scope":null,"output_path":null}`,
			response:  `{"kind":"new_peer","schema_version":"1","principal_id":"bob@demo","principal_type":"session","psk":"s3cret","config_snippet":""}`,
			answer:    `{"schema_version":"1","principal_id":"bob@demo","principal_type":"session","psk":"s3cret","output_path":null,"config_snippet":""}`,
			log: []string{
				`mcp.tool.new.peer.request {"namespace":"demo","principal_id":"bob@demo","has_output":false}`,
				`mcp.tool.new.peer.success {"principal_id":"bob@demo","principal_type":"session","written":false}`,
			},
		},
		{
			name:      "the key in a file, relay 0.8",
			tool:      "new",
			arguments: `{"command":"peer","args":{"principal_id":"bob@demo","output_path":"/keys/bob.psk"}}`,
			request:   toFile,
			response:  `{"kind":"new_peer","schema_version":"1","principal_id":"bob@demo","principal_type":"session","output_path":"/keys/bob.psk","config_snippet":"s"}`,
			answer:    `{"schema_version":"1","principal_id":"bob@demo","principal_type":"session","psk":null,"output_path":"/keys/bob.psk","config_snippet":"s"}`,
			log:       []string{`mcp.tool.new.peer.request {"namespace":"demo","principal_id":"bob@demo","has_output":true}`, written},
		},
		{
			name:      "the key in a file, newer relays",
			tool:      "new",
			arguments: `{"command":"peer","args":{"principal_id":"bob@demo","output_path":"/keys/bob.psk"}}`,
			request:   toFile,
			response:  `{"kind":"new_peer","schema_version":"1","principal_id":"bob@demo","principal_type":"session","psk":null,"written_path":"/real/bob.psk","config_snippet":"s"}`,
			answer:    `{"schema_version":"1","principal_id":"bob@demo","principal_type":"session","psk":null,"written_path":"/real/bob.psk","output_path":"/real/bob.psk","config_snippet":"s"}`,
			log:       []string{`mcp.tool.new.peer.request {"namespace":"demo","principal_id":"bob@demo","has_output":true}`, written},
		},
		{
			name:      "a relay with both names for the file",
			tool:      "new",
			arguments: `{"command":"peer","args":{"principal_id":"bob@demo","output_path":"/keys/bob.psk"}}`,
			request:   toFile,
			response:  `{"kind":"new_peer","schema_version":"1","principal_id":"bob@demo","principal_type":"session","written_path":"/real/bob.psk","output_path":"/keys/bob.psk","config_snippet":"s"}`,
			answer:    `{"schema_version":"1","principal_id":"bob@demo","principal_type":"session","psk":null,"written_path":"/real/bob.psk","output_path":"/keys/bob.psk","config_snippet":"s"}`,
			log:       []string{`mcp.tool.new.peer.request {"namespace":"demo","principal_id":"bob@demo","has_output":true}`, written},
		},
	})
}

func TestNewRefusals(t *testing.T) {
	const invalid, badPath = "validation_invalid_params", "validation_invalid_output_path"
	path := func(name, path, cause string) refusalTest {
		return refusalTest{
			name, "new", `{"command":"peer","args":{"principal_id":"bob@demo","output_path":` + path + `}}`,
			badPath, `{"output_path":` + path + `,"cause":"` + cause + `"}`,
		}
	}
	testRefusals(t, Surface08, []refusalTest{
		{"another command", "new", `{"command":"bundle"}`, invalid, `{"command":"bundle"}`},
		{"no args", "new", `{"command":"peer"}`, invalid, `{"field":"args.principal_id","expected":"a string","got":"nothing"}`},
		{"null for the principal", "new", `{"command":"peer","args":{"principal_id":null}}`, invalid, `{"field":"args.principal_id","expected":"a string","got":"null"}`},
		{"a blank principal", "new", `{"command":"peer","args":{"principal_id":" ","output_path":"x"}}`, invalid, `{"field":"args.principal_id"}`},
		path("a relative path", `"bob.psk"`, "it is not absolute"),
		path("a home path", `"~/bob.psk"`, "it is not absolute"),
		path("a directory", `"/keys/"`, "it has no file name"),
		path("the root", `"/"`, "it has no file name"),
		path("a dot", `"/keys/."`, "it has no file name"),
		path("two dots", `"/keys/.."`, "it has no file name"),
		path("a NUL", `"/keys/\u0000"`, "it contains a NUL"),
	})
}

// The disk is asked after the sender check and before the relay.
func TestNewPeerOutputPathOnDisk(t *testing.T) {
	const arguments = `{"command":"peer","args":{"principal_id":"bob@demo","output_path":"/keys/bob.psk"}}`
	var asked []string
	onDisk := func(err error) func(*Config) {
		return func(cfg *Config) {
			asked = nil
			cfg.CheckOutputPath = func(path string) error {
				asked = append(asked, path)
				return err
			}
		}
	}
	response := `{"kind":"new_peer","principal_id":"bob@demo","principal_type":"session","output_path":"/keys/bob.psk","config_snippet":""}`

	t.Run("unassociated", func(t *testing.T) {
		s := newSurface(t, answers(response), onDisk(nil), as(Standing{}))
		_, refusal := s.do(t, "new", arguments)
		sameRefusal(t, refusal, jsonrpc.CodeInvalidParams, "validation_unknown_sender", `null`)
		sameLines(t, "paths asked about", asked, nil)
	})
	t.Run("bad", func(t *testing.T) {
		s := newSurface(t, answers(response), onDisk(errors.New("it is a symbolic link")))
		_, refusal := s.do(t, "new", arguments)
		sameRefusal(t, refusal, jsonrpc.CodeInvalidParams, "validation_invalid_output_path",
			`{"output_path":"/keys/bob.psk","cause":"it is a symbolic link"}`)
		sameLines(t, "paths asked about", asked, []string{"/keys/bob.psk"})
		sameLines(t, "requests", s.relay.requests(), nil)
		sameLog(t, s.log,
			`mcp.tool.new.peer.request {"namespace":"demo","principal_id":"bob@demo","has_output":true}`,
			endedHere("mcp.tool.new.peer", refusal))
	})
	t.Run("good", func(t *testing.T) {
		s := newSurface(t, answers(response), onDisk(nil))
		if _, refusal := s.do(t, "new", arguments); refusal != nil {
			t.Fatal(refusal)
		}
		sameLines(t, "paths asked about", asked, []string{"/keys/bob.psk"})
	})
	t.Run("no path", func(t *testing.T) {
		s := newSurface(t, answers(response), onDisk(errors.New("must not be asked")))
		if _, refusal := s.do(t, "new", `{"command":"peer","args":{"principal_id":"bob@demo","output_path":" "}}`); refusal != nil {
			t.Fatal(refusal)
		}
	})
}

// A relay that ignores where the key was to go returns it, and it goes no further, whatever its type.
func TestNewPeerKeyThatWasToBeWritten(t *testing.T) {
	for _, psk := range []string{`"s3cret"`, `{"value":"s3cret"}`, `["s3cret"]`, `5321`} {
		t.Run(psk, func(t *testing.T) {
			s := newSurface(t, answers(`{"kind":"new_peer","schema_version":"1","principal_id":"bob@demo","principal_type":"session","psk":`+psk+`,"config_snippet":"s","n":1.0}`))
			_, refusal := s.do(t, "new", `{"command":"peer","args":{"principal_id":"bob@demo","output_path":"/keys/bob.psk"}}`)
			const masked = `{"response":{"kind":"new_peer","schema_version":"1","principal_id":"bob@demo","principal_type":"session","psk":"` + wire.SecretMask + `","config_snippet":"s","n":1.0}}`
			sameRefusal(t, refusal, jsonrpc.CodeInternalError, "internal_unexpected_failure", masked)
			for _, fact := range []string{"registered bob@demo", "/keys/bob.psk", "change psk"} {
				if !strings.Contains(refusal.Message, fact) {
					t.Errorf("the message lacks %q: %s", fact, refusal.Message)
				}
			}
			sameLog(t, s.log,
				`mcp.tool.new.peer.request {"namespace":"demo","principal_id":"bob@demo","has_output":true}`,
				`mcp.tool.new.peer.unexpected_response `+masked)
			seen := string(refusal.asError().Data) + s.stderr.String() + strings.Join(s.log.all(), "")
			if slices.ContainsFunc([]string{"s3cret", "5321"}, func(secret string) bool { return strings.Contains(seen, secret) }) {
				t.Errorf("the key shows in %s", seen)
			}
		})
	}
}
