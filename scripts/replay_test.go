package scripts_test

import (
	"bytes"
	"errors"
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
	hello     *wire.Hello // nil: there was none
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

// readTranscripts reads all transcripts, by release/name.
func readTranscripts(t *testing.T) map[string]*transcript {
	t.Helper()
	const directory = "../wire/testdata/transcripts"
	files, err := filepath.Glob(directory + "/*/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d transcripts, %v", len(files), err)
	}
	transcripts := map[string]*transcript{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		name := strings.TrimSuffix(strings.TrimPrefix(file, directory+"/"), ".txt")
		transcripts[name] = readTranscript(t, name, string(text))
	}
	return transcripts
}

func readTranscript(t *testing.T, name, text string) *transcript {
	t.Helper()
	var r transcript
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		r.hangsUp = r.hangsUp || line == "# The relay hangs up."
		mark, said, _ := strings.Cut(line, " ")
		if mark != ">" && mark != "<" {
			continue
		}
		frame, err := wire.Decode([]byte(said))
		if err != nil {
			t.Fatalf("%s: %v in %s", name, err, line)
		}
		r.script = append(r.script, line)
		switch frame := frame.(type) {
		case *wire.Hello:
			r.hello = frame
		case *wire.HelloAck:
			r.welcome = true
		case *wire.RequestFrame:
			r.exchanges = append(r.exchanges, &exchange{request: frame})
		case *wire.EventFrame:
			r.events = append(r.events, frame.Event)
		case *wire.ResponseFrame:
			if frame.RequestID == nil {
				r.notice = &frame.Response.(*wire.ErrorResponse).Error
				continue
			}
			for _, e := range r.exchanges {
				if e.request.RequestID == *frame.RequestID {
					e.response = frame
				}
			}
		}
	}
	return &r
}

// unplayable are transcripts of what our client never does.
var unplayable = map[string]string{
	"hello_refused_schema_version": "it speaks one version of the protocol",
	"hello_twice":                  "it says one hello",
	"missing_hello":                "it says hello first",
	"list_without_namespace":       "it names the namespace of every request",
}

// TestReplayClient plays what relays of each release said to the client, which has to send the recorded lines
// and to hand out the recorded answers, errors and events.
func TestReplayClient(t *testing.T) {
	for name, recorded := range readTranscripts(t) {
		t.Run(name, func(t *testing.T) {
			if reason, ok := unplayable[filepath.Base(name)]; ok {
				t.Skip(reason)
			}
			synctest.Test(t, func(t *testing.T) { replayClient(t, recorded) })
		})
	}
}

func replayClient(t *testing.T, r *transcript) {
	script := r.script
	if !r.hangsUp {
		script = append(script, "silence")
	}
	hello := r.hello
	if hello == nil { // the relay said its piece before
		hello = &wire.Hello{PrincipalID: "alpha@demo", IdentityToken: wire.NewSecret(wire.SocketTrust)}
		script = append([]string{`> {"frame":"hello","...":""}`}, script...)
	}
	if r.notice != nil && !r.welcome {
		script = append([]string{"serve"}, script...) // some refusals are worth another attempt
	}
	if r.welcome && len(r.exchanges) == 0 {
		// A client connects when it is asked something; what follows comes while it waits for the answer.
		ask := `> {"frame":"request","request_id":"$_","namespace":"demo","request":{"operation":"choices_list"}}`
		script = append(append(script[:2:2], ask), script[2:]...)
	}
	relay := relaytest.InMemory(t, strings.Join(script, "\n"))
	client := relayclient.New(relayclient.Config{
		Socket: "/run/relay.sock", Dial: relay.Dial, Principal: hello.PrincipalID,
		Token: func() wire.Secret { return hello.IdentityToken },
	})
	defer client.Close()
	events := client.Subscribe(len(r.events) + 1)

	for _, e := range r.exchanges {
		reply, err := client.Do(t.Context(), e.request.Namespace, e.request.Request)
		checkReply(t, r, e, reply, err)
	}
	if len(r.exchanges) == 0 {
		_, err := client.Do(t.Context(), "demo", &wire.ChoicesList{})
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
		t.Errorf("%s: got  %s\nwant %s", operation, reply.Raw, e.response.Raw)
	}
}
