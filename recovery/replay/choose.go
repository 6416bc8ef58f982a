// Package replay processes files again. What a replay processes is chosen by a
// condition in SQL on the tracker, by when files were last heard of, or by
// offsets of the log (choose.go). A Manager writes down what was chosen; Runners
// begin new attempts of it, at the replay's rate, which then go the way of all.
package replay

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"tributary/queries/report"
)

// Timeout of the question for what is chosen.
const Timeout = 5 * time.Minute

// Version is a version of a file, as the tracker shows it.
type Version struct {
	File      string // its id
	Archive   string // sha256; empty if nothing of it was ever fetched
	Centre    string // that produced it; empty where its name breaks the convention
	Bytes     int64
	Documents int64
}

// Choice says which files are meant. All conditions that are given must hold.
type Choice struct {
	Predicate    string     // a condition on the tracker's view file, in SQL; empty: none
	Since, Until *time.Time // bounds of the file's last event, from and before; nil: none
	Stale        *Stale     // only files with something stale; nil: all
}

// columns of the view file, for people.
const columns = "id, file, action, version, centre, source, phase, status, exception, message, attempts, size_bytes, created, inc, run, session_id, documents, documents_failed, first_seen, last_update, ended, unzip_version"

// Check says what is wrong with a choice before anything is asked.
func (c Choice) Check() error {
	if c.Predicate == "" {
		return nil
	}
	return checkPredicate(c.Predicate)
}

// Choose yields the versions that are chosen, in the order of the files' dates.
// It reads as report.ReaderRole does, in a transaction that is read-only, for at
// most Timeout. An error is the last thing yielded.
func Choose(ctx context.Context, tracker *pgxpool.Pool, c Choice) iter.Seq2[Version, error] {
	if err := c.Check(); err != nil {
		return failing(err)
	}
	where, args := c.where()
	if c.Stale != nil {
		relation, versions := c.Stale.relation(len(args) + 1)
		where, args = where+" AND f.id IN (SELECT s.file_id FROM ("+relation+") s)", append(args, versions)
	}
	return ask(ctx, tracker, where, args...)
}

// where is the condition that does not speak of versions, on tracker.file as f,
// and its parameters.
func (c Choice) where() (string, []any) {
	where := "($1::timestamptz IS NULL OR f.last_update >= $1) AND ($2::timestamptz IS NULL OR f.last_update < $2)"
	if c.Predicate != "" {
		where += " AND (\n" + c.Predicate + "\n)"
	}
	return where, []any{c.Since, c.Until}
}

func failing(err error) iter.Seq2[Version, error] {
	return func(yield func(Version, error) bool) { yield(Version{}, err) }
}

// errEnough ends a reading whose reader wants no more.
var errEnough = errors.New("enough")

// ask yields the files that fit a condition.
func ask(ctx context.Context, tracker *pgxpool.Pool, where string, args ...any) iter.Seq2[Version, error] {
	sql := `SELECT f.id::text, coalesce(f.version, ''), coalesce(f.centre, ''), coalesce(f.size_bytes, 0), coalesce(f.documents, 0)
		FROM tracker.file AS f WHERE ` + where + ` ORDER BY f.created NULLS LAST, f.inc, f.file COLLATE "C", f.action`
	return func(yield func(Version, error) bool) {
		err := read(ctx, tracker, func(ctx context.Context, tx pgx.Tx) error {
			// Nothing is kept prepared of what people write.
			rows, err := tx.Query(ctx, sql, append([]any{pgx.QueryExecModeDescribeExec}, args...)...)
			if err != nil {
				return err
			}
			var v Version
			_, err = pgx.ForEachRow(rows, []any{&v.File, &v.Archive, &v.Centre, &v.Bytes, &v.Documents}, func() error {
				if !yield(v, nil) {
					return errEnough
				}
				return nil
			})
			return err
		})
		if err != nil {
			yield(Version{}, err)
		}
	}
}

// read lets fn ask the tracker what people wrote, as "tributary sql" does: as a
// role that may do nothing but read, on a connection of its own. To take such a
// role on for a transaction would not do, as a condition could lay it down.
func read(ctx context.Context, tracker *pgxpool.Pool, fn func(ctx context.Context, tx pgx.Tx) error) error {
	err := report.Postgres{Pool: tracker, Schema: "tracker", Timeout: Timeout}.Read(ctx, fn)
	if err == nil || errors.Is(err, errEnough) {
		return nil
	}
	return explained(err)
}

// explained says what to do about a condition that Postgres refuses.
func explained(err error) error {
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("choosing took longer than %s and was stopped: narrow the condition: %w", Timeout, err)
	}
	var p *pgconn.PgError
	if !errors.As(err, &p) {
		return err
	}
	switch {
	case p.Code == "25006" || p.Code == "42501":
		return fmt.Errorf("a condition only reads: %s: %w", p.Message, err)
	case p.Code == "53400":
		return fmt.Errorf("choosing needed too much room for temporary files and was stopped: narrow the condition: %w", err)
	case p.Code == "57014":
		return fmt.Errorf("choosing took longer than %s and was stopped: narrow the condition: %w", Timeout, err)
	case p.Code == "42703":
		return fmt.Errorf("the condition is refused: %s; the columns are %s: %w", p.Message, columns, err)
	case strings.HasPrefix(p.Code, "42") && !strings.Contains(p.Message, `"tracker.file"`): // which is not there before anything ran
		return fmt.Errorf("the condition is refused: %s: %w", p.Message, err)
	}
	return err
}
