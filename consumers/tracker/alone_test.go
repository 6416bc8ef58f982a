package tracker

import (
	"encoding/binary"
	"flag"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"pgregory.net/rapid"

	"tributary/internal/pg"
	trackersql "tributary/sql/tracker"
)

// Who writes alone, a log in any order and with repeats, leaves the rows that
// the tracker leaves of the log as it is.
func TestAnyOrderGivesTheSameRowsAlone(t *testing.T) {
	pool, other := database(t), database(t)
	tr := newTracker(t, pool)
	if checks := flag.Lookup("rapid.checks"); checks.Value.String() == checks.DefValue {
		if err := flag.Set("rapid.checks", "20"); err != nil {
			t.Fatal(err)
		}
		defer func() { _ = flag.Set("rapid.checks", checks.DefValue) }()
	}
	merged := false
	rapid.Check(t, func(rt *rapid.T) {
		log := eventLog(rt)
		reset(t, pool)
		apply(t, tr, 0, log...)
		reset(t, other)
		w := NewWriter(trackersql.Schema)
		for _, b := range batches(rt, disturbed(rt, log)) {
			events := make([]Event, len(b))
			for i, e := range b {
				events[i] = Event{e.StatusChanged, e.at}
			}
			if err := pg.InTx(t.Context(), other, func(tx pgx.Tx) error {
				_, err := w.Write(t.Context(), tx, events)
				return err
			}); err != nil {
				rt.Fatal(err)
			}
			merged = merged || len(w.alone.old["xml_file"]) > 0 && len(w.alone.old["zip_download"]) > 0
		}
		if d := cmp.Diff(dump(t, pool), dump(t, other)); d != "" {
			rt.Fatalf("the rows differ:\n%s", d)
		}
	})
	if !merged {
		t.Error("no rows were found and merged: the test shows nothing")
	}
}

func TestIDSet(t *testing.T) {
	const n = 100_000
	random := rand.New(rand.NewPCG(1, 2))
	id := func() (u uuid.UUID) {
		binary.LittleEndian.PutUint64(u[:], random.Uint64())
		binary.LittleEndian.PutUint64(u[8:], random.Uint64())
		return u
	}
	s := newIDSet()
	added := make([]uuid.UUID, n)
	for i := range added {
		added[i] = id()
		s.add(added[i])
	}
	for _, u := range added {
		if !s.has(u) {
			t.Fatalf("%s was added and is not known", u)
		}
	}
	wrong := 0
	for range n {
		if s.has(id()) {
			wrong++
		}
	}
	if wrong > n/1000 {
		t.Errorf("of %d ids that were not added, %d are said to have been", n, wrong)
	}
}
