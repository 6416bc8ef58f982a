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
	// MaxText is how long the text of an error may be, in bytes: what a person
	// reads. It is fixed, since rows and events are made of such texts.
	MaxText = 1000
	// MaxPath is how long the login directory of an FTP server may be. It is
	// fixed: it is the longest path of Linux.
	MaxPath = 4096
	// MaxHeld is how many bytes of memory entries may take where a listing
	// can't be passed on while it arrives. It is fixed: it is more names than
	// can be asked for one by one within poll.timeout.
	MaxHeld = 32 << 20
	// EntryCost is what an entry takes in memory beside its texts, and beside
	// the garbage that a growing list of them leaves.
	EntryCost = 300
	// saidCost is what an attribute of an entry takes beside its texts.
	saidCost = 60
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

// Broken is the error of a server that exceeds a limit, or breaks the protocol
// in a way after which nothing can be asked any more.
func Broken(exception, format string, args ...any) error {
	return &Error{Class: Protocol, Exception: exception, Err: fmt.Errorf(format, args...)}
}

// Meter counts what arrives of one listing.
type Meter struct{ left, limit int64 }

// NewMeter counts up to a limit, in bytes.
func NewMeter(limit int64) *Meter { return &Meter{limit, limit} }

// Add counts n bytes that have arrived.
func (m *Meter) Add(n int) error {
	if m.left -= int64(n); m.left < 0 {
		return TooLong("it has more than limits.listing, %d bytes", m.limit)
	}
	return nil
}

// Hold counts an entry that is kept in memory.
func (m *Meter) Hold(e Entry) error {
	if m.left -= e.Held(); m.left < 0 {
		return TooLong("more than %d MiB of its entries would have to be kept in memory, since the listing doesn't show exact times", MaxHeld>>20)
	}
	return nil
}

// Held is how many bytes an entry takes in memory, about.
func (e Entry) Held() int64 {
	n := len(e.Name) + len(e.Message) + EntryCost
	for name, text := range e.Attributes {
		n += len(name) + len(text) + saidCost
	}
	return int64(n)
}

// TooLong is the error of a listing that exceeds a limit.
func TooLong(format string, args ...any) error {
	return Broken("listing_too_long", "the listing is too long: "+format, args...)
}

// Clean returns text of the other side as what can be shown and stored
// anywhere: valid UTF-8 on one line, without control characters and marks that
// turn the direction of text, and short. Where something was cut off it says
// so.
func Clean(s string) string {
	whole := len(s)
	cut := whole > MaxText
	if cut {
		s = s[:MaxText]
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
	if cut || len(s) > MaxText {
		end := fmt.Sprintf("… (cut: %d bytes in all)", whole)
		s = strings.ToValidUTF8(s[:min(len(s), MaxText-len(end))], "") + end
	}
	return s
}
