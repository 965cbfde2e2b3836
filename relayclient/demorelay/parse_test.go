package demorelay_test

import (
	"io"
	"net"
	"strings"
	"testing"

	"github.com/agentmux/agentmux-go/relayclient/demorelay"
	"github.com/agentmux/agentmux-go/wire"
)

// A relay hangs up on what it cannot parse, and says so once.
func TestUnparsableLines(t *testing.T) {
	const closes, stays = true, false
	tests := []struct {
		name string
		line string
		want bool
	}{
		{"not JSON", `{bad`, closes},
		{"not an object", `[]`, closes},
		{"trailing text", request(`{"operation":"up"}`) + " x", closes},
		{"unknown frame", `{"frame":"bye"}`, closes},
		{"a relay's frame", `{"frame":"hello_ack","schema_version":"1","principal_id":"you@demo"}`, closes},
		{"unknown operation", request(`{"operation":"drop_peer","principal_id":"a@b"}`), closes},
		{"no request", `{"frame":"request","request_id":"q"}`, closes},
		{"request id is a number", `{"frame":"request","request_id":7,"request":{"operation":"up"}}`, closes},
		{"namespace is a number", `{"frame":"request","namespace":7,"request":{"operation":"up"}}`, closes},
		{"null ids", `{"frame":"request","request_id":null,"namespace":null,"request":{"operation":"up"}}`, stays},
		{"unknown keys", `{"frame":"request","request_id":"q","x":1,"request":{"operation":"up","y":null}}`, stays},
		{"requester is a number", request(`{"operation":"list","requester_session":1}`), closes},
		{"requester is null", request(`{"operation":"list","requester_session":null}`), stays},
		{"lines is a string", request(`{"operation":"look","requester_session":"you","target_session":"x","lines":"1"}`), closes},
		{"lines is a fraction", request(`{"operation":"look","requester_session":"you","target_session":"x","lines":1.0}`), closes},
		{"lines is negative", request(`{"operation":"look","requester_session":"you","target_session":"x","lines":-1}`), closes},
		{"offset is negative", request(`{"operation":"look","requester_session":"you","target_session":"x","offset":-1}`), closes},
		{"window is null", request(`{"operation":"look","requester_session":"you","target_session":"x","lines":null,"offset":null}`), stays},
		{"target is null", request(`{"operation":"look","requester_session":"you","target_session":null}`), closes},
		{"no broadcast", request(`{"operation":"send","requester_session":"you","message":"","targets":[]}`), closes},
		{"broadcast is null", request(`{"operation":"send","requester_session":"you","message":"","targets":[],"broadcast":null}`), closes},
		{"targets is null", request(`{"operation":"send","requester_session":"you","message":"","targets":null,"broadcast":false}`), closes},
		{"a target is null", request(`{"operation":"send","requester_session":"you","message":"","targets":[null],"broadcast":false}`), closes},
		{"no message", request(`{"operation":"send","requester_session":"you","targets":[],"broadcast":false}`), closes},
		{"send's id is a number", request(`{"operation":"send","request_id":1,"requester_session":"you","message":"","targets":[],"broadcast":false}`), closes},
		{"quiet window is negative", request(`{"operation":"send","requester_session":"you","message":"","targets":[],"broadcast":false,"quiet_window_ms":-1}`), closes},
		{"no_enter is null", request(`{"operation":"raww","requester_session":"you","target_session":"x","text":"","no_enter":null}`), closes},
		{"no no_enter", request(`{"operation":"raww","requester_session":"you","target_session":"x","text":""}`), stays},
		{"option is a number", request(`{"operation":"choices_pick","choice_request_id":"x","outcome":"cancelled","option_id":1}`), closes},
		{"scope is a number", request(`{"operation":"new_peer","principal_id":"x","scope":1}`), closes},
		{"output path is a number", request(`{"operation":"new_peer","principal_id":"x","output_path":1}`), closes},
		{"hello without a version", `{"frame":"hello","principal_id":"you@demo","identity_token":"socket-trust"}`, closes},
		{"hello with a null token", `{"frame":"hello","schema_version":"1","principal_id":"you@demo","identity_token":null}`, closes},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			serve(t, func(t *testing.T, r *demorelay.Relay) {
				c := connect(t, r, "you@demo", wire.SocketTrust)
				got := c.ask(test.line)
				if closed := strings.HasPrefix(got, `!validation_invalid_arguments {"cause":"`); closed != test.want {
					t.Fatalf("%s: got %s, want a refusal of the line: %t", test.line, got, test.want)
				}
				want := "closed"
				if test.want == stays {
					want = `choices_list {"pending_requests":[]}`
					c.say(in("other", `{"operation":"choices_list"}`))
				}
				if got := c.hear(); got != want {
					t.Errorf("%s: afterwards got %s, want %s", test.line, got, want)
				}
			})
		})
	}
}

// Bytes that are not UTF-8 are not even refused.
func TestInvalidUTF8(t *testing.T) {
	serve(t, func(t *testing.T, r *demorelay.Relay) {
		c := connect(t, r, "you@demo", wire.SocketTrust)
		if got := c.ask("\xff\xfe"); got != "closed" {
			t.Errorf("got %s, want closed", got)
		}
	})
}

func TestLastLineWithoutEnd(t *testing.T) {
	_, theirs := net.Pipe()
	said := &oneWay{Conn: theirs, Reader: strings.NewReader(hello("you@demo", wire.SocketTrust))}
	r := demorelay.New(testWorld())
	defer r.Close()
	if err := r.ServeConn(t.Context(), said); err != nil {
		t.Fatal(err)
	}
	if got, want := said.written.String(), `{"frame":"hello_ack","schema_version":"1","principal_id":"you@demo"}`+"\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// oneWay is a connection whose client shut down its writing side after its last byte.
type oneWay struct {
	net.Conn
	io.Reader
	written strings.Builder
}

func (c *oneWay) Read(p []byte) (int, error) { return c.Reader.Read(p) }

func (c *oneWay) Write(p []byte) (int, error) { return c.written.Write(p) }
