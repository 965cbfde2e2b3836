//go:build !linux

package relayclient

import (
	"context"
	"net"
)

// maxSocketPath is the room for a path in the smallest socket address, less its final NUL.
const maxSocketPath = 103

func dialUnix(ctx context.Context, path string) (net.Conn, error) {
	if len(path) > maxSocketPath {
		return nil, overLength(path)
	}
	return dialPath(ctx, path)
}
