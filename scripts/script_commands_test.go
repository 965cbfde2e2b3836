package scripts_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/agentmux/agentmux-go/relayclient/demorelay"
	"github.com/agentmux/agentmux-go/relayclient/relaytest"
)

// A scene is what the commands of one script share.
type scene struct {
	state   string
	program string    // agentmux-mcp; a script may change the PATH
	args    []string  // of the server
	relay   io.Closer // nil while none runs
	server  *server   // nil until a call needs it
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
	return errors.Join(stopped, w.endRelay())
}

func (w *scene) endRelay() error {
	if w.relay == nil {
		return nil
	}
	relay := w.relay
	w.relay = nil
	return relay.Close()
}

// serve makes a relay the one of the scene, of which there is one at a time.
func (w *scene) serve(ts *testscript.TestScript, relay io.Closer, err error) {
	ts.Check(err)
	w.relay = relay
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
	ts.Check(w.endRelay())
	if args[0] == "stop" {
		return
	}
	text := ts.ReadFile(args[0])
	if strings.TrimSpace(text) != "" && !strings.Contains(text, `"frame":"hello"`) {
		text = usualHello + text + "\nsilence\n"
	}
	script, err := relaytest.Parse(args[0], []byte(text))
	ts.Check(err)
	relay, err := relaytest.Listen(w.socket(), script)
	w.serve(ts, relay, err)
}

func receivedCommand(ts *testscript.TestScript, neg bool, args []string) {
	relay, scripted := sceneOf(ts).relay.(*relaytest.Relay)
	if neg || len(args) != 1 || !scripted {
		ts.Fatalf("usage, with a scripted relay: received N")
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
	ts.Check(w.endRelay())
	listener, err := net.Listen("unix", w.socket())
	ts.Check(err)
	live := liveRelay{demorelay.New(demorelay.Sample()), make(chan error, 1)}
	go func() { live.served <- live.relay.Serve(context.Background(), listener) }()
	w.serve(ts, live, nil)
}

func serverCommand(ts *testscript.TestScript, neg bool, args []string) {
	if neg {
		ts.Fatalf("usage: server ARG... | server stop")
	}
	w := sceneOf(ts)
	if w.server != nil {
		s := w.server
		w.server = nil
		err := s.stop()
		_, printErr := io.WriteString(ts.Stderr(), maskText(s.stderr.String()))
		ts.Check(errors.Join(err, printErr))
	}
	if len(args) != 1 || args[0] != "stop" {
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
