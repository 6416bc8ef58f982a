package insert

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"tributary/internal/pg"
	"tributary/schemas"
	"tributary/sql/control"
)

// unload is the position that retracts the version that a document is of.
func (b *bench) unload(d doc) *schemas.DocumentOrdered {
	ev := b.event(d)
	return &schemas.DocumentOrdered{Scope: schemas.Scope{Centre: "H"}, FileRef: ev.FileRef, DocumentRef: schemas.DocumentRef{Archive: ev.Archive},
		What: schemas.PositionUnload, Batch: uuid.NewString(), Domain: "H"}
}

// reference is the position that loads a reference table from a text.
func (b *bench) reference(name, text string) *schemas.DocumentOrdered {
	blob := fmt.Sprintf("%x", sha256.Sum256([]byte(text)))
	b.blobs[blob] = []byte(text)
	return &schemas.DocumentOrdered{FileRef: schemas.FileRef{FileName: "p.csv"}, DocumentRef: schemas.DocumentRef{Entry: name, Archive: blob}, What: schemas.PositionReference, Batch: uuid.NewString()}
}

func TestUnload(t *testing.T) {
	b := newBench(t)
	first := doc{inc: 1, rank: 1, entry: "a.xml", xml: mice("H", "m1=old", "m2=old")}
	second := doc{inc: 1, rank: 2, entry: "a.xml", xml: mice("H", "m1=new", "m3=new")}
	run := doc{inc: 1, entry: "e.xml", docInc: 1, kind: "experiment", xml: experiments("e1 m2 1"), action: schemas.Edit}
	b.must(b.version(first)...)
	b.must(b.version(run)...)
	b.must(append(b.version(second), b.batchEnd("batch"))...)
	same(t, "loaded", b.texts(specimens), []string{"m1 new", "m3 new"})
	same(t, "open", b.texts("SELECT test FROM warehouse.finding WHERE open ORDER BY 1"), []string{"edit_of_unknown", "specimen_unknown"})
	b.told()
	op := b.unload(second)
	end := b.batchEnd(op.Batch)
	b.must(op, end)
	same(t, "restored", b.texts(specimens), []string{"m1 old", "m2 old"})
	same(t, "told", b.told(), []string{"file unloaded archive-add-2024-01-01-1-2 retracted 1 restored 1", "e.xml data done  2", "e.xml context done  2", "e.xml overview done  2", "batch"})
	same(t, "outcome", b.texts("SELECT operation::text, position, state, message FROM warehouse.operation_outcome"), []string{
		op.Batch + " 8 done version archive-add-2024-01-01-1-2 of add/H.2024-01-01.1.impc.zip is unloaded: 1 loaded documents were retracted, 1 that it had superseded hold again"})
	// A later run of the version falls under it, too.
	again := second
	again.run = 1
	b.must(append(b.version(again), b.batchEnd("batch"))...)
	same(t, "after a later run", b.texts(specimens), []string{"m1 old", "m2 old"})
	// Twice is as once, and another version is free.
	third := doc{inc: 1, rank: 3, entry: "a.xml", xml: mice("H", "m4=3")}
	b.must(append([]*schemas.DocumentOrdered{b.unload(second)}, b.version(third)...)...)
	same(t, "after another version", b.texts(specimens), []string{"m4 3"})
	b.must(b.unload(third), b.batchEnd("batch"))
	same(t, "after the unload of that", b.texts(specimens), []string{"m1 old", "m2 old"})
	b.sound()
}

func TestReference(t *testing.T) {
	b := newBench(t)
	const table = "SELECT parameter_id, title FROM warehouse.reference_parameter ORDER BY 1"
	const load = "SELECT name, position, rows, loaded_file FROM warehouse.reference_load"
	b.must(append(b.version(doc{inc: 1, kind: "experiment", entry: "e.xml", xml: experiments("e1 m1 1")}, doc{inc: 1, entry: "s.xml", xml: mice("H", "m1=1")}), b.batchEnd("batch"))...)
	same(t, "without reference", b.texts("SELECT test FROM warehouse.finding"), []string{})
	b.must(b.reference("parameter", "\xEF\xBB\xBFtitle,parameter_id\r\n\"a, b\nc\\\",OTHER\r\n,X\r\n"))
	same(t, "table", b.texts(table), []string{"OTHER a, b\nc\\", "X null"})
	same(t, "load", b.texts(load), []string{"parameter 5 2 p.csv"})
	same(t, "recheck", b.texts("TABLE warehouse.recheck"), []string{"H parameter_undefined"})
	b.must(b.batchEnd("op"))
	same(t, "found", b.texts("SELECT test, level, message, line, record, ordinal FROM warehouse.finding WHERE open"), []string{"parameter_undefined warn the parameter PAR is not defined 3 2 4"})
	same(t, "rechecked", b.texts("TABLE warehouse.recheck"), []string{})
	b.must(b.reference("parameter", "parameter_id\nPAR\n"), b.batchEnd("op"))
	same(t, "replaced", b.texts(table), []string{"PAR null"})
	same(t, "closed", b.texts("SELECT test FROM warehouse.finding WHERE open"), []string{})
	for text, want := range map[string]string{
		"":                           "the file is empty: its first line must name the columns",
		"parameter_id,x\n":           `the first line names the column "x"; the reference table parameter has parameter_id, title`,
		"title\n":                    "the first line does not name the column parameter_id, by which rows are told apart",
		"title,parameter_id,title\n": "the first line names the column title twice",
		"parameter_id\nA\nA\n":       "the rows can't be loaded: duplicate key value violates unique constraint \"reference_parameter_pkey\" Key (parameter_id)=(A) already exists.",
		"parameter_id,title\nA\n":    "line 2, column 1: wrong number of fields",
		"parameter_id\nA\n\"A\n":     "line 3, column 4: extraneous or missing \" in quoted-field",
		"parameter_id\n\xff\n":       "line 2, column 1: the file must be UTF-8 text",
		"parameter_id,title\n,x\n":   "line 2, column 1: parameter_id is empty, but tells rows apart",
		"parameter_id\n\"" + strings.Repeat("x", 2<<20): "row 1 takes more than 1048576 bytes: is a quotation mark missing?",
	} {
		op := b.reference("parameter", text)
		b.must(op)
		same(t, fmt.Sprintf("outcome of %.30q", text), b.texts("SELECT state, message FROM warehouse.operation_outcome WHERE operation = $1", op.Batch), []string{"failed " + want})
	}
	unknown, missing := b.reference("mouse", "x\n"), b.reference("parameter", "")
	missing.Archive = "nowhere"
	b.lost["nowhere"] = true
	b.must(unknown, missing, b.event(doc{inc: 9, entry: "9.xml", xml: mice("H", "m9=1")}))
	same(t, "outcomes", b.texts("SELECT message FROM warehouse.operation_outcome ORDER BY position DESC LIMIT 2"), []string{
		"blob_lost: the stored file of the reference table parameter is damaged or gone, and no source has it: load it again", `the profile small has no reference table "mouse"`})
	same(t, "after failures", b.texts(table), []string{"PAR null"})
}

