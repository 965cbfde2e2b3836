package scripts_test

import (
	"bufio"
	"flag"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/agentmux/agentmux-go/wire"
)

var recordInto = flag.String("record", "", "`directory` that TestRecord writes transcripts to; without it nothing is recorded")

// TestRecord has conversations with real relays and writes them down, each release into a directory of its own:
//
//	go test -run TestRecord -record ../wire/testdata/transcripts .
//
// Relays are looked for where [TestInterop] looks. What differs from run to run and what is secret gets a
// placeholder, so that a second recording shows what a release changed and little else: the order of events
// and answers is the relay's.
func TestRecord(t *testing.T) {
	if *recordInto == "" {
		t.Skip("records with -record only")
	}
	relays := findRelays(t)
	p := buildPrograms(t)
	for _, release := range releases {
		t.Run(release.version, func(t *testing.T) {
			p := p
			p.release, p.agentmux = release, relays[release.version]
			if p.agentmux == "" {
				t.Skipf("there is no agentmux %s", release.version)
			}
			directory := filepath.Join(*recordInto, release.version)
			if err := os.MkdirAll(directory, 0o755); err != nil {
				t.Fatal(err)
			}
			for _, part := range release.surface.parts {
				t.Run(part.name, func(t *testing.T) {
					r := &recorder{world: p.newWorldFrom(t, release.surface.recorded), t: t, directory: directory}
					part.record(r)
				})
			}
		})
	}
}

// A recorder records conversations with the relay of one world.
type recorder struct {
	*world
	t         *testing.T
	directory string
}

// start starts the relay and waits until it has nothing more to do.
func (r *recorder) start(flags ...string) {
	r.t.Helper()
	r.startRelay(r.t, flags...)
	c := r.join("alpha@demo")
	defer c.leave()
	eventually(r.t, "the members of demo are ready", func() bool {
		list := c.ask("demo", list("alpha")).(*wire.ListResponse)
		ready := 0
		for _, principal := range list.Bundle.Principals {
			if principal.Ready {
				ready++
			}
		}
		return ready == 4 // desk and bus never are
	})
}

// A conversation is a connection, and what was said on it so far.
type conversation struct {
	*recorder
	conn  net.Conn
	heard <-chan string // lines of the relay; closed when it has hung up
	hello int           // lines that were said up to the relay's answer to the hello
	asked int           // requests since then
	lines []string      // of the transcript
	ended bool          // by the relay
}

// dial connects and says nothing.
func (r *recorder) dial() *conversation {
	r.t.Helper()
	return r.dialTo(r.surface.socket)
}

// dialTo connects to another socket than that of bundle demo.
func (r *recorder) dialTo(socket string) *conversation {
	r.t.Helper()
	conn, err := net.Dial("unix", r.path("state", socket))
	if err != nil {
		r.t.Fatal(err)
	}
	heard := make(chan string, 1000) // more than a relay says in any conversation: the reader ends with the connection
	go func() {
		defer close(heard)
		for lines := bufio.NewReader(conn); ; {
			line, err := lines.ReadString('\n')
			if err != nil {
				return
			}
			heard <- strings.TrimSuffix(line, "\n")
		}
	}()
	r.t.Cleanup(func() { _ = conn.Close() }) // may have left before
	return &conversation{recorder: r, conn: conn, heard: heard}
}

// join connects as a principal without a key.
func (r *recorder) join(principal string) *conversation {
	r.t.Helper()
	return r.joinWith(principal, wire.SocketTrust)
}

// joinWith connects with a key.
func (r *recorder) joinWith(principal, key string) *conversation {
	r.t.Helper()
	return r.greet(r.surface.socket, &wire.Hello{SchemaVersion: wire.SchemaVersion, PrincipalID: principal, IdentityToken: wire.NewSecret(key)})
}

// greet connects and says hello. Where the relay has not yet taken note that the last connection of who says it
// has gone, it tries again.
func (r *recorder) greet(socket string, hello wire.Frame) *conversation {
	r.t.Helper()
	var c *conversation
	eventually(r.t, "the relay lets us in", func() bool {
		c = r.dialTo(socket)
		c.say(hello)
		frame, ok := c.hear(patience)
		if ok && frame.FrameKind() != "hello_ack" {
			c.leave()
			return false
		}
		return ok
	})
	c.hello = len(c.lines)
	return c
}

// leave hangs up.
func (c *conversation) leave() { _ = c.conn.Close() }

// rewind forgets what was said since the hello, so that the connection serves for another transcript.
func (c *conversation) rewind() {
	c.lines, c.asked = c.lines[:c.hello:c.hello], 0
}

// remark puts a remark in front of what follows.
func (c *conversation) remark(text string) { c.lines = append(c.lines, "", "# "+text) }

// say says a line.
func (c *conversation) say(frame wire.Frame) {
	c.t.Helper()
	line, err := wire.Encode(frame)
	if err != nil {
		c.t.Fatal(err)
	}
	c.sayText(strings.TrimSuffix(string(line), "\n"))
}

