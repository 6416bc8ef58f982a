//go:build !wasip1

package remote

import (
	"errors"

	"github.com/pkg/sftp"
)

// sftpLost reports whether the SFTP library says that the connection is gone.
func sftpLost(err error) bool {
	return errors.Is(err, sftp.ErrSSHFxConnectionLost) || errors.Is(err, sftp.ErrSSHFxNoConnection)
}

// sftpStatus reports whether an SFTP server answered with a status.
func sftpStatus(err error) bool {
	var status *sftp.StatusError
	return errors.As(err, &status)
}
