package poll

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"tributary/internal/remote"
	"tributary/sql/control"
)

// A source that is new, or reached in another way, is checked by its first poll:
// every step with its time, and what to do where it fails, is kept with the source.
// Whether files can be read at all is a step too, since a listing alone doesn't
// show it. One file that can't be read is that file's trouble; where none of several
// can, it is the source's, and nothing that the listing shows is recorded.

// samples is how many files are tried.
const samples = 3

// sample are the files by which a check sees that files can be read: the smallest
// that aren't empty, the first of several.
type sample []sampled

type sampled struct {
	path string
	size int64
}

func (f *sample) consider(action string, e remote.Entry) {
	if e.Kind != remote.File || e.Invalid != "" || e.Size <= 0 || len(*f) == samples && e.Size >= (*f)[samples-1].size {
		return
	}
	*f = append(*f, sampled{action + "/" + e.Name, e.Size})
	slices.SortStableFunc(*f, func(a, b sampled) int { return cmp.Compare(a.size, b.size) })
	*f = (*f)[:min(len(*f), samples)]
}

// read reads the first byte of a file that can be read, and says so. How long the
// rest takes is no matter of a poll's.
func (f *sample) read(ctx context.Context, session remote.Session) (string, error) {
	var refused []error
	for _, file := range *f {
		err := file.begin(ctx, session)
		switch {
		case err == nil:
			return fmt.Sprintf("%s could be read", file.path), nil
		case errors.Is(err, fs.ErrNotExist): // gone since it was listed
		case remote.ClassOf(err) == remote.Permission || remote.ClassOf(err) == remote.Unclassified:
			refused = append(refused, fmt.Errorf("%s: %w", file.path, err))
		default:
			return "", err
		}
	}
	switch {
	case len(refused) == samples:
		return "", &sampleError{fmt.Errorf("%d files that the source lists were tried and none can be read, so none is taken: %w", samples, refused[0])}
	case len(refused) > 0:
		return fmt.Sprintf("no file could be read, of %d tried: %v", len(*f), refused[0]), nil
	}
	return "there is no file yet that could be read", nil
}

func (f *sampled) begin(ctx context.Context, session remote.Session) error {
	file, err := session.Open(ctx, f.path, f.size)
	if err != nil {
		return err
	}
	defer file.Close()
	if _, err := io.ReadFull(file, make([]byte, 1)); !errors.Is(err, io.EOF) { // which it is by now, if empty
		return err
	}
	return nil
}

// sampleError marks a listing of which nothing is recorded.
type sampleError struct{ err error }

func (e *sampleError) Error() string { return e.err.Error() }
func (e *sampleError) Unwrap() error { return e.err }

// putCheck keeps what a poll has found out where that is news: the check of a
// source that had not passed one, or a poll that failed at the source.
func putCheck(ctx context.Context, tx pgx.Tx, p control.Poll, trace *remote.Trace, o outcome, now time.Time) error {
	if trace == nil || len(trace.Steps) == 0 || p.Passed && o.state != "failed" || o.exception == unrecorded {
		return nil
	}
	steps, err := json.Marshal(trace.Steps)
	if err != nil {
		return fmt.Errorf("source %s: write its check: %w", p.Source, err)
	}
	return control.PutCheck(ctx, tx, p, control.SourceCheck{At: now, Session: p.Number, Passed: trace.Passed() && o.state != "failed", Steps: steps})
}
