package scripts_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/agentmux/agentmux-go/relayclient/demorelay"
	"github.com/agentmux/agentmux-go/relayclient/relaytest"
)

// A scene is what the commands of one script share.
type scene struct {
	state  string
	args   []string // of the server
	relay  io.Closer
	server *server // nil until a call needs it
}

type sceneKey struct{}

func sceneOf(ts *testscript.TestScript) *scene { return ts.Value(sceneKey{}).(*scene) }

// end ends what is left, the server first: a client that still talks would fail its script.
func (w *scene) end() error {
	var stopped, closed error
	if w.server != nil {
		stopped = w.server.stop()
		w.server = nil
	}
	if w.relay != nil {
		closed = w.relay.Close()
		w.relay = nil
	}
	return errors.Join(stopped, closed)
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
		ts.Check(w.end())
		return
	}
	text := ts.ReadFile(args[0])
	if strings.TrimSpace(text) != "" && !strings.Contains(text, `"frame":"hello"`) {
		text = usualHello + text + "\nsilence\n"
	}
	script, err := relaytest.Parse(args[0], []byte(text))
	ts.Check(err)
	relay, err := relaytest.Listen(w.socket(), script)
	ts.Check(err)
	w.relay = relay
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
	listener, err := net.Listen("unix", w.socket())
	ts.Check(err)
	live := liveRelay{demorelay.New(demorelay.Sample()), make(chan error, 1)}
	go func() { live.served <- live.relay.Serve(context.Background(), listener) }()
	w.relay = live
}

func serverCommand(ts *testscript.TestScript, neg bool, args []string) {
	if neg {
		ts.Fatalf("usage: server ARG... | server stop")
	}
	w := sceneOf(ts)
	if w.server != nil {
		ts.Check(w.server.stop())
		w.server = nil
	}
	if len(args) == 1 && args[0] == "stop" {
		return
	}
	w.args = args
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
		details := strings.ReplaceAll(string(record.Details), w.state, "$STATE")
		details = strings.ReplaceAll(details, ts.Getenv("WORK"), "$WORK")
		_, err := fmt.Fprintf(ts.Stdout(), "%s %s\n", record.Event, maskText(details))
		ts.Check(err)
	}
}

func afterCommand(*testscript.TestScript, bool, []string) { <-time.After(1100 * time.Millisecond) }

// A server is a process that speaks MCP with the script.
type server struct {
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    *bufio.Reader
	stderr bytes.Buffer
	last   int // id
}

// start starts the server if none runs.
func (w *scene) start(ts *testscript.TestScript) error {
	if w.server != nil {
		return nil
	}
	program, err := lookPath(ts.Getenv("PATH"), "agentmux-mcp")
	if err != nil {
		return err
	}
	s := &server{cmd: exec.Command(program, w.args...)}
	s.cmd.Dir = ts.MkAbs(".")
	for _, name := range []string{"PATH", "HOME", "TMPDIR", "STATE", "WORK", "XDG_CONFIG_HOME", "XDG_STATE_HOME",
		"AGENTMUX_BUNDLE", "AGENTMUX_SESSION", "AGENTMUX_STATE_DIRECTORY", "AGENTMUX_CONFIGURATION_DIRECTORY",
		"AGENTMUX_MCP_BUNDLE", "AGENTMUX_MCP_ERRORS", "GIT_DIR", "GIT_WORK_TREE"} {
		if value := ts.Getenv(name); value != "" {
			s.cmd.Env = append(s.cmd.Env, name+"="+value)
		}
	}
	s.cmd.Stderr = &s.stderr
	if s.in, err = s.cmd.StdinPipe(); err != nil {
		return err
	}
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		return err
	}
	s.out = bufio.NewReader(out)
	if err := s.cmd.Start(); err != nil {
		return err
	}
	w.server = s
	_, err = s.request(`{"jsonrpc":"2.0","id":"init","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"script","version":"1"}}}`)
	return err
}

func lookPath(path, name string) (string, error) {
	for _, dir := range filepath.SplitList(path) {
		if file := filepath.Join(dir, name); exec.Command(file).Err == nil {
			if info, err := os.Stat(file); err == nil && !info.IsDir() {
				return file, nil
			}
		}
	}
	return "", exec.ErrNotFound
}

// request sends lines and returns the next line that comes.
func (s *server) request(lines string) (string, error) {
	if _, err := io.WriteString(s.in, strings.TrimRight(lines, "\n")+"\n"); err != nil {
		return "", fmt.Errorf("the server does not read: %w\n%s", err, &s.stderr)
	}
	line, err := s.out.ReadString('\n')
	if err != nil {
		return "", fmt.Errorf("the server does not answer: %w\n%s", err, &s.stderr)
	}
	return line, nil
}

// call calls a tool and returns its answer as JSON.
func (s *server) call(tool, arguments string) (answer string, failed bool, err error) {
	s.last++
	line, err := s.request(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":%s}}`,
		s.last, tool, strings.ReplaceAll(arguments, "\n", " ")))
	if err != nil {
		return "", false, err
	}
	var response struct {
		ID     int
		Result *struct {
			Content           []struct{ Text string }
			StructuredContent json.RawMessage
			IsError           bool
		}
		Error json.RawMessage
	}
	if err := json.Unmarshal([]byte(line), &response); err != nil {
		return "", false, err
	}
	switch {
	case response.ID != s.last:
		return "", false, fmt.Errorf("another call's answer: %s", line)
	case response.Error != nil:
		return string(response.Error), true, nil
	case len(response.Result.Content) != 1 || !sameJSON(response.Result.Content[0].Text, string(response.Result.StructuredContent)):
		return "", false, fmt.Errorf("text and structured content differ: %s", line)
	}
	return string(response.Result.StructuredContent), response.Result.IsError, nil
}

// stop ends the input and waits for the process.
func (s *server) stop() error {
	_ = s.in.Close() // a server that has ended has closed it
	rest, err := io.ReadAll(s.out)
	if err := errors.Join(err, s.cmd.Wait()); err != nil {
		return fmt.Errorf("the server ended badly: %w\n%s", err, &s.stderr)
	}
	if len(rest) > 0 {
		return fmt.Errorf("the server said more than it was asked: %s", rest)
	}
	return nil
}

func sameJSON(a, b string) bool { return laidOut(a) == laidOut(b) }

// masked is JSON as golden sections show it.
func masked(answer string) string { return maskText(laidOut(answer)) }

// laidOut is JSON with an indentation and sorted keys.
func laidOut(text string) string {
	dec := json.NewDecoder(strings.NewReader(text))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return err.Error()
	}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(v); err != nil {
		return err.Error()
	}
	return strings.TrimSpace(out.String())
}

var scriptMasks = []struct {
	pattern *regexp.Regexp
	mask    string
}{
	{regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`), "<uuid>"},
	{regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z`), "<time>"},
	{regexp.MustCompile(`/tmp/amx\d+`), "$$STATE"},
	{regexp.MustCompile(`"version":"[^"]*"`), `"version":"<version>"`},
	{regexp.MustCompile(`/[^ "]*/script-[a-z0-9_]+`), "$$WORK"},
}

func maskText(text string) string {
	for _, m := range scriptMasks {
		text = m.pattern.ReplaceAllString(text, m.mask)
	}
	return text
}
