package e2e

import (
	"context"
	"maps"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/twmb/franz-go/pkg/kgo"

	"tributary/internal/kafka"
	"tributary/internal/pg"
	"tributary/queries/report"
	"tributary/schemas"
	"tributary/test/wait"
)

// recording is what the live tracker answered, in one snapshot with the offsets
// up to which it had read the log.
type recording struct {
	at        time.Time // when it was asked
	next      map[int32]int64
	status    report.Status
	files     []report.File
	documents []report.Document
	stories   map[string][]report.Story
	failures  map[string]string // exceptions of documents, by action, file and document
}

// answersOf asks the tracker, or what stands in for it.
func answersOf(ctx context.Context, q pg.Querier, now time.Time) (r recording, err error) {
	r.at = now
	if r.status, err = report.Stand(ctx, q, now, 10); err != nil {
		return r, err
	}
	if err = report.Files(ctx, q, report.Filter{}, func(f report.File) error { r.files = append(r.files, f); return nil }); err != nil {
		return r, err
	}
	if err = report.Documents(ctx, q, report.Filter{}, func(d report.Document) error { r.documents = append(r.documents, d); return nil }); err != nil {
		return r, err
	}
	rows, err := q.Query(ctx, "SELECT action || '/' || file || '/' || document, exception FROM tracker.document WHERE exception IS NOT NULL")
	if err != nil {
		return r, err
	}
	r.failures = map[string]string{}
	var name, exception string
	if _, err = pgx.ForEachRow(rows, []any{&name, &exception}, func() error { r.failures[name] = exception; return nil }); err != nil {
		return r, err
	}
	r.stories = map[string][]report.Story{}
	for _, f := range storied(r.files) {
		if r.stories[f], err = report.Show(ctx, q, f, ""); err != nil {
			return r, err
		}
	}
	return r, nil
}

// storied are the files whose stories are recorded.
func storied(files []report.File) []string {
	var out []string
	for i := 0; i < len(files); i += max(1, len(files)/5) {
		out = append(out, files[i].File)
	}
	return out
}

// recorder records the live tracker's answers whenever it has read on.
type recorder struct {
	pool *pgxpool.Pool
	ctx  context.Context
	stop context.CancelFunc
	done sync.WaitGroup

	mu  sync.Mutex
	all []recording
	err error
}

func record(t testing.TB, pool *pgxpool.Pool) *recorder {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	r := &recorder{pool: pool, ctx: ctx, stop: stop}
	r.done.Go(func() {
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		failures := 0 // in a row
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			err := r.look()
			switch {
			case err == nil:
				failures = 0
			case ctx.Err() != nil:
				return
			default: // the database may be away for a while
				if failures++; failures < 100 {
					continue
				}
				r.mu.Lock()
				r.err = err
				r.mu.Unlock()
				return
			}
		}
	})
	return r
}

// look records once, if there is something new.
func (r *recorder) look() error {
	return pgx.BeginTxFunc(r.ctx, r.pool, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}, func(tx pgx.Tx) error {
		next := map[int32]int64{}
		var there bool
		if err := tx.QueryRow(r.ctx, "SELECT to_regclass('tracker.consumed_topic') IS NOT NULL").Scan(&there); err != nil || !there {
			return err
		}
		rows, err := tx.Query(r.ctx, "SELECT partition, next_offset FROM tracker.consumed WHERE topic = $1", schemas.StatusChangedTopic)
		if err != nil {
			return err
		}
		var partition int32
		var offset int64
		if _, err := pgx.ForEachRow(rows, []any{&partition, &offset}, func() error { next[partition] = offset; return nil }); err != nil {
			return err
		}
		r.mu.Lock()
		known := len(next) == 0 || len(r.all) > 0 && maps.Equal(next, r.all[len(r.all)-1].next)
		r.mu.Unlock()
		if known {
			return nil
		}
		x, err := answersOf(r.ctx, tx, time.Now().UTC().Truncate(time.Microsecond))
		if err != nil {
			return err
		}
		x.next = next
		r.mu.Lock()
		defer r.mu.Unlock()
		r.all = append(r.all, x)
		return nil
	})
}

// seen is how many records of the log the tracker has read.
func (r *recorder) seen(t testing.TB) (records int64) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err != nil {
		t.Fatalf("record the tracker's answers: %v", r.err)
	}
	if len(r.all) > 0 {
		for _, n := range r.all[len(r.all)-1].next {
			records += n
		}
	}
	return records
}

// logTimes are the times of all events of the log, by partition and offset, as
// the broker has them.
func logTimes(t testing.TB, bootstrap []string, topic string, records int64) map[int32][]time.Time {
	t.Helper()
	client, err := kgo.NewClient(append(kafka.Bootstrap(bootstrap), kgo.ConsumeTopics(topic), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))...)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(t.Context(), wait.Patience())
	defer cancel()
	out := map[int32][]time.Time{}
	for n := int64(0); n < records; {
		fetches := client.PollFetches(ctx)
		if err := fetches.Err0(); err != nil {
			t.Fatalf("%d of %d records of %s: %v", n, records, topic, err)
		}
		fetches.EachRecord(func(r *kgo.Record) {
			n++
			if int64(len(out[r.Partition])) != r.Offset {
				t.Fatalf("%s/%d: offset %d follows %d", topic, r.Partition, r.Offset, len(out[r.Partition])-1)
			}
			for _, h := range r.Headers {
				if h.Key != "ce_time" {
					continue
				}
				at, err := time.Parse(time.RFC3339Nano, string(h.Value))
				if err != nil {
					t.Fatal(err)
				}
				out[r.Partition] = append(out[r.Partition], at.UTC().Truncate(time.Microsecond))
			}
		})
	}
	return out
}

// exact returns the moments for which the events before the recording's offsets
// are exactly those with such a time or an earlier one: from the first moment
// (inclusive) to the second (exclusive), if there are any.
func (r recording) exact(times map[int32][]time.Time) (from, to time.Time, ok bool) {
	to = r.at.Add(time.Hour)
	for partition, all := range times {
		for offset, at := range all {
			if int64(offset) < r.next[partition] {
				if at.After(from) {
					from = at
				}
			} else if at.Before(to) {
				to = at
			}
		}
	}
	return from, to, from.Before(to)
}
