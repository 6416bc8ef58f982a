package blob

import (
	"context"
	"crypto/md5"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io/fs"
	"os"

	"tributary/internal/crashpoint"
)

// writer is a blob on its way. It hashes what it writes.
type writer struct {
	ctx  context.Context
	d    *Dir
	f    *os.File
	name string
	sha  hash.Hash
	md5  hash.Hash
	size int64
	err  error
}

func newWriter(ctx context.Context, d *Dir, f *os.File, name string) *writer {
	// MD5 is here for what publishers put beside their files, not for safety.
	return &writer{ctx: ctx, d: d, f: f, name: name, sha: sha256.New(), md5: md5.New()}
}

// Write appends. After an error the blob can only be aborted.
func (w *writer) Write(b []byte) (int, error) {
	if w.err != nil {
		return 0, w.err
	}
	if err := w.ctx.Err(); err != nil {
		w.err = err
		return 0, err
	}
	n, err := w.f.Write(b)
	w.sha.Write(b[:n])
	w.md5.Write(b[:n])
	w.size += int64(n)
	if err != nil {
		w.err = w.d.explain("write", err)
	}
	return n, w.err
}

// Ref names what was written so far.
func (w *writer) Ref() Ref {
	return Ref{SHA256: hex.EncodeToString(w.sha.Sum(nil)), MD5: hex.EncodeToString(w.md5.Sum(nil)), Size: w.size}
}

// Commit syncs the file, gives it its name and syncs the directory. The order
// matters: whoever sees the name may rely on the content.
func (w *writer) Commit() (Ref, error) {
	if err := w.err; err != nil {
		return Ref{}, errors.Join(err, w.Abort())
	}
	ref := w.Ref()
	if err := w.commit(ref); err != nil {
		err = w.d.explain("commit", err)
		return Ref{}, errors.Join(err, w.Abort())
	}
	w.err = ErrDone
	return ref, nil
}

func (w *writer) commit(ref Ref) error {
	there, err := w.there(ref)
	if err != nil {
		return err
	}
	dir, err := w.d.fan(ref.SHA256, true)
	if err != nil {
		return err
	}
	if there {
		// It is there. Whoever put it there may not have come to the sync of
		// the directory yet, and we promise that it lasts.
		if err := dir.handle.Sync(); err != nil {
			return err
		}
		return w.discard()
	}
	if err := w.f.Sync(); err != nil {
		return err
	}
	crashpoint.At("blob", "commit", "before")
	if err := w.d.root.Rename(w.name, blobPath(ref.SHA256)); err != nil {
		return err
	}
	if err := dir.handle.Sync(); err != nil {
		return err
	}
	crashpoint.At("blob", "commit", "after")
	f := w.f
	w.f = nil
	return f.Close()
}

// there tells whether the store has these very bytes already. What it has under
// this name is not trusted for that: it may have been damaged since, and then it
// is replaced. So is what the disk can't give back.
func (w *writer) there(ref Ref) (bool, error) {
	size, err := w.d.Stat(w.ctx, ref.SHA256)
	if err == nil && size == ref.Size {
		err = Verify(w.ctx, w.d, ref.SHA256)
	}
	if cause := w.ctx.Err(); cause != nil {
		return false, cause
	}
	if errors.Is(err, ErrNotMarked) {
		return false, err
	}
	return err == nil && size == ref.Size, nil
}

// Abort deletes what was written.
func (w *writer) Abort() error {
	w.err = ErrDone
	if w.f == nil {
		return nil
	}
	if err := w.discard(); err != nil {
		return fmt.Errorf("abort blob: %w", err)
	}
	return nil
}

func (w *writer) discard() error {
	f := w.f
	w.f = nil
	if f == nil {
		return nil
	}
	err := w.d.root.Remove(w.name)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return errors.Join(err, f.Close())
}
