// Package s3 reads sources that are buckets of S3, at Amazon and elsewhere, over sessions
// of HTTP whose requests it signs.
package s3

import (
	"tributary/internal/remote"
)

// Connectors is the row of buckets.
func Connectors() remote.Registry {
	return remote.Registry{{
		Scheme: "s3", Example: "s3://bucket/prefix", About: about(), Port: "443", Protocol: 3, Refuse: refuse, Server: server, Dial: dial, Remedy: remedy,
		Keys: []string{"connect_timeout", "idle_timeout", "password", "proxy", "proxy_password", "ca_file", "certificate_pin", "endpoint", "region", "virtual_hosted", "done_with"},
	}}
}
