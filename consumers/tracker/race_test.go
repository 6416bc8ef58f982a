//go:build !race

package tracker

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kgo"

	"tributary/internal/stage/sink"
	"tributary/schemas"
	"tributary/test/members"
)

// Two members that hear of a new file at the same time, each in its partition, leave
// the rows that one of them leaves: who comes second finds those of the other.
func TestRowsThatAnotherMemberHasAdded(t *testing.T) {
	const name = "H.2012-10-02.2.impc.zip"
	known := events(unzippedFile("H.2012-10-02.1.impc.zip", 1)) // so that centre and source are there
	theirs, ours := events(unzippedFile(name, 1)), events([]schemas.StatusChanged{documentAt(name, "a.xml", step{Phase: 6, Status: done})})

	byHand := database(t)
	apply(t, newTracker(t, byHand), 0, append(append(known, theirs...), ours...)...)

	pool := database(t)
	tr := newTracker(t, pool)
	apply(t, tr, 0, known...)
	tx, err := pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback(context.WithoutCancel(t.Context())) }()
	st, err := newStore(t.Context(), tx, &sharedTarget{}, 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	f := newFold()
	for _, e := range theirs {
		if err := f.add(&e.StatusChanged, e.at); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.write(t.Context(), st); err != nil {
		t.Fatal(err)
	}
	applied := make(chan error, 1)
	go func() {
		applied <- tr.Apply(t.Context(), []sink.Range{{Topic: schemas.StatusChangedTopic, Partition: 1, To: 1, Records: []*kgo.Record{record(t, tr, ours[0], 0)}}})
	}()
	members.Eventually(t, "the second waits for the first", func() bool {
		var waits bool
		err := pool.QueryRow(t.Context(), "SELECT EXISTS (SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock')").Scan(&waits)
		return err == nil && waits
	})
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-applied; err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(dump(t, byHand), dump(t, pool)); d != "" {
		t.Errorf("the rows differ:\n%s", d)
	}
	counted, is := counts(t, pool)
	if d := cmp.Diff(is, counted); d != "" {
		t.Errorf("counted (-is +counted):\n%s", d)
	}
	var n int
	if err := pool.QueryRow(t.Context(), "SELECT count(*) FROM tracker.xml_file").Scan(&n); err != nil || n != 1 {
		t.Errorf("%d documents, %v: the test shows nothing", n, err)
	}
}
