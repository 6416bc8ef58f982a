//go:build synctests

package sim

import (
	"bytes"
	"context"
	"crypto/md5"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"sync"

	"tributary/internal/blob"
)

// blobs is a blob store in memory, shared by all processes.
type blobs struct {
	mu   sync.Mutex
	data map[string][]byte
}

// by is the store as one process sees it.
func (b *blobs) by(p *proc) blob.Store { return &procBlobs{b, p} }

type procBlobs struct {
	*blobs
	p *proc
}

func (b *procBlobs) Create(ctx context.Context) (blob.Writer, error) {
	if err := b.p.step(ctx, "blob.create"); err != nil {
		return nil, err
	}
	return &blobWriter{b: b, ctx: ctx}, nil
}

func (b *procBlobs) Open(ctx context.Context, sha string) (blob.Blob, error) {
	if err := b.p.step(ctx, "blob.open"); err != nil {
		return nil, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	data, ok := b.data[sha]
	if !ok {
		return nil, fmt.Errorf("blob %s: %w", sha, fs.ErrNotExist)
	}
	return &openBlob{bytes.NewReader(data), ctx, b.p}, nil
}

func (b *procBlobs) Stat(ctx context.Context, sha string) (int64, error) {
	if err := b.p.gate(ctx); err != nil {
		return 0, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	data, ok := b.data[sha]
	if !ok {
		return 0, fs.ErrNotExist
	}
	return int64(len(data)), nil
}

func (b *procBlobs) List(context.Context, func(string, int64) error) error { return nil }

func (b *procBlobs) Remove(_ context.Context, sha string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.data, sha)
	return nil
}

type openBlob struct {
	*bytes.Reader
	ctx context.Context
	p   *proc
}

func (o *openBlob) Size() int64  { return o.Reader.Size() }
func (o *openBlob) Close() error { return nil }

func (o *openBlob) ReadAt(b []byte, off int64) (int, error) {
	if err := o.p.step(o.ctx, "blob.read"); err != nil {
		return 0, err
	}
	return o.Reader.ReadAt(b, off)
}

type blobWriter struct {
	b    *procBlobs
	ctx  context.Context
	buf  bytes.Buffer
	done bool
}

func (w *blobWriter) Write(p []byte) (int, error) {
	if err := w.b.p.step(w.ctx, "blob.write"); err != nil {
		return 0, err
	}
	return w.buf.Write(p)
}

func (w *blobWriter) Ref() blob.Ref { return refOf(w.buf.Bytes()) }

// Commit makes the blob visible; it may be cut off before that, and after.
func (w *blobWriter) Commit() (blob.Ref, error) {
	if w.done {
		return blob.Ref{}, blob.ErrDone
	}
	w.done = true
	if err := w.b.p.step(w.ctx, "blob.commit"); err != nil {
		return blob.Ref{}, err
	}
	ref := w.Ref()
	w.b.mu.Lock()
	if _, ok := w.b.data[ref.SHA256]; !ok {
		w.b.data[ref.SHA256] = bytes.Clone(w.buf.Bytes())
	}
	w.b.mu.Unlock()
	return ref, w.b.p.step(w.ctx, "blob.committed")
}

func (w *blobWriter) Abort() error {
	w.done = true
	return nil
}

func refOf(data []byte) blob.Ref {
	s, m := sha256.Sum256(data), md5.Sum(data)
	return blob.Ref{SHA256: hex.EncodeToString(s[:]), MD5: hex.EncodeToString(m[:]), Size: int64(len(data))}
}
