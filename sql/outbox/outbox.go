// Package outbox holds the statements on a store's transactional outbox: events
// that a transaction decides and a publisher sends once it has committed. Control
// and warehouse have one each; every function takes the schema whose it is.
package outbox

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"tributary/internal/pg"
	"tributary/schemas"
)

// DDL are the tables that an outbox needs; migrations include them with the
// schema's name. Rows are read in the order of id by one publisher at a time,
// and deleted once the broker has acknowledged their events. What a broker
// refuses for good is kept as a letter.
const DDL = `CREATE TABLE %[1]s.outbox (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  events int NOT NULL, packed bytea NOT NULL,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp());
ALTER TABLE %[1]s.outbox ALTER COLUMN packed SET STORAGE EXTERNAL;
CREATE TABLE %[1]s.outbox_letter (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  topic text NOT NULL, event text NOT NULL, key text NOT NULL, subject text NOT NULL,
  class text NOT NULL, cause text NOT NULL, became text NOT NULL,
  size bigint NOT NULL, whole boolean NOT NULL, packed bytea NOT NULL,
  refused int NOT NULL DEFAULT 1, first_at timestamptz NOT NULL, last_at timestamptz NOT NULL,
  decision text NOT NULL DEFAULT '' CHECK (decision IN ('', 'retried', 'dropped')),
  decided_at timestamptz, decided_by text NOT NULL DEFAULT '', reason text NOT NULL DEFAULT '',
  UNIQUE (topic, event));
ALTER TABLE %[1]s.outbox_letter ALTER COLUMN packed SET STORAGE EXTERNAL`

// How much one row of an outbox holds at most. A larger event has a row of
// its own.
const (
	packEvents = 500
	packBytes  = 1 << 20
)

// Append adds events to a schema's outbox within the caller's
// transaction and wakes its publisher when that commits. The caller must hold
// a lock that orders it against other writers of the same keys, where their
// order matters: ids are given before transactions commit. An event that no
// topic would take is refused with a *schemas.TooLargeError, and nothing is
// added: everything behind it would wait for ever.
func Append(ctx context.Context, tx pgx.Tx, schema string, records []schemas.Record) error {
	return add(ctx, tx, schema, records, true)
}

func add(ctx context.Context, tx pgx.Tx, schema string, records []schemas.Record, wake bool) error {
	if len(records) == 0 {
		return nil
	}
	for _, r := range records {
		if err := r.Fits(); err != nil {
			return fmt.Errorf("append to %s.outbox: %w", schema, err)
		}
	}
	batch := &pgx.Batch{}
	for len(records) > 0 {
		n := packLength(records)
		batch.Queue("INSERT INTO "+schema+".outbox (events, packed) VALUES ($1, $2)", n, schemas.PackRecords(records[:n]))
		records = records[n:]
	}
	if wake {
		batch.Queue("SELECT pg_notify($1, '')", schema+"_outbox")
	}
	return pg.Send(ctx, tx, "append to "+schema+".outbox", batch)
}

// packLength is how many of the records go into the next row.
func packLength(records []schemas.Record) int {
	bytes := 0
	for i, r := range records {
		bytes += r.Size()
		if i > 0 && (bytes > packBytes || i == packEvents) {
			return i
		}
	}
	return len(records)
}

// Row is a row of an outbox: its events in order, or why they can't be
// read.
type Row struct {
	ID      int64
	Created time.Time // tells it from a row of the same id in an outbox that was made anew
	Packed  []byte
	Records []schemas.Record
	Damaged error
}

// Read returns a schema's oldest rows behind the given one, in order: as
// many as hold at least the given number of events, or all there are.
func Read(ctx context.Context, q pg.Querier, schema string, after int64, events int) ([]Row, error) {
	return pg.List(ctx, q, "read "+schema+".outbox", func(row pgx.CollectableRow) (r Row, err error) {
		if err = row.Scan(&r.ID, &r.Created, &r.Packed); err == nil {
			r.Records, r.Damaged = schemas.UnpackRecords(r.Packed)
		}
		return r, err
	}, `SELECT o.id, o.created_at, o.packed FROM
			(SELECT id, sum(events) OVER (ORDER BY id) - events AS before FROM
				(SELECT id, events FROM `+schema+`.outbox WHERE id > $2 ORDER BY id LIMIT $1) oldest) counted
			JOIN `+schema+`.outbox o USING (id) WHERE before < $1 ORDER BY id`, events, after)
}

// Rewrite leaves only the given events in a row: the others are
// acknowledged, or told otherwise.
func Rewrite(ctx context.Context, q pg.Querier, schema string, row Row, left []schemas.Record) error {
	return pg.Exec(ctx, q, "take out of "+schema+".outbox what was published", "UPDATE "+schema+".outbox SET events = $3, packed = $4 WHERE id = $1 AND created_at = $2", row.ID, row.Created, len(left), schemas.PackRecords(left))
}

// Delete removes rows whose events the broker has acknowledged. Where the
// outbox was made anew since they were read, its rows stay, though they have the
// same ids.
func Delete(ctx context.Context, q pg.Querier, schema string, rows []Row) error {
	ids, created := named(rows)
	return pg.Exec(ctx, q, "delete from "+schema+".outbox", "DELETE FROM "+schema+".outbox o USING "+these, ids, created)
}

