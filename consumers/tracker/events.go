package tracker

import (
	"context"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"tributary/internal/pg"
	"tributary/schemas"
	"tributary/schemas/exception"
)

// Event is one event of the log, and when it happened.
type Event struct {
	schemas.StatusChanged

	At time.Time
}

// Writer fills a schema that is made as the tracker's is (package sql/tracker),
// is empty, and that nobody else writes. It says what the program's own
// exceptions mean, and nothing of a profile's. It is not safe for concurrent use.
type Writer struct {
	target  *soleTarget
	shadows bool
}

// NewWriter returns a writer for the schema of that name. It takes 16 MB.
func NewWriter(schema string) *Writer { return &Writer{target: newSoleTarget(schema)} }

// NewShadowWriter is NewWriter of a schema in which attempts of shadow runs are to be seen
// too: what files show there may be theirs.
func NewShadowWriter(schema string) *Writer {
	w := NewWriter(schema)
	w.shadows = true
	return w
}

// Write adds events to the rows, within the caller's transaction. It may be
// called several times, in one transaction or in several that are all
// committed: what comes later is merged with what is there. Events that cannot
// be placed anywhere, which the tracker lists as unreadable, are passed over;
// it returns their indices. Its memory is a few times that of the events.
func (w *Writer) Write(ctx context.Context, tx pgx.Tx, events []Event) (unplaced []int, err error) {
	f := newFold()
	f.shadows = w.shadows
	for i := range events {
		// A history that an older program wrote holds texts as they came.
		schemas.CleanBody(&events[i].StatusChanged)
		if f.add(&events[i].StatusChanged, events[i].At) != nil {
			unplaced = append(unplaced, i)
		}
	}
	s, err := newStore(ctx, tx, w.target, 0, exception.Texts())
	if err != nil {
		return nil, err
	}
	if err := f.write(ctx, s); err != nil {
		return nil, err
	}
	return unplaced, s.emptyTemps(ctx)
}

// emptyTemps empties the temporary tables that were used, as a commit would.
func (s *store) emptyTemps(ctx context.Context) error {
	if len(s.temps) == 0 {
		return nil
	}
	return pg.Exec(ctx, s.tx, "empty the temporary tables", "TRUNCATE "+strings.Join(s.temps, ", "))
}
