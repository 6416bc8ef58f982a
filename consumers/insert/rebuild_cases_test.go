//go:build !race

package insert

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"tributary/internal/engine/enginetest"
	"tributary/schemas"
	"tributary/sql/warehouse"
	"tributary/test/wait"
)

// A schema that was dropped comes back as it was, silently, as far as the world
// was told of it. What had not been published goes on in the live warehouse, and
// is told then.
func TestRebuildOfALostWarehouse(t *testing.T) {
	for _, published := range []int{0, 9, 24} {
		t.Run(fmt.Sprint("published ", published), func(t *testing.T) {
			r := rebuildBench(t)
			r.batches(0, 5)
			r.live()
			before, ids := r.all(), r.ids()
			r.publish(published)
			r.drop()
			report, err := r.again().Run(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if !report.Lost {
				t.Error("it is not reported as lost")
			}
			same(t, "told by the rebuild", r.ids(), []string(nil))
			if published == 0 {
				same(t, "rows", r.all(), before)
				same(t, "documents judged by another profile", report.Others, map[string]int64{"insert-test@0": 23})
			} else if report.Position >= int64(len(r.o.events)) {
				t.Errorf("went to position %d though not all was told", report.Position)
			}
			r.live()
			same(t, "rows in the end", r.all(), before)
			if got := r.ids(); published > 0 {
				for _, id := range ids {
					if _, found := slices.BinarySearch(got, id); !found && !r.published(id) {
						t.Fatalf("event %s was lost", id)
					}
				}
			} else if len(got) > 0 {
				t.Errorf("%d events were told again", len(got))
			}
		})
	}
}

// A warehouse that was dropped and begun again by a member that started is
// brought to where the world was told of it.
func TestRebuildOfAWarehouseBegunAgain(t *testing.T) {
	r := rebuildBench(t)
	r.batches(0, 4)
	r.live()
	before := r.all()
	r.publish(0)
	r.drop()
	if err := warehouse.Migrate(t.Context(), r.pool); err != nil {
		t.Fatal(err)
	}
	if err := warehouse.Apply(t.Context(), r.pool, r.profile, r.in.deps.Mapping); err != nil {
		t.Fatal(err)
	}
	if _, err := r.again().Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	same(t, "rows", r.all(), before)
	same(t, "told again", r.ids(), []string(nil))
}

// A missing blob is named, with its position and file, and nothing is swapped.
func TestRebuildNamesAMissingBlob(t *testing.T) {
	r := rebuildBench(t)
	r.batches(0, 3)
	r.live()
	before := r.all()
	ev := r.o.events[7]
	lost := maps.Clone(r.blobs)
	delete(r.blobs, ev.Archive)
	_, err := r.again().Run(t.Context())
	if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("position %d: ", ev.Position)) || !strings.Contains(err.Error(), ev.FileName) || !strings.Contains(err.Error(), "blob "+ev.Archive) {
		t.Errorf("the missing blob of position %d is not named: %v", ev.Position, err)
	}
	same(t, "rows", r.all(), before)
	same(t, "schemas left", r.left(), []string{})
	maps.Copy(r.blobs, lost)
	if _, err := r.again().Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	same(t, "rows in the end", r.all(), before)
}

// Operations are rebuilt too: an unload, a reference table, and one whose file
// was missing when it was to be loaded first. One that is missing only now stops
// the rebuild.
func TestRebuildOfOperations(t *testing.T) {
	r := rebuildBench(t)
	r.batches(0, 2)
	loaded, never := r.reference("parameter", "parameter_id\nPAR\n"), r.reference("parameter", "")
	delete(r.blobs, never.Archive)
	r.lost[never.Archive] = true
	r.produce([]*schemas.DocumentOrdered{loaded, r.batchEnd("op"), r.unload(doc{inc: 1, date: "2024-02-02", xml: mice("H", "x=a")}), r.batchEnd("op-2"), never, r.batchEnd("op-3")})
	r.batches(2, 3)
	r.live()
	before := r.all()
	if n := len(before["operation_outcome"]); n != 3 {
		t.Fatalf("%d operations were applied", n)
	}
	if _, err := r.again().Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	same(t, "rows", r.all(), before)
	delete(r.blobs, loaded.Archive)
	_, err := r.again().Run(t.Context())
	if err == nil || !strings.Contains(err.Error(), "blob "+loaded.Archive) || !strings.Contains(err.Error(), fmt.Sprintf("position %d ", loaded.Position)) {
		t.Errorf("the missing file of position %d is not named: %v", loaded.Position, err)
	}
	same(t, "rows after the refusal", r.all(), before)
}

