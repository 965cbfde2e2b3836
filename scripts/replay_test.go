package scripts_test

import (
	"bytes"
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/agentmux/agentmux-go/relayclient"
	"github.com/agentmux/agentmux-go/relayclient/relaytest"
	"github.com/agentmux/agentmux-go/wire"
)

// A transcript is a conversation with a real relay, as [TestRecord] wrote it.
type transcript struct {
	hello     wire.Frame  // nil: there was none
	welcome   bool        // the hello was acknowledged
	exchanges []*exchange // in the order of the requests
	notice    *wire.Error // the last error that answers no request; nil: none
	events    []wire.Event
	script    []string // the conversation as a script
	hangsUp   bool     // the relay does
}

// An exchange is a request and its answer.
type exchange struct {
	request  *wire.RequestFrame
	response *wire.ResponseFrame // nil: none came
}

// readTranscripts reads the transcripts of all releases of a surface, by release/name.
func readTranscripts(t *testing.T, s *surface) map[string]*transcript {
	t.Helper()
	const directory = "../wire/testdata/transcripts"
	transcripts := map[string]*transcript{}
	for _, release := range releases {
		if release.surface != s {
			continue
		}
		files, err := filepath.Glob(filepath.Join(directory, release.version, "*.txt"))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %d transcripts, %v", release.version, len(files), err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			name := strings.TrimSuffix(strings.TrimPrefix(file, directory+"/"), ".txt")
			transcripts[name] = readTranscript(t, s, name, string(text))
		}
	}
	return transcripts
}

func readTranscript(t *testing.T, s *surface, name, text string) *transcript {
	t.Helper()
	var r transcript
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		r.hangsUp = r.hangsUp || line == "# The relay hangs up."
		mark, said, _ := strings.Cut(line, " ")
		if mark != ">" && mark != "<" {
			continue
		}
		frame, err := s.words.Decode([]byte(said))
		if err != nil {
			t.Fatalf("%s: %v in %s", name, err, line)
		}
		r.script = append(r.script, line)
		switch frame.FrameKind() {
		case "hello":
			r.hello = frame
		case "hello_ack":
			r.welcome = true
		}
		switch frame := frame.(type) {
		case *wire.RequestFrame:
			r.exchanges = append(r.exchanges, &exchange{request: frame})
		case *wire.EventFrame:
			r.events = append(r.events, frame.Event)
		case *wire.ResponseFrame:
			if !r.answer(frame) {
				r.notice = &frame.Response.(*wire.ErrorResponse).Error
			}
		}
	}
	return &r
}

// answer gives a response to the request that it answers, and reports whether there is one.
func (r *transcript) answer(response *wire.ResponseFrame) bool {
	for _, e := range r.exchanges {
		bare := e.request.Bare && response.Bare
		if bare || response.RequestID != nil && *response.RequestID == e.request.RequestID {
			e.response = response
			return true
		}
	}
	return false
}

// A relayClient is a client of relays of any surface.
type relayClient interface {
	Do(ctx context.Context, namespace string, op wire.Operation) (*relayclient.Reply, error)
	Subscribe(buffer int) *relayclient.Events
	Close()
}

// A dialFunc connects to a relay.
type dialFunc func(ctx context.Context, socket string) (net.Conn, error)

// connect08 returns a client that says a hello.
func connect08(hello wire.Frame, dial dialFunc) relayClient {
	h, ok := hello.(*wire.Hello)
	if !ok { // there was none
		h = &wire.Hello{PrincipalID: "alpha@demo", IdentityToken: wire.NewSecret(wire.SocketTrust)}
	}
	return relayclient.New(relayclient.Config{
		Socket: "/run/relay.sock", Dial: dial, Principal: h.PrincipalID,
		Token: func() wire.Secret { return h.IdentityToken },
	})
}

// unplayable08 are transcripts of what our client never does, and why.
var unplayable08 = map[string]string{
	"hello_refused_schema_version": "it speaks one version of the protocol",
	"hello_twice":                  "it says one hello",
	"missing_hello":                "it says hello first",
	"list_without_namespace":       "it names the namespace of every request",
}

// TestReplayClient plays what relays of each release said to the client, which has to send the recorded lines
// and to hand out the recorded answers, errors and events.
func TestReplayClient(t *testing.T) {
	for _, s := range []*surface{&surface05, &surface08} {
		for name, recorded := range readTranscripts(t, s) {
			t.Run(name, func(t *testing.T) {
				if reason, ok := s.unplayable[filepath.Base(name)]; ok {
					t.Skip(reason)
				}
				synctest.Test(t, func(t *testing.T) { replayClient(t, s, recorded) })
			})
		}
	}
}

func replayClient(t *testing.T, s *surface, r *transcript) {
	script := r.script
	if !r.hangsUp {
		script = append(script, "silence")
	}
	if r.hello == nil && len(r.exchanges) == 0 { // the relay said its piece before
		script = append([]string{`> {"frame":"hello","...":""}`}, script...)
	}
	if r.notice != nil && !r.welcome && len(r.exchanges) == 0 {
		script = append([]string{"serve"}, script...) // some refusals are worth another attempt
	}
	if r.welcome && len(r.exchanges) == 0 {
		// A client connects when it is asked something; what follows comes while it waits for the answer.
		const ask = `> {"frame":"request","...":""}`
		script = append(append(script[:2:2], ask), script[2:]...)
	}
	relay := relaytest.InMemory(t, strings.Join(script, "\n"))
	client := s.connect(r.hello, relay.Dial)
	defer client.Close()
	events := client.Subscribe(len(r.events) + 1)

	for _, e := range r.exchanges {
		reply, err := client.Do(t.Context(), e.request.Namespace, e.request.Request)
		checkReply(t, r, e, reply, err)
	}
	if len(r.exchanges) == 0 {
		_, err := client.Do(t.Context(), "demo", s.ask)
		refusal, refused := errors.AsType[*wire.Error](err)
		switch {
		case err == nil:
			t.Error("a call that nobody answered succeeded")
		case refused != (r.notice != nil):
			t.Errorf("got %v, want it to be about %v", err, r.notice)
		case refused && !reflect.DeepEqual(refusal, r.notice):
			t.Errorf("got %#v, want %#v", refusal, r.notice)
		}
	}
	synctest.Wait()
	client.Close()
	var got []wire.Event
	for event := range events.C {
		got = append(got, event)
	}
	if !reflect.DeepEqual(got, r.events) {
		t.Errorf("got  events %+v\nwant %+v", got, r.events)
	}
}

// checkReply compares what the client made of an answer with the answer. Where none came, the relay said why
// before it hung up.
func checkReply(t *testing.T, r *transcript, e *exchange, reply *relayclient.Reply, err error) {
	t.Helper()
	want := r.notice
	if e.response != nil {
		want = nil
		if refusal, ok := e.response.Response.(*wire.ErrorResponse); ok {
			want = &refusal.Error
		}
	}
	operation := e.request.Request.OperationName()
	if want != nil {
		if got, ok := errors.AsType[*wire.Error](err); !ok || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %#v, want %#v", operation, err, want)
		}
		return
	}
	if err != nil {
		t.Errorf("%s: %v", operation, err)
		return
	}
	if reply.Response.ResponseKind() != e.response.Response.ResponseKind() || !bytes.Equal(reply.Raw, e.response.Raw) {
		t.Errorf("%s: got  %s\nwant %s", operation, string(reply.Raw), string(e.response.Raw))
	}
}
