package scripts_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
)

const initialize = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"0"}}}` + "\n"

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

// stalledWorld is a configuration, and a relay that greets and then only listens. It tells when it was asked to go up.
func stalledWorld(t *testing.T) (args []string, asked <-chan struct{}) {
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
	return []string{"--bundle", "demo", "--session-name", "alpha", "--config-directory", dir + "/config", "--state-directory", dir}, up
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
					call := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"updown","arguments":{"command":"up"}}}`
					if _, err := io.WriteString(in, call+"\n"); err != nil {
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

// A client that does not read does not keep the server alive once it has closed its other end.
func TestClientThatDoesNotRead(t *testing.T) {
	t.Parallel()
	cmd := newProcess(t, "--demo")
	in, _ := startPiped(t, cmd)
	flood := initialize + strings.Repeat(`{"jsonrpc":"2.0","id":"x","method":"tools/list"}`+"\n", 50)
	if _, err := io.WriteString(in, flood); err != nil {
		t.Fatal(err)
	}
	if err := in.Close(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("ended with %v", err)
	}
}
