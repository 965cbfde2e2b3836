package relayclient

import (
	"context"
	"fmt"
	"net"
	"os"
)

// dialTrusted dials the Unix socket at path and makes sure that its peer may see a credential.
func dialTrusted(ctx context.Context, path string) (net.Conn, error) {
	stream, err := dialUnix(ctx, path)
	if err != nil {
		return nil, err
	}
	if err := checkPeer(stream); err != nil {
		_ = stream.Close()
		return nil, err
	}
	return stream, nil
}

func dialPath(ctx context.Context, path string) (net.Conn, error) {
	var d net.Dialer
	return d.DialContext(ctx, "unix", path)
}

// overLength is the error of a socket path that the system's socket addresses have no room for.
func overLength(path string) error {
	return fmt.Errorf("%w: the socket's path has %d bytes and at most %d fit a socket address: use a shorter state directory",
		errInput, len(path), maxSocketPath)
}

// checkPeer reports an error unless the process that listens at the other end runs as this user or as
// root. Anybody else must not be sent a credential.
func checkPeer(stream net.Conn) error {
	unix, ok := stream.(*net.UnixConn)
	if !ok {
		return fmt.Errorf("%w: not a Unix socket", os.ErrPermission)
	}
	raw, err := unix.SyscallConn()
	if err != nil {
		return err
	}
	var uid uint32
	var peerErr error
	if err := raw.Control(func(fd uintptr) { uid, peerErr = peerUID(int(fd)) }); err != nil {
		return err
	}
	return judgePeer(uid, peerErr, os.Geteuid())
}

// judgePeer decides on a peer from its user id, or from the error of asking for it.
func judgePeer(uid uint32, err error, own int) error {
	switch {
	case err != nil:
		return fmt.Errorf("%w: the user of the relay's socket can't be determined: %w", os.ErrPermission, err)
	case uid != 0 && int(uid) != own:
		return fmt.Errorf("%w: the relay's socket is served by user %d, not by you (%d) or root: no credential was sent",
			os.ErrPermission, uid, own)
	default:
		return nil
	}
}
