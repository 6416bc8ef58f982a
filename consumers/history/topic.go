package history

import (
	"context"
	"fmt"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/google/uuid"
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
	var known []struct {
		ID uuid.UUID `ch:"topic_id"`
	}
	const first = "SELECT topic_id FROM consumed_topic WHERE topic = ? ORDER BY noted_at, topic_id LIMIT 1"
	if err := conn.Select(ctx, &known, first, topic); err != nil || len(known) > 0 {
		if err != nil {
			return uuid.UUID{}, err
		}
		return known[0].ID, nil
	}
	if err := conn.Exec(ctx, "INSERT INTO consumed_topic (topic, topic_id) VALUES (?, ?)", topic, id); err != nil {
		return uuid.UUID{}, err
	}
	if err := conn.Select(ctx, &known, first, topic); err != nil || len(known) == 0 {
		return id, err
	}
	return known[0].ID, nil
}
