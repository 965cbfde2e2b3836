package scripts_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/agentmux/agentmux-go/wire"
)

// An unreliableRelay answers whatever it is asked, and does at random whatever a relay can do wrong. It tells the
// ledger what it was asked.
type unreliableRelay struct {
	ctx     context.Context // ends its goroutines
	ledger  *soakLedger
	stalls  bool // it may also keep its client waiting for seconds: that costs nothing where time is virtual
	serving sync.WaitGroup

	mu        sync.Mutex
	rnd       *rand.Rand
	live      map[net.Conn]struct{}
	listener  *net.UnixListener // nil: clients dial
	downUntil time.Time
}

func newUnreliableRelay(ctx context.Context, ledger *soakLedger) *unreliableRelay {
	return &unreliableRelay{
		ctx: ctx, ledger: ledger, rnd: rand.New(rand.NewPCG(*soakSeed, 0)), live: make(map[net.Conn]struct{}),
	}
}

// roll returns a number below n.
func (r *unreliableRelay) roll(n int) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.rnd.IntN(n)
}

// dial is a connection to the relay, unless it restarts.
func (r *unreliableRelay) dial(context.Context, string) (net.Conn, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if time.Now().Before(r.downUntil) {
		return nil, []error{syscall.ECONNREFUSED, syscall.ENOENT}[r.rnd.IntN(2)]
	}
	ours, theirs := net.Pipe()
	r.attach(theirs)
	return ours, nil
}

// listen serves a Unix socket, which goes away with every restart, or is left behind with nobody there.
func (r *unreliableRelay) listen(socket string) error {
	defer context.AfterFunc(r.ctx, func() { r.restart(0) })()
	for r.ctx.Err() == nil {
		listener, err := r.open(socket)
		if err != nil {
			return err
		}
		for {
			conn, err := listener.Accept()
			if err != nil {
				break // it restarts
			}
			r.mu.Lock()
			r.attach(conn)
			r.mu.Unlock()
		}
		r.mu.Lock()
		away := time.Until(r.downUntil)
		r.mu.Unlock()
		r.sleep(away)
	}
	return nil
}

// open opens the socket, in place of one that was left behind.
func (r *unreliableRelay) open(socket string) (*net.UnixListener, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := os.Remove(socket); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: socket, Net: "unix"})
	if err != nil {
		return nil, err
	}
	listener.SetUnlinkOnClose(r.rnd.IntN(2) == 0)
	r.listener = listener
	return listener, nil
}

// attach serves a connection until it ends. r.mu is held.
func (r *unreliableRelay) attach(conn net.Conn) {
	r.live[conn] = struct{}{}
	r.serving.Go(func() {
		r.serve(conn)
		_ = conn.Close()
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.live, conn)
	})
}

// restart hangs up on everybody and stays away for a while.
func (r *unreliableRelay) restart(away time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.downUntil = time.Now().Add(away)
	if r.listener != nil {
		_ = r.listener.Close() // again, if it restarts already
	}
	for conn := range r.live {
		_ = conn.Close()
	}
}

// A soakRequest is a frame of the client's, as the relay reads it.
type soakRequest struct {
	Frame         string
	PrincipalID   string `json:"principal_id"`
	IdentityToken string `json:"identity_token"`
	RequestID     string `json:"request_id"`
	Namespace     string
	Request       map[string]any
}

// operation is what is asked for.
func (q *soakRequest) operation() string {
	operation, _ := q.Request["operation"].(string)
	return operation
}

// mark is what tells the request from others that ask for the same operation.
func (q *soakRequest) mark() string {
	key := soakOperations[q.operation()].key
	if key == "" {
		return q.Namespace
	}
	mark, _ := q.Request[key].(string)
	return mark
}

// name is what the ledger knows the request by.
func (q *soakRequest) name() string { return q.operation() + " " + q.mark() }

// serve reads requests and answers each in a goroutine of its own, so that answers overtake each other.
func (r *unreliableRelay) serve(conn net.Conn) {
	stop := context.AfterFunc(r.ctx, func() { _ = conn.Close() })
	defer stop()
	c := soakConn{relay: r, Conn: conn, turn: make(chan struct{}, 1)}
	lines := wire.NewLineReader(conn, 0)
	for {
		line, err := lines.ReadLine()
		if err != nil {
			return
		}
		var q soakRequest
		if err := json.Unmarshal(line, &q); err != nil {
			r.ledger.t.Errorf("the client sent %q: %v", line, err)
			return
		}
		if q.Frame != "hello" {
			serial := r.ledger.submit(q.name())
			r.serving.Go(func() { c.answer(&q, serial) })
			if r.stalls && r.roll(600) == 0 {
				r.sleep(r.awhile(12 * time.Second)) // and does not read
			}
			continue
		}
		c.token = q.IdentityToken
		if !c.greet(q.PrincipalID) {
			return
		}
	}
}

// A soakConn is a connection of the relay's.
type soakConn struct {
	net.Conn
	relay *unreliableRelay
	token string
	turn  chan struct{} // held by who writes; a mutex would stop a bubble's clock
}

// hold lets nobody write for a while.
func (c *soakConn) hold(d time.Duration) {
	c.turn <- struct{}{}
	c.relay.sleep(d)
	<-c.turn
}

