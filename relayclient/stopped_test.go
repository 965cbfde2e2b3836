//go:build unix

package relayclient

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/agentmux/agentmux-go/relayclient/relaytest"
	"github.com/agentmux/agentmux-go/wire"
)

// playedSocket has this test binary play a script of playedScript at a path until its input ends.
const (
	playedSocket = "RELAYCLIENT_PLAYED_SOCKET"
	playedScript = "RELAYCLIENT_PLAYED_SCRIPT"
)

func playScript(path string) {
	script, err := relaytest.Parse("script", []byte(os.Getenv(playedScript)))
	if err != nil {
		panic(err)
	}
	relay, err := relaytest.Listen(path, script)
	if err != nil {
		panic(err)
	}
	println("listening")
	_, _ = io.ReadAll(os.Stdin)
	if err := relay.Close(); err != nil {
		panic(err)
	}
}

// A loudStream tells when something was written to it.
type loudStream struct {
	net.Conn
	wrote chan<- struct{}
}

func (s loudStream) Write(p []byte) (int, error) {
	n, err := s.Conn.Write(p)
	s.wrote <- struct{}{}
	return n, err
}

// A relay process that is stopped takes what is written and says nothing. A call that gives up is not held up; when the
// process goes on, those that still wait are answered, on the same connection, and nothing was sent twice.
func TestStoppedRelay(t *testing.T) {
	socket := filepath.Join(shortDir(t), "relay.sock")
	self, err := os.Executable()
	check(t, err)
	relay := exec.Command(self)
	relay.Env = append(os.Environ(), playedSocket+"="+socket, playedScript+"="+`
		> {"frame":"hello","schema_version":"1","principal_id":"alpha@demo","identity_token":"socket-trust"}
		< {"frame":"hello_ack","schema_version":"1","principal_id":"alpha@demo"}
		> {"frame":"request","request_id":"$list","namespace":"demo","request":{"operation":"choices_list"}}
		< {"frame":"response","request_id":"$list","response":{"kind":"choices_list","pending_requests":[]}}
		> {"frame":"request","request_id":"$send","request":{"operation":"send","...":""}}
		> {"frame":"request","request_id":"$raww","request":{"operation":"raww","...":""}}
		< {"frame":"response","request_id":"$send","response":{"kind":"send","results":[]}}
		< {"frame":"response","request_id":"$raww","response":{"kind":"raww","status":"queued"}}
		> {"frame":"request","request_id":"$next","namespace":"demo","request":{"operation":"choices_list"}}
		< {"frame":"response","request_id":"$next","response":{"kind":"choices_list","pending_requests":[]}}
		silence`)
	in, err := relay.StdinPipe()
	check(t, err)
	stderr, err := relay.StderrPipe()
	check(t, err)
	check(t, relay.Start())
	defer relay.Process.Kill()
	said := bufio.NewReader(stderr)
	if line, err := said.ReadString('\n'); line != "listening\n" {
		t.Fatalf("the relay said %q: %v", line, err)
	}

	wrote := make(chan struct{}, 10)
	c := New(Config{Socket: socket, Principal: "alpha@demo", Dial: func(ctx context.Context, socket string) (net.Conn, error) {
		stream, err := dialTrusted(ctx, socket)
		return loudStream{stream, wrote}, err
	}})
	defer c.Close()
	do := func(ctx context.Context, op wire.Operation) <-chan error {
		result := make(chan error, 1)
		go func() {
			_, err := c.Do(ctx, "", op)
			result <- err
		}()
		return result
	}
	check(t, <-do(t.Context(), &wire.ChoicesList{}))
	<-wrote // the hello
	<-wrote

	check(t, relay.Process.Signal(syscall.SIGSTOP))
	var status syscall.WaitStatus
	_, err = syscall.Wait4(relay.Process.Pid, &status, syscall.WUNTRACED, nil)
	if err != nil || !status.Stopped() {
		t.Fatalf("the relay did not stop: %v, %v", status, err)
	}
	gone := errors.New("the client went away")
	ctx, cancel := context.WithCancelCause(t.Context())
	given := do(ctx, &wire.Send{RequesterSession: "alpha"})
	<-wrote
	patient := do(t.Context(), &wire.Raww{RequesterSession: "alpha"})
	<-wrote
	cancel(gone)
	if err := <-given; err != gone {
		t.Errorf("the call that was given up ended with %v", err)
	}
	check(t, relay.Process.Signal(syscall.SIGCONT))
	if err := <-patient; err != nil {
		t.Errorf("the call that waited failed: %v", err)
	}
	if err := <-do(t.Context(), &wire.ChoicesList{}); err != nil {
		t.Errorf("the next call failed: %v", err)
	}

	c.Close()
	check(t, in.Close())
	rest, _ := io.ReadAll(said)
	if err := relay.Wait(); err != nil || strings.TrimSpace(string(rest)) != "" {
		t.Errorf("the relay ended with %v: %s", err, rest)
	}
}
