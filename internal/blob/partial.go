package blob

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"
)

const (
	// LeastPartial is how many bytes must have come of a file for them to be kept.
	// It is fixed: fewer are fetched again sooner than they are looked up.
	LeastPartial = 1 << 20
	// maxTail is how much of the end of a partial is compared with what the server
	// sends there. It is fixed: two versions of an archive don't share so much.
	maxTail = 64 << 10
	// maxPartials is how many are kept. It is fixed: a member has fewer transfers.
	maxPartials = 256
	// maxAbout bounds what is said of a partial at its end.
	maxAbout = 16 << 10
	// partialPrefix begins the names of partials in tmpDir.
	partialPrefix = "partial-"
	partialMode   = 0o640
	blobMode      = 0o440
)

// Partial says of which file bytes are the beginning.
type Partial struct {
	// Size of the whole file in bytes, and its time, as the server showed them.
	Size    int64     `json:"size"`
	ModTime time.Time `json:"mod_time,omitzero"`
	// Version is how the server names these very bytes; empty: it doesn't.
	Version string `json:"version,omitempty"`
	// Idle is how many attempts in a row have brought nothing.
	Idle int `json:"idle,omitempty"`
	// Bytes is how many are kept, SHA256 their hash; Keep sets both.
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"`
	// Tail is the last of these bytes, 64 KiB at most; Resume sets it.
	Tail []byte `json:"-"`
}

// Partials are beginnings of files whose transfers were cut, so that the next
// attempt need not fetch them again. They lie in the temporary directory of a
// store: no longer than a day, no more than 256 of them, and of so many bytes as
// their owner allows; the oldest go first. What a process was writing when it was
// killed is no partial. All methods may be called from several goroutines and
// processes at once; nil keeps none.
type Partials struct {
	dir  *Dir
	most int64
}

// Partials of the store, of no more than so many bytes together. 0: none is kept.
func (d *Dir) Partials(most int64) *Partials {
	if most <= 0 {
		return nil
	}
	return &Partials{dir: d, most: most}
}

func partialName(key string) string {
	sum := sha256.Sum256([]byte(key))
	return tmpDir + "/" + partialPrefix + hex.EncodeToString(sum[:])
}

// Keep makes what was written so far durable under a key, in place of what is
// there, and ends the writer. What can't be kept is thrown away, as by Abort.
func (k *Partials) Keep(key string, w Writer, p Partial) error {
	own, ok := w.(*writer)
	if k == nil || !ok || own.f == nil || own.size < LeastPartial || own.size > k.most || own.err != nil && own.ctx.Err() == nil {
		return w.Abort()
	}
	ref := own.Ref()
	p.Bytes, p.SHA256 = ref.Size, ref.SHA256
	if err := own.keep(partialName(key), p); err != nil {
		return errors.Join(k.dir.explain("keep the beginning of a", err), w.Abort())
	}
	return k.bound()
}

// keep writes what is said of the bytes behind them, so that both get their name
// at once.
func (w *writer) keep(name string, p Partial) error {
	about, err := json.Marshal(p)
	if err != nil {
		return err
	}
	if len(about) > maxAbout {
		return fmt.Errorf("its version has more than %d bytes", maxAbout)
	}
	about = binary.BigEndian.AppendUint32(about, uint32(len(about))) //nolint:gosec // it is no more than maxAbout
	if _, err := w.f.Write(about); err != nil {
		return err
	}
	if err := errors.Join(w.f.Sync(), w.f.Chmod(partialMode)); err != nil {
		return err
	}
	if err := w.d.root.Rename(tmpDir+"/"+w.name, name); err != nil {
		return err
	}
	f := w.f
	w.f, w.err = nil, ErrDone
	return f.Close()
}

// Resume takes up what is kept under a key: nobody else can from then on. The
// bytes are read again, and progress, which may be nil, is told of each read. If
// there are none, or they are older than a day, or not those that were kept, the
// error matches fs.ErrNotExist; where it is nil the writer must be committed,
// aborted or kept.
func (k *Partials) Resume(ctx context.Context, key string, progress func()) (Writer, Partial, error) {
	if k == nil {
		return nil, Partial{}, fs.ErrNotExist
	}
	d, name := k.dir, rand.Text()
	if err := d.root.Rename(partialName(key), tmpDir+"/"+name); err != nil {
		return nil, Partial{}, d.explain("resume a", err)
	}
	tmp, err := d.sub(tmpDir, true)
	if err != nil {
		return nil, Partial{}, d.explain("resume a", errors.Join(err, d.root.Remove(tmpDir+"/"+name)))
	}
	f, err := tmp.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		return nil, Partial{}, d.explain("resume a", errors.Join(err, tmp.Remove(name)))
	}
	w := newWriter(ctx, d, f, tmp, name)
	p, err := w.takeUp(progress)
	if err != nil {
		return nil, Partial{}, d.explain("resume a", errors.Join(err, w.Abort()))
	}
	return w, p, nil
}

