package pg

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"tributary/schemas"
)

// OutboxDDL is the table that an outbox needs; migrations include it with the
// schema's name. Rows are read in the order of id by one publisher at a time,
// and deleted once the broker has acknowledged them.
const OutboxDDL = `CREATE TABLE %s.outbox (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  topic text NOT NULL, key text NOT NULL, headers bytea NOT NULL, value bytea NOT NULL,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp())`

// AppendOutbox adds events to a schema's outbox within the caller's
// transaction and wakes its publisher when that commits. The caller must hold
// a lock that orders it against other writers of the same keys, where their
// order matters: ids are given before transactions commit.
func AppendOutbox(ctx context.Context, tx pgx.Tx, schema string, records []schemas.Record) error {
	if len(records) == 0 {
		return nil
	}
	rows := make([][]any, len(records))
	for i, r := range records {
		rows[i] = []any{r.Topic, r.Key, schemas.PackHeaders(r.Headers), r.Value}
	}
	_, err := tx.CopyFrom(ctx, pgx.Identifier{schema, "outbox"}, []string{"topic", "key", "headers", "value"}, pgx.CopyFromRows(rows))
	if err != nil {
		return fmt.Errorf("append to %s.outbox: %w", schema, err)
	}
	if _, err := tx.Exec(ctx, "SELECT pg_notify($1, '')", schema+"_outbox"); err != nil {
		return fmt.Errorf("notify %s.outbox: %w", schema, err)
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
