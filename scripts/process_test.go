package scripts_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/agentmux/agentmux-go/relayclient/relaytest"
)

const initialize = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"0"}}}` + "\n"

// up is a call that a stalled world does not answer: it would wait for a minute.
const up = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"updown","arguments":{"command":"up"}}}` + "\n"

// newProcess is agentmux-mcp, not started yet. TestMain runs it in a process of this test binary. One that outlives its
// test by far is killed, which fails the test.
func newProcess(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self, args...)
	cmd.Args[0] = "agentmux-mcp"
	cmd.Env = []string{"HOME=" + t.TempDir(), "PATH=" + os.Getenv("PATH")}
	cmd.Dir = t.TempDir()
	kill := time.AfterFunc(time.Minute, func() { _ = cmd.Process.Kill() })
	t.Cleanup(func() { kill.Stop() })
	return cmd
}

// configured makes a configuration and a state directory, which are one, and returns the arguments of alpha@demo.
func configured(t *testing.T) (dir string, args []string) {
	t.Helper()
	dir, err := os.MkdirTemp("", "amx") // short: a socket's path is bounded
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.MkdirAll(dir+"/config/bundles", 0o700); err != nil {
		t.Fatal(err)
	}
	for path, text := range map[string]string{"coders.toml": usualCoders, "bundles/demo.toml": usualBundle} {
		if err := os.WriteFile(dir+"/config/"+path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir, []string{"--bundle", "demo", "--session-name", "alpha", "--config-directory", dir + "/config", "--state-directory", dir}
}

// stalledWorld is a configuration and a relay that greets and then only listens. It tells when it was asked to go up.
func stalledWorld(t *testing.T) (args []string, asked <-chan struct{}) {
	t.Helper()
	dir, args := configured(t)
	listener, err := net.Listen("unix", dir+"/relay.sock")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	up := make(chan struct{})
	go func() {
		stream, err := listener.Accept()
		if err != nil {
			return // the test has ended
		}
		defer stream.Close()
		lines := bufio.NewScanner(stream)
		for lines.Scan() {
			switch {
			case strings.Contains(lines.Text(), `"hello"`):
				fmt.Fprintln(stream, `{"frame":"hello_ack","schema_version":"1","principal_id":"alpha@demo"}`)
			case strings.Contains(lines.Text(), `"up"`):
				close(up)
			}
		}
	}()
	return args, up
}

// A signal ends the server at once, whether it is idle or a call waits: the call, which had a minute, gets no answer.
func TestSignals(t *testing.T) {
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP} {
		for _, busy := range []bool{false, true} {
			name := sig.String() + " idle"
			if busy {
				name = sig.String() + " busy"
			}
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				args, asked := []string{"--demo"}, make(<-chan struct{})
				if busy {
					args, asked = stalledWorld(t)
				}
				cmd := newProcess(t, args...)
				in, stdout := startPiped(t, cmd)
				out := bufio.NewReader(stdout)
				if _, err := io.WriteString(in, initialize); err != nil {
					t.Fatal(err)
				}
				if _, err := out.ReadString('\n'); err != nil {
					t.Fatal(err)
				}
				if busy {
					if _, err := io.WriteString(in, up); err != nil {
						t.Fatal(err)
					}
					<-asked
				}
				if err := cmd.Process.Signal(sig); err != nil {
					t.Fatal(err)
				}
				rest, _ := io.ReadAll(out)
				err := cmd.Wait()
				exit, ok := errors.AsType[*exec.ExitError](err)
				if !ok || exit.ExitCode() != 128+int(sig) || len(rest) > 0 {
					t.Errorf("ended with %v and %q, want status %d and nothing", err, rest, 128+int(sig))
				}
			})
		}
	}
}

// startPiped starts cmd and returns its input and what its standard output can be read from.
func startPiped(t *testing.T, cmd *exec.Cmd) (in io.WriteCloser, out *os.File) {
	t.Helper()
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = out.Close() }) // again, for some
	cmd.Stdout = write
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_ = write.Close() // the process has its own
	return in, out
}

// A client that closed its end is gone: the server ends quietly at the next thing that it has to say.
func TestClosedStandardOutput(t *testing.T) {
	t.Parallel()
	cmd := newProcess(t, "--demo")
	var stderr strings.Builder
	cmd.Stderr = &stderr
	in, out := startPiped(t, cmd)
	_ = out.Close()
	if _, err := io.WriteString(in, initialize); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil || stderr.Len() > 0 {
		t.Errorf("ended with %v and said %q", err, &stderr)
	}
}

// A client that does not read keeps the server neither from reading, nor from its work, nor alive once it has closed its
// other end or sent a signal.
func TestClientThatDoesNotRead(t *testing.T) {
	const answers = 50 // of some 20 KiB, of which a pipe takes a few
	for _, sig := range []syscall.Signal{0, syscall.SIGTERM} {
		name := "end of input"
		if sig != 0 {
			name = sig.String()
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			args, asked := stalledWorld(t)
			cmd := newProcess(t, args...)
			in, out := startPiped(t, cmd)
			flood := initialize
			for i := range answers {
				flood += fmt.Sprintf(`{"jsonrpc":"2.0","id":"%d","method":"tools/list"}`+"\n", i)
			}
			if _, err := io.WriteString(in, flood+up); err != nil {
				t.Fatal(err)
			}
			<-asked
			want := 0
			if sig == 0 {
				if err := in.Close(); err != nil {
					t.Fatal(err)
				}
			} else {
				want = 128 + int(sig)
				if err := cmd.Process.Signal(sig); err != nil {
					t.Fatal(err)
				}
			}
			err := cmd.Wait()
			if got := cmd.ProcessState.ExitCode(); got != want {
				t.Errorf("ended with %v, want status %d", err, want)
			}
			if said, err := io.ReadAll(out); err != nil || bytes.Count(said, []byte("\n")) >= answers {
				t.Errorf("all answers fitted the pipe (%d bytes), or %v", len(said), err)
			}
		})
	}
}