// say writes pieces, with a pause after each but the last. A client that has gone is no concern of the relay's.
func (c *soakConn) say(pieces ...string) {
	c.turn <- struct{}{}
	defer func() { <-c.turn }()
	for i, piece := range pieces {
		if i > 0 {
			c.relay.sleep(time.Millisecond)
		}
		_, _ = c.Write([]byte(piece))
	}
}

// greet answers a hello and reports whether the connection goes on.
func (c *soakConn) greet(principal string) bool {
	switch c.relay.roll(40) {
	case 0:
		c.say(toNobody("runtime_identity_claim_conflict", "connected elsewhere"))
		return false
	case 1:
		return false
	case 2:
		c.say(toNobody("authorization_unknown_credential", "not "+c.token))
		return false
	case 3:
		if c.relay.stalls {
			c.relay.sleep(3 * time.Second)
			return false
		}
	}
	c.say(fmt.Sprintf(`{"frame":"hello_ack","schema_version":"1","principal_id":%q}`+"\n", principal))
	return true
}

// toNobody is an error that answers no request.
func toNobody(code, message string) string {
	const frame = `{"frame":"response","response":{"kind":"error","error":{"code":%q,"message":%q}}}` + "\n"
	return fmt.Sprintf(frame, code, message)
}

// soakFarewell is the code of what the relay says to nobody before it hangs up.
const soakFarewell = "runtime_bundle_reloaded"

// What a client passes over: events, blank lines, an acknowledgement out of turn, frames of a kind that it does not know.
const (
	soakEvent    = `{"frame":"event","event":{"event_type":"delivery_outcome"}}` + "\r\n"
	soakOddities = "\n" + `{"frame":"hello_ack","schema_version":"1","principal_id":"nobody@demo"}` +
		"\n" + `{"frame":"novelty","novelty":1}` + "\n"
)

// answer answers a request, or fails to.
func (c *soakConn) answer(q *soakRequest, serial int) {
	r := c.relay
	fill := strings.NewReplacer(
		"MARK", q.mark(), "SERIAL", strconv.Itoa(serial), "SECRET", soakSecret, "ID", q.RequestID).Replace
	respond := func(response string) string {
		return fill(`{"frame":"response","request_id":"ID","response":` + response + "}\n")
	}
	line := respond(q.answer(r.roll(10) == 0))
	farewell := toNobody(soakFarewell, "goodbye "+c.token)
	switch r.roll(600) {
	case 0:
		_ = c.Close()
	case 1:
		c.say(line[:r.roll(len(line))])
		_ = c.Close()
	case 2: // no JSON
		c.say(fill(`{"frame":"response","request_id":"ID","response":{"kind":"change_psk","psk":"SECRET-SERIAL"` + "\n"))
	case 3: // no response that the protocol has
		c.say(respond(`{"kind":"list","psk":"SECRET-SERIAL","bundle":"SECRET-SERIAL"}`))
	case 4:
		c.say(farewell)
		_ = c.Close()
	case 5: // a false alarm
		c.say(farewell, line)
	case 6:
		c.say(respond(`{"kind":"error","error":{"code":"validation_no","message":"","details":{"serial":SERIAL,"psk":"SECRET-SERIAL"}}}`))
	case 7:
		c.say(respond(`{"kind":"error","error":{"code":"runtime_busy","message":"","details":{"serial":SERIAL,"psk":"SECRET-SERIAL"}}}`))
	case 8: // another kind of response
		c.say(respond(`{"kind":"identity_introspect","serial":SERIAL,"principal_id":"a@demo","verified":true,"psk":"SECRET-SERIAL"}`))
	case 9: // more than was asked for
		c.say(strings.Repeat(soakEvent, 1+r.roll(1000)) + soakOddities + strings.Replace(line, q.RequestID, "nobody's", 1) + line + line)
	case 10, 11, 12: // in pieces
		at := r.roll(len(line))
		c.say(line[:at], line[at:at+(len(line)-at)/2], line[at+(len(line)-at)/2:])
	case 13:
		r.restart(r.awhile(2 * time.Second))
	case 14, 15:
		r.sleep(r.awhile(4900 * time.Millisecond))
		c.say(line)
	case 16:
		if r.stalls { // and gives no answer at all
			return
		}
		c.say(line)
	case 17:
		if r.stalls { // with everything, for longer than a client waits, even for up and down
			c.hold(r.awhile(90 * time.Second))
		}
		c.say(line)
	default:
		r.sleep(time.Duration(r.roll(20)) * time.Millisecond)
		c.say(line)
	}
}

// answer is the right response. A relay in spite of path returns the key that was to be written.
func (q *soakRequest) answer(inSpiteOfPath bool) string {
	path, ok := q.Request["output_path"].(string)
	if ok && !inSpiteOfPath {
		return strings.ReplaceAll(writtenPeer, "PATH", path)
	}
	return soakOperations[q.operation()].answer
}

// awhile is a time of limit at most, or a hundredth of it where time is real.
func (r *unreliableRelay) awhile(limit time.Duration) time.Duration {
	if !r.stalls {
		limit /= 100
	}
	return time.Duration(r.roll(int(limit)))
}

func (r *unreliableRelay) sleep(d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-r.ctx.Done():
	}
}
