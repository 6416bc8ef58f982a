package blob

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"time"

	"tributary/internal/backoff"
)

// Walk verifies the blobs of a store one after another, in the order of their
// names, and names those that should be there and are not. It keeps the names of
// one of 256 directories in memory.
type Walk struct {
	Dir *Dir
	// Known returns the least names after the given one that the store should
	// have, in order, and nothing at their end. Nil: only what is there is looked at.
	Known func(ctx context.Context, after string) ([]string, error)
	// After is where to begin: behind this name; empty: at the first.
	After string
	// Rate bounds how many bytes a second are read; 0: as many as can be.
	Rate int64
}

// Verification is a blob that a walk has looked at.
type Verification struct {
	SHA256 string
	Bytes  int64 // that were read of it
	Err    error // why it can't be used (Unusable), or read; nil: it is whole
}

// Run looks at blob after blob and calls each with what was found. It ends at
// the first error of each, and with the error of what keeps it from looking.
func (w *Walk) Run(ctx context.Context, each func(Verification) error) error {
	after := w.After
	known := &knownNames{ask: w.Known, at: after}
	pace := &pace{rate: w.Rate, begun: time.Now()}
	for fan := range 256 {
		prefix := fmt.Sprintf("%02x", fan)
		if len(after) >= 2 && prefix < after[:2] {
			continue
		}
		names, err := w.Dir.names(ctx, prefix)
		if err != nil {
			return err
		}
		should, err := known.of(ctx, prefix)
		if err != nil {
			return err
		}
		names = append(names, should...)
		slices.Sort(names)
		for _, name := range slices.Compact(names) {
			if name <= after {
				continue
			}
			l, err := w.verify(ctx, name, pace)
			if err != nil {
				return err
			}
			if err := each(l); err != nil {
				return err
			}
		}
	}
	return nil
}

// verify verifies one blob. The error is that of the context, or of a directory
// that is not the store.
func (w *Walk) verify(ctx context.Context, name string, pace *pace) (Verification, error) {
	l := Verification{SHA256: name}
	l.Err = VerifyAt(ctx, w.Dir, name, func(n int) error {
		l.Bytes += int64(n)
		return pace.wait(ctx, int64(n))
	})
	if ctx.Err() != nil {
		return l, context.Cause(ctx)
	}
	if errors.Is(l.Err, ErrNotMarked) {
		return l, l.Err
	}
	return l, nil
}

// names are the blobs in one of the fan-out directories.
func (d *Dir) names(ctx context.Context, prefix string) (out []string, err error) {
	err = d.listFan(ctx, prefix, func(sha string, _ int64) error {
		if sha[:2] == prefix {
			out = append(out, sha)
		}
		return nil
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("list blobs: %w", err)
	}
	return out, nil
}

// knownNames hands out the names that a store should have, by their beginning.
type knownNames struct {
	ask  func(ctx context.Context, after string) ([]string, error)
	at   string   // the last one asked for
	left []string // asked for, and not handed out
	end  bool
}

// of returns those that begin with a prefix, which only grows.
func (k *knownNames) of(ctx context.Context, prefix string) (out []string, err error) {
	if k.ask == nil {
		return nil, nil
	}
	for {
		for len(k.left) > 0 && k.left[0][:2] <= prefix {
			if Valid(k.left[0]) && k.left[0][:2] == prefix {
				out = append(out, k.left[0])
			}
			k.left = k.left[1:]
		}
		if len(k.left) > 0 || k.end {
			return out, nil
		}
		if k.left, err = k.ask(ctx, k.at); err != nil {
			return nil, err
		}
		if k.end = len(k.left) == 0; !k.end {
			k.at = k.left[len(k.left)-1]
			k.left = slices.DeleteFunc(k.left, func(name string) bool { return !Valid(name) })
		}
	}
}

// pace keeps to a rate.
type pace struct {
	rate  int64
	begun time.Time
	read  int64
}

// wait waits until so many bytes more were allowed to be read.
func (p *pace) wait(ctx context.Context, n int64) error {
	if p.rate <= 0 {
		return nil
	}
	p.read += n
	ahead := time.Duration(float64(p.read)/float64(p.rate)*float64(time.Second)) - time.Since(p.begun)
	if ahead > 0 && backoff.Sleep(ctx, ahead) != nil {
		return context.Cause(ctx)
	}
	return nil
}
