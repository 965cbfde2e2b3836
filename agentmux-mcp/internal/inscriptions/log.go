package inscriptions

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"
)

// A Log appends records to the event log of the session that this process is. It may be used
// concurrently, and several processes may share a file: a record is one write.
//
// The file is opened at the first record and looked for again at each one, so that the log goes on after
// somebody removed it or moved it away. Trouble with it costs records and is told once.
type Log struct {
	root   string
	stderr io.Writer

	mu     sync.Mutex
	path   string      // of the file that records belong in
	file   *os.File    // nil: not open
	info   fs.FileInfo // of file
	told   bool        // of the first trouble
	closed bool
}

// New returns the log in the directory root of a process that is not associated. It says on stderr why
// it cannot be kept. An empty root is no log: records are dropped.
func New(root string, stderr io.Writer) *Log {
	return &Log{root: root, stderr: stderr, path: pathOf(root, "", "")}
}

// Associate lets later records go to the log of a session of a bundle; or, if either is empty, to that of
// processes that are not associated.
func (l *Log) Associate(bundle, session string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.path = pathOf(l.root, bundle, session)
}

// Inscribe appends a record of an event that happened now. Nil details are written as an empty object.
func (l *Log) Inscribe(event string, details map[string]any) {
	if l.root == "" {
		return
	}
	line := record(time.Now(), event, details)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return
	}
	if err := l.append(line); err != nil && !l.told {
		l.told = true
		fmt.Fprintf(l.stderr, "agentmux-mcp: events go unlogged: %v\n", err)
	}
}

// Close closes the file. Later records are dropped.
func (l *Log) Close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	l.closeFile()
}

func (l *Log) append(line []byte) error {
	if err := l.open(); err != nil {
		return err
	}
	n, err := l.file.Write(line)
	if 0 < n && n < len(line) {
		l.takeBack(n)
	}
	return err
}

// takeBack removes the n bytes that a full disk has taken of a record, unless another process has appended
// to them: whatever it or a later one writes must not end up in half a line.
func (l *Log) takeBack(n int) {
	end, err := l.file.Seek(0, io.SeekCurrent) // where our write ended: on Unix, appending moves the offset there
	if err != nil {
		return
	}
	if info, err := l.file.Stat(); err == nil && info.Size() == end {
		_ = l.file.Truncate(end - int64(n)) // the write has failed already, with a better cause
	}
}

// open makes sure that the open file is the one at the log's path.
func (l *Log) open() error {
	if l.file != nil {
		if info, err := os.Stat(l.path); err == nil && os.SameFile(info, l.info) {
			return nil
		}
		l.closeFile()
	}
	if err := os.MkdirAll(filepath.Dir(l.path), 0o700); err != nil {
		return err
	}
	// Opening a named pipe would wait for its reader.
	file, err := os.OpenFile(l.path, os.O_WRONLY|os.O_APPEND|os.O_CREATE|syscall.O_NONBLOCK, 0o600)
	if err != nil {
		return err
	}
	info, err := file.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = &fs.PathError{Op: "open", Path: l.path, Err: errors.New("not a regular file")}
	}
	if err != nil {
		file.Close()
		return err
	}
	l.file, l.info = file, info
	return nil
}

func (l *Log) closeFile() {
	if l.file != nil {
		l.file.Close() // nothing is buffered, so there is nothing to lose
		l.file = nil
	}
}
