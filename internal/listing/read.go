package listing

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"

	"tributary/internal/blob"
)

// Reader reads a listing from its blob, and the one from which that differs.
type Reader struct {
	head Head
	blob blob.Blob
	zstd *zstd.Decoder
	in   *bufio.Reader
	base *Reader // nil: the blob holds all entries

	entry, change       look
	haveEntry, haveDiff bool
}

// look is what a stream gives next.
type look struct {
	Change
	err error
}

// maxLine is how long a line may be, in bytes: a kept name and what is beside it.
const maxLine = 1 << 14

// Open opens a listing, and compares the bytes of its blobs with their names first:
// what differs matches blob.ErrDamaged, and what is missing fs.ErrNotExist. It must
// be closed.
func Open(ctx context.Context, s blob.Store, sha256 string) (*Reader, error) {
	r, err := open(ctx, s, sha256)
	if err != nil || r.head.Base == "" {
		return r, err
	}
	if r.base, err = open(ctx, s, r.head.Base); err == nil && r.base.head.Base != "" {
		err = fmt.Errorf("the listing %s is a difference from %s, which is one itself", sha256, r.head.Base)
	}
	if err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return r, nil
}

func open(ctx context.Context, s blob.Store, sha256 string) (*Reader, error) {
	if err := blob.Verify(ctx, s, sha256); err != nil {
		return nil, fmt.Errorf("the blob of a listing can't be used: %w", err)
	}
	b, err := s.Open(ctx, sha256)
	if err != nil {
		return nil, fmt.Errorf("the blob of a listing can't be used: %w", err)
	}
	r := &Reader{blob: b}
	r.zstd, err = zstd.NewReader(io.NewSectionReader(b, 0, b.Size()), zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(8*window))
	if err == nil {
		r.in = bufio.NewReaderSize(r.zstd, maxLine)
		err = r.readHead()
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("the blob %s holds no listing that can be read: %w", sha256, err), r.Close())
	}
	return r, nil
}

func (r *Reader) readHead() error {
	line, err := r.line()
	if err != nil {
		return err
	}
	if err := json.Unmarshal([]byte(line), &r.head); err != nil {
		return err
	}
	if r.head.Version != version {
		return fmt.Errorf("its format has the version %d, and this program reads %d: use the program that wrote it", r.head.Version, version)
	}
	return nil
}

// Whole gives, instead of the listing's own, the entries of the one from which it
// differs; its own if it differs from none.
func (r *Reader) Whole() (Entry, error) {
	if r.base != nil {
		return r.base.Next()
	}
	return r.Next()
}

// Close closes the blobs.
func (r *Reader) Close() error {
	if r.zstd != nil {
		r.zstd.Close()
	}
	err := r.blob.Close()
	if r.base != nil {
		err = errors.Join(err, r.base.Close())
	}
	return err
}

// Next gives the next entry of the listing; io.EOF after the last.
func (r *Reader) Next() (Entry, error) {
	if r.base == nil {
		line, err := r.line()
		if err != nil {
			return Entry{}, err
		}
		return parse(line)
	}
	for {
		r.fill()
		if err := errors.Join(notEOF(r.entry.err), notEOF(r.change.err)); err != nil {
			return Entry{}, err
		}
		var c int
		switch {
		case r.change.err != nil && r.entry.err != nil:
			return Entry{}, io.EOF
		case r.change.err != nil:
			c = -1
		case r.entry.err != nil:
			c = 1
		default:
			c = Compare(r.entry.Entry, r.change.Entry)
		}
		switch {
		case c < 0:
			r.haveEntry = false
			return r.entry.Entry, nil
		case c > 0 && r.change.Came:
			r.haveDiff = false
			return r.change.Entry, nil
		case c == 0 && !r.change.Came:
			r.haveEntry, r.haveDiff = false, false
		default:
			return Entry{}, fmt.Errorf("the difference does not fit to the listing %s: %q", r.head.Base, r.change.Name)
		}
	}
}

// fill looks at what comes next of the base and of what differs from it.
func (r *Reader) fill() {
	if !r.haveEntry {
		e, err := r.base.Next()
		r.entry, r.haveEntry = look{Change{Entry: e}, err}, true
	}
	if !r.haveDiff {
		r.change, r.haveDiff = r.nextChange(), true
	}
}

func (r *Reader) nextChange() look {
	line, err := r.line()
	if err != nil {
		return look{err: err}
	}
	if line == "" || line[0] != '+' && line[0] != '-' {
		return look{err: fmt.Errorf("a line of the difference from %s begins with neither + nor -", r.head.Base)}
	}
	e, err := parse(line[1:])
	return look{Change{line[0] == '+', e}, err}
}

// line reads a line, without its end.
func (r *Reader) line() (string, error) {
	line, err := r.in.ReadSlice('\n')
	switch {
	case errors.Is(err, io.EOF) && len(line) > 0:
		return "", io.ErrUnexpectedEOF
	case err != nil:
		return "", err
	}
	return string(line[:len(line)-1]), nil
}
