package history

import (
	"context"
	"strings"

	"tributary/internal/stage/sink"
	historysql "tributary/sql/history"
)

// Position returns the offset after the last one stored of a partition.
func (h *History) Position(ctx context.Context, topic string, id int32) (int64, error) {
	conn, err := h.ready(ctx)
	if err != nil {
		return 0, err
	}
	p := partition{topic, id}
	if err := conn.lost.forget(ctx, p); err != nil { // another member may have read it again
		return 0, err
	}
	at, err := h.positions(ctx, conn, []sink.Range{{Topic: topic, Partition: id}})
	if err != nil {
		h.failed(ctx, conn, err)
		return 0, err
	}
	return at[p], nil
}

// positions asks ClickHouse, in one statement, how far the partitions of the
// given ranges are stored without a gap. Each part of it reads one end of the
// primary key, or what parts are detached.
func (h *History) positions(ctx context.Context, conn *link, ranges []sink.Range) (map[partition]int64, error) {
	var parts []string
	var args []any
	out := map[partition]int64{}
	for _, r := range ranges {
		parts = append(parts, `SELECT * FROM (SELECT topic, partition, offset + 1 AS next FROM event WHERE topic = ? AND partition = ?
			ORDER BY topic DESC, partition DESC, offset DESC LIMIT 1)`)
		args = append(args, r.Topic, r.Partition)
		out[partition{r.Topic, r.Partition}] = 0
	}
	if h.cfg.Retention > 0 { // the last rows may be gone
		parts = append(parts, "SELECT topic, partition, max(next) AS next FROM consumed_offset WHERE generation = ? GROUP BY topic, partition")
		args = append(args, conn.generation)
	}
	parts = append(parts, detachedParts)
	var detached []string
	var p partition
	var next int64
	for err := range historysql.Each(ctx, conn, "history: positions", []any{&p.topic, &p.id, &next}, strings.Join(parts, " UNION ALL "), args...) {
		if err != nil {
			return nil, err
		}
		if p.id == -1 {
			detached = append(detached, p.topic)
		} else if _, asked := out[p]; asked {
			out[p] = max(out[p], next)
		}
	}
	h.readAhead(out)
	return out, h.refilled(ctx, conn, detached, out)
}

// readAhead changes positions to what was read where the log's last offsets had
// no records.
func (h *History) readAhead(at map[partition]int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for p, stored := range at {
		if a := h.ahead[p]; a.stored == stored && a.read > stored {
			at[p] = a.read
		}
	}
}
