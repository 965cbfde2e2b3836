package scripts_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/agentmux/agentmux-go/relayclient/demorelay"
	"github.com/agentmux/agentmux-go/relayclient/relaytest"
)

// A scene is what the commands of one script share.
type scene struct {
	state    string
	program  string               // agentmux-mcp; a script may change the PATH
	usual    []string             // arguments of a server
	args     []string             // of the server
	relays   map[string]io.Closer // those that run, by socket
	scripted *relaytest.Relay     // the last one that was started; nil before it
	server   *server              // nil until a call needs it
}

type sceneKey struct{}

func sceneOf(ts *testscript.TestScript) *scene { return ts.Value(sceneKey{}).(*scene) }

// end ends what is left, the server first: a client that still talks would fail its script.
func (w *scene) end() error {
	var stopped error
	if w.server != nil {
		stopped = w.server.stop()
		w.server = nil
	}
	return errors.Join(stopped, w.endRelays())
}

func (w *scene) endRelays() error {
	var ended []error
	for socket := range w.relays {
		ended = append(ended, w.endRelay(socket))
	}
	return errors.Join(ended...)
}

func (w *scene) endRelay(socket string) error {
	relay, ok := w.relays[socket]
	if !ok {
		return nil
	}
	delete(w.relays, socket)
	return relay.Close()
}

// vacate readies a path for the socket of another relay.
func (w *scene) vacate(ts *testscript.TestScript, socket string) {
	ts.Check(w.endRelay(socket))
	ts.Check(os.MkdirAll(filepath.Dir(socket), 0o700))
}

// play starts a relay that plays a file. Where that has requests and no hello, the hello and the silence at the end go
// without saying.
func (w *scene) play(ts *testscript.TestScript, file, socket, hello string) {
	text := ts.ReadFile(file)
	if strings.Contains(text, `"frame":"request"`) && !strings.Contains(text, `"frame":"hello"`) {
		text = hello + text + "\nsilence\n"
	}
	script, err := relaytest.Parse(file, []byte(text))
	ts.Check(err)
	w.vacate(ts, socket)
	relay, err := relaytest.Listen(socket, script)
	ts.Check(err)
	w.relays[socket], w.scripted = relay, relay
}

func (w *scene) socket() string { return filepath.Join(w.state, "relay.sock") }

const usualHello = `> {"frame":"hello","schema_version":"1","principal_id":"alpha@demo","identity_token":"socket-trust"}
< {"frame":"hello_ack","schema_version":"1","principal_id":"alpha@demo"}
`

func relayCommand(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: relay FILE | relay stop")
	}
	w := sceneOf(ts)
	if args[0] == "stop" {
		ts.Check(w.endRelays())
		return
	}
	w.play(ts, args[0], w.socket(), usualHello)
}

const usualHello05 = `> {"frame":"hello","schema_version":"1","bundle_name":"demo","session_id":"alpha"}
< {"frame":"hello_ack","schema_version":"1","bundle_name":"demo","session_id":"alpha"}
`

func relay05Command(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 && len(args) != 2 {
		ts.Fatalf("usage: relay05 FILE [BUNDLE]")
	}
	bundle := "demo"
	if len(args) == 2 {
		bundle = args[1]
	}
	w := sceneOf(ts)
	w.play(ts, args[0], filepath.Join(w.state, "bundles", bundle, "relay.sock"), usualHello05)
}

func receivedCommand(ts *testscript.TestScript, neg bool, args []string) {
	relay := sceneOf(ts).scripted
	if neg || len(args) != 1 || relay == nil {
		ts.Fatalf("usage, after relay or relay05: received N")
	}
	n, err := strconv.Atoi(args[0])
	ts.Check(err)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	late := time.NewTimer(scriptPatience)
	defer late.Stop()
	lines := relay.Received()
	for ; len(lines) < n; lines = relay.Received() {
		select {
		case <-tick.C:
		case <-late.C:
			ts.Fatalf("the relay received %d lines within %v, want %d", len(lines), scriptPatience, n)
		}
	}
	for _, line := range lines {
		_, err := fmt.Fprintln(ts.Stdout(), maskText(line.Text))
		ts.Check(err)
	}
}

// liveRelay is a sample relay on a socket.
type liveRelay struct {
	relay  *demorelay.Relay
	served chan error
}

func (l liveRelay) Close() error {
	l.relay.Close()
	return <-l.served
}

func demorelayCommand(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 0 {
		ts.Fatalf("usage: demorelay")
	}
	w := sceneOf(ts)
	w.vacate(ts, w.socket())
	listener, err := net.Listen("unix", w.socket())
	ts.Check(err)
	live := liveRelay{demorelay.New(demorelay.Sample()), make(chan error, 1)}
	go func() { live.served <- live.relay.Serve(context.Background(), listener) }()
	w.relays[w.socket()] = live
}

func serverCommand(ts *testscript.TestScript, neg bool, args []string) {
	if neg {
		ts.Fatalf("usage: server [...] ARG... | server stop")
	}
	w := sceneOf(ts)
	if w.server != nil {
		s := w.server
		w.server = nil
		err := s.stop()
		_, printErr := io.WriteString(ts.Stderr(), maskText(s.stderr.String()))
		ts.Check(errors.Join(err, printErr))
	}
	switch {
	case len(args) == 1 && args[0] == "stop":
	case len(args) > 0 && args[0] == "...":
		w.args = slices.Concat(w.usual, args[1:])
	default:
		w.args = args
	}
}

func callCommand(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: [!] call TOOL ARGUMENTS")
	}
	ts.Check(sceneOf(ts).start(ts))
	answer, failed, err := sceneOf(ts).server.call(args[0], args[1])
	ts.Check(err)
	_, err = fmt.Fprintln(ts.Stdout(), masked(answer))
	ts.Check(err)
	if failed != neg {
		ts.Fatalf("failed: %v, want %v\n%s", failed, neg, answer)
	}
}

func requestCommand(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: request FILE")
	}
	ts.Check(sceneOf(ts).start(ts))
	answer, err := sceneOf(ts).server.request(ts.ReadFile(args[0]))
	ts.Check(err)
	_, err = fmt.Fprintln(ts.Stdout(), masked(answer))
	ts.Check(err)
}

func tellCommand(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: tell FILE")
	}
	ts.Check(sceneOf(ts).start(ts))
	ts.Check(sceneOf(ts).server.tell(ts.ReadFile(args[0])))
}

func maskCommand(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: mask FILE")
	}
	_, err := io.WriteString(ts.Stdout(), maskText(ts.ReadFile(args[0])))
	ts.Check(err)
}

func inscriptionsCommand(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) > 1 {
		ts.Fatalf("usage: inscriptions [FILE]")
	}
	file := "bundles/demo/sessions/alpha/mcp.log"
	if len(args) == 1 {
		file = args[0]
	}
	w := sceneOf(ts)
	for line := range strings.Lines(ts.ReadFile(filepath.Join(w.state, "inscriptions", file))) {
		var record struct {
			Timestamp time.Time
			PID       int
			Event     string
			Details   json.RawMessage
		}
		ts.Check(json.Unmarshal([]byte(line), &record))
		if record.PID == 0 || record.Timestamp.IsZero() {
			ts.Fatalf("a record without pid or time: %s", line)
		}
		_, err := fmt.Fprintf(ts.Stdout(), "%s %s\n", record.Event, maskText(string(record.Details)))
		ts.Check(err)
	}
}

// afterCommand waits longer than a fault is kept, which is a second.
func afterCommand(*testscript.TestScript, bool, []string) { <-time.After(1100 * time.Millisecond) }