// An order whose beginning is lost, or that ends before the warehouse, can't be
// followed: the live warehouse stays.
func TestRebuildNeedsTheWholeOrder(t *testing.T) {
	r := rebuildBench(t)
	r.batches(0, 3)
	r.live()
	before := r.all()
	for name, events := range map[string][]*schemas.DocumentOrdered{"the beginning is lost": r.o.events[5:], "document.ordered ends at 7": r.o.events[:7], "document.ordered ends at 0": nil} {
		r.bootstrap = enginetest.Broker(t)
		r.topic(schemas.StatusChangedTopic, 3)
		r.o.produce(r.bootstrap, events...)
		_, err := r.again().Run(t.Context())
		if err == nil || !strings.Contains(err.Error(), "the only copy") {
			t.Errorf("%s: %v", name, err)
		}
		same(t, name, r.all(), before)
		same(t, "schemas left", r.left(), []string{})
	}
}

// An order whose last record was written in a transaction ends in its marker. What
// was applied is found in it all the same.
func TestRebuildOfAnOrderThatEndsInAMarker(t *testing.T) {
	r := rebuildBench(t)
	r.batches(0, 2)
	r.live()
	before := r.all()
	last := len(r.o.events) - 1
	r.bootstrap = enginetest.Broker(t)
	r.topic(schemas.StatusChangedTopic, 3)
	r.o.produce(r.bootstrap, r.o.events[:last]...)
	enginetest.Transact(t, r.bootstrap, r.o.record(r.o.events[last]))
	ctx, cancel := context.WithTimeout(t.Context(), wait.Patience())
	defer cancel()
	if _, err := r.again().Run(ctx); err != nil {
		t.Fatal(err)
	}
	same(t, "rows", r.all(), before)
}

