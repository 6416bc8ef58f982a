//go:build !wasip1

package connectors

import (
	"slices"

	"tributary/internal/remote"
	"tributary/internal/remote/file"
	"tributary/internal/remote/ftp"
	"tributary/internal/remote/http"
	"tributary/internal/remote/s3"
	"tributary/internal/remote/sftp"
)

// All are the connectors, in the order in which messages name their schemes.
func All() remote.Registry {
	return slices.Concat(
		sftp.Connectors(),
		ftp.Connectors(),
		http.Connectors(),
		s3.Connectors(),
		file.Connectors(),
	)
}
