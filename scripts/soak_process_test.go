package scripts_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// TestSoakProcess is TestSoak through the finished command, in real time: JSON-RPC lines on standard input and output, a
// relay that is unreliable on a Unix socket, an event log on disk. The relay never stalls for seconds here. Malformed
// lines come in between; each line that asks for an answer gets one. At the end of its input the process exits with
// status 0 and an empty standard error.
func TestSoakProcess(t *testing.T) {
	t.Parallel()
	n := soakSize(t, 500)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ledger := newSoakLedger(t)
	relay := newUnreliableRelay(ctx, ledger)
	state := soakState(t)
	listened := make(chan error, 1)
	go func() { listened <- relay.listen(state + "/relay.sock") }()

	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(ctx, self, // not newProcess: a long soak outlives its patience
		"--bundle", "demo", "--session-name", "alpha", "--config-directory", state+"/config", "--state-directory", state)
	cmd.Args[0] = "agentmux-mcp"
	cmd.Env = []string{"HOME=" + t.TempDir(), "GORACE=atexit_sleep_ms=0 " + os.Getenv("GORACE")}
	cmd.Dir = t.TempDir()
	var stderr strings.Builder
	cmd.Stderr = &stderr
	in, out := startPiped(t, cmd)
	client := &lineClient{
		t: t, in: in, waiting: make(map[string]chan soakOutcome), unnamed: make(map[int]int), gone: make(chan struct{}),
	}
	go client.read(out)
	client.roundTrip("0", strings.TrimSpace(initialize))

	atHalf, atEnd := soak(ctx, ledger, n, client.ask, func() int { return resident(cmd.Process.Pid) })
	// Without the race detector it is flat. With it, 25 MiB were seen over 50,000 calls.
	if atEnd > atHalf+64<<20 {
		t.Errorf("resident memory grew from %d to %d bytes over the second half", atHalf, atEnd)
	}

	_ = in.Close()
	<-client.gone
	if err := cmd.Wait(); err != nil || stderr.Len() > 0 {
		t.Errorf("the process ended with %v and said %q", err, &stderr)
	}
	cancel()
	if err := <-listened; err != nil {
		t.Error(err)
	}
	relay.serving.Wait()
	client.check()
	readSoakLog(t, ledger, state+"/inscriptions/bundles/demo/sessions/alpha/mcp.log")
	ledger.check()
}

// soakState makes a state directory with a configuration of three bundles in it, and a credential for alpha.
func soakState(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "amx") // short: a socket's path is bounded
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	for path, text := range map[string]string{
		"config/coders.toml":                       usualCoders,
		"config/bundles/demo.toml":                 usualBundle,
		"config/bundles/east.toml":                 usualBundle,
		"config/bundles/west.toml":                 usualBundle,
		"bundles/demo/sessions/alpha/identity.psk": soakSecret + "-token\n",
	} {
		path = dir + "/" + path
		if err := os.MkdirAll(path[:strings.LastIndexByte(path, '/')], 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// resident is the memory that a process has in use, in bytes; 0 where the system does not tell.
func resident(pid int) int {
	status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	_, size, _ := strings.Cut(string(status), "VmRSS:")
	size, _, _ = strings.Cut(size, " kB")
	kilobytes, _ := strconv.Atoi(strings.TrimSpace(size))
	return kilobytes << 10
}

// readSoakLog hands an event log to the ledger, whose lines have to be whole.
func readSoakLog(t *testing.T, ledger *soakLedger, path string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(text) {
		var record struct {
			Event   string
			Details json.RawMessage
		}
		if err := json.Unmarshal(line, &record); err != nil || !bytes.HasSuffix(line, []byte("\n")) {
			t.Errorf("%q is no record: %v", line, err)
			continue
		}
		ledger.inscribed(record.Event, string(record.Details))
	}
}

// strayLines are what clients send beside calls of tools. A line with an ID gets an error of the code, a line without one
// gets that error with the id null, or, where the code is 0, nothing.
var strayLines = []struct {
	line string
	code int
}{
	{`{bad`, -32700},
	{"\xff\xfe", -32700},
	{`5`, -32600},
	{`[{"jsonrpc":"2.0","id":1,"method":"ping"}]`, -32600},
	{`{"jsonrpc":"2.0"}`, -32600},
	{`{"jsonrpc":"2.0","id":1.5,"method":"ping"}`, -32600},
	{`{"jsonrpc":"2.0","id":{},"method":"ping"}`, -32600},
	{`{"jsonrpc":"1.0","id":ID,"method":"ping"}`, -32600},
	{`{"jsonrpc":"2.0","id":ID,"method":"no/such"}`, -32601},
	{`{"jsonrpc":"2.0","id":ID,"method":"tools/call","params":{"name":"no_such"}}`, -32602},
	{`{"jsonrpc":"2.0","id":ID,"method":"tools/call","params":5}`, -32602},
	{``, 0},
	{`{"jsonrpc":"2.0","method":"notifications/no_such"}`, 0},
	{`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"nobody's"}}`, 0},
}

// A lineClient is an MCP client that speaks in lines. Ids are used once.
type lineClient struct {
	t    *testing.T
	in   io.Writer
	gone chan struct{} // closed at the end of the output

	mu      sync.Mutex
	waiting map[string]chan soakOutcome // by id, as JSON
	unnamed map[int]int                 // errors with the id null that are owed, by code
}

// ask makes a call of the soak, and at times sends a stray line first.
func (l *lineClient) ask(ctx context.Context, c soakCall) soakOutcome {
	id := strconv.Itoa(c.number + 1)
	if c.number%2 == 0 {
		id = `"call ` + id + `"`
	}
	if c.number%10 == 0 {
		l.stray(c.number / 10)
	}
	arguments, err := json.Marshal(c.params)
	if err != nil {
		return soakOutcome{lost: err.Error()}
	}
	answer := l.expect(id)
	l.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, id, c.tool, arguments))
	if o := l.await(ctx, answer); !o.cancelled {
		return o
	}
	l.send(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%s}}`, id))
	// What was answered before the server read that has come before the answer to this. Nothing may come after.
	ping := fmt.Sprintf(`"after %d"`, c.number)
	if o := l.roundTrip(ping, fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":"ping"}`, ping)); o.Result == nil {
		return soakOutcome{lost: "a ping was not answered"}
	}
	l.mu.Lock()
	delete(l.waiting, id)
	l.mu.Unlock()
	select {
	case o := <-answer:
		return o
	default:
		return soakOutcome{cancelled: true}
	}
}

