//go:build unix

package relayclient

import (
	"bufio"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/agentmux/agentmux-go/wire"
)

// strangerSocket has this test binary listen at a path and print what it is sent.
const strangerSocket = "RELAYCLIENT_STRANGER_SOCKET"

func TestMain(m *testing.M) {
	if path := os.Getenv(strangerSocket); path != "" {
		listenAsStranger(path)
		return
	}
	if path := os.Getenv(playedSocket); path != "" {
		playScript(path)
		return
	}
	os.Exit(m.Run())
}

func listenAsStranger(path string) {
	l, err := net.Listen("unix", path)
	if err == nil {
		err = os.Chmod(path, 0o666)
	}
	if err != nil {
		panic(err)
	}
	println("listening")
	stream, err := l.Accept()
	if err != nil {
		panic(err)
	}
	line, _ := bufio.NewReader(stream).ReadString('\n')
	println("got", line)
}

// A socket that another user serves gets no credential: not a byte.
func TestSocketOfAnotherUser(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can run a process of another user")
	}
	dir := shortDir(t)
	check(t, os.Chmod(dir, 0o777))
	self, err := os.Executable()
	check(t, err)
	program := filepath.Join(dir, "stranger") // where the other user may run it
	text, err := os.ReadFile(self)
	check(t, err)
	check(t, os.WriteFile(program, text, 0o755))

	const nobody = 65534
	socket := filepath.Join(dir, "relay.sock")
	stranger := exec.Command(program)
	stranger.Env = append(os.Environ(), strangerSocket+"="+socket)
	stranger.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	stderr, err := stranger.StderrPipe()
	check(t, err)
	check(t, stranger.Start())
	said := bufio.NewReader(stderr)
	if line, err := said.ReadString('\n'); line != "listening\n" {
		t.Fatalf("the stranger said %q: %v", line, err)
	}

	c := New(Config{Socket: socket, Principal: "a@demo", Token: func() wire.Secret {
		t.Error("the credential was read")
		return wire.NewSecret("made-up-key")
	}})
	defer c.Close()
	_, err = c.Do(t.Context(), "", &wire.ChoicesList{})
	if e, ok := err.(*Error); !ok || e.IO != PermissionDenied || e.Kind != Unexpected {
		t.Errorf("got %v, want PermissionDenied", err)
	}
	if line, _ := said.ReadString('\n'); strings.TrimSpace(line) != "got" {
		t.Errorf("the stranger %s", line)
	}
	check(t, stranger.Wait())
}