// A client that is killed takes the server with it, though it can't say goodbye, and though a call waits.
func TestParentKilled(t *testing.T) {
	// A shell is the client, and the only one that holds the other end of the server's input.
	const client = `mkfifo in && exec 3<>in && { "$0" "$@" <in 3>&- & } && echo $! >pid &&
		while read -r line; do printf '%s\n' "$line" >&3; done`
	for _, busy := range []bool{false, true} {
		name := "idle"
		if busy {
			name = "busy"
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			args, asked := stalledWorld(t)
			cmd := newProcess(t)
			program := filepath.Join(t.TempDir(), cmd.Args[0]) // a name that TestMain knows
			if err := os.Symlink(cmd.Path, program); err != nil {
				t.Fatal(err)
			}
			cmd.Path, cmd.Args = "/bin/sh", append([]string{"sh", "-c", client, program}, args...)
			in, out := startPiped(t, cmd)
			if _, err := io.WriteString(in, initialize); err != nil {
				t.Fatal(err)
			}
			lines := bufio.NewReader(out)
			if _, err := lines.ReadString('\n'); err != nil {
				t.Fatal(err)
			}
			if busy {
				if _, err := io.WriteString(in, up); err != nil {
					t.Fatal(err)
				}
				<-asked
			}
			if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			// The server has the other end of its output, which ends when it does.
			_ = out.SetReadDeadline(time.Now().Add(scriptPatience))
			if rest, err := io.ReadAll(lines); err != nil || len(rest) > 0 {
				t.Errorf("the server lives on, or said %q: %v", rest, err)
				killServer(t, cmd.Dir+"/pid")
			}
		})
	}
}

// killServer kills the process whose id is in a file.
func killServer(t *testing.T, file string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	_ = syscall.Kill(pid, syscall.SIGKILL)
}

// Twenty calls at once are answered in another order than they were made, and one never: each gets its own answer,
// and none waits for the one.
func TestTwentyCallsAtOnce(t *testing.T) {
	t.Parallel()
	const calls, stalled = 20, 7
	var asked, said strings.Builder
	requests := initialize
	for i := range calls {
		requests += fmt.Sprintf(`{"jsonrpc":"2.0","id":"c%d","method":"tools/call","params":{"name":"look","arguments":{"target_session":"t%[1]d@demo"}}}`+"\n", i)
		fmt.Fprintf(&asked, `> {"frame":"request","request_id":"$r%d","namespace":"demo","request":{"operation":"look","target_session":"t%[1]d@demo","...":""}}`+"\n", i)
		if last := calls - 1 - i; last != stalled {
			fmt.Fprintf(&said, `< {"frame":"response","request_id":"$r%d","response":{"kind":"look","target_session":"t%[1]d@demo","snapshot_format":"lines","snapshot_lines":[]}}`+"\n", last)
		}
	}
	script, err := relaytest.Parse("twenty", []byte(usualHello+"{\n"+asked.String()+"}\n"+said.String()+"silence\n"))
	if err != nil {
		t.Fatal(err)
	}
	dir, args := configured(t)
	relay, err := relaytest.Listen(dir+"/relay.sock", script)
	if err != nil {
		t.Fatal(err)
	}
	cmd := newProcess(t, args...)
	in, out := startPiped(t, cmd)
	if _, err := io.WriteString(in, requests); err != nil {
		t.Fatal(err)
	}
	answered := make(map[string]bool)
	lines := bufio.NewReader(out)
	for range calls { // among them that of initialize
		line, err := lines.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		var answer struct {
			ID     any
			Result struct {
				StructuredContent struct {
					Target string `json:"target_session"`
				}
			}
		}
		if err := json.Unmarshal([]byte(line), &answer); err != nil {
			t.Fatal(err)
		}
		id := fmt.Sprint(answer.ID)
		if want := "t" + id[1:] + "@demo"; id != "0" && answer.Result.StructuredContent.Target != want || answered[id] {
			t.Errorf("another call's answer, or a second one: %s", line)
		}
		answered[id] = true
	}
	if answered[fmt.Sprint("c", stalled)] {
		t.Error("the call that the relay did not answer was answered")
	}
	cancel := fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"c%d"}}`+"\n", stalled)
	if _, err := io.WriteString(in, cancel); err != nil {
		t.Fatal(err)
	}
	if err := in.Close(); err != nil {
		t.Fatal(err)
	}
	rest, _ := io.ReadAll(lines)
	if err := errors.Join(cmd.Wait(), relay.Close()); err != nil || len(rest) > 0 {
		t.Errorf("ended with %v, and said %q", err, rest)
	}
}
