package pg

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// ErrMoved says that somebody else moved a stored offset: the partition has
// another owner, whose work counts. The transaction must be rolled back.
var ErrMoved = errors.New("the stored offset was moved by another member")

// Offsets stores, in the database that a consumer writes to, up to where it
// has read each partition, so that a result and its offset are one
// transaction. The table is <schema>.consumed.
type Offsets struct {
	Schema string // the schema written to: control, tracker, warehouse
	Group  string // the consumer group
}

// OffsetsDDL is the table that Offsets needs; migrations include it with the
// schema's name.
const OffsetsDDL = `CREATE TABLE %s.consumed (
  consumer_group text NOT NULL, topic text NOT NULL, partition int NOT NULL,
  next_offset bigint NOT NULL,
  PRIMARY KEY (consumer_group, topic, partition))`

// Load returns the next offset of a partition; 0 when nothing was consumed.
func (o Offsets) Load(ctx context.Context, q Querier, topic string, partition int32) (int64, error) {
	return One(ctx, q, fmt.Sprintf("read stored offset of %s/%d", topic, partition), pgx.RowTo[int64],
		"SELECT coalesce((SELECT next_offset FROM "+o.Schema+".consumed WHERE consumer_group=$1 AND topic=$2 AND partition=$3), 0)", o.Group, topic, partition)
}

// Advance moves a partition's offset from one value to the next within the
// caller's transaction, and returns ErrMoved if it was not at from.
func (o Offsets) Advance(ctx context.Context, tx Querier, topic string, partition int32, from, to int64) error {
	tag, err := tx.Exec(ctx, `INSERT INTO `+o.Schema+`.consumed AS c (consumer_group, topic, partition, next_offset)
		SELECT $1, $2, $3, $5 WHERE $4 = 0 OR EXISTS (SELECT FROM `+o.Schema+`.consumed WHERE consumer_group=$1 AND topic=$2 AND partition=$3)
		ON CONFLICT (consumer_group, topic, partition) DO UPDATE SET next_offset = $5 WHERE c.next_offset = $4`,
		o.Group, topic, partition, from, to)
	if err != nil {
		return fmt.Errorf("store offset of %s/%d: %w", topic, partition, err)
	}
	if tag.RowsAffected() != 1 {
		return fmt.Errorf("%s/%d from %d to %d: %w", topic, partition, from, to, ErrMoved)
	}
	return nil
}
