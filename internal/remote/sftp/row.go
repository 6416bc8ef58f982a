// Package sftp reads sources over SFTP: a connection of SSH, through jump hosts where
// there are any, whose server is always verified.
package sftp

import (
	"tributary/internal/remote"
)

// Connectors is the row of SFTP.
func Connectors() remote.Registry {
	return remote.Registry{{
		Scheme: "sftp", Example: "sftp://user@host:22/path", About: about(), Port: "22", NeedsUser: true, Protocol: 2, Dial: dial, Where: where, Remedy: remedy,
		Keys: []string{"connect_timeout", "idle_timeout", "password", "identity_file", "identity_passphrase", "identity_agent", "known_hosts", "host_key", "jump", "done_with"},
	}}
}
