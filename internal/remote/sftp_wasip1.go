package remote

import (
	"context"
	"errors"
)

// The SFTP library does not compile for wasip1, where only the simulation runs,
// with servers of its own.

func dialSFTP(context.Context, Config, Target, func(name, detail string)) (Session, error) {
	return nil, &Error{Op: "connect", class: Misconfigured, Err: errors.ErrUnsupported}
}

func sftpLost(error) bool   { return false }
func sftpStatus(error) bool { return false }
