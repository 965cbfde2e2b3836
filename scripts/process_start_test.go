package scripts_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A hangingGit is a git that hangs once it is told to; until then it fails.
type hangingGit struct{ directory string }

// newHangingGit makes the program in a directory. What hangs ends with the test.
func newHangingGit(t *testing.T, directory string) hangingGit {
	t.Helper()
	g := hangingGit{directory}
	if err := errors.Join(syscall.Mkfifo(g.path("started"), 0o600), syscall.Mkfifo(g.path("end"), 0o600)); err != nil {
		t.Fatal(err)
	}
	held, err := os.OpenFile(g.path("end"), os.O_RDWR, 0) // Git hangs until this is closed
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = held.Close() })
	program := "#!/bin/sh\n[ -e " + g.path("hang") + " ] || exit 1\nexec 3<" + g.path("end") + "\necho >" + g.path("started") + "\nexec cat <&3\n"
	if err := os.WriteFile(g.path("git"), []byte(program), 0o700); err != nil {
		t.Fatal(err)
	}
	return g
}

func (g hangingGit) path(name string) string { return filepath.Join(g.directory, name) }

// variable makes it the git of a process.
func (g hangingGit) variable() string { return "PATH=" + g.directory + ":" + os.Getenv("PATH") }

func (g hangingGit) hang(t *testing.T) {
	t.Helper()
	if err := os.WriteFile(g.path("hang"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
}

// hangs waits until it does.
func (g hangingGit) hangs() error {
	_, err := os.ReadFile(g.path("started"))
	return err
}

// A signal ends a server that is still starting, too: it does not wait for a Git that hangs, and goes no further.
func TestSignalAtStart(t *testing.T) {
	t.Parallel()
	dir, args := configured(t)
	git := newHangingGit(t, dir)
	git.hang(t)
	cmd := newProcess(t, args...)
	cmd.Env = append(cmd.Env, git.variable())
	_, _ = startPiped(t, cmd)
	if err := git.hangs(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	err := cmd.Wait()
	if got, want := cmd.ProcessState.ExitCode(), 128+int(syscall.SIGTERM); got != want {
		t.Errorf("ended with %v, want status %d", err, want)
	}
	if _, err := os.Stat(dir + "/inscriptions"); err == nil {
		t.Error("the server went on starting before it ended")
	}
}

// The call that looks anew who the server is waits for a Git that hangs. Those beside it are answered meanwhile.
func TestCallsWhileGitHangs(t *testing.T) {
	t.Parallel()
	dir, args := configured(t)
	git := newHangingGit(t, dir)
	cmd := newProcess(t, args[4:]...) // without bundle and session: they are guessed, in vain
	cmd.Env = append(cmd.Env, git.variable())
	in, out := startPiped(t, cmd)
	if _, err := io.WriteString(in, initialize); err != nil {
		t.Fatal(err)
	}
	answers := bufio.NewScanner(out)
	answers.Scan()
	git.hang(t)
	hanging := make(chan error, 1)
	go func() { hanging <- git.hangs() }()
	help := func(id int) {
		line := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"help","arguments":{}}}`+"\n", id)
		if _, err := io.WriteString(in, line); err != nil {
			t.Fatal(err)
		}
	}
	// The last one of these finds Git hanging. It takes a while until the server looks anew.
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	waiting := 0
	for hangs := false; !hangs; {
		select {
		case err := <-hanging:
			if err != nil {
				t.Fatal(err)
			}
			hangs = true
		case <-tick.C:
			waiting++
			help(waiting)
		}
	}
	const beside = 1000
	help(beside)
	var answered []string
	for answers.Scan() {
		id, _, _ := strings.Cut(strings.TrimPrefix(answers.Text(), `{"jsonrpc":"2.0","id":`), ",")
		answered = append(answered, id)
		if id == fmt.Sprint(beside) {
			break
		}
	}
	if len(answered) > waiting {
		t.Errorf("answered %v: the call beside had to wait for the one that looks anew", answered)
	}
}