// What people have granted and made stays, or is named before anything is done.
func TestRebuildKeepsWhatPeopleMade(t *testing.T) {
	r := rebuildBench(t)
	r.batches(0, 2)
	r.live()
	r.exec(`GRANT USAGE ON SCHEMA warehouse TO pg_monitor; GRANT SELECT ON warehouse.claim, warehouse.current_specimen TO pg_monitor;
		GRANT SELECT (specimen_id), REFERENCES (specimen_id) ON warehouse.specimen TO pg_monitor; GRANT SELECT (specimen_id) ON warehouse.current_specimen TO PUBLIC;
		GRANT UPDATE (centre) ON warehouse.specimen TO pg_monitor WITH GRANT OPTION; GRANT SELECT (tries) ON warehouse.try TO pg_monitor;
		ALTER DEFAULT PRIVILEGES IN SCHEMA warehouse GRANT SELECT ON TABLES TO pg_monitor;
		ALTER DEFAULT PRIVILEGES IN SCHEMA warehouse GRANT USAGE ON SEQUENCES TO pg_monitor WITH GRANT OPTION; ALTER DEFAULT PRIVILEGES IN SCHEMA warehouse GRANT USAGE ON TYPES TO pg_monitor;
		ALTER DEFAULT PRIVILEGES IN SCHEMA warehouse GRANT EXECUTE ON FUNCTIONS TO pg_monitor`)
	for _, made := range []struct{ make, drop, named string }{
		{"CREATE VIEW public.theirs AS SELECT * FROM warehouse.current_specimen", "DROP VIEW public.theirs", "the view public.theirs"},
		{"CREATE TABLE warehouse.theirs (n int)", "DROP TABLE warehouse.theirs", "the table warehouse.theirs"},
		{"CREATE FUNCTION warehouse.theirs() RETURNS int LANGUAGE sql AS 'SELECT 1'", "DROP FUNCTION warehouse.theirs()", "the function warehouse.theirs"},
	} {
		r.exec(made.make)
		if _, err := r.again().Run(t.Context()); err == nil || !strings.Contains(err.Error(), made.named) {
			t.Errorf("%s is not named: %v", made.named, err)
		}
		r.exec(made.drop)
	}
	const rights = `SELECT coalesce(nspacl::text, '') FROM pg_namespace WHERE nspname = 'warehouse'
		UNION ALL SELECT relname || relacl::text FROM pg_class WHERE relnamespace = 'warehouse'::regnamespace AND relacl IS NOT NULL
		UNION ALL SELECT relname || '.' || attname || attacl::text FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid WHERE relnamespace = 'warehouse'::regnamespace AND attacl IS NOT NULL
		UNION ALL SELECT defaclobjtype::text || defaclacl::text FROM pg_default_acl WHERE defaclnamespace = 'warehouse'::regnamespace ORDER BY 1`
	const comments = `SELECT c.relname, d.objsubid, d.description FROM pg_description d JOIN pg_class c ON c.oid = d.objoid WHERE c.relnamespace = 'warehouse'::regnamespace ORDER BY 1, 2`
	granted, said := r.texts(rights), r.texts(comments)
	if _, err := r.again().Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	same(t, "rights", r.texts(rights), granted)
	same(t, "comments", r.texts(comments), said)
}

// A document that insert has given up is not tried again.
func TestRebuildTakesOverWhatWasGivenUp(t *testing.T) {
	r := rebuildBench(t)
	r.batches(0, 2)
	if _, err := r.pool.Exec(t.Context(), "INSERT INTO warehouse.try (position, tries) VALUES (8, $1)", maxTries+1); err != nil {
		t.Fatal(err)
	}
	in := r.inserter()
	in.after = nil
	in.cfg.Batch = 1
	stop := start(t, in)
	r.await(int64(len(r.o.events)))
	stop()
	const given = "SELECT position, exception FROM warehouse.document WHERE exception = 'quarantined'"
	same(t, "given up", r.texts(given), []string{"8 quarantined"})
	before := r.all()
	if _, err := r.again().Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	same(t, "rows", r.all(), before)
	r.publish(0)
	r.drop()
	if _, err := r.again().Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	same(t, "rows after it was lost", r.all(), before)
}

// A batch's end that the live warehouse has not worked off is left to it: nobody
// else would tell of its checks.
func TestRebuildLeavesEndsThatAreDue(t *testing.T) {
	r := rebuildBench(t)
	r.batches(0, 2)
	var err error
	if r.epoch, err = r.in.lease().Acquire(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	end := slices.IndexFunc(r.o.events, func(e *schemas.DocumentOrdered) bool { return e.What == schemas.PositionBatchEnd }) + 1
	if err := r.applyGroup(r.o.events[:end]); err != nil {
		t.Fatal(err)
	}
	r.free()
	const due = "SELECT position FROM warehouse.batch_end"
	same(t, "due before", r.texts(due), []string{fmt.Sprint(end)})
	if _, err := r.again().Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	same(t, "due after the rebuild", r.texts(due), []string{fmt.Sprint(end)})
	same(t, "checks after the rebuild", r.texts("SELECT count(*) FROM warehouse.data_check"), []string{"0"})
	r.live()
	undisturbed := newBench(t)
	undisturbed.free()
	u := &rebuilt{bench: undisturbed, o: r.o, profile: r.profile, bootstrap: r.bootstrap}
	undisturbed.blobs, undisturbed.in.deps.Blobs = r.blobs, r.blobs
	u.live()
	same(t, "rows", r.all(), u.all())
	same(t, "told", len(r.ids()), len(u.ids()))
}
