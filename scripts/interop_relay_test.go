package scripts_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// patience is how long a test waits for something to come about.
const patience = 20 * time.Second

// A world is a directory with the configuration and the state of one relay, and that relay.
type world struct {
	programs
	root      string        // short: the path of a socket ends at 107 bytes
	layers    []string      // names of the configuration roots, the first wins
	variables []string      // of the relay's environment, beyond those of any command
	relay     *exec.Cmd     // nil while none runs
	ended     chan struct{} // closed when the relay has ended
} // closed when the relay has ended

// newWorld makes a world without a relay: bundle demo with alpha and bravo in terminals and coder, an ACP agent.
// It ends with t, and leaves nothing behind.
func (p programs) newWorld(t *testing.T) *world {
	t.Helper()
	return p.newWorldFrom(t, p.surface.interop)
}

// newWorldFrom makes a world that is configured as directories have it: of files of the same name, the last.
func (p programs) newWorldFrom(t *testing.T, directories []string) *world {
	t.Helper()
	root, err := os.MkdirTemp("", "amx")
	if err != nil {
		t.Fatal(err)
	}
	w := &world{programs: p, root: root, layers: []string{"config"}}
	t.Cleanup(func() {
		if w.relay != nil {
			w.endRelay(t, syscall.SIGTERM)
		}
		w.endTerminals(t)
		if t.Failed() {
			t.Logf("the relay printed:\n%s", w.read(t, "relay.out"))
		}
		if err := os.RemoveAll(root); err != nil {
			t.Error(err)
		}
	})
	for _, directory := range directories {
		w.configure(t, directory)
	}
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

// configure copies the files of a directory into the world; see write for what changes on the way.
func (w *world) configure(t *testing.T, directory string) {
	t.Helper()
	source := os.DirFS(directory)
	err := fs.WalkDir(source, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			return os.MkdirAll(w.path("config", name), 0o700)
		}
		text, err := fs.ReadFile(source, name)
		if err == nil {
			w.write(t, string(text), "config", name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// write makes a file in the world. In the text, ${ROOT} is the world's directory, ${AGENT} the test's ACP agent,
// and ${FIND} makes a line a comment where policies do not have the control find.
func (w *world) write(t *testing.T, text string, elements ...string) {
	t.Helper()
	find := "# "
	if w.finds {
		find = ""
	}
	values := strings.NewReplacer("${ROOT}", w.root, "${AGENT}", w.agent, "${FIND}", find)
	if err := os.WriteFile(w.path(elements...), []byte(values.Replace(text)), 0o600); err != nil {
		t.Fatal(err)
	}
}

// roots are the flags that say where the world is.
func (w *world) roots() []string {
	flags := []string{"--state-directory", w.path("state")}
	for _, layer := range w.layers {
		flags = append(flags, w.configuration, w.path(layer))
	}
	return flags
}

// startRelay starts the relay, with further flags, and waits until it is ready.
func (w *world) startRelay(t *testing.T, flags ...string) {
	t.Helper()
	// One that was killed left it.
	if err := os.Remove(w.path("state", readyFile)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	out, err := os.OpenFile(w.path("relay.out"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close() // the relay has its own
	relay := w.command(w.agentmux, slices.Concat([]string{"host", "relay"}, w.roots(), flags)...)
	relay.Env = append(relay.Env, w.variables...)
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
		return w.surface.ready(w)
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

// endTerminals ends what a relay that was killed, or one that keeps a bundle up, left.
func (w *world) endTerminals(t *testing.T) {
	t.Helper()
	sockets, err := filepath.Glob(w.path("state", "bundles", "*", "tmux.sock"))
	if err != nil {
		t.Error(err)
	}
	for _, socket := range sockets {
		_ = w.command("tmux", "-S", socket, "kill-server").Run() // where nobody serves the socket, all is well
	}
}

// tmux is a command to the terminals of bundle demo.
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
