//go:build !linux && !darwin && !freebsd

package relayclient

import "errors"

// peerUID fails: a system that does not tell who listens gets no credential.
func peerUID(int) (uint32, error) { return 0, errors.ErrUnsupported }
