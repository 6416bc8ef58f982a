//go:build !wasip1

package sftp

import (
	"errors"

	"github.com/pkg/sftp"
)

// lost reports whether the SFTP library says that the connection is gone.
func lost(err error) bool {
	return errors.Is(err, sftp.ErrSSHFxConnectionLost) || errors.Is(err, sftp.ErrSSHFxNoConnection)
}
