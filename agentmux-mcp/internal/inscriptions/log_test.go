package inscriptions

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// lines returns the lines of the file at path, which must all be whole.
func lines(t *testing.T, path string) []string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	text, ok := strings.CutSuffix(string(data), "\n")
	if !ok {
		t.Fatalf("%s ends inside a line: %q", path, data)
	}
	return strings.Split(text, "\n")
}

// events returns the events of the records in the file at path.
func events(t *testing.T, path string) string {
	t.Helper()
	var events []string
	for _, line := range lines(t, path) {
		var r struct{ Event string }
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		events = append(events, r.Event)
	}
	return strings.Join(events, " ")
}

const unassociated = "mcp/unassociated.log"

func TestInscribe(t *testing.T) {
	root := t.TempDir()
	var stderr bytes.Buffer
	synctest.Test(t, func(t *testing.T) { // at midnight of the year 2000, UTC
		l := New(root, &stderr)
		defer l.Close()
		l.Inscribe("mcp.startup", map[string]any{
			"text": "<a href=\"x\">&\u2028\n", "broken": "a\xffb", "null": nil,
			"raw": json.RawMessage("{\"b\": 1,\n\"a\": 9007199254740993}"),
		})
		l.Inscribe("mcp.tool.help.request", nil)
		l.Inscribe("mcp.tool.look.request", map[string]any{"lines": math.NaN()})
	})
	prefix := func(event string) string {
		return fmt.Sprintf(`{"timestamp":"2000-01-01T00:00:00.000000Z","pid":%d,"event":%q,"details":`, os.Getpid(), event)
	}
	want := []string{
		prefix("mcp.startup") + `{"broken":"a` + `\ufffd` + `b","null":null,"raw":{"b":1,"a":9007199254740993},"text":"<a href=\"x\">&\u2028\n"}}`,
		prefix("mcp.tool.help.request") + `{}}`,
		prefix("mcp.tool.look.request") + `{"inscription_error":"json: unsupported value: NaN"}}`,
	}
	got := lines(t, filepath.Join(root, unassociated))
	for i := range max(len(got), len(want)) {
		if i >= len(got) || i >= len(want) || got[i] != want[i] {
			t.Fatalf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
	if stderr.Len() > 0 {
		t.Errorf("stderr: %s", &stderr)
	}
}

func TestTimestamp(t *testing.T) {
	at := time.Date(2026, 7, 1, 1, 2, 3, 4_000, time.FixedZone("", 2*60*60))
	got := string(record(at, "event", nil))
	if want := `{"timestamp":"2026-06-30T23:02:03.000004Z",`; !strings.HasPrefix(got, want) {
		t.Errorf("got %s, want %s…", got, want)
	}
}

func TestPathOf(t *testing.T) {
	for _, tt := range []struct{ bundle, session, want string }{
		{"demo", "alpha", "bundles/demo/sessions/alpha/mcp.log"},
		{"Demo.v1_x-y", "a", "bundles/Demo.v1_x-y/sessions/a/mcp.log"},
		{"", "alpha", unassociated},
		{"demo", "", unassociated},
		{"..", ".", "bundles/__/sessions/_/mcp.log"},
		{"../../etc", "...", "bundles/.._.._etc/sessions/.../mcp.log"},
		{"a/b", "alpha@demo", "bundles/a_b/sessions/alpha_demo/mcp.log"},
		{"é\xff\n", "\x00 ", "bundles/___/sessions/__/mcp.log"},
	} {
		if got, want := pathOf("/i", tt.bundle, tt.session), "/i/"+tt.want; got != want {
			t.Errorf("%q, %q: got %s, want %s", tt.bundle, tt.session, got, want)
		}
	}
}

func TestAssociate(t *testing.T) {
	root := t.TempDir()
	l := New(root, t.Output())
	defer l.Close()
	l.Associate("", "")
	if _, err := os.Stat(filepath.Join(root, "mcp")); err == nil {
		t.Error("the file was opened before there was a record")
	}
	l.Inscribe("one", nil)
	l.Associate("demo", "alpha")
	l.Inscribe("two", nil)
	l.Associate("demo", "alpha")
	l.Inscribe("three", nil)
	l.Associate("demo", "")
	l.Inscribe("four", nil)
	associated := filepath.Join(root, "bundles/demo/sessions/alpha/mcp.log")
	if got, want := events(t, associated), "two three"; got != want {
		t.Errorf("%s: got %s, want %s", associated, got, want)
	}
	if got, want := events(t, filepath.Join(root, unassociated)), "one four"; got != want {
		t.Errorf("%s: got %s, want %s", unassociated, got, want)
	}
}

func TestModes(t *testing.T) {
	root := filepath.Join(t.TempDir(), "state/inscriptions")
	l := New(root, t.Output())
	defer l.Close()
	l.Associate("demo", "alpha")
	l.Inscribe("event", nil)
	for path, want := range map[string]os.FileMode{
		"..": 0o700, ".": 0o700, "bundles": 0o700, "bundles/demo": 0o700, "bundles/demo/sessions": 0o700,
		"bundles/demo/sessions/alpha": 0o700, "bundles/demo/sessions/alpha/mcp.log": 0o600,
	} {
		info, err := os.Stat(filepath.Join(root, path))
		if err != nil {
			t.Fatal(err)
		}
		if got := info.Mode().Perm(); got != want {
			t.Errorf("%s: got %v, want %v", path, got, want)
		}
	}
}

// Whatever happens to the file, the log goes on in one at its path.
func TestFileTakenAway(t *testing.T) {
	for _, tt := range []struct {
		name string
		do   func(t *testing.T, root, path string) error
		want string
	}{
		{"removed", func(t *testing.T, _, path string) error { return os.Remove(path) }, "after"},
		{"directory removed", func(t *testing.T, root, _ string) error { return os.RemoveAll(root) }, "after"},
		{"moved", func(t *testing.T, _, path string) error { return os.Rename(path, path+".1") }, "after"},
		{"directory moved", func(t *testing.T, root, _ string) error { return os.Rename(root, root+".1") }, "after"},
		{"replaced", func(t *testing.T, _, path string) error {
			if err := os.Rename(path, path+".1"); err != nil {
				return err
			}
			return os.WriteFile(path, []byte("{\"event\":\"other\"}\n"), 0o600)
		}, "other after"},
		{"truncated", func(t *testing.T, _, path string) error { return os.Truncate(path, 0) }, "after"},
		{"left alone", func(*testing.T, string, string) error { return nil }, "before after"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			root := filepath.Join(t.TempDir(), "root")
			path := filepath.Join(root, unassociated)
			var stderr bytes.Buffer
			l := New(root, &stderr)
			defer l.Close()
			l.Inscribe("before", nil)
			if err := tt.do(t, root, path); err != nil {
				t.Fatal(err)
			}
			l.Inscribe("after", nil)
			if got := events(t, path); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
			if stderr.Len() > 0 {
				t.Errorf("stderr: %s", &stderr)
			}
		})
	}
}

// A log that cannot be kept is told once, drops its records, and goes on when the obstacle is gone.
func TestOpenFails(t *testing.T) {
	for _, tt := range []struct {
		name     string
		obstacle string // path in the root
		make     func(path string) error
	}{
		{"file in place of the root", ".", func(path string) error { return os.WriteFile(path, nil, 0o600) }},
		{"file in place of a directory", "mcp", func(path string) error { return os.WriteFile(path, nil, 0o600) }},
		{"directory in place of the file", unassociated, func(path string) error { return os.Mkdir(path, 0o700) }},
		{"pipe in place of the file", unassociated, func(path string) error { return syscall.Mkfifo(path, 0o600) }},
		{"pipe with a reader", unassociated, func(path string) error {
			if err := syscall.Mkfifo(path, 0o600); err != nil {
				return err
			}
			reader, err := os.OpenFile(path, os.O_RDWR, 0)
			if err == nil {
				t.Cleanup(func() { reader.Close() })
			}
			return err
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			root := filepath.Join(t.TempDir(), "root")
			obstacle := filepath.Join(root, tt.obstacle)
			if err := os.MkdirAll(filepath.Dir(obstacle), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := tt.make(obstacle); err != nil {
				t.Fatal(err)
			}
			var stderr bytes.Buffer
			l := New(root, &stderr)
			defer l.Close()
			l.Inscribe("one", nil)
			l.Associate("demo", "alpha")
			l.Associate("", "")
			l.Inscribe("two", nil)
			if got := stderr.String(); !strings.HasPrefix(got, "agentmux-mcp: events go unlogged: ") ||
				!strings.Contains(got, obstacle) || strings.Count(got, "\n") != 1 {
				t.Errorf("stderr: got %q, want one line that names %s", got, obstacle)
			}
			if err := os.Remove(obstacle); err != nil {
				t.Fatal(err)
			}
			l.Inscribe("three", nil)
			if got := events(t, filepath.Join(root, unassociated)); got != "three" {
				t.Errorf("got %s, want three", got)
			}
		})
	}
}

// A full disk costs the records that do not fit on it, and no other: no half of one stays behind for a later one to
// end up in. A limit on the size of files stands in for the disk; it holds for a whole process, so that the log is
// kept in another one.
func TestWriteFails(t *testing.T) {
	if root := os.Getenv("TEST_ROOT"); root != "" {
		writeInAFullDisk(t, root) // in the other process, which is started below
		return
	}
	for _, tt := range []struct {
		name   string
		room   int  // bytes that are left for the second record
		remove bool // the file, before the third
		want   string
	}{
		{"nothing is written", 0, false, `{"one"}|{"three"}`},
		{"a part is written", len(`{"timestamp":`), false, `{"one"}|{"three"}`},
		{"a part is written to a file that is removed", 10, true, `{"three"}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			root := t.TempDir()
			path := filepath.Join(root, unassociated)
			stderr, err := again(t, "TestWriteFails", root, "TEST_ROOM="+strconv.Itoa(tt.room), fmt.Sprint("TEST_REMOVE=", tt.remove)).CombinedOutput()
			if err != nil {
				t.Fatalf("%v: %s", err, stderr)
			}
			brief := regexp.MustCompile(`\{"timestamp":"[^"]*","pid":\d+,"event":("\w+"),"details":\{\}\}`)
			got := brief.ReplaceAllString(strings.Join(lines(t, path), "|"), "{$1}")
			if got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
			if strings.Count(string(stderr), "agentmux-mcp: events go unlogged: write "+path) != 1 {
				t.Errorf("stderr: got %q, want one line about writing %s", stderr, path)
			}
		})
	}
}

// again is a command that runs one test of this package again, with the root of a log.
func again(t *testing.T, test, root string, environ ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^"+test+"$")
	cmd.Env = append(append(os.Environ(), "TEST_ROOT="+root), environ...)
	return cmd
}

func writeInAFullDisk(t *testing.T, root string) {
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	room, err := strconv.Atoi(os.Getenv("TEST_ROOM"))
	must(err)
	l := New(root, os.Stderr)
	defer l.Close()
	l.Inscribe("one", nil)
	info, err := os.Stat(l.path)
	must(err)

	signal.Ignore(syscall.SIGXFSZ)
	var limit syscall.Rlimit
	must(syscall.Getrlimit(syscall.RLIMIT_FSIZE, &limit))
	must(syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: uint64(info.Size()) + uint64(room), Max: limit.Max}))
	l.Inscribe("two", nil)
	must(syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit))

	if os.Getenv("TEST_REMOVE") == "true" {
		must(os.Remove(l.path))
	}
	l.Inscribe("three", nil)
}

