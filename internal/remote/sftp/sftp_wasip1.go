package sftp

import (
	"context"
	"errors"

	"tributary/internal/remote"
)

// The SFTP library does not compile for wasip1, where only the simulation runs,
// with servers of its own.

func dial(context.Context, remote.Config, remote.Target, func(name, detail string)) (remote.Session, error) {
	return nil, &remote.Error{Op: "connect", Class: remote.Misconfigured, Err: errors.ErrUnsupported}
}

func lost(error) bool { return false }
