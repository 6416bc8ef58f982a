package badinput

import (
	"crypto/md5"
	"errors"
	"fmt"
)

// downloadCases are files that the server serves badly.
func downloadCases() []bad {
	content := whole()
	fetch := func(what string, f served, e end, says ...string) bad {
		if f.content == nil {
			f.content = content
		}
		return bad{name: "download: " + what, fetch: &f, end: e, says: says}
	}
	const keeps = "what arrived is in the store, to be unpacked"
	kept := func(b bad) bad { b.keeps = keeps; return b }
	return []bad{
		kept(fetch("a good file passes", served{}, end{"upload", ""})),
		kept(fetch("a checksum that matches passes", served{checksum: fmt.Appendf(nil, "%x  a.zip\n", md5.Sum(content))}, end{"upload", ""})),
		fetch("a checksum of other bytes", served{checksum: []byte("d41d8cd98f00b204e9800998ecf8427e  a.zip\n")}, end{"zip_md5", "checksum_mismatch"}, "d41d8cd98f00b204e9800998ecf8427e"),
		fetch("a checksum that is none", served{checksum: []byte("see the web page")}, end{"zip_md5", "checksum_unreadable"}, ".md5"),
		fetch("larger than allowed by the listing", served{listed: 9 << 20}, end{"download", "file_too_large"}, "9437184", "8388608"),
		fetch("larger than allowed, and the listing does not say", served{listed: -1, endless: true}, end{"download", "file_too_large"}, "8388608"),
		fetch("endless, and the listing lies", served{endless: true}, end{"download", "file_changed"}, "more bytes arrive"),
		fetch("ends early without an error", served{listed: int64(len(content)) + 10}, end{"download", "transfer_truncated"}, "arrived"),
		fetch("ends early with an error", served{breaks: errors.New("the line is dead")}, end{"download", "transfer_failed"}, "the line is dead"),
		fetch("longer than listed", served{listed: 10}, end{"download", "file_changed"}),
		fetch("grows while it is fetched", served{grows: true}, end{"download", "file_changed"}, "changes while"),
	}
}
