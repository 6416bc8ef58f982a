package insert

import (
	"context"
	"fmt"
	"testing"
	"time"

	"tributary/internal/engine/enginetest"
	"tributary/schemas"
	"tributary/test/wait"
)

// of makes an event one of another centre.
func of(centre string, e *schemas.DocumentOrdered) *schemas.DocumentOrdered {
	e.Centre, e.Domain, e.DocCentre = centre, centre, centre
	return e
}

// While a batch's end is worked off, other centres' documents are loaded, the
// same centre's are not; what a member leaves due is done by the next.
func TestLoadingGoesOnBesideABatchEnd(t *testing.T) {
	for _, killed := range []bool{false, true} {
		t.Run(fmt.Sprint("killed ", killed), func(t *testing.T) {
			b := newBench(t)
			b.free()
			first, second := b.event(doc{inc: 1, xml: mice("H", "m1=a")}), b.event(doc{inc: 2, xml: mice("H", "m1=b"), action: schemas.Edit, batch: "2"})
			other := of("G", b.event(doc{inc: 3, xml: mice("G", "m1=g"), batch: "g"}))
			events := []*schemas.DocumentOrdered{first, b.batchEnd("batch"), other, of("G", b.batchEnd("g")), second, b.batchEnd("2")}
			for i, e := range events {
				e.Position = int64(i) + 1
			}
			bootstrap := enginetest.Broker(t)
			o := &ordered{t: t, codec: b.codec}
			o.produce(bootstrap, events...)

			// A batch's end counts its checks here, and nothing else does.
			tx, err := b.pool.Begin(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = tx.Rollback(context.WithoutCancel(t.Context())) }()
			if _, err := tx.Exec(t.Context(), "LOCK TABLE warehouse.data_check IN EXCLUSIVE MODE"); err != nil {
				t.Fatal(err)
			}
			in := b.running(o, bootstrap, b.in.deps.Log)
			in.deps.Blobs = b.blobs
			stop := start(t, in)
			b.eventually("the other centre's batch", func() bool {
				return fmt.Sprint(b.texts("SELECT next_position FROM warehouse.state")) == "[5]"
			})
			same(t, "due", b.texts("SELECT position, centre FROM warehouse.batch_end ORDER BY 1"), []string{"2 H", "4 G"})
			same(t, "loaded", b.texts("SELECT position FROM warehouse.document ORDER BY 1"), []string{"1", "3"})
			if at, err := AppliedPosition(t.Context(), b.pool); err != nil || at != 1 {
				t.Errorf("applied up to %d, error %v", at, err)
			}
			if killed {
				stop()
				in = b.running(o, bootstrap, b.in.deps.Log)
				in.deps.Blobs = b.blobs
				stop = start(t, in)
			}
			if err := tx.Rollback(t.Context()); err != nil {
				t.Fatal(err)
			}
			b.await(6)
			stop()
			same(t, "due in the end", b.texts("SELECT position FROM warehouse.batch_end"), []string{})
			same(t, "tries in the end", b.texts("SELECT position FROM warehouse.try"), []string{})
			same(t, "current", b.texts("SELECT claim_centre, litter_id FROM warehouse.claimed_specimen WHERE is_current ORDER BY 1"), []string{"G g", "H b"})
			same(t, "checks", b.texts("SELECT position, checks FROM warehouse.data_check ORDER BY 1"), []string{"1 1", "3 1", "5 1"})
			b.sound()
		})
	}
}

func TestWhatWaitsForABatchEnd(t *testing.T) {
	b := &bench{blobs: memory{}}
	group := func(events ...*schemas.DocumentOrdered) (items []*item) {
		for _, e := range events {
			items = append(items, newItem(schemas.Message{}, e, 0))
		}
		return items
	}
	h, g := b.event(doc{inc: 1}), of("G", b.event(doc{inc: 2}))
	for _, tt := range []struct {
		name          string
		group         []*item
		shared, alone bool
		waits         bool
	}{
		{name: "the same centre's document", group: group(g, h), waits: true},
		{name: "another centre's document", group: group(g)},
		{name: "another centre's document where keys are shared", group: group(g), shared: true, waits: true},
		{name: "another centre's document after a death", group: group(g), alone: true, waits: true},
		{name: "another centre's batch's end", group: group(of("G", b.batchEnd("x")))},
		{name: "a session's end", group: group(&schemas.DocumentOrdered{What: schemas.PositionSession})},
		{name: "an unload", group: group(&schemas.DocumentOrdered{What: schemas.PositionUnload}), waits: true},
		{name: "a reference table", group: group(&schemas.DocumentOrdered{What: schemas.PositionReference}), waits: true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			e := newBatchEnds(!tt.shared)
			end := newItem(schemas.Message{}, b.batchEnd("batch"), 0)
			e.add(end)
			if got := e.blocks(tt.group, tt.alone); got != tt.waits {
				t.Errorf("waits: %t", got)
			}
			stopped, stop := context.WithCancelCause(t.Context())
			stop(errPanic)
			if err := e.await(stopped, tt.group, tt.alone); (err != nil) != tt.waits {
				t.Errorf("await: %v", err)
			}
			done := make(chan error, 1)
			go func() { done <- e.await(t.Context(), tt.group, tt.alone) }()
			e.finished(<-e.queue)
			select {
			case err := <-done:
				if err != nil {
					t.Error(err)
				}
			case <-time.After(wait.Patience()):
				t.Error("waits for ever")
			}
		})
	}
	full := newBatchEnds(true)
	for range maxEnds {
		full.add(newItem(schemas.Message{}, of("F", b.batchEnd("x")), 0))
	}
	if !full.blocks(group(h), false) {
		t.Error("there is no bound to batch ends that are due")
	}
}

// A batch's end that kills its member does so with growing pauses, and no
// document is blamed.
func TestDeadlyBatchEnd(t *testing.T) {
	b := newBench(t)
	b.must(b.event(doc{inc: 1, entry: "1.xml", xml: mice("H", "m1=a")}))
	if err := b.applyGroup([]*schemas.DocumentOrdered{b.batchEnd("batch")}); err != nil {
		t.Fatal(err)
	}
	statements := b.in.deps.Statements
	b.in.deps.Statements = nil // whoever works it off panics
	pauses := b.pauses()
	for range 2 * maxTries {
		if err := b.in.finishEnds(t.Context(), b.pool, b.epoch); err == nil {
			t.Fatal("no panic")
		}
	}
	if len(*pauses) != 2*maxTries-1 || (*pauses)[0] != deathPause || (*pauses)[len(*pauses)-1] != deathPauseMax {
		t.Errorf("pauses %v do not grow", *pauses)
	}
	b.in.deps.Statements = statements
	b.must(b.event(doc{inc: 2, entry: "2.xml", xml: mice("H", "m2=a"), batch: "2"}))
	same(t, "told", b.told(), []string{"1.xml upload done  0", "2.xml upload done  0", "1.xml data done  1", "1.xml context done  1", "1.xml overview done  1", "batch"})
	same(t, "tries", b.texts("SELECT count(*) FROM warehouse.try"), []string{"0"})
}
