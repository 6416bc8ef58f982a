package remote

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Limits bound what the other side chooses. A value of zero or less is the
// default. Everything else that a server chooses has a fixed limit: see the
// constants below, and docs/explanation/limits.md for the whole table.
type Limits struct {
	// Reply is how many bytes an FTP server may reply to one command, its
	// greeting included, and how long the header of an HTTP server's answer may
	// be; 64 KiB by default.
	Reply int64
	// Listing is how many bytes the listing of one directory may have, as they
	// are sent; 2 GiB by default.
	Listing int64
}

// Defaults of Limits.
const (
	DefaultReply   = 64 << 10
	DefaultListing = 2 << 30
)

// MaxName is how long the name of an entry may be, in bytes. It is fixed: it is
// four times what file systems allow, and an index of Postgres holds it.
const MaxName = 1024

const (
	// maxText is how long the text of an error may be, in bytes: what a person
	// reads. It is fixed, since rows and events are made of such texts.
	maxText = 1000
	// maxListLine is how much of a line of an FTP listing is looked at; Linux
	// paths end at 4096 bytes. It is fixed: a longer line is no line of ls.
	maxListLine = 16 << 10
	// maxMarkup is how long a tag, a text between tags or a script may be in an
	// index page, and an entry of one in JSON. It is fixed: an entry is shorter
	// than a page's scripts.
	maxMarkup = 1 << 20
	// maxRow is how much of the text beside a link is looked at for a size and a
	// time. It is fixed: a row of an index is shorter.
	maxRow = 1 << 10
	// maxPath is how long the login directory of an FTP server may be. It is
	// fixed: it is the longest path of Linux.
	maxPath = 4096
	// maxPacket is how long an SFTP packet may be. It is fixed: OpenSSH, and
	// the library that reads files, refuse longer ones as well.
	maxPacket = 256 << 10
	// maxHeld is how many bytes of memory entries may take where a listing
	// can't be passed on while it arrives. It is fixed: it is more names than
	// can be asked for one by one within poll.timeout.
	maxHeld = 32 << 20
	// entryCost is what an entry takes in memory beside its texts, and beside
	// the garbage that a growing list of them leaves.
	entryCost = 300
	// saidCost is what an attribute of an entry takes beside its texts.
	saidCost = 60
	// attributeCost is how much more memory than bytes on the wire the SFTP
	// library needs for the attributes that a server invents: 32 bytes for 8.
	attributeCost = 4
)

func (l Limits) withDefaults() Limits {
	if l.Reply <= 0 {
		l.Reply = DefaultReply
	}
	if l.Listing <= 0 {
		l.Listing = DefaultListing
	}
	return l
}

// broken is the error of a server that exceeds a limit, or breaks the protocol
// in a way after which nothing can be asked any more.
func broken(exception, format string, args ...any) error {
	return &Error{class: Protocol, exception: exception, Err: fmt.Errorf(format, args...)}
}

// meter counts what arrives of one listing.
type meter struct{ left, limit int64 }

func newMeter(limit int64) *meter { return &meter{limit, limit} }

// add counts n bytes that have arrived.
func (m *meter) add(n int) error {
	if m.left -= int64(n); m.left < 0 {
		return tooLong("it has more than limits.listing, %d bytes", m.limit)
	}
	return nil
}

// hold counts an entry that is kept in memory.
func (m *meter) hold(e Entry) error {
	if m.left -= e.held(); m.left < 0 {
		return tooLong("more than %d MiB of its entries would have to be kept in memory, since the listing doesn't show exact times", maxHeld>>20)
	}
	return nil
}

// held is how many bytes an entry takes in memory, about.
func (e Entry) held() int64 {
	n := len(e.Name) + len(e.Message) + entryCost
	for name, text := range e.Attributes {
		n += len(name) + len(text) + saidCost
	}
	return int64(n)
}

func tooLong(format string, args ...any) error {
	return broken("listing_too_long", "the listing is too long: "+format, args...)
}

// Clean returns text of the other side as what can be shown and stored
// anywhere: valid UTF-8 on one line, without control characters and marks that
// turn the direction of text, and short. Where something was cut off it says
// so.
func Clean(s string) string {
	whole := len(s)
	cut := whole > maxText
	if cut {
		s = s[:maxText]
	}
	s = strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\r' || r == '\t':
			return ' '
		case !unicode.IsGraphic(r):
			return utf8.RuneError
		}
		return r
	}, s)
	if cut || len(s) > maxText {
		end := fmt.Sprintf("… (cut: %d bytes in all)", whole)
		s = strings.ToValidUTF8(s[:min(len(s), maxText-len(end))], "") + end
	}
	return s
}
