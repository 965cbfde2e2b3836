package relaytest

import (
	"errors"
	"io"
	"net"
	"os"
	"sync/atomic"
	"syscall"
	"time"
)

// memory is one end of a connection without a socket. It is made of two pipes, one for each direction, so
// that each can be closed by itself, and its errors are those of a Unix socket. It has no buffer: a write
// ends when the other end has read it.
type memory struct {
	in, out net.Conn
	closed  atomic.Bool // by this end
}

// newMemory returns both ends of a connection.
func newMemory() (client, relay *memory) {
	upTo, upFrom := net.Pipe()
	downTo, downFrom := net.Pipe()
	return &memory{in: downFrom, out: upTo}, &memory{in: upFrom, out: downTo}
}

func (m *memory) Read(b []byte) (int, error) {
	n, err := m.in.Read(b)
	switch {
	case !errors.Is(err, io.ErrClosedPipe):
		return n, err
	case m.closed.Load():
		return n, failure("read", net.ErrClosed)
	default: // CloseRead
		return n, io.EOF
	}
}

func (m *memory) Write(b []byte) (int, error) {
	n, err := m.out.Write(b)
	switch {
	case !errors.Is(err, io.ErrClosedPipe):
		return n, err
	case m.closed.Load():
		return n, failure("write", net.ErrClosed)
	default:
		return n, failure("write", os.NewSyscallError("write", syscall.EPIPE))
	}
}

func failure(op string, cause error) error {
	return &net.OpError{Op: op, Net: "unix", Err: cause}
}

func (m *memory) CloseRead() error { return m.in.Close() }

func (m *memory) CloseWrite() error { return m.out.Close() }

func (m *memory) Close() error {
	m.closed.Store(true)
	return errors.Join(m.CloseRead(), m.CloseWrite())
}

func (m *memory) LocalAddr() net.Addr  { return m.in.LocalAddr() }
func (m *memory) RemoteAddr() net.Addr { return m.in.RemoteAddr() }

func (m *memory) SetDeadline(t time.Time) error {
	return errors.Join(m.SetReadDeadline(t), m.SetWriteDeadline(t))
}

func (m *memory) SetReadDeadline(t time.Time) error  { return m.in.SetReadDeadline(t) }
func (m *memory) SetWriteDeadline(t time.Time) error { return m.out.SetWriteDeadline(t) }
