package relayclient

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"syscall"

	"github.com/agentmux/agentmux-go/wire"
)

// maxToken is the size up to which a credential file is read. A longer one is no credential.
const maxToken = 64 << 10 // bytes

// TokenFile returns a [Config.Token] that reads the credential file at path for each hello, so that a
// rotated credential is picked up. White space around the credential is removed. A file that is missing,
// unreadable, blank, no regular file or larger than 64 KiB stands for [wire.SocketTrust].
//
// warn, which may be nil, is told once about a file that other users can read.
func TokenFile(path string, warn func(text string)) func() wire.Secret {
	var once sync.Once
	return func() wire.Secret {
		text, mode, err := readToken(path)
		if err != nil || text == "" {
			return wire.NewSecret(wire.SocketTrust)
		}
		if mode&0o077 != 0 && warn != nil {
			once.Do(func() {
				warn(fmt.Sprintf("the credential file %s can be read by other users (mode %04o): run chmod 600 on it", path, mode))
			})
		}
		return wire.NewSecret(text)
	}
}

var errNoToken = errors.New("not a credential file")

func readToken(path string) (string, os.FileMode, error) {
	// Without O_NONBLOCK, opening a FIFO would wait for its writer.
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return "", 0, err
	}
	defer func() { _ = f.Close() }() // read only: nothing is lost
	info, err := f.Stat()
	if err != nil {
		return "", 0, err
	}
	if !info.Mode().IsRegular() || info.Size() > maxToken {
		return "", 0, errNoToken
	}
	text, err := io.ReadAll(io.LimitReader(f, maxToken))
	if err != nil {
		return "", 0, err
	}
	return strings.TrimSpace(string(text)), info.Mode().Perm(), nil
}