// stray sends a stray line and waits for the answer to it that has an id.
func (l *lineClient) stray(number int) {
	stray := strayLines[number%len(strayLines)]
	if !strings.Contains(stray.line, "ID") {
		l.mu.Lock()
		if stray.code != 0 {
			l.unnamed[stray.code]++
		}
		l.mu.Unlock()
		l.send(stray.line)
		return
	}
	id := fmt.Sprintf(`"stray %d"`, number)
	o := l.roundTrip(id, strings.Replace(stray.line, "ID", id, 1))
	var e struct{ Code int }
	if err := json.Unmarshal(o.Error, &e); err != nil || e.Code != stray.code {
		l.t.Errorf("%s was answered with %s, want code %d", stray.line, o.Error, stray.code)
	}
}

// roundTrip sends a line that has an id and waits for its answer.
func (l *lineClient) roundTrip(id, line string) soakOutcome {
	answer := l.expect(id)
	l.send(line)
	return l.await(context.Background(), answer)
}

// await waits for an answer, until ctx ends.
func (l *lineClient) await(ctx context.Context, answer <-chan soakOutcome) soakOutcome {
	select {
	case o := <-answer:
		return o
	case <-ctx.Done():
		return soakOutcome{cancelled: true}
	case <-l.gone:
		return soakOutcome{lost: "the server ended"}
	case <-time.After(scriptPatience):
		return soakOutcome{lost: "no answer came within " + scriptPatience.String()}
	}
}

func (l *lineClient) expect(id string) <-chan soakOutcome {
	l.mu.Lock()
	defer l.mu.Unlock()
	answer := make(chan soakOutcome, 1)
	l.waiting[id] = answer
	return answer
}

// send writes a line. A pipe takes concurrent writes one after the other.
func (l *lineClient) send(line string) {
	if _, err := io.WriteString(l.in, line+"\n"); err != nil {
		l.t.Errorf("the server does not read: %v", err)
	}
}

// read hands out the answers that come, until the end of the output.
func (l *lineClient) read(out io.Reader) {
	defer close(l.gone)
	lines := bufio.NewReader(out)
	for {
		line, err := lines.ReadBytes('\n')
		if err == io.EOF && len(line) == 0 {
			return
		}
		if err != nil {
			l.t.Errorf("after %q: %v", line, err)
			return
		}
		var response struct {
			ID json.RawMessage
			soakOutcome
		}
		if err := json.Unmarshal(line, &response); err != nil {
			l.t.Errorf("the server said %q: %v", line, err)
			continue
		}
		l.hand(string(response.ID), response.soakOutcome)
	}
}

// hand hands an answer to who waits for it.
func (l *lineClient) hand(id string, o soakOutcome) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if answer := l.waiting[id]; answer != nil {
		delete(l.waiting, id)
		answer <- o
		return
	}
	var e struct{ Code int }
	if err := json.Unmarshal(o.Error, &e); err == nil && id == "null" && l.unnamed[e.Code] > 0 {
		l.unnamed[e.Code]--
		return
	}
	l.t.Errorf("nobody waits for this: id %s, result %s, error %s", id, o.Result, o.Error)
}

// check makes sure that nothing is owed, when the server has ended.
func (l *lineClient) check() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for code, n := range l.unnamed {
		if n != 0 {
			l.t.Errorf("%d malformed lines did not get their error %d", n, code)
		}
	}
}
