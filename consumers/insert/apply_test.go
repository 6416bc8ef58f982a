//go:build !race

package insert

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"tributary/schemas"
)

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
	same(t, "claims kept", b.texts("SELECT count(*) FROM warehouse.claim"), []string{"7"})
	same(t, "contents kept", b.texts("SELECT count(*) FROM warehouse.specimen"), []string{"6"})
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
	damaged.CRC32++ // the reference is wrong, and the stored bytes are not
	whole := b.blobs[damaged.Archive]
	damaged.Archive = fmt.Sprintf("%x", sha256.Sum256(whole))
	b.blobs[damaged.Archive] = whole
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
	same(t, "rows stay", b.texts("SELECT experiment_id FROM warehouse.current_procedure_run ORDER BY 1"), []string{"e1", "e2"})
	same(t, "counts", b.texts(counts), []string{"procedure_run PROC specimen_unknown error 2"})
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
		"3 false specimen m1 of centre H is not known", "4 true specimen m2 of centre H is not known"})
	// Deleting the experiment that nobody can correct closes its finding.
	b.must(append(b.version(doc{inc: 5, kind: "experiment", entry: "f.xml", action: schemas.Delete, xml: experiments("x m1 1", "e2 m2 2"), batch: "6"}), b.batchEnd("6"))...)
	same(t, "told of the experiment", b.told()[1:2], []string{"e.xml data done  5"})
	same(t, "open findings", b.texts("SELECT test FROM warehouse.finding WHERE open"), []string{"delete_of_unknown"})
	same(t, "counts", b.texts(counts), []string{"procedure_run PROC delete_of_unknown warn 1"})
	same(t, "what changed", b.texts("SELECT * FROM warehouse.changed"), []string{})
}

// What follows from claims alone is found in the transaction that loads them.
func TestClaimFindings(t *testing.T) {
	b := newBench(t)
	const findings = "SELECT f.test, f.level, d.entry, f.line, f.message FROM warehouse.finding f JOIN warehouse.document d USING (position) WHERE f.open ORDER BY d.version_key, f.ordinal"
	b.must(b.version(doc{inc: 1, entry: "1.xml", xml: mice("H", "m1=a", "m2=a")})...)
	same(t, "nothing to find", b.texts(findings), []string{})
	b.must(b.version(doc{inc: 2, entry: "2.xml", xml: mice("H", "m1=a", "m2=b")})...)
	b.must(b.version(doc{inc: 3, entry: "3.xml", action: schemas.Edit, xml: mice("H", "m1=b", "m3=a")})...)
	b.must(b.version(doc{inc: 4, entry: "4.xml", action: schemas.Delete, xml: mice("H", "m1=b", "m4=a")})...)
	b.must(b.version(doc{inc: 5, entry: "5.xml", action: schemas.Edit, xml: mice("H", "m1=b")})...)
	b.must(b.version(doc{inc: 6, entry: "6.xml", action: schemas.Delete, xml: mice("H", "m4=a")})...)
	want := []string{
		"already_present info 2.xml 4 specimen H m1 was known already, with the same content",
		"resubmitted warn 2.xml 5 specimen H m2 was known already, with other content: send changes as edits",
		"edit_of_unknown warn 3.xml 5 specimen H m3 is edited, but was not known: the edit is taken as an addition",
		"delete_of_unknown warn 4.xml 5 specimen H m4 is deleted, but was not known",
		"edit_of_unknown warn 5.xml 4 specimen H m1 is edited, but was not known: the edit is taken as an addition",
		"delete_of_unknown warn 6.xml 4 specimen H m4 is deleted, but was not known"}
	same(t, "findings", b.texts(findings), want)
	same(t, "counts", b.texts(counts), []string{"specimen  already_present info 1", "specimen  delete_of_unknown warn 2", "specimen  edit_of_unknown warn 2", "specimen  resubmitted warn 1"})
	// An older submission that comes late makes the edit and the addition ones
	// of what is known; a version that lacks the document takes it back.
	b.must(b.version(doc{inc: 0, entry: "0.xml", xml: mice("H", "m1=a", "m3=b")}, doc{inc: 0, entry: "x.xml", xml: mice("H", "x=1")})...)
	same(t, "findings after a late one", b.texts(findings), slices.Concat([]string{
		"already_present info 1.xml 4 specimen H m1 was known already, with the same content"}, want[:2], want[3:]))
	b.must(b.version(doc{inc: 0, rank: 1, entry: "x.xml", xml: mice("H", "x=1")})...)
	same(t, "findings after it was taken back", b.texts(findings), want)
}

// What followed from claims only until more of them were there leaves nothing:
// whether it was ever seen depends on where the positions were cut.
func TestClaimFindingsLeaveNoTrace(t *testing.T) {
	b := newBench(t)
	var events, complete []*schemas.DocumentOrdered
	for _, d := range []doc{
		{inc: 1, entry: "1.xml", xml: mice("H", "m1=a", "m2=a")},
		{inc: 3, entry: "3.xml", xml: mice("H", "m1=b", "m2=b")},
		{inc: 2, entry: "2.xml", xml: mice("H", "m1=b")},          // comes late, between the two
		{inc: 4, entry: "4.xml", xml: mice("H", "m2=c")},          // is withdrawn in the same batch,
		{inc: 4, entry: "4.xml", rank: 1, xml: mice("H", "m3=c")}, // by a newer version
	} {
		v := b.version(d)
		events, complete = append(events, v[0]), append(complete, v[1])
	}
	events = slices.Concat(events, complete, []*schemas.DocumentOrdered{b.batchEnd("batch")})
	blobs := maps.Clone(b.blobs)
	const findings = "SELECT position, ordinal, test, open FROM warehouse.finding ORDER BY 1, 2"
	want := []string{"2 2 already_present true", "2 3 resubmitted true", "3 2 resubmitted true"}
	for n := 1; n <= len(events); n++ {
		b.reset()
		maps.Copy(b.blobs, blobs)
		for part := range slices.Chunk(events, n) {
			b.must(part...)
		}
		same(t, fmt.Sprintf("findings, %d positions at a time", n), b.texts(findings), want)
	}
}

