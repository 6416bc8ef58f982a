//go:build !race

package tracker

import (
	"encoding/binary"
	"flag"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

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
	// Each log takes a tenth of a second; -rapid.checks asks for more.
	if checks := flag.Lookup("rapid.checks"); checks.Value.String() == checks.DefValue {
		if err := flag.Set("rapid.checks", "12"); err != nil {
			t.Fatal(err)
		}
		defer func() { _ = flag.Set("rapid.checks", checks.DefValue) }()
	}
	merged := false
	rows := func(rt *rapid.T) {
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
			merged = merged || len(w.target.old["xml_file"]) > 0 && len(w.target.old["zip_download"]) > 0
		}
		if d := cmp.Diff(dump(t, pool), dump(t, other)); d != "" {
			rt.Fatalf("the rows differ:\n%s", d)
		}
	}
	// A few logs, as -short has them, may have none to merge.
	for range 10 {
		if rapid.Check(t, rows); merged {
			return
		}
	}
	t.Error("no rows were found and merged: the test shows nothing")
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

// What documents sum up to is the same at hand as in the database.
func TestSumsOfDocumentsAreEqual(t *testing.T) {
	pool := database(t)
	random := rand.New(rand.NewPCG(3, 4))
	var events []Event
	f := newFold()
	for file := range 300 {
		name := fmt.Sprintf("H.2012-10-02.%d.impc.zip", file)
		all := unzippedFile(name, 3)
		for n := range random.IntN(5) {
			st := step{Phase: 5 + random.IntN(7), Status: 1 + random.IntN(failed), Exception: "x"}
			if file%2 == 0 {
				st.Phase = 9 + random.IntN(2)
			}
			d := documentAt(name, fmt.Sprintf("%d-%d.xml", random.IntN(9), n), st)
			d.Message = fmt.Sprint("message ", random.IntN(3))
			all = append(all, d)
		}
		for _, e := range all {
			events = append(events, Event{e, time.Unix(1, 0)})
			if err := f.add(&e, time.Unix(1, 0)); err != nil {
				t.Fatal(err)
			}
		}
	}
	err := pg.InTx(t.Context(), pool, func(tx pgx.Tx) error {
		if _, err := NewWriter(trackersql.Schema).Write(t.Context(), tx, events); err != nil {
			return err
		}
		st, err := newStore(t.Context(), tx, &sharedTarget{}, 0, nil)
		if err != nil {
			return err
		}
		var keys [][16]byte
		var outcomes []string
		fresh := map[string]string{}
		for id, a := range f.attempts {
			keys, outcomes, fresh[id.String()] = append(keys, id), append(outcomes, a.Accepted), a.Accepted
		}
		want, err := sumDocuments(t.Context(), st, keys, outcomes)
		got := f.sumNew(fresh)
		for _, m := range []map[uuid.UUID]children{want, got} {
			for id, c := range m {
				if c.Failed == 0 {
					c.FirstFailed = shown{} // says nothing
				}
				m[id] = c
			}
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("the sums differ:\n%s", d)
		}
		if len(want) < 200 {
			t.Errorf("only %d attempts have documents", len(want))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
