package relayclient

import (
	"context"
	"fmt"
	"net"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// maxSocketPath is the room for a path in a socket address, less its final NUL.
const maxSocketPath = 107

// dialUnix dials path. One that is too long for a socket address is reached through a descriptor of its
// directory.
func dialUnix(ctx context.Context, path string) (net.Conn, error) {
	if len(path) <= maxSocketPath {
		return dialPath(ctx, path)
	}
	dir, err := unix.Open(filepath.Dir(path), unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	defer func() { _ = unix.Close(dir) }() // opened for its name only
	short := fmt.Sprintf("/proc/self/fd/%d/%s", dir, filepath.Base(path))
	if len(short) > maxSocketPath {
		return nil, overLength(path)
	}
	return dialPath(ctx, short)
}

func peerUID(fd int) (uint32, error) {
	cred, err := unix.GetsockoptUcred(fd, unix.SOL_SOCKET, unix.SO_PEERCRED)
	if err != nil {
		return 0, err
	}
	return cred.Uid, nil
}
