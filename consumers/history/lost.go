package history

import (
	"context"
	"fmt"
	"hash/fnv"
	"regexp"
	"slices"
	"strings"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"tributary/internal/stage/sink"
	historysql "tributary/sql/history"
)

// ClickHouse may lose rows that it has acknowledged, in the middle of what is
// stored: on a full disk the embedded engine was seen to commit parts whose
// files are empty. When it starts again it sets such parts aside, without a
// word to anybody, in the table's directory "detached". So positions are not
// only looked up but looked at: as long as there is a detached part that is not
// accounted for, a partition is searched for offsets that are missing, and read
// again from the first of them. Rows that are there already are replaced.

// mostDetached bounds how many detached parts are kept in mind; one more is asked
// for, so that more are noticed.
const mostDetached = 10_000

// refill is how far a partition has been read again.
type refill struct {
	parts []string // that were lost
	next  int64    // what is stored again
	until int64    // what was stored when that was noticed
}

// lostParts are what is known of detached parts on one connection.
type lostParts struct {
	turn    chan struct{}                 // holds a value while somebody uses the rest
	names   []string                      // detached parts of event, sorted
	done    map[partition]map[string]bool // nothing is missing of these
	refills map[partition]*refill
}

func newLostParts() *lostParts {
	return &lostParts{turn: make(chan struct{}, 1), done: map[partition]map[string]bool{}, refills: map[partition]*refill{}}
}

