package wire

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
)

// readLines returns what ReadLine returns until the stream is at its end: lines as they are, errors in angle
// brackets.
func readLines(l *LineReader) []string {
	var got []string
	for {
		line, err := l.ReadLine()
		if err != nil {
			got = append(got, string(line)+"<"+err.Error()+">")
		} else {
			got = append(got, string(line))
		}
		if _, tooLong := errors.AsType[*LineTooLongError](err); err != nil && !tooLong && !errors.Is(err, io.ErrUnexpectedEOF) {
			return got
		}
	}
}

const (
	tooLong = "<line longer than 5 bytes>"
	cutOff  = "<unexpected EOF>"
	end     = "<EOF>"
)

var lineTests = []struct {
	name string
	in   string
	want []string // with a limit of 5 bytes
}{
	{"empty", "", []string{end}},
	{"one line", "a\n", []string{"a", end}},
	{"lines", "a\nbc\n", []string{"a", "bc", end}},
	{"CRLF", "a\r\nbc\r\n", []string{"a", "bc", end}},
	{"CR within", "a\rb\r\r\n", []string{"a\rb\r", end}},
	{"blank lines", "\n\r\n \t\na\n\n\n", []string{"a", end}},
	{"only blank lines", "\n \n", []string{end}},
	{"unterminated", "a\nbc", []string{"a", "bc" + cutOff, end}},
	{"unterminated CR", "bc\r", []string{"bc" + cutOff, end}},
	{"unterminated blank", "a\n \r", []string{"a", end}},
	{"at the limit", "12345\n12345\r\n", []string{"12345", "12345", end}},
	{"unterminated at the limit", "12345", []string{"12345" + cutOff, end}},
	{"unterminated CR at the limit", "12345\r", []string{"12345" + cutOff, end}},
	{"one over", "123456\na\n", []string{tooLong, "a", end}},
	{"one over with CR", "123456\r\na\n", []string{tooLong, "a", end}},
	{"CR over the limit", "12345\r\r\na\n", []string{tooLong, "a", end}},
	{"far over", strings.Repeat("x", 9000) + "\na\n", []string{tooLong, "a", end}},
	{"twice over", "1234567\n1234567\na\n", []string{tooLong, tooLong, "a", end}},
	{"over, then at the limit", "123456\n12345\n", []string{tooLong, "12345", end}},
	{"over and blank", "123456\n\n\na\n", []string{tooLong, "a", end}},
	{"over in blanks", "         \na\n", []string{tooLong, "a", end}},
	{"over and unterminated", "a\n12345678", []string{"a", tooLong, end}},
	{"one over and unterminated", "123456", []string{tooLong, end}},
	{"over, then unterminated", "12345678\nb", []string{tooLong, "b" + cutOff, end}},
	{"NUL and invalid UTF-8", "\x00\xff\n", []string{"\x00\xff", end}},
}

func TestLineReader(t *testing.T) {
	for _, test := range lineTests {
		t.Run(test.name, func(t *testing.T) {
			for name, r := range map[string]io.Reader{
				"whole":                strings.NewReader(test.in),
				"byte by byte":         iotest.OneByteReader(strings.NewReader(test.in)),
				"halves":               iotest.HalfReader(strings.NewReader(test.in)),
				"end with data":        iotest.DataErrReader(strings.NewReader(test.in)),
				"bytes, end with data": iotest.DataErrReader(iotest.OneByteReader(strings.NewReader(test.in))),
			} {
				if got := readLines(NewLineReader(r, 5)); !slices.Equal(got, test.want) {
					t.Errorf("%s: got %q, want %q", name, got, test.want)
				}
			}
			for size := 2; size < min(len(test.in), 20); size++ {
				if got := readLines(NewLineReader(&pieces{test.in, size}, 5)); !slices.Equal(got, test.want) {
					t.Errorf("pieces of %d: got %q, want %q", size, got, test.want)
				}
			}
		})
	}
}

// pieces reads text in pieces of one size.
type pieces struct {
	text string
	size int
}

func (p *pieces) Read(buf []byte) (int, error) {
	if p.text == "" {
		return 0, io.EOF
	}
	n := copy(buf, p.text[:min(p.size, len(p.text))])
	p.text = p.text[n:]
	return n, nil
}

func TestReadErrorComesAfterTheLinesBeforeIt(t *testing.T) {
	reset := errors.New("connection reset")
	l := NewLineReader(io.MultiReader(strings.NewReader("a\nb\nrest"), iotest.ErrReader(reset)), 0)
	for _, want := range []string{"a", "b"} {
		if line, err := l.ReadLine(); string(line) != want || err != nil {
			t.Errorf("got %q, %v, want %q", line, err, want)
		}
	}
	for range 2 { // the error stays
		if line, err := l.ReadLine(); line != nil || err != reset {
			t.Errorf("got %q, %v, want %v", line, err, reset)
		}
	}
}

func TestReadErrorWithinSkippedLine(t *testing.T) {
	reset := errors.New("connection reset")
	l := NewLineReader(io.MultiReader(strings.NewReader("123456789"), iotest.ErrReader(reset)), 5)
	if _, err := l.ReadLine(); err == nil || err.Error() != "line longer than 5 bytes" {
		t.Errorf("got %v", err)
	}
	if line, err := l.ReadLine(); line != nil || err != reset {
		t.Errorf("got %q, %v, want %v", line, err, reset)
	}
}

func TestLimitByDefault(t *testing.T) {
	for _, limit := range []int{0, -1} {
		if got := NewLineReader(strings.NewReader(""), limit).max; got != DefaultMaxLine {
			t.Errorf("limit %d: got %d, want %d", limit, got, DefaultMaxLine)
		}
	}
}

// TestBufferOfALongLineIsReleased is about memory that one look at a large replay buffer would hold for ever.
func TestBufferOfALongLineIsReleased(t *testing.T) {
	long := strings.Repeat("x", 3*keepBuffer)
	l := NewLineReader(io.MultiReader(strings.NewReader(long+"\n"), strings.NewReader("a\nb\n")), 0)
	if line, err := l.ReadLine(); len(line) != len(long) || err != nil {
		t.Fatalf("got %d bytes, %v", len(line), err)
	}
	if cap(l.buf) < len(long) {
		t.Fatalf("the line was in a buffer of %d bytes", cap(l.buf))
	}
	if line, err := l.ReadLine(); string(line) != "a" || err != nil {
		t.Fatalf("got %q, %v", line, err)
	}
	if cap(l.buf) > keepBuffer {
		t.Errorf("a buffer of %d bytes is kept", cap(l.buf))
	}
}

// TestSkippedLineTakesNoMemory reads a line that is much longer than its limit.
func TestSkippedLineTakesNoMemory(t *testing.T) {
	const limit = 1 << 10
	l := NewLineReader(io.MultiReader(io.LimitReader(filler('x'), 64<<20), strings.NewReader("\na\n")), limit)
	if _, err := l.ReadLine(); err == nil {
		t.Fatal("no error")
	}
	if line, err := l.ReadLine(); string(line) != "a" || err != nil {
		t.Errorf("got %q, %v", line, err)
	}
	if cap(l.buf) > 8*limit {
		t.Errorf("the buffer grew to %d bytes", cap(l.buf))
	}
}

// A filler is an endless stream of one byte.
type filler byte

func (f filler) Read(buf []byte) (int, error) {
	copy(buf, bytes.Repeat([]byte{byte(f)}, len(buf)))
	return len(buf), nil
}
