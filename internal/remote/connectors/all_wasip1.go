package connectors

import (
	"tributary/internal/remote"
	"tributary/internal/remote/sftp"
)

// All are the connectors that the simulation needs, the only program for wasip1: its
// sources have addresses of SFTP, and servers of its own.
func All() remote.Registry { return sftp.Connectors() }
