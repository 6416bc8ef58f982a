package archive

import (
	"context"
	"crypto/md5"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"hash/crc32"
	"io"
	"runtime"
	"sync"
)

// parallelFrom is the size of all entries, in bytes, from which more than one processor
// checks an archive: less is done before another would have begun.
const parallelFrom = 4 << 20

// Verify inflates every entry, documents and others, checks sizes and checksums by the
// bytes themselves, and sets the hashes of documents; it writes nothing. The entries of a
// large archive are shared by all processors. Where several are wrong, the error is that
// of the first in archive order, whoever came to its end first.
//
// A *RefusedError is about the archive; the context's error is returned when it ends; any
// other is a failure to read.
func (a *Archive) Verify(ctx context.Context) error {
	workers, total := 1, int64(0)
	for i := range a.members {
		if total += a.members[i].Size; total >= parallelFrom {
			workers = min(runtime.GOMAXPROCS(0), len(a.members))
			break
		}
	}
	c := checks{a: a, failed: len(a.members)}
	var others sync.WaitGroup
	for range workers - 1 {
		others.Go(func() { c.work(ctx) })
	}
	c.work(ctx)
	others.Wait()
	var p *panicked
	if errors.As(c.err, &p) {
		panic(p)
	}
	return c.err
}

// checks are the entries of an archive as they are handed out, in archive order.
type checks struct {
	a      *Archive
	mu     sync.Mutex
	next   int
	failed int // the first that was wrong; none after it is handed out
	err    error
}

// panicked is a panic that is to go on in the goroutine of Verify's caller, since
// nobody could recover from it elsewhere.
type panicked struct {
	entry string
	value any
}

func (p *panicked) Error() string { return fmt.Sprintf("entry %s: panic: %v", Quote(p.entry), p.value) }

// work checks entries until there is none left.
func (c *checks) work(ctx context.Context) {
	v, err := newVerifier()
	if err != nil {
		c.fail(0, err)
		return
	}
	defer v.inflater.free()
	for {
		i := c.take()
		if i < 0 {
			return
		}
		if err := c.check(ctx, v, i); err != nil {
			c.fail(i, err)
		}
	}
}

func (c *checks) check(ctx context.Context, v *verifier, i int) (err error) {
	m := &c.a.members[i]
	defer func() {
		if p := recover(); p != nil {
			err = &panicked{m.Name, p}
		}
	}()
	return v.check(ctx, c.a.r, m)
}

func (c *checks) take() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.next >= c.failed {
		return -1
	}
	c.next++
	return c.next - 1
}

func (c *checks) fail(i int, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if i < c.failed {
		c.failed, c.err = i, err
	}
}

// verifier holds what is used again for every entry.
type verifier struct {
	inflater *inflater
	sha, md5 hash.Hash
}

func newVerifier() (*verifier, error) {
	in, err := newInflater(nil)
	if err != nil {
		return nil, err
	}
	return &verifier{inflater: in, sha: sha256.New(), md5: md5.New()}, nil
}

func (v *verifier) check(ctx context.Context, r io.ReaderAt, m *Member) error {
	src := &exact{r: r, off: m.Offset, left: m.CompressedSize}
	if err := v.inflater.reset(src); err != nil {
		return err
	}
	body := io.Reader(v.inflater.in)
	if m.Method == methodDeflate && !(m.Directory && m.CompressedSize == 0) {
		body = v.inflater
	}
	crc := crc32.NewIEEE()
	out := io.Writer(crc)
	if m.Document {
		v.sha.Reset()
		v.md5.Reset()
		out = io.MultiWriter(crc, v.sha, v.md5)
	}
	var size int64
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		n, err := body.Read(v.inflater.read[:])
		size += int64(n)
		if size > m.Size {
			return refuse(SizeMismatch, m.Name, "it holds more than the %d bytes that its header says", m.Size)
		}
		_, _ = out.Write(v.inflater.read[:n]) // hashes never fail
		if errors.Is(err, io.EOF) && src.err == nil {
			break
		}
		if err != nil {
			return broken(src, m, size, err)
		}
	}
	if size != m.Size {
		return refuse(SizeMismatch, m.Name, "it holds %d bytes, its header says %d", size, m.Size)
	}
	if rest := src.left + int64(v.inflater.in.Buffered()); rest != 0 {
		return refuse(SizeMismatch, m.Name, "its data ends %d bytes before its header says", rest)
	}
	if sum := crc.Sum32(); sum != m.CRC32 {
		return refuse(CRCMismatch, m.Name, "its checksum is %08x, its header says %08x", sum, m.CRC32)
	}
	if m.Document {
		m.SHA256 = hex.EncodeToString(v.sha.Sum(nil))
		m.MD5 = hex.EncodeToString(v.md5.Sum(nil))
	}
	return nil
}

// broken tells a failure to read from a damaged stream.
func broken(src *exact, m *Member, size int64, err error) error {
	if src.err != nil {
		return fmt.Errorf("entry %q: %w", m.Name, src.err)
	}
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return refuse(SizeMismatch, m.Name, "its compressed data ends after %d of %d bytes", size, m.Size)
	}
	return refuse(CRCMismatch, m.Name, "its compressed data is damaged after %d of %d bytes (%v)", size, m.Size, err)
}
