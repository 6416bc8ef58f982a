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
	tmp  *fanDir // in which the file is
	name string  // of the file there
	sha  hash.Hash
	md5  hash.Hash
	size int64
	err  error
}

func newWriter(ctx context.Context, d *Dir, f *os.File, tmp *fanDir, name string) *writer {
	// MD5 is here for what publishers put beside their files, not for safety.
	return &writer{ctx: ctx, d: d, f: f, tmp: tmp, name: name, sha: sha256.New(), md5: md5.New()}
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
	if there {
		// It is there. Whoever put it there may not have come to the sync of
		// the directory yet, and we promise that it lasts.
		dir, err := w.d.fan(ref.SHA256, true)
		if err == nil {
			err = dir.handle.Sync()
		}
		return errors.Join(err, w.discard())
	}
	return w.d.together.place(w, ref)
}

// place brings the blob to its place by itself, and is back when it is durable there.
func (w *writer) place(ref Ref) error {
	if err := w.f.Sync(); err != nil {
		return err
	}
	crashpoint.At("blob", "commit", "before")
	dir, err := w.rename(ref)
	if err != nil {
		return err
	}
	if err := dir.handle.Sync(); err != nil {
		return err
	}
	crashpoint.At("blob", "commit", "after")
	return w.release()
}

// rename gives the file, whose content is durable, its name.
func (w *writer) rename(ref Ref) (in *fanDir, err error) {
	if in, err = w.d.fan(ref.SHA256, true); err != nil {
		return nil, err
	}
	return in, move(w.tmp, w.name, in, ref.SHA256)
}

// release closes the file, which has its name.
func (w *writer) release() error {
	f := w.f
	w.f = nil
	return f.Close()
}

// size is the size of a blob, as Stat tells it, for who asks for its place next.
func (d *Dir) size(sha string) (int64, error) {
	dir, err := d.fan(sha, false)
	if err != nil {
		return 0, d.missing(err)
	}
	info, err := dir.Lstat(sha)
	if err != nil {
		return 0, d.missing(err)
	}
	return info.Size(), nil
}

// there tells whether the store has these very bytes already. What it has under
// this name is not trusted for that: it may have been damaged since, and then it
// is replaced. So is what the disk can't give back.
func (w *writer) there(ref Ref) (bool, error) {
	size, err := w.d.size(ref.SHA256)
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
	err := w.tmp.Remove(w.name)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return errors.Join(err, f.Close())
}
