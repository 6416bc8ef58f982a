package history

import (
	"context"
	"fmt"
	"strings"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/google/uuid"

	"tributary/internal/pg"
)

// TopicID returns the id of the topic that the stored offsets belong to, and
// stores the given one if none is stored yet. Of members that do so at the same
// time the first one counts.
func (h *History) TopicID(ctx context.Context, topic string, id [16]byte) (stored [16]byte, err error) {
	conn, err := h.ready(ctx)
	if err != nil {
		return stored, err
	}
	stored, err = h.topicID(ctx, conn, topic, id)
	if err != nil {
		h.again(conn)
		return stored, fmt.Errorf("history: id of topic %s: %w", topic, err)
	}
	return stored, nil
}

func (h *History) topicID(ctx context.Context, conn driver.Conn, topic string, id uuid.UUID) (uuid.UUID, error) {
	generation, err := generationOf(ctx, conn, liveTable)
	if err != nil {
		return uuid.UUID{}, err
	}
	known, err := knownTopic(ctx, conn, topic, generation)
	if err != nil || known != nil {
		return pg.Value(known), err
	}
	if err := noteTopic(ctx, conn, topic, id, generation); err != nil {
		return uuid.UUID{}, err
	}
	if known, err = knownTopic(ctx, conn, topic, generation); err != nil || known == nil {
		return id, err
	}
	return *known, nil
}

// knownTopic is the id of the topic that a generation of the table is filled
// from; nil if none is stored.
func knownTopic(ctx context.Context, conn driver.Conn, topic string, generation uint64) (*uuid.UUID, error) {
	var known []struct {
		ID uuid.UUID `ch:"topic_id"`
	}
	if err := conn.Select(ctx, &known, "SELECT topic_id FROM consumed_topic WHERE topic = ? AND generation = ? ORDER BY noted_at, topic_id LIMIT 1", topic, generation); err != nil || len(known) == 0 {
		return nil, err
	}
	return &known[0].ID, nil
}

// noteTopic stores the topic that a generation of the table is filled from.
func noteTopic(ctx context.Context, conn driver.Conn, topic string, id uuid.UUID, generation uint64) error {
	return conn.Exec(ctx, "INSERT INTO consumed_topic (topic, topic_id, generation) SETTINGS async_insert = 0 VALUES (?, ?, ?)", topic, id, generation)
}

// noteOffsets stores how far a generation of the table is filled, after that is
// so. It is needed where rows expire, since else the last row tells.
func noteOffsets(ctx context.Context, conn driver.Conn, ends map[partition]int64, generation uint64) error {
	var rows []string
	var args []any
	for p, next := range ends {
		rows = append(rows, "(?, ?, ?, ?)")
		args = append(args, p.topic, p.id, next, generation)
	}
	if len(rows) == 0 {
		return nil
	}
	if err := conn.Exec(ctx, "INSERT INTO consumed_offset (topic, partition, next, generation) SETTINGS async_insert = 0 VALUES "+strings.Join(rows, ", "), args...); err != nil {
		return fmt.Errorf("history: note how far the log is stored: %w", err)
	}
	return nil
}