func notKept(format string, args ...any) error {
	return fmt.Errorf("what is kept of it can't be used, %w: %w", fmt.Errorf(format, args...), fs.ErrNotExist)
}

// takeUp reads the bytes of a partial, as if they were being written.
func (w *writer) takeUp(progress func()) (Partial, error) {
	info, err := w.f.Stat()
	if err != nil {
		return Partial{}, err
	}
	if time.Since(info.ModTime()) > staleAfter {
		return Partial{}, notKept("since it is more than a day old")
	}
	p, err := readAbout(w.f, info.Size())
	if err != nil {
		return Partial{}, err
	}
	if err := errors.Join(w.f.Truncate(p.Bytes), w.f.Chmod(blobMode)); err != nil {
		return Partial{}, err
	}
	buf := make([]byte, 256<<10)
	for {
		if w.ctx.Err() != nil {
			return Partial{}, context.Cause(w.ctx)
		}
		n, err := w.f.Read(buf)
		w.sha.Write(buf[:n])
		w.md5.Write(buf[:n])
		w.size += int64(n)
		if progress != nil {
			progress()
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return Partial{}, err
		}
	}
	if ref := w.Ref(); ref.Size != p.Bytes || ref.SHA256 != p.SHA256 {
		return Partial{}, notKept("since its bytes are not those that were kept")
	}
	p.Tail = make([]byte, min(p.Bytes, maxTail))
	_, err = w.f.ReadAt(p.Tail, p.Bytes-int64(len(p.Tail)))
	return p, err
}

// readAbout reads what is said of a partial at the end of its file.
func readAbout(f io.ReaderAt, size int64) (p Partial, err error) {
	var length [4]byte
	if _, err := f.ReadAt(length[:], max(0, size-int64(len(length)))); err != nil {
		return p, notKept("since its end can't be read (%w)", err)
	}
	end := size - int64(len(length))
	n := int64(binary.BigEndian.Uint32(length[:]))
	if n > maxAbout || n > end {
		return p, notKept("since its end is not what was written")
	}
	about := make([]byte, n)
	if _, err := f.ReadAt(about, end-n); err != nil {
		return p, notKept("since its end can't be read (%w)", err)
	}
	if err := json.Unmarshal(about, &p); err != nil || p.Bytes != end-n {
		return p, notKept("since its end is not what was written")
	}
	return p, nil
}

// Drop throws away all that is kept, since room is short, and says whether there
// was any.
func (k *Partials) Drop() (dropped bool, err error) {
	if k == nil {
		return false, nil
	}
	all, err := k.list()
	return len(all) > 0, errors.Join(err, k.remove(all))
}

// bound throws away the oldest, beyond what may be kept.
func (k *Partials) bound() error {
	all, err := k.list()
	if err != nil {
		return err
	}
	slices.SortFunc(all, func(a, b fs.FileInfo) int {
		return cmp.Or(b.ModTime().Compare(a.ModTime()), strings.Compare(a.Name(), b.Name()))
	})
	var total int64
	for i, info := range all {
		if total += info.Size(); total > k.most+maxAbout || i >= maxPartials || time.Since(info.ModTime()) > staleAfter {
			return k.remove(all[i:])
		}
	}
	return nil
}

func (k *Partials) list() (all []fs.FileInfo, err error) {
	err = eachEntry(k.dir.root, tmpDir, func(de fs.DirEntry) error {
		if !strings.HasPrefix(de.Name(), partialPrefix) {
			return nil
		}
		info, err := de.Info()
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		all = append(all, info)
		return err
	})
	if err != nil {
		err = fmt.Errorf("list beginnings of blobs: %w", err)
	}
	return all, err
}

func (k *Partials) remove(some []fs.FileInfo) error {
	for _, info := range some {
		if err := k.dir.root.Remove(tmpDir + "/" + info.Name()); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("remove the beginning of a blob: %w", err)
		}
	}
	return nil
}
