package poll

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"tributary/internal/remote"
	"tributary/schemas"
	"tributary/sql/control"
)

// counts are what people are told of a poll.
type counts struct {
	listed, ignored, fresh, changed, unsettled, rejected, gone int
}

// storeError marks an error of our own database, which is no outcome of the
// source's.
type storeError struct{ err error }

func (e *storeError) Error() string { return e.err.Error() }
func (e *storeError) Unwrap() error { return e.err }

var (
	errTooMany  = errors.New("the directory holds more entries than poll.max_entries")
	errTimedOut = errors.New("the listing took longer than poll.timeout")
)

// chunk is how many entries go to the database at once.
const chunk = 2000

// list streams the three action directories into the temporary table. A
// missing directory is an empty one.
func (s *Poller) list(ctx context.Context, cfg remote.Config, conn *pgxpool.Conn, p control.Poll, c *counts) (err error) {
	session, err := s.Dial(ctx, cfg)
	if err != nil {
		return err
	}
	defer session.Close()
	rows := make([][]any, 0, chunk)
	// What was listed is stored also when the poll's time is up: only then can
	// the poll be recorded as broken off.
	storing, stop := context.WithTimeout(context.WithoutCancel(ctx), 2*s.Config.Poll.Timeout.D())
	defer stop()
	flush := func() error {
		_, err := conn.CopyFrom(storing, pgx.Identifier{"pg_temp", "listed"}, []string{"file", "action", "name", "size", "mtime"}, pgx.CopyFromRows(rows))
		if err != nil {
			return &storeError{fmt.Errorf("store listing of %s: %w", p.Source, err)}
		}
		rows = rows[:0]
		return nil
	}
	found := false
	for _, action := range schemas.Actions() {
		entries := 0
		seen := map[string]bool{}
		err := session.List(ctx, action, func(e remote.Entry) error {
			if entries++; entries > s.Config.Poll.MaxEntries {
				return errTooMany
			}
			if !wanted(e) {
				c.ignored++
				return nil
			}
			name := bounded(printable(e.Name))
			if seen[name] {
				c.ignored++
				return nil
			}
			seen[name] = true
			c.listed++
			var mtime *time.Time
			if !e.ModTime.IsZero() {
				t := e.ModTime.UTC().Truncate(time.Microsecond)
				mtime = &t
			}
			rows = append(rows, []any{schemas.FileID(action, name), action, name, e.Size, mtime})
			if len(rows) == chunk {
				return flush()
			}
			return nil
		})
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return errors.Join(err, ignoreEmpty(rows, flush))
		}
		found = true
	}
	if !found {
		s.Log.Info("the source has none of the directories add, edit and delete; it counts as empty", "source", p.Source)
	}
	return ignoreEmpty(rows, flush)
}

func ignoreEmpty(rows [][]any, flush func() error) error {
	if len(rows) == 0 {
		return nil
	}
	return flush()
}

// wanted says whether an entry may be a file of ours: a regular file whose
// name ends in .zip, in whatever case. Everything else is counted, not kept.
func wanted(e remote.Entry) bool {
	return e.Kind == remote.File && len(e.Name) >= 4 && strings.EqualFold(e.Name[len(e.Name)-4:], ".zip")
}

// maxName is how long a name is kept, in bytes: longer than any convention
// allows, and short enough for an index.
const maxName = 1024

// bounded returns a name of at most maxName bytes: the beginning of a longer
// one and its hash. Such a name breaks the convention and is never fetched.
func bounded(name string) string {
	if len(name) <= maxName {
		return name
	}
	sum := sha256.Sum256([]byte(name))
	return strings.ToValidUTF8(name[:maxName-100], "") + "~" + hex.EncodeToString(sum[:])
}

// printable returns a name as valid text: what is not printable UTF-8 is
// percent-encoded. Such a name breaks the convention and is never fetched.
func printable(name string) string {
	clean := true
	for _, r := range name {
		if r == '\uFFFD' || r < ' ' || r == 0x7f {
			clean = false
			break
		}
	}
	if clean {
		return name
	}
	var b strings.Builder
	for i := 0; i < len(name); i++ {
		if ch := name[i]; ch < ' ' || ch >= 0x7f || ch == '%' {
			fmt.Fprintf(&b, "%%%02X", ch)
		} else {
			b.WriteByte(ch)
		}
	}
	return b.String()
}
