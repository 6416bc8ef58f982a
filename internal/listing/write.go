package listing

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"

	"github.com/klauspost/compress/zstd"
)

// Head is the first line of a blob that holds a listing. The poll makes it the
// blob of this poll alone: once nobody needs its listing the blob can be deleted,
// and no poll under way means the same blob.
type Head struct {
	Version int    `json:"tributary_listing"` // of the format; set by Write
	Source  string `json:"source"`
	Poll    string `json:"poll"`
	Base    string `json:"base,omitempty"` // the blob from which it differs; empty: it holds all entries
}

// version is that of the format.
const version = 1

// window is how far back compression looks, in bytes, which bounds its memory.
const window = 1 << 20

// Sum is what was written.
type Sum struct {
	Entries int64  // of the listing, not of what differs
	Digest  string // of all entries: two listings have the same if they show the same
}

// Write writes a listing, all of it, or with a base what differs from that. An entry
// that comes twice is written once. The entries must come in the order of Compare.
func Write(w io.Writer, h Head, base, all Next) (Sum, error) {
	packed, err := zstd.NewWriter(w, zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(window))
	if err != nil {
		return Sum{}, fmt.Errorf("compress a listing: %w", err)
	}
	defer packed.Close()
	out := bufio.NewWriterSize(packed, 1<<16)
	h.Version = version
	head, err := json.Marshal(h)
	if err != nil {
		return Sum{}, fmt.Errorf("write the head of a listing: %w", err)
	}
	if _, err := out.Write(append(head, '\n')); err != nil {
		return Sum{}, err
	}
	s := summing{next: all, digest: sha256.New()}
	if base == nil {
		base = func() (Entry, error) { return Entry{}, io.EOF }
	}
	err = Differ(base, s.entry, func(c Change) error {
		line, err := c.line()
		if err != nil {
			return err
		}
		if h.Base != "" {
			line = c.sign() + line
		}
		_, err = out.WriteString(line + "\n")
		return err
	})
	if err := errors.Join(err, out.Flush(), packed.Close()); err != nil {
		return Sum{}, err
	}
	return s.sum(), nil
}

// Digest is the Sum of a listing that is written nowhere.
func Digest(all Next) (Sum, error) {
	s := summing{next: all, digest: sha256.New()}
	for {
		_, err := s.entry()
		switch {
		case errors.Is(err, io.EOF):
			return s.sum(), nil
		case err != nil:
			return Sum{}, err
		}
	}
}

func (c Change) sign() string {
	if c.Came {
		return "+"
	}
	return "-"
}

// summing counts and digests what goes through, each entry once, and demands its
// order.
type summing struct {
	next    Next
	last    Entry
	entries int64
	digest  hash.Hash
}

func (s *summing) sum() Sum { return Sum{s.entries, hex.EncodeToString(s.digest.Sum(nil))} }

func (s *summing) entry() (Entry, error) {
	for {
		e, err := s.next()
		if err != nil {
			return Entry{}, err
		}
		if s.entries > 0 {
			switch c := Compare(s.last, e); {
			case c == 0:
				continue
			case c > 0:
				return Entry{}, fmt.Errorf("the entry %q of a listing comes after %q: they are out of order", e.Name, s.last.Name)
			}
		}
		line, err := e.line()
		if err != nil {
			return Entry{}, err
		}
		if _, err := io.WriteString(s.digest, line+"\n"); err != nil {
			return Entry{}, err
		}
		s.last = e
		s.entries++
		return e, nil
	}
}
