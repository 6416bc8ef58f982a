package insert

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"tributary/internal/blob"
	"tributary/internal/engine/enginetest"
	"tributary/internal/pg"
	"tributary/schemas/impc"
	"tributary/test/corpus"
)

// panicking is a blob store that crashes whoever opens one archive.
type panicking struct {
	blob.Store
	name string
}

func (p panicking) Open(ctx context.Context, name string) (blob.Blob, error) {
	if name == p.name {
		panic("poison")
	}
	return p.Store.Open(ctx, name)
}

func TestPanicIsQuarantined(t *testing.T) {
	b := newBench(t)
	b.in.deps.Blobs = panicking{b.blobs, "bad"}
	b.must(b.event(doc{inc: 1, entry: "1.xml", archive: "bad", xml: mice("H", "m1=a")}), b.event(doc{inc: 2, entry: "2.xml", xml: mice("H", "m2=a")}))
	same(t, "told", b.told(), []string{"1.xml upload failed quarantined 0", "2.xml upload done  0"})
}

// A position at which members died again and again is given up; before that it
// is tried alone.
func TestDeathsAreQuarantined(t *testing.T) {
	b := newBench(t)
	ctx := t.Context()
	pauses := b.pauses()
	for try := 1; try <= maxTries; try++ {
		careful, err := b.in.begin(ctx, 1)
		if err != nil {
			t.Fatal(err)
		}
		if alone := careful > 1; alone != (try > 1) {
			t.Fatalf("try %d: one by one up to %d", try, careful)
		}
	}
	if !slices.IsSorted(*pauses) || (*pauses)[0] != deathPause || (*pauses)[len(*pauses)-1] <= deathPause {
		t.Errorf("pauses %v do not grow", *pauses)
	}
	ev := b.event(doc{inc: 1, entry: "1.xml", xml: mice("H", "m1=a")})
	// A clean stop, or an error of the database, is no death.
	if err := b.in.forget(1); err != nil {
		t.Fatal(err)
	}
	if _, err := b.in.begin(ctx, 1); err != nil {
		t.Fatal(err)
	}
	if _, err := b.in.begin(ctx, 1); err != nil {
		t.Fatal(err)
	}
	b.must(ev)
	same(t, "told", b.told(), []string{"1.xml upload failed quarantined 0"})
	same(t, "tries", b.texts("SELECT count(*) FROM warehouse.try"), []string{"0"})
}

// An error of the database is nobody's fault: nothing of the transaction stays,
// and the same positions work afterwards.
func TestDatabaseErrorStops(t *testing.T) {
	b := newBench(t)
	if _, err := b.pool.Exec(t.Context(), "ALTER TABLE warehouse.withdrawal RENAME TO gone"); err != nil {
		t.Fatal(err)
	}
	events := b.version(doc{inc: 1, xml: mice("H", "m1=a")})
	if err := b.apply(events...); err == nil {
		t.Fatal("a missing table is no error")
	}
	same(t, "documents", b.texts("SELECT count(*) FROM warehouse.document"), []string{"0"})
	same(t, "told", b.told(), []string{})
	if _, err := b.pool.Exec(t.Context(), "ALTER TABLE warehouse.gone RENAME TO withdrawal"); err != nil {
		t.Fatal(err)
	}
	b.must(events...)
	same(t, "afterwards", b.texts(specimens), []string{"m1 a"})
}

// Stored bytes that are damaged or gone are no verdict on their document, even if
// what is left of them would make one: insertion stops until they are back, or
// until control says that nobody has them.
func TestDamagedBytesStopInsertion(t *testing.T) {
	for name, damage := range map[string]func(b []byte) []byte{
		"changed": func(b []byte) []byte { b = bytes.Clone(b); b[len(b)-4] ^= 1; return b },
		"shorter": func(b []byte) []byte { return b[:len(b)/2] },
		"gone":    nil,
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			xml := mice("H", "m1=a")
			sha := fmt.Sprintf("%x", sha256.Sum256([]byte(xml)))
			ev := b.event(doc{inc: 1, archive: sha, xml: xml})
			ev.SHA256 = sha
			kept := b.blobs[sha]
			if damage == nil {
				delete(b.blobs, sha)
			} else {
				b.blobs[sha] = damage(kept)
			}
			if err := b.apply(ev); err == nil || !strings.Contains(err.Error(), "blob_damaged") || !blob.Unusable(err) {
				t.Fatalf("error %v", err)
			}
			same(t, "reported", b.reported, []string{sha})
			same(t, "told", b.told(), []string{})
			b.blobs[sha] = kept
			b.must(ev)
			same(t, "loaded once they are back", b.texts(specimens), []string{"m1 a"})
			lost := b.event(doc{inc: 2, archive: "none", xml: mice("H", "m2=a")})
			delete(b.blobs, "none")
			b.lost["none"] = true
			b.must(lost, b.event(doc{inc: 3, xml: mice("H", "m3=a")}))
			same(t, "loaded beside what is lost", b.texts(specimens), []string{"m1 a", "m3 a"})
			same(t, "documents", b.texts("SELECT state, exception FROM warehouse.document ORDER BY position"), []string{"loaded ", "failed blob_lost", "loaded "})
		})
	}
}

