package relaytest

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"
)

// A step is one thing that happens on a connection.
type step interface {
	// play carries the step out and waits for its end. The error is an [*Error].
	play(p *play) error
}

// expect waits for lines of the client, in any order.
type expect struct{ patterns []*pattern }

func (e *expect) play(p *play) error {
	waiting := slices.Clone(e.patterns)
	for len(waiting) > 0 {
		line, ok := p.next()
		if !ok {
			return p.problem(waiting[0].line, "the connection ended before the client sent\n\twant %s", shown(waiting[0].text))
		}
		i, err := p.find(waiting, line)
		if err != nil {
			return err
		}
		waiting = slices.Delete(waiting, i, i+1)
	}
	return nil
}

// find returns the index of the first pattern that line fits.
func (p *play) find(patterns []*pattern, line received) (int, error) {
	if line.torn {
		return 0, p.problem(patterns[0].line, "the connection ended inside a line\n\twant %s\n\tgot  %s", shown(patterns[0].text), shown(line.text))
	}
	value, notJSON := decode(line.text)
	var report strings.Builder
	for i, pattern := range patterns {
		var difference string
		if notJSON != nil {
			difference = "not JSON: " + notJSON.Error()
		} else if difference = pattern.match(value, p.bound); difference == "" {
			return i, nil
		}
		word := "want"
		if i > 0 {
			word = "or  "
		}
		fmt.Fprintf(&report, "\n\t%s %s\n\t     (%s)", word, shown(pattern.text), difference)
	}
	return 0, p.problem(patterns[0].line, "the client sent another line\n\tgot  %s%s", shown(line.text), report.String())
}

// say writes a text to the client, several times.
type say struct {
	at    int
	text  template
	times int
}

// writeSize is how much of a repeated text is written at once, in bytes.
const writeSize = 64 << 10

func (s *say) play(p *play) error {
	text := s.text.expand(p.bound)
	if text == "" {
		return nil
	}
	batch := min(s.times, max(1, writeSize/len(text)))
	block := strings.Repeat(text, batch)
	for left := s.times; left > 0; left -= batch {
		_, err := p.conn.Write([]byte(block[:min(left, batch)*len(text)]))
		if errors.Is(err, os.ErrDeadlineExceeded) {
			return p.problem(s.at, "the client was connected and did not read this")
		}
		if err != nil {
			return nil // the client hung up, which it may do at any time: see the package comment
		}
	}
	return nil
}

// pause waits.
type pause struct {
	at   int
	wait time.Duration
}

func (s *pause) play(p *play) error {
	timer := time.NewTimer(s.wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-p.gone:
		return p.problem(s.at, "the connection ended during the pause")
	}
}

// silence waits for the client to hang up.
type silence struct{ at int }

func (s *silence) play(p *play) error {
	if line, ok := p.next(); ok {
		return p.unasked(s.at, line)
	}
	return nil
}

// stall waits without reading.
type stall struct {
	at   int
	wait time.Duration // 0: until the relay is closed
}

func (s *stall) play(p *play) error {
	resume := p.stopReading()
	defer resume()
	if s.wait == 0 {
		<-p.relay.closing
		return nil
	}
	timer := time.NewTimer(s.wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-p.relay.closing:
		return p.problem(s.at, "the relay was closed during the stall")
	}
}

// halfClose ends the relay's side of the connection.
type halfClose struct{}

func (halfClose) play(p *play) error {
	_ = p.conn.CloseWrite() // fails only if the client hung up, which it may do at any time
	return nil
}
