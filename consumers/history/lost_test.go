package history

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"tributary/internal/config"
	"tributary/internal/engine"
	"tributary/internal/engine/chdb"
	"tributary/internal/pg"
	"tributary/internal/stage/sink"
	"tributary/schemas"
)

// losing is a history whose engine can be made to lose parts.
type losing struct {
	t      *testing.T
	engine *chdb.Server
	codec  *schemas.Codec
	conn   driver.Conn
}

func newLosing(t *testing.T) *losing {
	l := &losing{t: t, engine: ownEngine(t), codec: codec(t)}
	if _, err := l.history().Position(t.Context(), schemas.StatusChangedTopic, 0); err != nil {
		t.Fatal(err)
	}
	conn, err := engine.OpenClickHouse(l.engine.Endpoint(), "lost")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	l.conn = conn
	exec(t, conn, "SYSTEM STOP MERGES event")
	return l
}

func (l *losing) history() *History {
	l.t.Helper()
	h := New(config.History{}, Deps{Open: func(name string) (driver.Conn, error) { return engine.OpenClickHouse(l.engine.Endpoint(), name) }, Database: "lost", Codec: l.codec, Log: slog.New(slog.DiscardHandler)})
	l.t.Cleanup(func() { _ = h.Close() })
	return h
}

// follow stores the log up to an offset as an applier does that holds it up to
// from: what fails is tried again, and a position that has moved is asked for.
// It returns from where it began in the end.
func (l *losing) follow(h *History, from, to int64) (began int64) {
	l.t.Helper()
	began = from
	for failures, calls := 0, 0; from < to; calls++ {
		if calls == 50 {
			l.t.Fatalf("the history gets no further than %d of %d", from, to)
		}
		r := span(l.t, l.codec, from, min(from+40, to))
		err := h.Apply(l.t.Context(), []sink.Range{r})
		switch {
		case err == nil:
			from = r.To
			continue
		case errors.Is(err, pg.ErrMoved):
			if from, err = h.Position(l.t.Context(), r.Topic, r.Partition); err == nil {
				began = from
				continue
			}
		}
		if failures++; failures == 5 {
			l.t.Fatal(err)
		}
	}
	return began
}

// empty leaves nothing in the files of parts, given from the oldest on, as a full
// disk does; a negative bound counts from the end.
func (l *losing) empty(from, to int) (name string) {
	l.t.Helper()
	paths := scan[[]string](l.t, l.conn, "SELECT groupArray(path) FROM (SELECT path FROM system.parts WHERE database = 'lost' AND table = 'event' AND active ORDER BY min_block_number)")
	if to <= 0 {
		to += len(paths)
	}
	for _, path := range paths[from:to] {
		files, err := filepath.Glob(filepath.Join(path, "*"))
		if err != nil || len(files) == 0 {
			l.t.Fatalf("no files in %s: %v", path, err)
		}
		for _, file := range files {
			if err := os.Truncate(file, 0); err != nil {
				l.t.Fatal(err)
			}
		}
		name = filepath.Base(path)
	}
	return name
}

func (l *losing) restart() {
	l.t.Helper()
	if err := l.engine.Stop(); err != nil {
		l.t.Fatal(err)
	}
	if err := l.engine.Start(l.t.Context()); err != nil {
		l.t.Fatal(err)
	}
}

// whole fails unless each record is there once, and a new process finds nothing
// to do.
func (l *losing) whole(n int64) {
	l.t.Helper()
	if got := scan[string](l.t, l.conn, "SELECT concat(toString(count()), ' rows, ', toString(uniqExact(offset)), ' offsets') FROM log"); got != fmt.Sprintf("%d rows, %[1]d offsets", n) {
		l.t.Errorf("the history has %s, want %d of each", got, n)
	}
	if at, err := l.history().Position(l.t.Context(), schemas.StatusChangedTopic, 0); err != nil || at != n {
		l.t.Errorf("another process begins at %d, %v; want %d", at, err, n)
	}
}

// What ClickHouse has lost of the middle is noticed though later rows are there,
// by a member that has been there all the time as by a new one, and again when
// more is lost, and read again from there.
func TestLostInTheMiddle(t *testing.T) {
	l := newLosing(t)
	old := l.history()
	l.follow(old, 0, 120)
	for round, h := range []*History{old, l.history()} {
		exec(t, l.conn, "SYSTEM STOP MERGES event")
		end := int64(120 + 80*round)
		l.empty(1-round, -1)
		l.restart()
		if got := scan[uint64](t, l.conn, "SELECT uniqExact(offset) FROM event"); got >= uint64(end) {
			t.Fatalf("round %d: %d rows are there, nothing was lost", round, got)
		}
		exec(t, l.conn, "SYSTEM STOP MERGES event")
		watcher := l.history()
		if at, err := watcher.Position(t.Context(), schemas.StatusChangedTopic, 0); err != nil || at >= end {
			t.Fatalf("round %d: who only asks hears %d, %v", round, at, err)
		}
		if began := l.follow(h, end, end+80); began >= end {
			t.Errorf("round %d: nothing was read again", round)
		}
		l.whole(end + 80)
		if at, err := watcher.Position(t.Context(), schemas.StatusChangedTopic, 0); err != nil || at != end+80 {
			t.Errorf("round %d: who only asks hears %d, %v in the end; want %d", round, at, err, end+80)
		}
	}
}

// A part that can't be read any more is set aside while ClickHouse runs, and the
// very same records are then stored as if for the first time.
func TestUnreadablePart(t *testing.T) {
	l := newLosing(t)
	h := l.history()
	l.follow(h, 0, 80)
	lost := l.empty(1, 2)
	exec(t, l.conn, "SYSTEM DROP MARK CACHE")
	l.follow(h, 80, 120)
	l.whole(120)
	if detached := scan[[]string](t, l.conn, "SELECT groupArray(name) FROM system.detached_parts WHERE table = 'event'"); !strings.Contains(strings.Join(detached, " "), lost) {
		t.Errorf("detached are %v, without %s", detached, lost)
	}
}

// Offsets without records are no loss: they are looked for once.
func TestGapsAreNoLossTwice(t *testing.T) {
	l := newLosing(t)
	h := l.history()
	first, second := span(t, l.codec, 0, 40), span(t, l.codec, 40, 80)
	first.Records = append(first.Records[:10:10], first.Records[20:]...)
	apply := func(r sink.Range) {
		t.Helper()
		if err := h.Apply(t.Context(), []sink.Range{r}); err != nil {
			t.Fatal(err)
		}
	}
	begins := func(h *History, want int64) {
		t.Helper()
		if at, err := h.Position(t.Context(), first.Topic, 0); err != nil || at != want {
			t.Fatalf("position %d, %v; want %d", at, err, want)
		}
	}
	apply(first)
	apply(second)
	exec(t, l.conn, "ALTER TABLE event DETACH PART '"+scan[string](t, l.conn, "SELECT min(name) FROM system.parts WHERE table = 'event' AND active")+"'")
	begins(h, 0)
	apply(first)
	begins(l.history(), 0)
	apply(second)
	begins(h, 80)
	begins(l.history(), 80)
}