// DeleteUnder is Delete in one statement, which fails with pg.ErrLeaseLost, and removes
// nothing, unless epoch is still the epoch of a lease.
func DeleteUnder(ctx context.Context, q pg.Querier, lease pg.Lease, epoch int64, rows []Row) error {
	ids, created := named(rows)
	var held bool
	err := q.QueryRow(ctx, "WITH held AS MATERIALIZED (SELECT FROM "+lease.Schema+".lease WHERE name = $3 AND epoch = $4 FOR SHARE), gone AS (DELETE FROM "+lease.Schema+".outbox o USING held, "+these+
		") SELECT EXISTS (SELECT FROM held)", ids, created, lease.Name, epoch).Scan(&held)
	if err != nil {
		return fmt.Errorf("delete from %s.outbox: %w", lease.Schema, err)
	}
	if !held {
		return fmt.Errorf("%s: %w", lease.Name, pg.ErrLeaseLost)
	}
	return nil
}

// these are the rows o of an outbox that are named by the first two parameters.
const these = "unnest($1::bigint[], $2::timestamptz[]) g(id, created_at) WHERE o.id = g.id AND o.created_at = g.created_at"

func named(rows []Row) (ids []int64, created []time.Time) {
	for _, r := range rows {
		ids, created = append(ids, r.ID), append(created, r.Created)
	}
	return ids, created
}

// Vacuum gives the room of deleted rows back for new ones. Whoever deletes
// does so every so often: autovacuum looks no more than once a minute, in which a
// fast publisher would leave as much behind as it has published. Where autovacuum
// is at it just now, nothing is waited for.
func Vacuum(ctx context.Context, q pg.Querier, schema string) error {
	return pg.Exec(ctx, q, "vacuum "+schema+".outbox", "VACUUM (SKIP_LOCKED, TRUNCATE false) "+schema+".outbox")
}

// Outbox appends events to one schema's outbox.
type Outbox struct {
	Schema string
	Codec  *schemas.Codec
	Ends   Ends // of what is too large; nil: the caller's transaction fails
}

// Ends returns what is told, in the same transaction, instead of an event that
// can't be published: the named failure of whatever waits for it.
type Ends func(ctx context.Context, tx pgx.Tx, m schemas.Message, cause error) ([]schemas.Message, error)

// Append encodes events and adds them within the caller's transaction. Instead
// of one that is too large it adds what ends the file or document that waits for
// it; a position of the order is replaced by a failed one of the same number.
// Where that is not known, it fails with a *schemas.TooLargeError.
func (o Outbox) Append(ctx context.Context, tx pgx.Tx, messages ...schemas.Message) error {
	return o.add(ctx, tx, true, messages)
}

// AppendUnhurried is Append of events that nothing waits for, as that a poll found nothing
// new. It doesn't wake the publisher: they go with what is appended next, or when that has
// slept for publish.interval.
func (o Outbox) AppendUnhurried(ctx context.Context, tx pgx.Tx, messages ...schemas.Message) error {
	return o.add(ctx, tx, false, messages)
}

func (o Outbox) add(ctx context.Context, tx pgx.Tx, wake bool, messages []schemas.Message) error {
	records := make([]schemas.Record, 0, len(messages))
	for _, m := range messages {
		out, err := o.Encode(ctx, tx, m)
		if err != nil {
			return err
		}
		records = append(records, out...)
	}
	return add(ctx, tx, o.Schema, records, wake)
}

// Encode returns what Append adds for an event: its record, or what is told
// instead of one that is too large. A position comes first, whatever it became.
func (o Outbox) Encode(ctx context.Context, tx pgx.Tx, m schemas.Message) ([]schemas.Record, error) {
	r, err := o.Codec.Encode(m)
	if err == nil {
		return []schemas.Record{r}, nil
	}
	out, err := o.instead(ctx, tx, r, m, err)
	if err != nil {
		return nil, fmt.Errorf("outbox of %s: %w", o.Schema, err)
	}
	return out, nil
}

// Repeat adds events that were encoded before, as Append does.
func (o Outbox) Repeat(ctx context.Context, tx pgx.Tx, records []schemas.Record) error {
	all := make([]schemas.Record, 0, len(records))
	for _, r := range records {
		err := r.Fits()
		if err == nil {
			all = append(all, r)
			continue
		}
		m, derr := o.Codec.Decode(r)
		if derr != nil {
			return fmt.Errorf("outbox of %s: %w", o.Schema, errors.Join(err, derr))
		}
		instead, err := o.instead(ctx, tx, r, m, err)
		if err != nil {
			return fmt.Errorf("outbox of %s: %w", o.Schema, err)
		}
		all = append(all, instead...)
	}
	return Append(ctx, tx, o.Schema, all)
}

// instead returns what is told instead of an event that is too large.
func (o Outbox) instead(ctx context.Context, tx pgx.Tx, r schemas.Record, m schemas.Message, cause error) ([]schemas.Record, error) {
	var large *schemas.TooLargeError
	if !errors.As(cause, &large) {
		return nil, cause
	}
	var out []schemas.Record
	shorter, err := o.Codec.Replacement(r)
	if err == nil {
		out = append(out, shorter)
	}
	if _, position := m.Body.(*schemas.DocumentOrdered); err == nil && !position {
		return out, nil
	}
	if o.Ends == nil {
		if err == nil {
			return out, nil
		}
		return nil, cause
	}
	ends, err := o.Ends(ctx, tx, m, cause)
	if err != nil {
		return nil, err
	}
	for _, end := range ends {
		r, err := o.Codec.Encode(end)
		if err != nil {
			return nil, err
		}
		out = append(out, r)
	}
	return out, nil
}