// acquire waits for the turn; release gives it up.
func (l *lostParts) acquire(ctx context.Context) error {
	select {
	case l.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (l *lostParts) release() { <-l.turn }

// detachedParts selects the parts of the table event that are detached because
// they are broken, or by hand, in the columns of positions: names take the
// place of topics, and -1 that of partitions.
const detachedParts = `SELECT * FROM (SELECT name, toInt32(-1) AS partition, toInt64(0) AS next FROM system.detached_parts
	WHERE database = currentDatabase() AND table = '` + liveTable + `' AND (reason = '' OR startsWith(reason, 'broken')) ORDER BY name LIMIT 10001)`

// mark tells inserts apart from those before a loss, whose tokens ClickHouse
// still remembers: it would drop what is read again as a repeat. It is empty
// without detached parts.
func (l *lostParts) mark(ctx context.Context) (string, error) {
	if err := l.acquire(ctx); err != nil {
		return "", err
	}
	defer l.release()
	if len(l.names) == 0 {
		return "", nil
	}
	sum := fnv.New64a()
	for _, name := range l.names {
		_, _ = sum.Write([]byte(name + "\n"))
	}
	return fmt.Sprintf("after %x:", sum.Sum64()), nil
}

// unexplained are the parts of which it is not known whether the partition lacks
// rows of them.
func (l *lostParts) unexplained(p partition) (out []string) {
	r := l.refills[p]
	for _, name := range l.names {
		if !l.done[p][name] && (r == nil || !slices.Contains(r.parts, name)) {
			out = append(out, name)
		}
	}
	return out
}

// forget makes the next question look at the partition anew.
func (l *lostParts) forget(ctx context.Context, p partition) error {
	if err := l.acquire(ctx); err != nil {
		return err
	}
	defer l.release()
	delete(l.refills, p)
	return nil
}

// explain notes that a partition lacks nothing of these parts.
func (l *lostParts) explain(p partition, parts []string) {
	if l.done[p] == nil {
		l.done[p] = map[string]bool{}
	}
	for _, name := range parts {
		l.done[p][name] = true
	}
}

// refilled changes positions to where partitions are to be read again from.
func (h *History) refilled(ctx context.Context, conn *link, names []string, at map[partition]int64) error {
	if len(names) > mostDetached {
		return fmt.Errorf("history: more than %d parts of the table %s are detached: look at system.detached_parts, and drop those that are needed no more", mostDetached, liveTable)
	}
	if err := conn.lost.acquire(ctx); err != nil {
		return err
	}
	defer conn.lost.release()
	slices.Sort(names)
	conn.lost.names = names
	for p, next := range at {
		if len(conn.lost.unexplained(p)) > 0 {
			if err := h.checkParts(ctx, conn, p, next); err != nil {
				return fmt.Errorf("history: detached parts: %w", err)
			}
		}
		if r := conn.lost.refills[p]; r != nil {
			at[p] = r.next
		}
	}
	return nil
}

// checkParts finds out from where a partition, which is stored up to next, is to be
// read again since parts were lost.
func (h *History) checkParts(ctx context.Context, conn *link, p partition, next int64) error {
	noted, err := refilledParts(ctx, conn, p)
	if err != nil {
		return err
	}
	conn.lost.explain(p, noted)
	parts := conn.lost.unexplained(p)
	if len(parts) == 0 {
		return nil
	}
	from, err := firstMissing(ctx, conn, p, next)
	if err != nil {
		return err
	}
	if before := conn.lost.refills[p]; before != nil {
		parts, from, next = append(parts, before.parts...), min(from, before.next), max(next, before.until)
	}
	conn.lost.refills[p] = &refill{parts: parts, next: from, until: next}
	const msg = "ClickHouse has lost rows that it had stored; they are read from the log again"
	if missed, due := h.quiet.Due(msg); due && from < next {
		h.deps.Log.Warn(msg, "not_logged", missed, "topic", p.topic, "partition", p.id, "from", from, "to", next, "detached_parts", strings.Join(parts[:min(len(parts), 10)], ", "))
	}
	return h.refillTo(ctx, conn, p, from)
}

// stored notes how far partitions have been read again. A range that begins
// beyond that belongs to an earlier owner of the partition, before another loss.
func (h *History) stored(ctx context.Context, conn *link, ranges []sink.Range) error {
	if err := conn.lost.acquire(ctx); err != nil {
		return err
	}
	defer conn.lost.release()
	for _, r := range ranges {
		p := partition{r.Topic, r.Partition}
		if on := conn.lost.refills[p]; on == nil || r.From > on.next {
			continue
		}
		if err := h.refillTo(ctx, conn, p, r.To); err != nil {
			return fmt.Errorf("history: detached parts: %w", err)
		}
	}
	return nil
}

// refillTo moves on what is read again, and notes its end.
func (h *History) refillTo(ctx context.Context, conn *link, p partition, next int64) error {
	r := conn.lost.refills[p]
	if r.next = next; next < r.until {
		return nil
	}
	if err := noteRefilled(ctx, conn, p, r.parts); err != nil {
		return err
	}
	conn.lost.explain(p, r.parts)
	delete(conn.lost.refills, p)
	return nil
}

// missingIn is how many offsets are counted together to find one that is missing.
const missingIn = 100_000

// firstMissing is an offset from which on everything is to be read to have all
// below next: the first one of the first missingIn offsets that are not all
// there; next if they are. It reads one column along the primary key.
func firstMissing(ctx context.Context, conn driver.Conn, p partition, next int64) (from int64, err error) {
	var span int64
	var has uint64
	for err := range historysql.Each(ctx, conn, "look for missing offsets", []any{&span, &has}, `SELECT intDiv(offset, ?) AS span, uniqExact(offset) FROM event WHERE topic = ? AND partition = ?
		GROUP BY topic, partition, span ORDER BY span SETTINGS optimize_aggregation_in_order = 1`, int64(missingIn), p.topic, p.id) {
		switch {
		case err != nil:
			return 0, err
		case from >= next:
			return next, nil
		case span*missingIn != from || has < uint64(min(missingIn, next-from)):
			return from, nil
		}
		from += missingIn
	}
	return min(from, next), nil
}

// refilledParts are the detached parts whose rows a partition has again.
func refilledParts(ctx context.Context, conn driver.Conn, p partition) (parts []string, err error) {
	var rows []struct {
		Part string `ch:"part"`
	}
	err = conn.Select(ctx, &rows, "SELECT DISTINCT part FROM refilled_part WHERE topic = ? AND partition = ?", p.topic, p.id)
	for _, r := range rows {
		parts = append(parts, r.Part)
	}
	return parts, err
}

func noteRefilled(ctx context.Context, conn driver.Conn, p partition, parts []string) error {
	rows, args := make([]string, len(parts)), make([]any, 0, 3*len(parts))
	for i, name := range parts {
		rows[i] = "(?, ?, ?)"
		args = append(args, name, p.topic, p.id)
	}
	return conn.Exec(ctx, "INSERT INTO refilled_part (part, topic, partition) SETTINGS async_insert = 0 VALUES "+strings.Join(rows, ", "), args...)
}

// unreadable finds the part that a statement could not read in what ClickHouse
// says: CHECKSUM_DOESNT_MATCH, CANNOT_READ_ALL_DATA, CORRUPTED_DATA and what
// files that are missing lead to.
var unreadable = regexp.MustCompile(`(?s)code: (?:33|40|107|226|228|246|271|375|740),.*reading from part \S*/([0-9A-Za-z_]+)/ in table \S*\b` + liveTable + `\b`)

// detach sets aside a part that ClickHouse cannot read, if that is the error: it
// does so itself only when it starts, and until then nothing that needs the part
// goes on.
func (h *History) detach(ctx context.Context, conn *link, cause error) {
	found := unreadable.FindStringSubmatch(cause.Error())
	if found == nil {
		return
	}
	err := conn.Exec(ctx, "ALTER TABLE "+liveTable+" DETACH PART ?", found[1])
	const msg = "ClickHouse cannot read a part of the history, which is set aside; its rows are read from the log again"
	if missed, due := h.quiet.Due(msg); due {
		h.deps.Log.Error(msg, "part", found[1], "cause", cause, "error", err, "not_logged", missed)
	}
}
