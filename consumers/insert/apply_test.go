package insert

import (
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tributary/schemas"
)

const specimens = "SELECT specimen_id, litter_id FROM warehouse.current_specimen ORDER BY 1"

func same(t *testing.T, what string, got, want any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func TestAddEditDelete(t *testing.T) {
	b := newBench(t)
	b.must(b.version(doc{inc: 1, xml: mice("H", "m1=a", "m2=a", "m3=a")})...)
	same(t, "after add", b.texts(specimens), []string{"m1 a", "m2 a", "m3 a"})
	b.must(b.version(doc{action: schemas.Edit, inc: 2, xml: mice("H", "m1=b")})...)
	same(t, "after edit", b.texts(specimens), []string{"m1 b", "m2 a", "m3 a"})
	b.must(b.version(doc{action: schemas.Delete, inc: 3, xml: mice("H", "m2=a")})...)
	same(t, "after delete", b.texts(specimens), []string{"m1 b", "m3 a"})
	// What is older than the deletion stays superseded by it.
	b.must(b.version(doc{action: schemas.Edit, inc: 3, docInc: 0, xml: mice("H", "m2=c", "m3=c")})...)
	same(t, "after a late edit", b.texts(specimens), []string{"m1 b", "m3 c"})
	same(t, "claims kept", b.texts("SELECT count(*) FROM warehouse.specimen"), []string{"7"})
}

func TestReuploadWithdrawsWhatItLacks(t *testing.T) {
	b := newBench(t)
	old := func(entry, who string) doc { return doc{inc: 1, rank: 1, entry: entry, xml: mice("H", who)} }
	b.must(b.version(old("a.xml", "m1=old"), old("b.xml", "m2=old"), old("c.xml", "m3=old"))...)
	bad := doc{inc: 1, rank: 2, entry: "c.xml", failed: true}
	b.must(b.version(doc{inc: 1, rank: 2, entry: "a.xml", xml: mice("H", "m4=new")}, bad)...)
	// a.xml no longer has m1; b.xml is gone; c.xml failed, so what it said stays.
	same(t, "after the upload", b.texts(specimens), []string{"m3 old", "m4 new"})
}

func TestLateLowerVersion(t *testing.T) {
	b := newBench(t)
	b.must(b.version(doc{inc: 1, rank: 2, entry: "a.xml", xml: mice("H", "m1=new")})...)
	b.must(b.version(doc{inc: 1, rank: 1, entry: "a.xml", xml: mice("H", "m1=old", "m2=old")}, doc{inc: 1, rank: 1, entry: "b.xml", xml: mice("H", "m3=old")})...)
	same(t, "after the lower version", b.texts(specimens), []string{"m1 new"})
}

func TestLaterRunReplaces(t *testing.T) {
	b := newBench(t)
	first := doc{inc: 1, rank: 1, entry: "a.xml", xml: mice("H", "m1=x", "m2=x")}
	b.must(b.version(first)...)
	again := first
	again.run = 1
	b.must(b.version(again)...)
	same(t, "after the replay", b.texts(specimens), []string{"m1 x", "m2 x"})
	same(t, "documents", b.texts("SELECT run_number, withdrawn FROM warehouse.document ORDER BY position"), []string{"0 true", "1 false"})
	failed := again
	failed.run, failed.failed = 2, true
	b.must(b.version(failed)...)
	same(t, "after a replay that failed", b.texts(specimens), []string{})
}

func TestOwnErrorsGoOn(t *testing.T) {
	b := newBench(t)
	twice := b.event(doc{inc: 1, entry: "1.xml", xml: mice("H", "m1=a", "m1=b")})
	centre := b.event(doc{inc: 1, entry: "2.xml", xml: mice("J", "m2=a")})
	broken := b.event(doc{inc: 1, entry: "3.xml", xml: mice("H", "m3=a")[:200]})
	named := b.event(doc{inc: 1, entry: "4.xml", xml: mice("H", "m4=a")})
	named.DocCentre = "J"
	good := b.event(doc{inc: 1, entry: "5.xml", xml: mice("H", "m5=a")})
	damaged := b.event(doc{inc: 1, entry: "6.xml", xml: mice("H", "m6=a")})
	damaged.CRC32++
	before := b.event(doc{inc: 1, entry: "7.xml", failed: true})
	b.must(twice, centre, broken, named, good, damaged, before, b.batchEnd("batch"))
	same(t, "loaded", b.texts(specimens), []string{"m5 a"})
	same(t, "told", b.told(), []string{
		"1.xml upload failed duplicate_key 0", "2.xml upload failed centre_mismatch 0", "3.xml upload failed document_unreadable 0",
		"4.xml upload failed centre_mismatch 0", "5.xml upload done  0", "6.xml upload failed document_unreadable 0",
		"5.xml data done  1", "5.xml context done  1", "5.xml overview done  1", "batch"})
	same(t, "documents", b.texts("SELECT entry, state, phase, exception FROM warehouse.document ORDER BY position"), []string{
		"1.xml failed upload duplicate_key", "2.xml failed upload centre_mismatch", "3.xml failed upload document_unreadable",
		"4.xml failed upload centre_mismatch", "5.xml loaded upload ", "6.xml failed upload document_unreadable", "7.xml failed xsd xsd_invalid"})
}

// What only the database can refuse fails its document and no other.
func TestRefusedRow(t *testing.T) {
	b := newBench(t)
	if _, err := b.pool.Exec(t.Context(), "ALTER TABLE warehouse.specimen ADD CHECK (specimen_id <> 'bad')"); err != nil {
		t.Fatal(err)
	}
	b.must(b.event(doc{inc: 1, entry: "1.xml", xml: mice("H", "m1=a")}), b.event(doc{inc: 1, entry: "2.xml", xml: mice("H", "bad=a")}),
		b.event(doc{inc: 1, entry: "3.xml", xml: mice("H", "m3=a")}))
	same(t, "loaded", b.texts(specimens), []string{"m1 a", "m3 a"})
	same(t, "told", b.told(), []string{"1.xml upload done  0", "2.xml upload failed row_refused 0", "3.xml upload done  0"})
}

func TestFindingsOpenAndClose(t *testing.T) {
	b := newBench(t)
	runs := doc{inc: 1, kind: "experiment", entry: "e.xml", xml: experiments("e1 m1 1", "e2 m2 2"), batch: "1"}
	b.must(append(b.version(runs), b.batchEnd("1"))...)
	same(t, "unknown", b.told(), []string{"e.xml upload done  0", "e.xml data failed specimen_unknown 1", "batch"})
	same(t, "rows stay", b.texts("SELECT experiment_id, has_findings FROM warehouse.current_procedure_run ORDER BY 1"), []string{"e1 true", "e2 true"})
	b.must(append(b.version(doc{inc: 2, entry: "s.xml", xml: mice("H", "m1=a"), batch: "2"}), b.batchEnd("2"))...)
	same(t, "half known", b.told(), []string{"s.xml upload done  0", "e.xml data failed specimen_unknown 2",
		"s.xml data done  1", "s.xml context done  1", "s.xml overview done  1", "batch"})
	b.must(append(b.version(doc{inc: 3, entry: "t.xml", xml: mice("H", "m2=a"), batch: "3"}), b.batchEnd("3"))...)
	same(t, "known", b.told()[1:4], []string{"e.xml data done  3", "e.xml context done  3", "e.xml overview done  3"})
	b.must(append(b.version(doc{inc: 4, entry: "d.xml", action: schemas.Delete, xml: mice("H", "m2=a"), batch: "4"}), b.batchEnd("4"))...)
	same(t, "deleted", b.told()[1:2], []string{"e.xml data failed specimen_unknown 4"})
	b.must(b.batchEnd("5"))
	same(t, "nothing new", b.told(), []string{"batch"})
	same(t, "findings", b.texts("SELECT line, open, message FROM warehouse.finding ORDER BY ordinal"), []string{
		"3 false specimen m1 of centre H is not known: submit it, or correct the experiment",
		"4 true specimen m2 of centre H is not known: submit it, or correct the experiment"})
	// Deleting the experiment that nobody can correct closes its finding.
	b.must(append(b.version(doc{inc: 5, kind: "experiment", entry: "f.xml", action: schemas.Delete, xml: experiments("x m1 1", "e2 m2 2"), batch: "6"}), b.batchEnd("6"))...)
	same(t, "open findings", b.texts("SELECT count(*) FROM warehouse.finding WHERE open"), []string{"0"})
}

func TestContextAndOverview(t *testing.T) {
	b := newBench(t)
	b.must(append(b.version(doc{inc: 1, entry: "s.xml", xml: mice("H", "m1=a", "m2=a")},
		doc{inc: 1, kind: "experiment", entry: "e.xml", xml: experiments("e1 m1 1", "e2 m2 2", "e3 m9 3")}), b.batchEnd("batch"))...)
	const context = "SELECT centre, pipeline, project, procedure_id, parameter_id, measurements, first_date::text, last_date::text FROM warehouse.context ORDER BY 1"
	const overview = "SELECT centre, procedure_id, specimens, runs, measurements, findings FROM warehouse.overview ORDER BY 2"
	same(t, "context", b.texts(context), []string{"H P X PROC PAR 3 2023-06-01 2023-06-03"})
	same(t, "overview", b.texts(overview), []string{"H  2 0 0 0", "H PROC 0 3 3 1"})
	b.must(append(b.version(doc{inc: 2, action: schemas.Delete, kind: "experiment", entry: "d.xml", xml: experiments("e1 m1 1", "x x x", "e3 m9 3"), batch: "2"}), b.batchEnd("2"))...)
	same(t, "context after a deletion", b.texts(context), []string{"H P X PROC PAR 1 2023-06-02 2023-06-02"})
	same(t, "overview after a deletion", b.texts(overview), []string{"H  2 0 0 0", "H PROC 0 1 1 0"})
}

func TestLargeDocument(t *testing.T) {
	list := make([]string, 0, 20000)
	for i := range 20000 {
		list = append(list, "m"+string(rune('a'+i%26))+strconv.Itoa(i)+"=x")
	}
	b := newBench(t)
	good := b.event(doc{inc: 1, entry: "1.xml", xml: mice("H", list...)})
	if good.Size <= smallDocument {
		t.Fatal("the document is not large")
	}
	twice := b.event(doc{inc: 1, entry: "2.xml", xml: mice("H", append(list, list[7])...)})
	after := b.event(doc{inc: 1, entry: "3.xml", xml: mice("H", "z=1")})
	b.must(good, twice, after, b.batchEnd("batch"))
	same(t, "loaded", b.texts("SELECT count(*) FROM warehouse.current_specimen"), []string{"20001"})
	same(t, "told", b.told()[:3], []string{"1.xml upload done  0", "2.xml upload failed duplicate_key 0", "3.xml upload done  0"})
}
