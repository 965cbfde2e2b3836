package mcptools

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/agentmux/agentmux-go/relayclient"
	"github.com/agentmux/agentmux-go/wire"
)

// socket is the path that errors of the fake relay name.
const socket = "/state/relay.sock"

// A fakeRelay answers with the JSON text that a function gives it, and keeps what it was asked.
type fakeRelay struct {
	answer func(ctx context.Context, namespace string, op wire.Operation) (response string, err error)
	words  *wire.Vocabulary    // set by newSurface
	silent *relayclient.Client // never connects, so that its subscriptions stay silent

	mu    sync.Mutex
	asked []string // namespace, a space, and the request object as it is on the wire
}

func answering(answer func(context.Context, string, wire.Operation) (string, error)) *fakeRelay {
	return &fakeRelay{answer: answer, silent: relayclient.New(relayclient.Config{})}
}

// answers returns a relay that has the same response to all.
func answers(response string) *fakeRelay {
	return answering(func(context.Context, string, wire.Operation) (string, error) { return response, nil })
}

// fails returns a relay that never answers.
func fails(err error) *fakeRelay {
	return answering(func(context.Context, string, wire.Operation) (string, error) { return "", err })
}

func (r *fakeRelay) Do(ctx context.Context, namespace string, op wire.Operation) (*relayclient.Reply, error) {
	r.mu.Lock()
	r.asked = append(r.asked, namespace+" "+requestText(op))
	r.mu.Unlock()
	text, err := r.answer(ctx, namespace, op)
	if err != nil {
		return nil, err
	}
	frame, err := r.words.Decode([]byte(text))
	if err != nil {
		return nil, &relayclient.Error{
			Op: "receive", Socket: socket, Kind: relayclient.Unexpected, IO: relayclient.InvalidData, Written: true, Err: err,
		}
	}
	response, ok := frame.(*wire.ResponseFrame)
	if !ok {
		return nil, &relayclient.Error{
			Op: "receive", Socket: socket, Kind: relayclient.Unexpected, IO: relayclient.InvalidData, Written: true,
			Err: &wire.DecodeError{Want: "response", Got: frame.FrameKind()},
		}
	}
	if refusal, ok := response.Response.(*wire.ErrorResponse); ok {
		return nil, &refusal.Error
	}
	return &relayclient.Reply{Response: response.Response, Raw: wire.Raw(text)}, nil
}

func (r *fakeRelay) Subscribe(buffer int) *relayclient.Events { return r.silent.Subscribe(buffer) }

// requests returns what was asked so far.
func (r *fakeRelay) requests() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.asked)
}

// requestText is op as a request frame holds it.
func requestText(op wire.Operation) string {
	line, err := wire.Encode(&wire.RequestFrame{Request: op})
	if err != nil {
		panic(err)
	}
	var frame struct {
		Request json.RawMessage `json:"request"`
	}
	if err := json.Unmarshal(line, &frame); err != nil {
		panic(err)
	}
	return string(frame.Request)
}

// unanswered errors of the kinds that a client of the relay tells apart.
var (
	errNoSocket = &relayclient.Error{
		Op: "connect", Socket: socket, Kind: relayclient.Unavailable, IO: relayclient.NotFound, Err: errors.New("no such file"),
	}
	errNobody = &relayclient.Error{
		Op: "connect", Socket: socket, Kind: relayclient.Unavailable, IO: relayclient.ConnectionRefused, Err: errors.New("connection refused"),
	}
	errHungUp = &relayclient.Error{
		Op: "receive", Socket: socket, Kind: relayclient.Unavailable, IO: relayclient.UnexpectedEOF, Written: true, Err: errors.New("EOF"),
	}
	errSilence = &relayclient.Error{
		Op: "receive", Socket: socket, Kind: relayclient.Timeout, IO: relayclient.TimedOut, Written: true, Err: errors.New("deadline exceeded"),
	}
	errPermission = &relayclient.Error{
		Op: "connect", Socket: socket, Kind: relayclient.Unexpected, IO: relayclient.PermissionDenied, Err: errors.New("permission denied"),
	}
)

