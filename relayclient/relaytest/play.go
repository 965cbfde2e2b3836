package relaytest

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"time"
)

// A stream is a connection of which each direction can be closed by itself: [*net.UnixConn] or [*memory].
type stream interface {
	net.Conn
	CloseRead() error
	CloseWrite() error
}

// A play is a section being played on a connection.
type play struct {
	relay   *Relay
	section *section
	number  int // of the connection, from 1
	conn    stream
	bound   map[string]string // values of the script's names

	gone    chan struct{} // closed by receive: nothing more comes from the client
	arrived chan struct{} // holds a token when lines may have become longer

	mu      sync.Mutex
	lines   []received    // arrived and not yet asked for
	stalled chan struct{} // while or after reading is stopped; closed when it goes on
}

// received is a line that arrived.
type received struct {
	text string
	torn bool // the connection ended inside it
}

func newPlay(r *Relay, s *section, number int, conn stream) *play {
	return &play{
		relay: r, section: s, number: number, conn: conn,
		bound:   make(map[string]string),
		gone:    make(chan struct{}),
		arrived: make(chan struct{}, 1),
	}
}

// run plays the section, hangs up, and waits for the reading to end.
func (p *play) run() {
	var reader sync.WaitGroup
	reader.Go(p.receive)
	if err := p.perform(); err != nil {
		p.relay.fail(err) // before the client can notice and fail of it
	}
	_ = p.conn.Close() // nothing could be done about it
	reader.Wait()
}

// perform carries out the steps, and checks that the client sent nothing else.
func (p *play) perform() error {
	for _, step := range p.section.steps {
		if err := step.play(p); err != nil {
			return err
		}
	}
	if line, ok := p.take(); ok {
		return p.unasked(p.section.last, line)
	}
	return nil
}

// end lets the play come to its end: of the client's lines only those that have arrived are still taken, and
// what is being said has to be read within closeLimit.
func (p *play) end() {
	// Both fail only on a connection that is closed, which is what they are for.
	_ = p.conn.CloseRead()
	_ = p.conn.SetWriteDeadline(time.Now().Add(closeLimit))
}

// closeLimit is how long a client that is connected can leave unread what the relay says once it is closed.
const closeLimit = time.Second

// receive queues the client's lines until the connection ends. It reads ahead of the script, since a client
// that is writing may not be reading: on a pipe, two that only write would wait for each other.
func (p *play) receive() {
	defer close(p.gone)
	var line []byte // what has arrived of it
	r := bufio.NewReader(p.conn)
	for {
		piece, err := r.ReadBytes('\n')
		line = append(line, piece...)
		switch {
		case err == nil:
			p.put(received{text: string(line[:len(line)-1])})
			line = nil
		case errors.Is(err, os.ErrDeadlineExceeded):
			<-p.resumption()
		default: // the client hung up, or the relay did
			if len(line) > 0 {
				p.put(received{text: string(line), torn: true})
			}
			return
		}
	}
}

func (p *play) put(line received) {
	p.relay.record(Line{Connection: p.number, Text: line.text})
	p.mu.Lock()
	p.lines = append(p.lines, line)
	p.mu.Unlock()
	select {
	case p.arrived <- struct{}{}:
	default:
	}
}

// take returns the next line if one has arrived.
func (p *play) take() (line received, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.lines) == 0 {
		return received{}, false
	}
	line, p.lines = p.lines[0], p.lines[1:]
	return line, true
}

// next waits for the next line. It returns false when the connection has ended and no line is left.
func (p *play) next() (line received, ok bool) {
	for {
		if line, ok := p.take(); ok {
			return line, true
		}
		select {
		case <-p.arrived:
		case <-p.gone:
			return p.take()
		}
	}
}

// past is a deadline that ends a read at once.
var past = time.Unix(1, 0)

// stopReading stops receive until the returned function is called.
func (p *play) stopReading() (resume func()) {
	stalled := make(chan struct{})
	p.mu.Lock()
	p.stalled = stalled
	p.mu.Unlock()
	// Setting a deadline fails only on a connection that is closed, where nothing is read anyway.
	_ = p.conn.SetReadDeadline(past)
	return func() {
		_ = p.conn.SetReadDeadline(time.Time{})
		close(stalled)
	}
}

// resumption is closed when reading may go on.
func (p *play) resumption() <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.stalled
}

func (p *play) problem(line int, format string, args ...any) error {
	return &Error{
		Script: p.relay.script.name, Line: line, Connection: p.number,
		Problem: fmt.Sprintf(format, args...),
	}
}

func (p *play) unasked(at int, line received) error {
	return p.problem(at, "the client sent a line that nothing asks for\n\tgot  %s", shown(line.text))
}
