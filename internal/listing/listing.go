// Package listing keeps what a server showed: a listing is a stream of entries in one
// order, stored as a blob that holds all of them, or what differs from such a blob.
// Nothing of it is held in memory as a whole.
package listing

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
)

// Entry is what a listing shows of one name.
type Entry struct {
	Directory string     `json:"directory"`
	Name      string     `json:"name"`               // as poll.KeptName keeps it
	Size      int64      `json:"size"`               // bytes; -1: the server doesn't say
	ModTime   *time.Time `json:"mod_time,omitempty"` // in microseconds; nil: the server doesn't say
	Note      string     `json:"note,omitempty"`     // why it is no file of ours, or can't be fetched
}

// Next gives the entries of a listing, in the order of Compare, and io.EOF after
// the last.
type Next func() (Entry, error)

// Of gives the given entries.
func Of(entries []Entry) Next {
	return func() (Entry, error) {
		if len(entries) == 0 {
			return Entry{}, io.EOF
		}
		e := entries[0]
		entries = entries[1:]
		return e, nil
	}
}

// Compare orders entries: by directory and name, as bytes, then by all else.
func Compare(a, b Entry) int {
	return cmp.Or(strings.Compare(a.Directory, b.Directory), strings.Compare(a.Name, b.Name), cmp.Compare(a.Size, b.Size),
		compareTimes(a.ModTime, b.ModTime), strings.Compare(a.Note, b.Note))
}

func compareTimes(a, b *time.Time) int {
	switch {
	case a == nil && b == nil:
		return 0
	case a == nil:
		return -1
	case b == nil:
		return 1
	}
	return a.Compare(*b)
}

// Change is an entry that one of two listings has and the other has not. An entry
// that changed is one that is gone and one that came.
type Change struct {
	Came bool // else it is gone
	Entry
}

// Differ calls each with what differs between two listings, in the order of its
// entries, until that fails.
func Differ(from, to Next, each func(Change) error) error {
	a, errA := from()
	b, errB := to()
	for {
		if err := errors.Join(notEOF(errA), notEOF(errB)); err != nil {
			return err
		}
		endA, endB := errors.Is(errA, io.EOF), errors.Is(errB, io.EOF)
		var c int
		switch {
		case endA && endB:
			return nil
		case endA:
			c = 1
		case endB:
			c = -1
		default:
			c = Compare(a, b)
		}
		var err error
		switch {
		case c < 0:
			err = each(Change{Entry: a})
		case c > 0:
			err = each(Change{Came: true, Entry: b})
		}
		if err != nil {
			return err
		}
		if c <= 0 {
			a, errA = from()
		}
		if c >= 0 {
			b, errB = to()
		}
	}
}

func notEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// line is an entry as it is stored, without the end of the line.
func (e Entry) line() (string, error) {
	size, at := "", ""
	if e.Size >= 0 {
		size = strconv.FormatInt(e.Size, 10)
	}
	if e.ModTime != nil {
		at = e.ModTime.UTC().Format(time.RFC3339Nano)
	}
	fields := []string{e.Directory, e.Name, size, at, e.Note}
	for _, f := range fields {
		if strings.ContainsAny(f, "\t\n") {
			return "", fmt.Errorf("the entry %q of a listing has a tab or the end of a line in it, which can't be stored", e.Name)
		}
	}
	return strings.Join(fields, "\t"), nil
}

func parse(line string) (Entry, error) {
	fields := strings.Split(line, "\t")
	if len(fields) != 5 {
		return Entry{}, fmt.Errorf("a line has %d fields, not 5", len(fields))
	}
	e := Entry{Directory: fields[0], Name: fields[1], Size: -1, Note: fields[4]}
	if fields[2] != "" {
		n, err := strconv.ParseInt(fields[2], 10, 64)
		if err != nil {
			return Entry{}, fmt.Errorf("the size of %q: %w", e.Name, err)
		}
		e.Size = n
	}
	if fields[3] != "" {
		t, err := time.Parse(time.RFC3339Nano, fields[3])
		if err != nil {
			return Entry{}, fmt.Errorf("the time of %q: %w", e.Name, err)
		}
		e.ModTime = &t
	}
	return e, nil
}