// fakeBundles are a configuration in memory.
type fakeBundles struct {
	bundles map[string]*Bundle
	broken  map[string]error // bundles that can't be read
	history []json.RawMessage

	mu    sync.Mutex
	reads []string // what was called, in order
}

// threeBundles has the home bundle of the tests among others.
func threeBundles() *fakeBundles {
	bundles := map[string]*Bundle{
		"zeta":  {Name: "zeta", Members: []Member{{ID: "zoe", Transport: wire.TransportTmux}}},
		"Other": {Name: "Other", Members: []Member{{ID: "ops", Transport: wire.TransportTmux}}},
		"demo": {Name: "demo", Members: []Member{
			{ID: "bravo", Name: "Bravo <B>", Transport: wire.TransportACP},
			{ID: "alpha", Transport: wire.TransportTmux},
		}},
	}
	return &fakeBundles{bundles: bundles, broken: map[string]error{}}
}

func (b *fakeBundles) note(read string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.reads = append(b.reads, read)
}

func (b *fakeBundles) Names() ([]string, error) {
	b.note("names")
	names := slices.AppendSeq(slices.Collect(maps.Keys(b.bundles)), maps.Keys(b.broken))
	slices.Sort(names)
	return names, nil
}

func (b *fakeBundles) Load(name string) (*Bundle, error) {
	b.note("load " + name)
	if err := b.broken[name]; err != nil {
		return nil, err
	}
	if bundle := b.bundles[name]; bundle != nil {
		return bundle, nil
	}
	return nil, &Refusal{
		Code: CodeUnknownBundle, Message: "no bundle " + name,
		Details: map[string]any{"bundle_name": name, "path": "/config/bundles/" + name + ".toml"},
	}
}

func (b *fakeBundles) StartupFailures(name string) []json.RawMessage {
	b.note("failures " + name)
	return b.history
}

// A recorder keeps inscriptions, each as the event, a space, and the details as JSON with sorted keys.
type recorder struct {
	mu      sync.Mutex
	records []string
}

func (r *recorder) inscribe(event string, details map[string]any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.records = append(r.records, event+" "+canonical(encode(details)))
}

func (r *recorder) all() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.records)
}

// canonical returns JSON with sorted keys and its numbers as they are written.
func canonical(raw []byte) string {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		panic(err)
	}
	return string(encode(v))
}

// sameJSON compares two JSON texts. The order of keys does not count; the spelling of numbers does.
func sameJSON(t testing.TB, what, got, want string) {
	t.Helper()
	if got, want := canonical([]byte(got)), canonical([]byte(want)); got != want {
		t.Errorf("%s:\n got %s\nwant %s", what, got, want)
	}
}

// sameLines compares lists of requests or records.
func sameLines(t testing.TB, what string, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s:\n got %q\nwant %q", what, got, want)
	}
}

// nested returns arrays within arrays.
func nested(depth int) string {
	return strings.Repeat("[", depth) + strings.Repeat("]", depth)
}

// blocking answers once answered is closed, and says on asked that it was asked.
func blocking(asked chan<- struct{}, answered <-chan struct{}, response string) func(context.Context, string, wire.Operation) (string, error) {
	return func(ctx context.Context, _ string, _ wire.Operation) (string, error) {
		asked <- struct{}{}
		select {
		case <-answered:
			return response, nil
		case <-ctx.Done():
			return "", context.Cause(ctx)
		}
	}
}

// sameEvents compares what was inscribed without the details.
func sameEvents(t testing.TB, log *recorder, want ...string) {
	t.Helper()
	var events []string
	for _, record := range log.all() {
		event, _, _ := strings.Cut(record, " ")
		events = append(events, event)
	}
	sameLines(t, "events", events, want)
}
