package outbox

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"tributary/internal/pg"
	"tributary/schemas"
)

// Letter is an event of an outbox that a broker refuses for good, or a row
// of it that nobody can read: set aside, so that what is behind it goes on.
type Letter struct {
	ID      int64
	Topic   string // the logical name; empty for an unreadable row
	Event   string // its id; of what has none, the hash of its bytes
	Key     string
	Subject string
	Class   string    // one of the classes below
	Cause   string    // in words
	Became  string    // one of what became of it, below
	Size    int64     // bytes of the event, or of the row
	Whole   bool      // whether all of it is kept
	Packed  []byte    // the event as PackRecords writes it, or the row; its first bytes where it is not whole
	Refused int       // how often
	First   time.Time `db:"first_at"`
	Last    time.Time `db:"last_at"`

	Decision  string // retried or dropped; empty: nobody has decided
	DecidedBy string
	Reason    string
	DecidedAt *time.Time
}

// Classes of letters of an outbox.
const (
	LetterTooLarge   = "event_too_large" // more than any topic takes
	LetterRefused    = "refused"         // the broker refuses it for good
	LetterUnreadable = "undecodable"     // the row of the outbox is damaged
)

// What became of an event of which there is a letter.
const (
	BecameShorter = "shortened" // told in fewer words, under the same id
	BecameFailed  = "failed"    // what waited for it has its failed end, or it is a failed position
	BecameNothing = "nothing"   // nobody was told
)

// What people decide about a letter.
const (
	LetterRetried = "retried" // put back into the outbox
	LetterDropped = "dropped" // hidden
)

// Bounds of what is kept of letters.
const (
	maxLetter      = 2 << 20 // bytes of one, packed
	maxLetters     = 1000    // in one outbox: the oldest go first
	maxLetterText  = 1 << 10 // bytes of a key or subject
	maxLetterCause = 2 << 10
)

// LetterOf makes the letter of an event.
func LetterOf(r schemas.Record, class, became string, cause error) Letter {
	l := letter(schemas.PackRecords([]schemas.Record{r}), class, cause)
	l.Topic, l.Key, l.Subject, l.Became, l.Size = r.Topic, r.Key, r.Subject(), became, int64(r.Size())
	if id := r.EventID(); id != "" {
		l.Event = id
	}
	return l
}

// LetterOfRow makes the letter of a row that can't be read.
func LetterOfRow(row Row) Letter {
	l := letter(row.Packed, LetterUnreadable, fmt.Errorf("row %d of the outbox: %w", row.ID, row.Damaged))
	l.Became = BecameNothing
	return l
}

func letter(packed []byte, class string, cause error) Letter {
	sum := sha256.Sum256(packed)
	l := Letter{Event: "sha256:" + hex.EncodeToString(sum[:]), Class: class, Cause: cause.Error(), Size: int64(len(packed)), Whole: true, Packed: packed}
	if len(packed) > maxLetter {
		l.Packed, l.Whole = packed[:maxLetter], false
	}
	return l
}

// AddLetters keeps letters, each event's once: one that is refused again is
// counted, and open again. Of very many the newest are kept.
func AddLetters(ctx context.Context, tx pgx.Tx, schema string, letters []Letter) error {
	b := &pgx.Batch{}
	text := func(s string, most int) string { return pg.Text(schemas.Cut(s, most)) }
	for _, l := range letters {
		b.Queue(`INSERT INTO `+schema+`.outbox_letter AS l (topic, event, key, subject, class, cause, became, size, whole, packed, first_at, last_at)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, clock_timestamp(), clock_timestamp())
			ON CONFLICT (topic, event) DO UPDATE SET class = excluded.class, cause = excluded.cause, became = excluded.became, refused = l.refused + 1,
				last_at = excluded.last_at, decision = ''`,
			text(l.Topic, maxLetterText), text(l.Event, maxLetterText), text(l.Key, maxLetterText), text(l.Subject, maxLetterText),
			l.Class, text(l.Cause, maxLetterCause), l.Became, l.Size, l.Whole, l.Packed)
	}
	b.Queue(`DELETE FROM `+schema+`.outbox_letter WHERE id <= (SELECT max(id) FROM `+schema+`.outbox_letter) - $1::bigint`, maxLetters)
	return pg.Send(ctx, tx, "keep what "+schema+".outbox can't publish", b)
}

// Letters returns a schema's letters without their bytes, the oldest
// first.
func Letters(ctx context.Context, q pg.Querier, schema string) ([]Letter, error) {
	var there bool
	if err := q.QueryRow(ctx, "SELECT to_regclass($1) IS NOT NULL", schema+".outbox_letter").Scan(&there); err != nil || !there {
		return nil, err // older members keep none
	}
	return pg.List(ctx, q, "read the dead letters of "+schema+".outbox", func(row pgx.CollectableRow) (Letter, error) {
		l, err := pgx.RowToStructByNameLax[Letter](row)
		l.First, l.Last = l.First.UTC(), l.Last.UTC()
		return l, err
	}, `SELECT id, topic, event, key, subject, class, cause, became, size, whole, refused, first_at, last_at,
		decision, decided_by, reason, decided_at FROM `+schema+`.outbox_letter ORDER BY id`)
}

// LetterBytes returns the bytes that are kept of a letter.
func LetterBytes(ctx context.Context, q pg.Querier, schema string, id int64) ([]byte, error) {
	return pg.One(ctx, q, fmt.Sprintf("read the dead letter %d of %s.outbox", id, schema), pgx.RowTo[[]byte], "SELECT packed FROM "+schema+".outbox_letter WHERE id = $1", id)
}

// ErrLetterDecided says that somebody has decided about a letter already, or
// that there is none of that number any more.
var ErrLetterDecided = errors.New("somebody has decided about this letter meanwhile, or it is not kept any more")

// DecideLetter notes what somebody has decided about an open letter. Retried, its
// event is put back into the outbox, in the same transaction: then it is refused
// with a *schemas.TooLargeError where it would be refused again for its size.
func DecideLetter(ctx context.Context, db pg.Beginner, schema string, id int64, decision, by, reason string) error {
	return pg.InTx(ctx, db, func(tx pgx.Tx) error {
		var packed []byte
		var whole bool
		err := tx.QueryRow(ctx, "UPDATE "+schema+".outbox_letter SET decision = $2, decided_by = $3, reason = $4, decided_at = clock_timestamp() WHERE id = $1 AND decision = '' RETURNING packed, whole",
			id, decision, pg.Text(by), pg.Text(reason)).Scan(&packed, &whole)
		if errors.Is(err, pgx.ErrNoRows) {
			return ErrLetterDecided
		}
		if err != nil {
			return fmt.Errorf("decide about the dead letter %d of %s.outbox: %w", id, schema, err)
		}
		if decision != LetterRetried {
			return nil
		}
		if !whole {
			return errors.New("only its first bytes were kept")
		}
		records, err := schemas.UnpackRecords(packed)
		if err != nil {
			return err
		}
		return Append(ctx, tx, schema, records)
	})
}

// OpenLetters counts the letters of an outbox that nobody has decided about.
func OpenLetters(ctx context.Context, q pg.Querier, schema string) (n int64, err error) {
	return pg.One(ctx, q, "count the dead letters of "+schema+".outbox", pgx.RowTo[int64], "SELECT count(*) FROM "+schema+".outbox_letter WHERE decision = ''")
}
