package pg

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"tributary/schemas"
)

// OutboxDDL is the table that an outbox needs; migrations include it with the
// schema's name. Rows are read in the order of id by one publisher at a time,
// and deleted once the broker has acknowledged their events.
const OutboxDDL = `CREATE TABLE %[1]s.outbox (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  events int NOT NULL, packed bytea NOT NULL,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp());
ALTER TABLE %[1]s.outbox ALTER COLUMN packed SET STORAGE EXTERNAL`

// How much one row of an outbox holds at most. A larger event has a row of
// its own.
const (
	packEvents = 500
	packBytes  = 1 << 20
)

// AppendOutbox adds events to a schema's outbox within the caller's
// transaction and wakes its publisher when that commits. The caller must hold
// a lock that orders it against other writers of the same keys, where their
// order matters: ids are given before transactions commit.
func AppendOutbox(ctx context.Context, tx pgx.Tx, schema string, records []schemas.Record) error {
	if len(records) == 0 {
		return nil
	}
	batch := &pgx.Batch{}
	for len(records) > 0 {
		n := packLength(records)
		batch.Queue("INSERT INTO "+schema+".outbox (events, packed) VALUES ($1, $2)", n, schemas.PackRecords(records[:n]))
		records = records[n:]
	}
	batch.Queue("SELECT pg_notify($1, '')", schema+"_outbox")
	if err := tx.SendBatch(ctx, batch).Close(); err != nil {
		return fmt.Errorf("append to %s.outbox: %w", schema, err)
	}
	return nil
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

// ReadOutbox returns a schema's oldest rows and their events, in order: as
// many rows as hold at least the given number of events, or all there are.
func ReadOutbox(ctx context.Context, q Querier, schema string, events int) (ids []int64, records []schemas.Record, err error) {
	rows, err := q.Query(ctx, `SELECT o.id, o.packed FROM
			(SELECT id, sum(events) OVER (ORDER BY id) - events AS before FROM
				(SELECT id, events FROM `+schema+`.outbox ORDER BY id LIMIT $1) oldest) counted
			JOIN `+schema+`.outbox o USING (id) WHERE before < $1 ORDER BY id`, events)
	if err != nil {
		return nil, nil, fmt.Errorf("read %s.outbox: %w", schema, err)
	}
	var id int64
	var packed []byte
	_, err = pgx.ForEachRow(rows, []any{&id, &packed}, func() error {
		part, err := schemas.UnpackRecords(packed)
		if err != nil {
			return fmt.Errorf("row %d: %w", id, err)
		}
		ids, records = append(ids, id), append(records, part...)
		return nil
	})
	if err != nil {
		return nil, nil, fmt.Errorf("read %s.outbox: %w", schema, err)
	}
	return ids, records, nil
}

// DeleteOutbox removes rows whose events the broker has acknowledged.
func DeleteOutbox(ctx context.Context, q Querier, schema string, ids []int64) error {
	if _, err := q.Exec(ctx, "DELETE FROM "+schema+".outbox WHERE id = ANY($1)", ids); err != nil {
		return fmt.Errorf("delete from %s.outbox: %w", schema, err)
	}
	return nil
}

// VacuumOutbox gives the room of deleted rows back for new ones. Whoever deletes
// does so every so often: autovacuum looks no more than once a minute, in which a
// fast publisher would leave as much behind as it has published. Where autovacuum
// is at it just now, nothing is waited for.
func VacuumOutbox(ctx context.Context, q Querier, schema string) error {
	if _, err := q.Exec(ctx, "VACUUM (SKIP_LOCKED, TRUNCATE false) "+schema+".outbox"); err != nil {
		return fmt.Errorf("vacuum %s.outbox: %w", schema, err)
	}
	return nil
}

// Outbox appends events to one schema's outbox.
type Outbox struct {
	Schema string
	Codec  *schemas.Codec
}

// Append encodes events and adds them within the caller's transaction.
func (o Outbox) Append(ctx context.Context, tx pgx.Tx, messages ...schemas.Message) error {
	records := make([]schemas.Record, len(messages))
	for i, m := range messages {
		r, err := o.Codec.Encode(m)
		if err != nil {
			return fmt.Errorf("outbox of %s: %w", o.Schema, err)
		}
		records[i] = r
	}
	return AppendOutbox(ctx, tx, o.Schema, records)
}
