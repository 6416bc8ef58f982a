package pg

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// TopicID is the id that a broker gives a topic when it is made: one that is
// deleted and made anew gets another.
type TopicID = [16]byte

// TopicID returns the id of the topic that the stored offsets belong to, and
// stores the given one if none is stored yet. The table is
// <schema>.consumed_topic.
func (o Offsets) TopicID(ctx context.Context, q Querier, topic string, id TopicID) (stored TopicID, err error) {
	if err := Exec(ctx, q, "store the id of topic "+topic, "INSERT INTO "+o.Schema+".consumed_topic (consumer_group, topic, topic_id) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING",
		o.Group, topic, id); err != nil {
		return TopicID{}, err
	}
	return One(ctx, q, "read the id of topic "+topic, pgx.RowTo[TopicID], "SELECT topic_id FROM "+o.Schema+".consumed_topic WHERE consumer_group=$1 AND topic=$2", o.Group, topic)
}

// StartOver forgets the offsets of a topic that was made anew, in a
// transaction: it is read from its beginning from now on. Where the stored id
// is not from, another member has done so, and nothing is changed.
func (o Offsets) StartOver(ctx context.Context, tx pgx.Tx, topic string, from, to TopicID) error {
	tag, err := tx.Exec(ctx, "UPDATE "+o.Schema+".consumed_topic SET topic_id=$4 WHERE consumer_group=$1 AND topic=$2 AND topic_id=$3", o.Group, topic, from, to)
	if err == nil && tag.RowsAffected() == 1 {
		_, err = tx.Exec(ctx, "DELETE FROM "+o.Schema+".consumed WHERE consumer_group=$1 AND topic=$2", o.Group, topic)
	}
	if err != nil {
		return fmt.Errorf("begin topic %s from its start: %w", topic, err)
	}
	return nil
}
