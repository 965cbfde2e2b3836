package scripts

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/agentmux/agentmux-go/wire"
)

// An unreliableRelay answers look and send, and does at random whatever a relay can do wrong. It notes what it was
// asked, so that the answers which a client got can be held against it.
type unreliableRelay struct {
	ctx     context.Context // ends its goroutines
	serving sync.WaitGroup

	mu        sync.Mutex
	rnd       *rand.Rand
	submitted map[string]int // how often each message or target came
	live      map[net.Conn]struct{}
	downUntil time.Time
}

func newUnreliableRelay(ctx context.Context, seed uint64) *unreliableRelay {
	return &unreliableRelay{
		ctx: ctx, rnd: rand.New(rand.NewPCG(seed, 0)),
		submitted: make(map[string]int), live: make(map[net.Conn]struct{}),
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
	r.live[theirs] = struct{}{}
	r.serving.Go(func() {
		r.serve(theirs)
		_ = theirs.Close()
		r.mu.Lock()
		delete(r.live, theirs)
		r.mu.Unlock()
	})
	return ours, nil
}

// restart hangs up on everybody and stays away for a while.
func (r *unreliableRelay) restart(away time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.downUntil = time.Now().Add(away)
	for conn := range r.live {
		_ = conn.Close()
	}
}

// serve reads requests and answers each in a goroutine of its own, so that answers overtake each other.
func (r *unreliableRelay) serve(conn net.Conn) {
	stop := context.AfterFunc(r.ctx, func() { _ = conn.Close() })
	defer stop()
	var write sync.Mutex
	say := func(text string) {
		write.Lock()
		defer write.Unlock()
		_, _ = io.WriteString(conn, text) // a client that has gone is no concern of the relay's
	}
	lines := wire.NewLineReader(conn, 0)
	for {
		line, err := lines.ReadLine()
		if err != nil {
			return
		}
		frame, err := wire.Decode(line)
		if err != nil {
			panic(fmt.Sprintf("the client sent %q: %v", line, err))
		}
		switch frame := frame.(type) {
		case *wire.Hello:
			if !r.greet(frame, say) {
				return
			}
		case *wire.RequestFrame:
			r.note(frame.Request)
			r.serving.Go(func() { r.answer(conn, frame, say) })
		}
	}
}

// greet answers a hello and reports whether the connection goes on.
func (r *unreliableRelay) greet(hello *wire.Hello, say func(string)) bool {
	switch r.roll(40) {
	case 0:
		say(`{"frame":"response","response":{"kind":"error","error":{"code":"runtime_identity_claim_conflict","message":"connected elsewhere"}}}` + "\n")
		return false
	case 1:
		return false
	case 2:
		r.sleep(3 * time.Second)
		return false
	}
	say(fmt.Sprintf(`{"frame":"hello_ack","schema_version":"1","principal_id":%q}`+"\n", hello.PrincipalID))
	return true
}

func (r *unreliableRelay) note(op wire.Operation) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.submitted[markOf(op)]++
}

// markOf is what tells one request from all others.
func markOf(op wire.Operation) string {
	switch op := op.(type) {
	case *wire.Send:
		return op.Message
	case *wire.Look:
		return op.TargetSession
	default:
		panic(fmt.Sprintf("a request that nobody made: %T", op))
	}
}

// answer answers a request, or fails to.
func (r *unreliableRelay) answer(conn net.Conn, request *wire.RequestFrame, say func(string)) {
	var body string
	switch op := request.Request.(type) {
	case *wire.Send:
		body = fmt.Sprintf(`{"kind":"send","results":[{"target_session":"b","message_id":%q,"outcome":"queued"}]}`, op.Message)
	case *wire.Look:
		body = fmt.Sprintf(`{"kind":"look","target_session":%q,"snapshot_format":"lines","snapshot_lines":[]}`, op.TargetSession)
	}
	id, err := json.Marshal(request.RequestID)
	if err != nil {
		panic(err)
	}
	line := fmt.Sprintf(`{"frame":"response","request_id":%s,"response":%s}`+"\n", id, body)
	const event = `{"frame":"event","event":{"event_type":"delivery_outcome"}}` + "\n"
	switch r.roll(500) {
	case 0:
		_ = conn.Close()
	case 1:
		say(line[:len(line)/2])
		_ = conn.Close()
	case 2:
		say("{garbage\n")
	case 3:
		say(`{"frame":"response","response":{"kind":"error","error":{"code":"runtime_bundle_reloaded","message":"goodbye"}}}` + "\n")
		_ = conn.Close()
	case 4: // never
	case 5:
		r.sleep(6 * time.Second)
		say(line)
	case 6, 7:
		r.sleep(time.Duration(1+r.roll(4900)) * time.Millisecond)
		say(line)
	case 8:
		say(strings.Repeat(event, 100) + line + line)
	case 9:
		say(fmt.Sprintf(`{"frame":"response","request_id":%s,"response":{"kind":"error","error":{"code":"validation_unknown_target","message":"no such target"}}}`+"\n", id))
	case 10:
		say(fmt.Sprintf(`{"frame":"response","request_id":%s,"response":{"kind":"up"}}`+"\n", id))
	case 11:
		r.restart(time.Duration(r.roll(2000)) * time.Millisecond)
	default:
		r.sleep(time.Duration(r.roll(20)) * time.Millisecond)
		say(line)
	}
}

func (r *unreliableRelay) sleep(d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-r.ctx.Done():
	}
}