// A blob that isn't there stops insertion: the store may be back soon.
func TestMissingBlobStops(t *testing.T) {
	b := newBench(t)
	ev := b.event(doc{inc: 1, archive: "x", xml: mice("H", "m1=a")})
	kept := b.blobs["x"]
	delete(b.blobs, "x")
	if err := b.apply(ev); err == nil || !strings.Contains(err.Error(), "stored bytes of add/H.2024-01-01.1.impc.zip") {
		t.Fatalf("error %v", err)
	}
	b.blobs["x"] = kept
	b.must(ev)
}

// Who lost the lease, or whose positions were applied by another, writes
// nothing.
func TestStaleMemberWritesNothing(t *testing.T) {
	b := newBench(t)
	first := b.event(doc{inc: 1, xml: mice("H", "m1=a")})
	stale := b.epoch
	b.free()
	taken, err := b.in.lease().Acquire(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := b.apply(first); !errors.Is(err, pg.ErrLeaseLost) {
		t.Errorf("with epoch %d: error %v", stale, err)
	}
	b.epoch = taken
	b.must(first)
	b.at.position = 1
	if err := b.apply(first); !errors.Is(err, pg.ErrMoved) {
		t.Errorf("at a position that is applied: error %v", err)
	}
	same(t, "documents", b.texts("SELECT count(*) FROM warehouse.document"), []string{"1"})
}

// Two members take turns, one of them is stopped in the middle, and the rows
// are those of an undisturbed one.
func TestTwoMembersGiveTheSame(t *testing.T) {
	c, err := corpus.Generate(corpus.Options{Seed: 5, Shape: corpus.Small})
	if err != nil {
		t.Fatal(err)
	}
	alone, both := newBenchOf(t, impc.FS), newBenchOf(t, impc.FS)
	alone.free()
	both.free()
	o := order(t, c, alone.codec)
	bootstrap := enginetest.Broker(t)
	o.produce(bootstrap, o.events...)
	stop := start(t, alone.running(o, bootstrap, alone.in.deps.Log))
	alone.await(int64(len(o.events)))
	stop()

	a, z := both.running(o, bootstrap, both.in.deps.Log), both.running(o, bootstrap, both.in.deps.Log)
	a.deps.Holder, z.deps.Holder, a.cfg.Batch, z.cfg.Batch = "a", "z", 3, 2
	stopA, stopZ := start(t, a), start(t, z)
	both.await(1)
	stopA()
	both.await(int64(len(o.events)))
	stopZ()
	same(t, "hash", both.hash(), alone.hash())
	for _, q := range []string{"TABLE warehouse.finding_count ORDER BY 1, 2, 3, 4, 5", "SELECT * FROM warehouse.overview ORDER BY 1, 2", "SELECT * FROM warehouse.context ORDER BY 1, 2, 3, 4, 5, 6, 7, 8, 9",
		"SELECT position, state, withdrawn, rows FROM warehouse.document ORDER BY 1", rawClaims} {
		same(t, q, both.texts(q), alone.texts(q))
	}
}

// Rows come back as they were written: a smoke test of the view's columns that
// others script against.
func TestViews(t *testing.T) {
	b := newBench(t)
	b.must(b.event(doc{inc: 1, kind: "experiment", xml: experiments("e1 m1 1.5")}))
	same(t, "specimen", b.texts("SELECT count(centre) + count(specimen_id) FROM warehouse.current_specimen"), []string{"0"})
	same(t, "run", b.texts("SELECT centre, experiment_id, procedure_id FROM warehouse.current_procedure_run"), []string{"H e1 PROC"})
	same(t, "measurement", b.texts("SELECT centre, experiment_id, procedure_id, parameter_id, value FROM warehouse.current_measurement"), []string{"H e1 PROC PAR 1.5"})
}

// Every table and column says what it is for, and every mapped one exists.
func TestSchemaIsDocumented(t *testing.T) {
	b := newBench(t)
	same(t, "columns without comment", b.texts(`SELECT c.relname, a.attname FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
		WHERE c.relnamespace = 'warehouse'::regnamespace AND c.relkind = 'r' AND c.relname <> 'schema_version'
			AND col_description(c.oid, a.attnum) IS NULL ORDER BY 1, 2`), []string{})
	same(t, "relations without comment", b.texts(`SELECT c.relname FROM pg_class c
		WHERE c.relnamespace = 'warehouse'::regnamespace AND c.relkind IN ('r', 'v') AND c.relname <> 'schema_version' AND obj_description(c.oid) IS NULL`), []string{})
	for _, table := range b.in.deps.Mapping.Tables {
		if _, err := b.pool.Exec(t.Context(), "SELECT "+strings.Join(table.ColumnNames(), ", ")+" FROM "+pgx.Identifier{"warehouse", table.Name}.Sanitize()); err != nil {
			t.Errorf("%s: %v", table.Name, err)
		}
	}
}