// What another process has appended to half a record is its own, and is left alone.
func TestHalfARecordThatIsAppendedTo(t *testing.T) {
	l := New(t.TempDir(), t.Output())
	defer l.Close()
	l.Inscribe("one", nil)
	half, err := l.file.WriteString(`{"timestamp":`)
	if err != nil {
		t.Fatal(err)
	}
	other, err := os.OpenFile(l.path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if _, err := other.WriteString("other\n"); err != nil {
		t.Fatal(err)
	}
	l.takeBack(half)
	if got := lines(t, l.path); len(got) != 2 || got[1] != `{"timestamp":other` {
		t.Errorf("got %q", got)
	}
}

func TestClose(t *testing.T) {
	root := t.TempDir()
	l := New(root, t.Output())
	l.Inscribe("one", nil)
	l.Close()
	l.Inscribe("two", nil)
	l.Associate("demo", "alpha")
	l.Inscribe("three", nil)
	l.Close()
	if got := events(t, filepath.Join(root, unassociated)); got != "one" {
		t.Errorf("got %s, want one", got)
	}
	if _, err := os.Stat(filepath.Join(root, "bundles")); err == nil {
		t.Error("a closed log opened a file")
	}
}

func TestNoRoot(t *testing.T) {
	t.Chdir(t.TempDir())
	var stderr bytes.Buffer
	l := New("", &stderr)
	l.Inscribe("one", nil)
	l.Associate("demo", "alpha")
	l.Inscribe("two", nil)
	l.Close()
	if entries, err := os.ReadDir("."); len(entries) > 0 || err != nil || stderr.Len() > 0 {
		t.Errorf("got %v, %v and %q on stderr, want nothing", entries, err, &stderr)
	}
}

// Goroutines and processes share a file, and no line is torn.
func TestShared(t *testing.T) {
	const each, writers = 50, 4
	details := map[string]any{"text": strings.Repeat("x", 10_000)}
	inscribe := func(root string) {
		l := New(root, os.Stderr)
		defer l.Close()
		l.Associate("demo", "alpha")
		var wg sync.WaitGroup
		for range writers {
			wg.Go(func() {
				for range each {
					l.Inscribe("event", details)
				}
			})
		}
		wg.Wait()
	}
	if root := os.Getenv("TEST_ROOT"); root != "" {
		inscribe(root) // in the other process, which is started below
		return
	}
	root := t.TempDir()
	other := again(t, "TestShared", root)
	other.Stderr = t.Output()
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	inscribe(root)
	if err := other.Wait(); err != nil {
		t.Fatal(err)
	}
	pids := map[int]int{}
	for _, line := range lines(t, filepath.Join(root, "bundles/demo/sessions/alpha/mcp.log")) {
		var r struct{ PID int }
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatal(err)
		}
		pids[r.PID]++
	}
	if pids[os.Getpid()] != each*writers || pids[other.Process.Pid] != each*writers {
		t.Errorf("got %v records, want %d of each of two processes", pids, each*writers)
	}
}

func BenchmarkInscribe(b *testing.B) {
	l := New(b.TempDir(), b.Output())
	defer l.Close()
	details := map[string]any{"namespace": "demo", "requester_session": "alpha", "target_session": "bravo@demo", "lines": 50, "offset": nil}
	for b.Loop() {
		l.Inscribe("mcp.tool.look.request", details)
	}
}
