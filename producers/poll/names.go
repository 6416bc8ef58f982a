package poll

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"tributary/internal/remote"
	"tributary/schemas"
)

// isZip tells whether a name, in whatever case, is one of our files.
func isZip(name string) bool { return strings.EqualFold(name[max(0, len(name)-4):], ".zip") }

// unwanted says why an entry is no file of ours, which is a regular file whose name
// ends in .zip, in whatever case, and that no filter of the source excludes; empty if
// it may be one.
func (l *listed) unwanted(action, name string, e remote.Entry) (reason, rule string) {
	switch {
	case e.Kind == remote.Dir:
		return "directory", ""
	case e.Unreadable:
		return "line_unreadable", ""
	case e.Kind != remote.File:
		return "not_a_regular_file", ""
	case !isZip(e.Name):
		return "not_zip", ""
	}
	if f := l.poll.source.Filters.Excluding(action, name); f != nil {
		return Filtered, f.String()
	}
	return "", ""
}

// Filtered is the reason of an entry that a filter of its source excludes.
const Filtered = "filtered"

// KeptName is how the name of an entry is kept, whatever a server chose: as text
// that can be shown, of at most 1024 bytes. Of a KeptName it is the same.
func KeptName(name string) string { return bounded(printable(name)) }

// maxName is how long a name is kept, in bytes: longer than any convention
// allows, and short enough for an index.
const maxName = 1024

// bounded returns a name of at most maxName bytes: the beginning of a longer
// one and its hash. Such a name breaks the convention and is never fetched.
func bounded(name string) string {
	if len(name) <= maxName {
		return name
	}
	sum := sha256.Sum256([]byte(name))
	return strings.ToValidUTF8(name[:maxName-100], "") + "~" + hex.EncodeToString(sum[:])
}

// printable returns a name as valid text: what is not printable UTF-8, or would not
// be the same in an event (schemas.Clean), is percent-encoded. Such a name breaks the convention and is never fetched.
func printable(name string) string {
	clean := schemas.Clean(name) == name
	for _, r := range name {
		if r == '\uFFFD' || r < ' ' || r == 0x7f {
			clean = false
			break
		}
	}
	if clean {
		return name
	}
	var b strings.Builder
	for i := 0; i < len(name); i++ {
		if ch := name[i]; ch < ' ' || ch >= 0x7f || ch == '%' {
			fmt.Fprintf(&b, "%%%02X", ch)
		} else {
			b.WriteByte(ch)
		}
	}
	return b.String()
}
