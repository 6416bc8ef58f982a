// Package ftp reads sources over FTP, and over FTP within TLS. The library that speaks
// it sees no more of a server than was read and judged here.
package ftp

import (
	"tributary/internal/remote"
)

// Connectors are the rows of FTP: plain, within TLS that is asked for, and within TLS
// from the first byte on.
func Connectors() remote.Registry {
	keys := func(more ...string) []string {
		return append([]string{"connect_timeout", "idle_timeout", "password", "disable_epsv", "done_with"}, more...)
	}
	row := func(scheme, example, port string, keys []string) remote.Connector {
		return remote.Connector{Scheme: scheme, Example: example, Port: port, User: "anonymous", Rooted: true, Protocol: 1, Dial: dial, Keys: keys}
	}
	return remote.Registry{
		row("ftp", "ftp://user@host/path", "21", keys()),
		row("ftpes", "ftpes://user@host/path", "21", keys("ca_file", "certificate_pin")),
		row("ftps", "ftps://user@host:990/path", "990", keys("ca_file", "certificate_pin")),
	}
}