// What a version hides while a reference table is loaded, and no longer at the
// batch end, is judged by the checks that need the table.
func TestReferenceWhileRecordsAreHidden(t *testing.T) {
	b := newBench(t)
	hides := doc{inc: 2, rank: 1, kind: "experiment", action: schemas.Delete, entry: "d.xml", xml: experiments("e1 m1 1")}
	b.must(append(b.version(doc{inc: 1, kind: "experiment", entry: "e.xml", xml: experiments("e1 m1 1")}), b.batchEnd("batch"))...)
	b.must(append(b.version(hides), b.reference("parameter", "parameter_id\nOTHER\n"), b.unload(hides), b.batchEnd("op"))...)
	same(t, "found", b.texts("SELECT test FROM warehouse.finding WHERE open ORDER BY 1"), []string{"parameter_undefined", "specimen_unknown"})
	b.sound()
}

// A check that the profile no longer has leaves nothing open.
func TestForgottenCheck(t *testing.T) {
	b := newBench(t)
	b.must(append(b.version(doc{inc: 1, kind: "experiment", entry: "e.xml", xml: experiments("e1 m1 -1")}, doc{inc: 1, entry: "s.xml", xml: mice("H", "m1=1")}), b.batchEnd("batch"))...)
	same(t, "found", b.texts("SELECT test FROM warehouse.finding WHERE open"), []string{"value_negative"})
	b.told()
	s := *b.in.deps.Statements
	s.Checks = s.Checks[:2]
	b.in.deps.Statements = &s
	b.must(b.batchEnd("2"))
	same(t, "told", b.told(), []string{"e.xml data done  2", "e.xml context done  2", "e.xml overview done  2", "batch"})
	b.sound()
}

// A check that fails stops insertion, and is named.
func TestFailingCheckIsNamed(t *testing.T) {
	b := newBench(t)
	good := *b.in.deps.Statements
	bad := good
	bad.Checks = slices.Clone(good.Checks)
	for i := range bad.Checks {
		if bad.Checks[i].Name == "value_negative" {
			bad.Checks[i].SQL = "SELECT c.position, c.record, c.record, 1 / (c.record - c.record), 'x' FROM candidate c"
		}
	}
	b.in.deps.Statements = &bad
	b.must(b.version(doc{inc: 1, kind: "experiment", entry: "e.xml", xml: experiments("e1 m1 -1")})...)
	if err := b.apply(b.batchEnd("batch")); err == nil || !strings.Contains(err.Error(), "sql/checks/value_negative.sql: ERROR: division by zero") {
		t.Errorf("error %v", err)
	}
	b.in.deps.Statements = &good
	b.must(b.batchEnd("batch"))
	same(t, "found", b.texts("SELECT test FROM warehouse.finding WHERE open ORDER BY 1"), []string{"specimen_unknown", "value_negative"})
}

// Who asked for an operation waits for it, and for the batch ends behind it.
func TestAwaitOperation(t *testing.T) {
	b := newBench(t)
	ctx := t.Context()
	if err := control.Migrate(ctx, b.pool); err != nil {
		t.Fatal(err)
	}
	op, err := control.RequestReference(ctx, b.pool, control.Reference{Name: "parameter", Blob: "x"}, epoch0)
	if err != nil {
		t.Fatal(err)
	}
	stopped, stop := context.WithCancelCause(ctx)
	stop(errPanic)
	if _, err := AwaitOperation(stopped, b.pool, b.pool, op.ID); !errors.Is(err, errPanic) {
		t.Errorf("when nobody works on it: %v", err)
	}
	if err := pg.InTx(ctx, b.pool, func(tx pgx.Tx) error { return control.ReleaseOperation(ctx, tx, op.ID, 1, 2) }); err != nil {
		t.Fatal(err)
	}
	ev := b.reference("parameter", "parameter_id\nA\n")
	ev.Batch = op.ID
	b.must(ev)
	if _, err := AwaitOperation(stopped, b.pool, b.pool, op.ID); !errors.Is(err, errPanic) {
		t.Errorf("before the batch's end: %v", err)
	}
	b.must(b.batchEnd(op.ID))
	got, err := AwaitOperation(ctx, b.pool, b.pool, op.ID)
	if err != nil {
		t.Fatal(err)
	}
	same(t, "outcome", got, Outcome{Position: 1, State: OutcomeDone, Message: "the reference table parameter holds the 1 rows of p.csv"})
}
