package wire

import (
	"bytes"
	"fmt"
	"io"
)

// DefaultMaxLine is the length, in bytes and without the line end, up to which a client accepts one
// line from a relay unless told otherwise. The protocol itself has no limit; a look at a long replay
// buffer can take tens of MiB.
const DefaultMaxLine = 64 << 20

// A LineTooLongError is a line that exceeds the reader's limit. The line is skipped: the next
// [LineReader.ReadLine] returns the line after it.
type LineTooLongError struct {
	Max int // bytes, without the line end
}

func (e *LineTooLongError) Error() string {
	return fmt.Sprintf("line longer than %d bytes", e.Max)
}

// A LineReader cuts a stream into lines that end with \n or \r\n, skipping blank ones. What was read
// of a line stays in the buffer until its end arrives, in however many pieces.
type LineReader struct {
	r    io.Reader
	max  int
	buf  []byte // buf[start:] has been read and not yet returned
	from int
	err  error // what the stream ended with, once it did
	skip bool  // inside a line that was reported as too long
}

// NewLineReader returns a reader of lines of at most max bytes; 0 stands for [DefaultMaxLine].
func NewLineReader(r io.Reader, max int) *LineReader {
	if max <= 0 {
		max = DefaultMaxLine
	}
	return &LineReader{r: r, max: max}
}

// keepBuffer is the capacity above which an emptied buffer is given back, so that one long line does
// not hold its memory for the life of the stream.
const keepBuffer = 1 << 20

// ReadLine returns the next line that is not blank, without its end. The slice is valid until the next
// call.
//
// At the end of the stream it returns io.EOF, or, when the stream ended inside a line, that
// rest together with io.ErrUnexpectedEOF and io.EOF afterwards. A [*LineTooLongError] does not end the
// stream. Any other error is the stream's own, returned once what came before it has been returned.
func (l *LineReader) ReadLine() ([]byte, error) {
	scanned := 0 // bytes of buf[from:] known to hold no line end
	for {
		pending := l.buf[l.from:]
		if i := bytes.IndexByte(pending[scanned:], '\n'); i >= 0 {
			line := pending[:scanned+i]
			l.from += scanned + i + 1
			scanned = 0
			if l.skip {
				l.skip = false
				continue
			}
			line = bytes.TrimSuffix(line, []byte{'\r'})
			if len(line) > l.max {
				return nil, &LineTooLongError{Max: l.max}
			}
			if len(bytes.TrimSpace(line)) == 0 {
				continue
			}
			return line, nil
		}
		scanned = len(pending)
		if l.skip {
			l.buf, l.from, scanned = l.buf[:0], 0, 0
		} else if scanned > l.max+1 { // one more for a \r
			l.skip = true
			l.buf, l.from = nil, 0
			return nil, &LineTooLongError{Max: l.max}
		}
		if l.err != nil {
			return l.rest()
		}
		l.fill()
	}
}

// rest returns what the stream ended with.
func (l *LineReader) rest() ([]byte, error) {
	rest := bytes.TrimSuffix(l.buf[l.from:], []byte{'\r'})
	l.buf, l.from = nil, 0
	switch {
	case l.err != io.EOF:
		return nil, l.err
	case len(rest) > l.max:
		return nil, &LineTooLongError{Max: l.max}
	case len(bytes.TrimSpace(rest)) == 0:
		return nil, io.EOF
	}
	return rest, io.ErrUnexpectedEOF
}

// fill reads once, making room first.
func (l *LineReader) fill() {
	if l.from > 0 {
		n := copy(l.buf, l.buf[l.from:])
		l.buf, l.from = l.buf[:n], 0
		if n == 0 && cap(l.buf) > keepBuffer {
			l.buf = nil
		}
	}
	if len(l.buf) == cap(l.buf) {
		grown := make([]byte, len(l.buf), max(4096, 2*cap(l.buf)))
		copy(grown, l.buf)
		l.buf = grown
	}
	n, err := l.r.Read(l.buf[len(l.buf):cap(l.buf)])
	l.buf = l.buf[:len(l.buf)+n]
	l.err = err
}
