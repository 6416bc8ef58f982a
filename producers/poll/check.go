package poll

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"time"

	"github.com/jackc/pgx/v5"

	"tributary/internal/remote"
	"tributary/sql/control"
)

// A source that is new, or reached in another way, is checked by its first poll:
// every step with its time, and what to do where it fails, is kept with the source.
// Whether files can be read at all is a step too, since a listing alone doesn't
// show it; before it has passed, nothing that the listing shows is recorded.

// sampleBytes is how much is read of a file to see that files can be read.
const sampleBytes = 64 << 10

// sample is the file by which a check sees that files can be read: the smallest
// that isn't empty, the first of several.
type sample struct {
	path string
	size int64
}

func (f *sample) consider(action string, e remote.Entry) {
	if e.Kind == remote.File && e.Invalid == "" && e.Size > 0 && (f.path == "" || e.Size < f.size) {
		f.path, f.size = action+"/"+e.Name, e.Size
	}
}

// read reads the file's beginning, and says so.
func (f *sample) read(ctx context.Context, session remote.Session) (string, error) {
	if f.path == "" {
		return "there is no file yet that could be read", nil
	}
	n, err := f.begin(ctx, session)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return f.path + " was gone when it was to be read", nil
	case err != nil:
		return "", &sampleError{fmt.Errorf("a file that the source lists can't be read, so none is taken: %s: %w", f.path, err)}
	}
	return fmt.Sprintf("%s: %d bytes of %d could be read", f.path, n, f.size), nil
}

func (f *sample) begin(ctx context.Context, session remote.Session) (n int64, err error) {
	file, err := session.Open(ctx, f.path, f.size)
	if err != nil {
		return 0, err
	}
	n, err = io.Copy(io.Discard, io.LimitReader(file, sampleBytes))
	if closed := file.Close(); err == nil && n < sampleBytes {
		err = closed // one that was broken off says so
	}
	return n, err
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
