package remote

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"math"
	"strings"
	"time"
)

// invalidate says under which exception an entry ends, and why; the first
// reason stays.
func (e *Entry) invalidate(exception, format string, args ...any) {
	if e.Invalid == "" {
		e.Invalid, e.Message = exception, Clean(fmt.Sprintf(format, args...))
	}
}

// WrongValue says that an entry's size or time is nothing that can be stored.
func (e *Entry) WrongValue(format string, args ...any) {
	e.invalidate("listing_entry_invalid", format, args...)
}

// strict is a session whose entries can be stored, whatever the server says of
// them: it is the one place, for all protocols, where an entry loses what no
// store takes, and says so.
type strict struct{ Session }

// List passes each entry on as it may be stored.
func (s strict) List(ctx context.Context, dir string, yield func(Entry) error) error {
	return s.Session.List(ctx, dir, func(e Entry) error { return yield(Storable(e)) })
}

// Stat returns an entry as it may be stored.
func (s strict) Stat(ctx context.Context, path string) (Entry, error) {
	e, err := s.Session.Stat(ctx, path)
	return Storable(e), err
}

// Storable drops from an entry what can't be stored. Years from 1 to 9999 are
// what every store, and JSON, can hold.
func Storable(e Entry) Entry {
	if len(e.Name) > MaxName {
		if e.Kind != Other {
			e.invalidate("name_too_long", "the name has %d bytes or more, and %d are allowed", len(e.Name), MaxName)
		}
		e.Name = ShortName(e.Name)
	}
	if e.ModTime = e.ModTime.UTC(); !e.ModTime.IsZero() && (e.ModTime.Year() < 1 || e.ModTime.Year() > 9999) {
		e.WrongValue("the time is in the year %d, which is not between 1 and 9999", e.ModTime.Year())
		e.ModTime = time.Time{}
	}
	if e.Size < -1 {
		e.WrongValue("the size, %d bytes, is negative", e.Size)
		e.Size = -1
	}
	e.Attributes = AttributesOf(e.Attributes)
	return e
}

// AttributesOf cleans and bounds what is said of an entry, and leaves out what says nothing.
func AttributesOf(said map[string]string) map[string]string {
	var kept map[string]string
	for name, text := range said {
		if text = Clean(text); strings.TrimSpace(text) != "" {
			if kept == nil {
				kept = make(map[string]string, len(said))
			}
			kept[name] = text
		}
	}
	return kept
}

// ShortName is a name as an entry has it: one that is longer than MaxName is its
// beginning, the hash of the whole, and its last four bytes, by which .zip is known.
func ShortName(name string) string {
	if len(name) <= MaxName {
		return name
	}
	sum := sha256.Sum256([]byte(name))
	end := "~" + hex.EncodeToString(sum[:]) + name[len(name)-4:]
	return name[:MaxName-len(end)] + end
}

// FileEntry is what a file system, or one alike, says of a file.
func FileEntry(info fs.FileInfo, precision time.Duration) Entry {
	e := Entry{Name: info.Name(), Size: info.Size(), Precision: precision, Kind: Other}
	if m := info.ModTime(); m.Unix() != 0 {
		e.ModTime = m.UTC()
	}
	if e.Size < 0 {
		e.Size = -1
		e.WrongValue("the size is more than %d bytes", int64(math.MaxInt64))
	}
	switch {
	case !SafeName(e.Name):
	case info.IsDir():
		e.Kind = Dir
	case info.Mode().IsRegular():
		e.Kind = File
	}
	return e
}
