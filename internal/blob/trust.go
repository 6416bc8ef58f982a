package blob

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
)

// errMended says that a blob was damaged when it was opened and is whole now.
var errMended = errors.New("the stored bytes were damaged, and have been replaced by the right ones meanwhile: they must be read again")

// Read opens a blob and lets f judge it. All its bytes are compared with its name
// afterwards, also if f panics: where they differ, what f said is not about the
// right bytes, and the error is ErrDamaged instead. A missing blob matches
// fs.ErrNotExist. Progress is told of every read, and may be nil.
func Read(ctx context.Context, s Store, name string, progress func(), f func(Blob) error) error {
	b, err := s.Open(ctx, name)
	if err != nil {
		return err
	}
	defer b.Close()
	w := &watched{b, progress}
	return trust(func() error { return f(w) }, func() error { return confirm(ctx, s, w, name) })
}

// Document lets f judge what r has, which is a part of the blob of that name,
// and then reads what f has left. Where all of it has not the given hash (empty:
// there is none to compare), or reading it ends with an error that foul names,
// what f said is not about the right bytes: the error is ErrDamaged if the blob
// is damaged, and else that error.
func Document(ctx context.Context, s Store, b Blob, name string, r io.Reader, hash string, foul error, f func(io.Reader) error) error {
	h := &hashing{ctx: ctx, r: r, sum: sha256.New()}
	return trust(func() error { return f(h) }, func() error {
		_, err := io.Copy(io.Discard, h)
		if is := hex.EncodeToString(h.sum.Sum(nil)); err == nil && hash != "" && is != hash {
			err = fmt.Errorf("%w: its bytes have the sha256 %s", foul, is)
		}
		if err == nil || !errors.Is(err, foul) {
			return err
		}
		if damage := confirm(ctx, s, b, name); damage != nil {
			return damage
		}
		return err
	})
}

// trust is what f says, or what check says instead: that it must not be believed.
// A panic of f that is to be believed goes on.
func trust(f func() error, check func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			if err = check(); err == nil {
				panic(p)
			}
		}
	}()
	said := f()
	if err := check(); err != nil {
		return err
	}
	return said
}

// confirm compares an open blob's bytes with its name. One that is damaged, but
// was mended since it was opened, is none that must be fetched again.
func confirm(ctx context.Context, s Store, b Blob, name string) error {
	none := func(int) error { return nil }
	err := verify(ctx, b, name, none)
	if !errors.Is(err, ErrDamaged) {
		return err
	}
	if again := Verify(ctx, s, name); again == nil {
		return errMended
	}
	return err
}

// watched tells of every read.
type watched struct {
	Blob
	progress func()
}

func (w *watched) ReadAt(p []byte, off int64) (int, error) {
	if w.progress != nil {
		w.progress()
	}
	return w.Blob.ReadAt(p, off)
}

// hashing hashes what is read, until its context ends.
type hashing struct {
	ctx context.Context
	r   io.Reader
	sum hash.Hash
}

func (h *hashing) Read(p []byte) (int, error) {
	if h.ctx.Err() != nil {
		return 0, context.Cause(h.ctx)
	}
	n, err := h.r.Read(p)
	h.sum.Write(p[:n])
	return n, err
}
