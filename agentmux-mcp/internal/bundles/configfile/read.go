package configfile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"

	"github.com/agentmux/agentmux-go/mcptools"
)

// MaxSize bounds a file, in bytes.
const MaxSize = 4 << 20

// Broken returns the refusal of a file that is there and cannot be used. Its cause is a clause: it starts
// in lower case and ends without a full stop.
func Broken(path, cause string) *mcptools.Refusal {
	return &mcptools.Refusal{
		Code:    mcptools.CodeInvalidArguments,
		Message: fmt.Sprintf("%s cannot be used: %s. Correct that and repeat the call.", path, cause),
		Details: map[string]any{"path": path, "cause": cause},
	}
}

// Unreadable is [Broken] for what the file system has against a file or directory.
func Unreadable(path string, err error) *mcptools.Refusal {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		err = e.Err // without the path, which the message has already
	}
	return Broken(path, err.Error())
}

// Read returns the content of the regular file at path.
//
// The error is [fs.ErrNotExist] where there is nothing at path. It is the refusal of [Broken] for
// anything else: a file that may not be read or is too large, a directory, a pipe, a symbolic link to nothing.
func Read(path string) ([]byte, error) {
	data, err := read(path)
	switch {
	case err == nil:
		return data, nil
	case errors.Is(err, syscall.ENAMETOOLONG):
		return nil, fs.ErrNotExist // no file can have this name
	case errors.Is(err, fs.ErrNotExist):
		if _, err := os.Lstat(path); err == nil {
			return nil, Broken(path, "it is a symbolic link to nothing")
		}
		return nil, fs.ErrNotExist
	default:
		return nil, Unreadable(path, err)
	}
}

func read(path string) ([]byte, error) {
	// Opening a named pipe would wait for its writer.
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("it is not a regular file")
	}
	data, err := io.ReadAll(io.LimitReader(f, MaxSize+1))
	if err != nil {
		return nil, err
	}
	if len(data) > MaxSize {
		return nil, fmt.Errorf("it is larger than %d MiB", MaxSize>>20)
	}
	return data, nil
}