// Equal content of a key is stored once, and every claim on it counts.
func TestContentIsStoredOnce(t *testing.T) {
	b := newBench(t)
	exp := experiments("e1 m1 1", "e2 m1 2")
	first := b.version(doc{inc: 1, kind: "experiment", entry: "1.xml", xml: exp})
	again := b.version(doc{inc: 2, kind: "experiment", entry: "2.xml", xml: strings.ReplaceAll(exp, "<experiment ", "\n<experiment ")})
	other := b.version(doc{inc: 3, kind: "experiment", entry: "3.xml", xml: experiments("e2 m1 2", "e1 m1 1")})
	const claims = "SELECT position, ordinal, line, content_position, content_ordinal, is_current FROM warehouse.claim ORDER BY 1, 2"
	const measurements = "SELECT experiment_id, value, position, record, ordinal, line FROM warehouse.current_measurement ORDER BY 1"
	b.must(first...)
	b.must(slices.Concat(again, other)...)
	// The days of the third document differ.
	same(t, "claims", b.texts(claims), []string{"1 2 3 1 2 false", "1 5 4 1 5 false", "3 2 4 1 2 false", "3 5 6 1 5 false", "5 2 3 5 2 true", "5 5 4 5 5 true"})
	same(t, "contents", b.texts("SELECT position, count(*) FROM warehouse.measurement GROUP BY 1 ORDER BY 1"), []string{"1 2", "5 2"})
	same(t, "measurements", b.texts(measurements), []string{"e1 1 5 5 7 4", "e2 2 5 2 4 3"})
	// Lines are those of the claim's own document, wherever the rows lie.
	b.must(b.version(doc{inc: 4, kind: "experiment", entry: "4.xml", xml: strings.ReplaceAll(exp, "<experiment ", "\n<experiment ")})...)
	same(t, "measurements of shared content", b.texts(measurements), []string{"e1 1 7 2 4 4", "e2 2 7 5 7 6"})
	spread := strings.ReplaceAll(exp, "<simpleParameter ", "\n<simpleParameter ")
	b.must(b.version(doc{inc: 5, kind: "experiment", entry: "5.xml", xml: spread})...)
	same(t, "measurements of another layout", b.texts(measurements), []string{"e1 1 9 2 4 4", "e2 2 9 5 7 6"})
	b.must(b.version(doc{inc: 6, kind: "experiment", entry: "6.xml", xml: strings.ReplaceAll(spread, "<experiment ", "\n\n<experiment ")})...)
	same(t, "measurements of the same layout", b.texts(measurements), []string{"e1 1 11 2 4 6", "e2 2 11 5 7 10"})
	same(t, "contents by layout", b.texts("SELECT position, count(*) FROM warehouse.measurement GROUP BY 1 ORDER BY 1"), []string{"1 2", "5 2", "9 2"})
	same(t, "rows of documents", b.texts("SELECT rows FROM warehouse.document"), []string{"7", "7", "7", "7", "7", "7"})
	// In one transaction, the first of them holds it.
	b.must(b.event(doc{inc: 7, entry: "7.xml", xml: mice("H", "m1=z")}), b.event(doc{inc: 8, entry: "8.xml", xml: mice("H", "m1=z")}))
	same(t, "specimens", b.texts("SELECT position, content_position, is_current FROM warehouse.claim WHERE record_type = 'specimen' ORDER BY 1"), []string{"13 13 false", "14 13 true"})
	same(t, "keys", b.texts("SELECT natural_key::text, subject, byte_to > byte_from FROM warehouse.claim WHERE position = 1 ORDER BY ordinal"), []string{`{H,e1,PROC,"{\"m1\"}"} PROC true`, `{H,e2,PROC,"{\"m1\"}"} PROC true`})
}

func TestContextAndOverview(t *testing.T) {
	b := newBench(t)
	b.must(append(b.version(doc{inc: 1, entry: "s.xml", xml: mice("H", "m1=a", "m2=a")},
		doc{inc: 1, kind: "experiment", entry: "e.xml", xml: experiments("e1 m1 1", "e2 m2 2", "e3 m9 3")}), b.batchEnd("batch"))...)
	const context = "SELECT centre, procedure_id, parameter_id, measurements, first_date::text, last_date::text FROM warehouse.context ORDER BY 1"
	const overview = "SELECT centre, procedure_id, records, findings FROM warehouse.overview ORDER BY 2"
	same(t, "context", b.texts(context), []string{"H PROC PAR 3 2023-06-01 2023-06-03"})
	same(t, "overview", b.texts(overview), []string{"H  2 0", "H PROC 3 1"})
	b.must(append(b.version(doc{inc: 2, action: schemas.Delete, kind: "experiment", entry: "d.xml", xml: experiments("e1 m1 1", "x x x", "e3 m9 3"), batch: "2"}), b.batchEnd("2"))...)
	same(t, "context after a deletion", b.texts(context), []string{"H PROC PAR 1 2023-06-02 2023-06-02"})
	same(t, "overview after a deletion", b.texts(overview), []string{"H  2 0", "H PROC 1 1"})
}