func (c *conversation) sayText(line string) {
	c.t.Helper()
	c.lines = append(c.lines, "> "+line)
	if _, err := c.conn.Write([]byte(line + "\n")); err != nil {
		c.t.Fatal(err)
	}
}

// hear waits for the next line of the relay. ok is false if none came in time, or the relay hung up.
func (c *conversation) hear(wait time.Duration) (frame wire.Frame, ok bool) {
	c.t.Helper()
	select {
	case line, ok := <-c.heard:
		if !ok {
			c.ended = true
			c.lines = append(c.lines, "# The relay hangs up.")
			return nil, false
		}
		c.lines = append(c.lines, "< "+line)
		frame, err := c.surface.words.Decode([]byte(line))
		if err != nil {
			c.t.Fatalf("%v in %s", err, line)
		}
		return frame, true
	case <-time.After(wait):
		return nil, false
	}
}

// quiet is for how long a relay that has nothing more to say says nothing.
const quiet = time.Second

// drain takes what the relay says without being asked, until it is quiet.
func (c *conversation) drain() {
	c.t.Helper()
	for wait := 3 * quiet; ; wait = quiet {
		if _, ok := c.hear(wait); !ok {
			return
		}
	}
}

// hearOut takes what the relay says until it hangs up.
func (c *conversation) hearOut() {
	c.t.Helper()
	for !c.ended {
		if _, ok := c.hear(patience); !ok && !c.ended {
			c.t.Fatalf("the relay does not hang up after\n%s", strings.Join(c.lines, "\n"))
		}
	}
}

// ask makes a request and waits for its answer. Nil: the relay hung up. The request's id is its placeholder.
func (c *conversation) ask(namespace string, op wire.Operation) wire.Response {
	c.t.Helper()
	c.asked++
	id := "$id"
	if c.asked > 1 {
		id = fmt.Sprintf("$id%d", c.asked)
	}
	c.say(&wire.RequestFrame{RequestID: id, Namespace: namespace, Request: op})
	for {
		frame, ok := c.hear(time.Minute)
		if !ok {
			return nil
		}
		if response, ok := frame.(*wire.ResponseFrame); ok && response.RequestID != nil && *response.RequestID == id {
			return response.Response
		}
	}
}

// save writes the conversation to a file. Ids, times and keys are numbered in the order in which they come.
func (c *conversation) save(name, title string) {
	c.t.Helper()
	text := strings.TrimLeft(strings.Join(c.lines, "\n"), "\n") + "\n"
	text = strings.ReplaceAll(text, c.path("state"), "/var/lib/agentmux")
	text = strings.ReplaceAll(text, c.root, "/srv")
	keys := 0
	for _, found := range keyMember.FindAllStringSubmatch(text, -1) {
		if key := found[1]; key != wire.SocketTrust && strings.Contains(text, key) {
			keys++
			text = strings.ReplaceAll(text, key, fmt.Sprintf("example-key-%d", keys))
		}
	}
	for _, p := range placeholders {
		numbers := map[string]int{}
		text = p.pattern.ReplaceAllStringFunc(text, func(found string) string {
			value := strings.ReplaceAll(found, "-", "")
			if numbers[value] == 0 {
				numbers[value] = len(numbers) + 1
			}
			return p.place(found, numbers[value])
		})
	}
	text = fmt.Sprintf("# %s\n# Recorded from relay %s; ids, times, paths and keys are placeholders.\n\n%s", title, c.version, text)
	if err := os.WriteFile(filepath.Join(c.directory, name+".txt"), []byte(text), 0o644); err != nil {
		c.t.Fatal(err)
	}
}

// keyMember is a member that holds a key.
var keyMember = regexp.MustCompile(`"(?:psk|identity_token)":"([^"]+)"`)

// placeholders stand for what differs from run to run.
var placeholders = []struct {
	pattern *regexp.Regexp
	place   func(found string, n int) string
}{
	{
		// With hyphens as an id, without them in the boundary of a message.
		regexp.MustCompile(`\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b|\b[0-9a-f]{32}\b`),
		func(found string, n int) string {
			id := fmt.Sprintf("00000000-0000-4000-8000-%012d", n)
			if !strings.Contains(found, "-") {
				id = strings.ReplaceAll(id, "-", "")
			}
			return id
		},
	},
	{
		regexp.MustCompile(`\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z`),
		func(_ string, n int) string { return fmt.Sprintf("2026-01-01T00:%02d:%02d.123456789Z", n/60, n%60) },
	},
}

// key is the key in an answer.
func (r *recorder) key(response wire.Response) string {
	r.t.Helper()
	var key *wire.Secret
	switch response := response.(type) {
	case *wire.NewPeerResponse:
		key = response.PSK
	case *wire.ChangePSKResponse:
		key = response.PSK
	}
	if key == nil {
		r.t.Fatalf("there is no key in %#v", response)
	}
	return key.Reveal()
}
