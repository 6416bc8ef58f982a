// Package file reads sources that are directories of this machine, network shares
// among them.
package file

import (
	"tributary/internal/remote"
)

// Connectors is the row of local directories.
func Connectors() remote.Registry {
	return remote.Registry{{Scheme: "file", Example: "file:///path", About: about(), Protocol: 4, Dial: dial, Keys: []string{"done_with"}}}
}
