package sftp

import "tributary/internal/remote"

// about says what the connector can.
func about() remote.About {
	return remote.About{
		Reads:    "a directory over SFTP, also through jump hosts (`jump`)",
		Listings: "SFTP version 3",
		Times:    "to the second",
		LogsIn:   "`identity_file` (with `identity_passphrase`, and the certificate beside it), keys of an agent (`identity_agent`), `password`, also where it is asked for in a conversation",
		Trust:    "always verified: `known_hosts` (hashed names, `@cert-authority`, `@revoked`) or pinned keys (`host_key`)",
		Resumes:  "while size and time are the same",
		Checks:   "none",
		Sessions: "8 files over one connection, each in many pieces at once",
		Versions: "none",
		Besides:  "links are shown as such and never followed",
	}
}
