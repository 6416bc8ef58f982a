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
	row := func(scheme, example, port string, about remote.About, keys []string) remote.Connector {
		return remote.Connector{Scheme: scheme, Example: example, About: about, Port: port, User: "anonymous", Rooted: true, Protocol: 1, Dial: dial, Keys: keys}
	}
	const verified = "by its certificate: the system's authorities, `ca_file` or `certificate_pin`; data connections resume the session"
	return remote.Registry{
		row("ftp", "ftp://user@host/path", "21", about("a directory over FTP, which anybody on the way can read", "not at all"), keys()),
		row("ftpes", "ftpes://user@host/path", "21", about("the same within TLS that is asked for (explicit)", verified), keys("ca_file", "certificate_pin")),
		row("ftps", "ftps://user@host:990/path", "990", about("the same within TLS from the first byte on (implicit)", verified), keys("ca_file", "certificate_pin")),
	}
}
