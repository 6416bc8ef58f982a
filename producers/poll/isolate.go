package poll

import (
	"errors"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5/pgconn"

	"tributary/internal/pg"
	"tributary/schemas"
)

// entryRefused is the exception of an entry that the database refuses: something
// about it, which nobody looked for, can't be stored.
const entryRefused = "entry_refused"

// entryError marks what is wrong with one entry, before the database is asked.
type entryError struct{ err error }

func (e *entryError) Error() string { return e.err.Error() }
func (e *entryError) Unwrap() error { return e.err }

// dataError tells whether an error is one of what is to be stored, which trying
// again only repeats, rather than one of the database's state: SQLSTATE classes
// 22 (data), 23 (constraints) and 54 (limits). An event that no topic would take
// is one, too.
func dataError(err error) bool {
	var own *entryError
	if errors.As(err, &own) {
		return true
	}
	var large *schemas.TooLargeError
	if errors.As(err, &large) {
		return true
	}
	var e *pgconn.PgError
	return errors.As(err, &e) && len(e.Code) == 5 && slices.Contains([]string{"22", "23", "54"}, e.Code[:2])
}

// isolate stores rows together. If their data are refused it halves them until
// what is refused stands alone, and tells of that, so that it takes none of the
// others along.
func isolate[T any](rows []T, store func([]T) error, refused func(T, error) error) error {
	err := store(rows)
	switch {
	case !dataError(err):
		return err
	case len(rows) == 1:
		return refused(rows[0], err)
	}
	half := len(rows) / 2
	if err := isolate(rows[:half], store, refused); err != nil {
		return err
	}
	return isolate(rows[half:], store, refused)
}

// refusal is what people are told of an entry that was refused.
func refusal(cause error) string {
	var e *pgconn.PgError
	if errors.As(cause, &e) {
		return text(fmt.Errorf("the database refuses what the server says of it: %s (SQLSTATE %s)", e.Message, e.Code))
	}
	return text(fmt.Errorf("what the server says of it can't be stored: %w", cause))
}

// refused are the entries that are recorded nowhere, not even as rejected: the
// first is named, all are counted.
type refused struct {
	total int
	first string
	why   string
}

func (r *refused) add(directory, name string, cause error) {
	if r.total++; r.total == 1 {
		r.first, r.why = pg.Text(directory+"/"+name), refusal(cause)
	}
}

// err says which entries lack; nil if none does.
func (r *refused) err() error {
	if r.total == 0 {
		return nil
	}
	return fmt.Errorf("%w: %d entries, the first %q: %s", errRefused, r.total, r.first, r.why)
}

var errRefused = errors.New("entries can't be recorded, and all others are; nothing is concluded from what the listing lacks")
