//go:build !race

package tracker

import (
	"errors"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"tributary/internal/pg"
	"tributary/internal/stage/sink"
	"tributary/schemas"
)

// A batch whose rows can't be written leaves its offset where it was: it comes
// again, and nothing of it is lost (L1).
func TestAFailedBatchLeavesItsOffset(t *testing.T) {
	pool := database(t)
	tr := newTracker(t, pool)
	r := sink.Range{Topic: schemas.StatusChangedTopic}
	for _, e := range unzippedFile("H.2012-10-02.1.impc.zip", 2) {
		r.Records = append(r.Records, record(t, tr, event{time.Unix(1, 0), e}, r.To))
		r.To++
	}
	r.Records = append(r.Records, &kgo.Record{Offset: r.To, Value: []byte("no event")})
	r.To++
	rename := func(from, to string) {
		t.Helper()
		if _, err := pool.Exec(t.Context(), "ALTER TABLE tracker."+from+" RENAME TO "+to); err != nil {
			t.Fatal(err)
		}
	}
	position := func() int64 {
		t.Helper()
		at, err := tr.Position(t.Context(), schemas.StatusChangedTopic, 0)
		if err != nil {
			t.Fatal(err)
		}
		return at
	}
	count := func(table string) (n int) {
		t.Helper()
		if err := pool.QueryRow(t.Context(), "SELECT count(*) FROM tracker."+table).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}

	rename("zip_download", "away")
	if err := tr.Apply(t.Context(), []sink.Range{r}); err == nil || errors.Is(err, pg.ErrMoved) {
		t.Fatalf("without a table that it needs: %v, want an error of the database", err)
	}
	if at := position(); at != 0 {
		t.Errorf("after a batch that failed the offset is %d", at)
	}
	if n := count("zip_file") + count("unreadable"); n != 0 {
		t.Errorf("a batch that failed left %d rows", n)
	}
	rename("away", "zip_download")
	if err := tr.Apply(t.Context(), []sink.Range{r}); err != nil {
		t.Fatalf("the same batch again: %v", err)
	}
	if at := position(); at != r.To {
		t.Errorf("the offset is %d, want %d", at, r.To)
	}
	if count("zip_file") != 1 || count("unreadable") != 1 {
		t.Errorf("%d files and %d unreadable records, want one of each", count("zip_file"), count("unreadable"))
	}
}

// The log is the record: where it was made anew the tracker stands still, and
// does not read on from its beginning as those do to whom lost work comes again.
func TestTheTrackerDoesNotStartOver(t *testing.T) {
	var s sink.Store = &Tracker{}
	if _, ok := s.(sink.TopicStore); !ok {
		t.Error("the tracker does not know its topic's id")
	}
	if _, ok := s.(sink.Restarter); ok {
		t.Error("the tracker starts over")
	}
}
