package relaytest

import (
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// streams returns the two ends of a connection of each kind, which must not differ.
func streams(t *testing.T) map[string][2]stream {
	t.Helper()
	dir, err := os.MkdirTemp("", "amx")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	listener, err := net.Listen("unix", filepath.Join(dir, "s"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	dialled, err := net.Dial("unix", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	accepted, err := listener.Accept()
	if err != nil {
		t.Fatal(err)
	}
	client, relay := newMemory()
	return map[string][2]stream{
		"socket": {dialled.(*net.UnixConn), accepted.(*net.UnixConn)},
		"memory": {client, relay},
	}
}

func TestMemoryIsLikeASocket(t *testing.T) {
	read := func(s stream) error { _, err := s.Read(make([]byte, 10)); return err }
	write := func(s stream) error { _, err := s.Write([]byte("x")); return err }
	for _, test := range []struct {
		name string
		do   func(ours, theirs stream) error
		want error
	}{
		{"read, they hung up", func(ours, theirs stream) error { return errors.Join(theirs.Close(), read(ours)) }, io.EOF},
		{"read, they half-closed", func(ours, theirs stream) error { return errors.Join(theirs.CloseWrite(), read(ours)) }, io.EOF},
		{"read, we stopped reading", func(ours, _ stream) error { return errors.Join(ours.CloseRead(), read(ours)) }, io.EOF},
		{"read, we hung up", func(ours, _ stream) error { return errors.Join(ours.Close(), read(ours)) }, net.ErrClosed},
		{"write, they hung up", func(ours, theirs stream) error { return errors.Join(theirs.Close(), write(ours)) }, syscall.EPIPE},
		{"write, they stopped reading", func(ours, theirs stream) error { return errors.Join(theirs.CloseRead(), write(ours)) }, syscall.EPIPE},
		{"write, we half-closed", func(ours, _ stream) error { return errors.Join(ours.CloseWrite(), write(ours)) }, syscall.EPIPE},
		{"write, we hung up", func(ours, _ stream) error { return errors.Join(ours.Close(), write(ours)) }, net.ErrClosed},
		{"read deadline", func(ours, _ stream) error { return errors.Join(ours.SetReadDeadline(past), read(ours)) }, os.ErrDeadlineExceeded},
		{"write deadline", func(ours, _ stream) error { return errors.Join(ours.SetWriteDeadline(past), write(ours)) }, os.ErrDeadlineExceeded},
		{"deadline of both", func(ours, _ stream) error {
			return errors.Join(ours.SetDeadline(past), read(ours))
		}, os.ErrDeadlineExceeded},
		{"deadline taken back", func(ours, theirs stream) error {
			return errors.Join(ours.SetDeadline(past), ours.SetDeadline(time.Time{}), theirs.Close(), read(ours))
		}, io.EOF},
	} {
		for kind, ends := range streams(t) {
			if err := test.do(ends[0], ends[1]); !errors.Is(err, test.want) {
				t.Errorf("%s: %s: got %v, want %v", kind, test.name, err, test.want)
			}
			_, _ = ends[0].Close(), ends[1].Close()
		}
	}
}

func TestMemoryHalfClose(t *testing.T) {
	for kind, ends := range streams(t) {
		ours, theirs := ends[0], ends[1]
		if err := theirs.CloseWrite(); err != nil {
			t.Fatalf("%s: %v", kind, err)
		}
		got := make(chan []byte, 1)
		go func() {
			all, _ := io.ReadAll(theirs)
			got <- all
		}()
		if _, err := ours.Write([]byte("still read")); err != nil {
			t.Errorf("%s: write to a half-closed end: %v", kind, err)
		}
		_ = ours.Close()
		if all := <-got; string(all) != "still read" {
			t.Errorf("%s: read %q", kind, all)
		}
		_ = theirs.Close()
	}
}
