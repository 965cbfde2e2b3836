package scripts_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// patience is how long a test waits for something to come about.
const patience = 20 * time.Second

// A world is a directory with the configuration and the state of one relay, and that relay: bundle demo with
// alpha and bravo in terminals and coder, an ACP agent.
type world struct {
	programs
	root  string        // short: the path of a socket ends at 107 bytes
	relay *exec.Cmd     // nil while none runs
	ended chan struct{} // closed when the relay has ended
}

// newWorld makes a world without a relay. It ends with t, and leaves nothing behind.
func (p programs) newWorld(t *testing.T) *world {
	t.Helper()
	root, err := os.MkdirTemp("", "amx")
	if err != nil {
		t.Fatal(err)
	}
	w := &world{programs: p, root: root}
	t.Cleanup(func() {
		if w.relay != nil {
			w.endRelay(t, syscall.SIGTERM)
		}
		// A relay that was killed left its terminals. Where there are none, tmux says so and that is well.
		_ = w.tmux("kill-server").Run()
		if t.Failed() {
			t.Logf("the relay printed:\n%s", w.read(t, "relay.out"))
		}
		if err := os.RemoveAll(root); err != nil {
			t.Error(err)
		}
	})
	w.configure(t)
	if err := os.Mkdir(w.path("state"), 0o700); err != nil {
		t.Fatal(err)
	}
	return w
}

// start makes a world in which the relay runs.
func (p programs) start(t *testing.T) *world {
	t.Helper()
	w := p.newWorld(t)
	w.startRelay(t)
	return w
}

// configure writes testdata/interop into the world.
func (w *world) configure(t *testing.T) {
	t.Helper()
	source := os.DirFS("testdata/interop")
	err := fs.WalkDir(source, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			return os.Mkdir(w.path("config", name), 0o700)
		}
		text, err := fs.ReadFile(source, name)
		if err != nil {
			return err
		}
		values := strings.NewReplacer("${ROOT}", w.root, "${AGENT}", w.agent)
		return os.WriteFile(w.path("config", name), []byte(values.Replace(string(text))), 0o600)
	})
	if err != nil {
		t.Fatal(err)
	}
}

// startRelay starts the relay and waits until it is ready.
func (w *world) startRelay(t *testing.T) {
	t.Helper()
	ready := w.path("state", "relay.ready")
	if err := os.Remove(ready); err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	out, err := os.OpenFile(w.path("relay.out"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close() // the relay has its own
	relay := w.command(w.agentmux, "host", "relay", "--config-directory", w.path("config"), "--state-directory", w.path("state"))
	relay.Stdout, relay.Stderr = out, out
	if err := relay.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = relay.Wait() // who ended it knows how it ended
	}()
	w.relay, w.ended = relay, ended
	eventually(t, "the relay is ready", func() bool {
		select {
		case <-ended:
			t.Fatalf("the relay ended: %v", relay.ProcessState)
		default:
		}
		_, err := os.Stat(ready)
		return err == nil
	})
}

// endRelay ends the relay, be it stopped or not, and waits for its end.
func (w *world) endRelay(t *testing.T, signal syscall.Signal) {
	t.Helper()
	w.signal(t, signal)
	w.signal(t, syscall.SIGCONT)
	select {
	case <-w.ended:
	case <-time.After(patience):
		t.Errorf("the relay outlived signal %v by %v", signal, patience)
		w.signal(t, syscall.SIGKILL)
		<-w.ended
	}
	w.relay = nil
}

// signal sends a signal to the relay.
func (w *world) signal(t *testing.T, signal syscall.Signal) {
	t.Helper()
	if err := w.relay.Process.Signal(signal); err != nil && !errors.Is(err, os.ErrProcessDone) {
		t.Errorf("signal %v to the relay: %v", signal, err)
	}
}

// command is a program in the world, with little of this process's environment.
func (w *world) command(program string, args ...string) *exec.Cmd {
	cmd := exec.Command(program, args...)
	cmd.Dir = w.root
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + w.root, "LANG=C.UTF-8"}
	return cmd
}

// tmux is a command to the terminals of the world.
func (w *world) tmux(args ...string) *exec.Cmd {
	return w.command("tmux", append([]string{"-S", w.path("state", "bundles", "demo", "tmux.sock")}, args...)...)
}

// path is a path in the world.
func (w *world) path(elements ...string) string {
	return filepath.Join(append([]string{w.root}, elements...)...)
}

// read is the content of a file in the world, "" while there is none.
func (w *world) read(t *testing.T, elements ...string) string {
	t.Helper()
	content, err := os.ReadFile(w.path(elements...))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return string(content)
}

// eventually waits for holds to become true.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("waited %v in vain: %s", patience, what)
		}
	}
}
