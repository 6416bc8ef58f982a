//go:build !race

package insert

import (
	"testing"

	"github.com/google/uuid"

	"tributary/schemas"
)

// A centre's records are judged again where somebody asks for it: what the
// checks of now find is open afterwards, whatever was before.
func TestRecordsAreCheckedAgain(t *testing.T) {
	b := newBench(t)
	run := doc{inc: 1, entry: "e.xml", docInc: 1, kind: "experiment", xml: experiments("e1 m2 1")}
	b.must(append(b.version(run), b.batchEnd("batch"))...)
	const open = "SELECT test FROM warehouse.finding WHERE open ORDER BY 1"
	same(t, "open", b.texts(open), []string{"specimen_unknown"})
	// As if the check had not been there at the time.
	if _, err := b.pool.Exec(t.Context(), "DELETE FROM warehouse.finding"); err != nil {
		t.Fatal(err)
	}
	if _, err := b.pool.Exec(t.Context(), "DELETE FROM warehouse.finding_count"); err != nil {
		t.Fatal(err)
	}
	b.must(b.batchEnd("another"))
	same(t, "after an end that changes nothing", b.texts(open), []string{})
	b.told()
	for _, centre := range []string{"Ics", "H"} {
		op := &schemas.DocumentOrdered{Scope: schemas.Scope{Run: schemas.LiveRun, Centre: centre}, What: schemas.PositionCheck, Batch: uuid.NewString(), Domain: centre}
		end := b.batchEnd(op.Batch)
		end.Centre, end.Domain = centre, centre
		b.must(op, end)
		if centre == "Ics" {
			same(t, "after a check of another centre", b.texts(open), []string{})
			continue
		}
		same(t, "after the check", b.texts(open), []string{"specimen_unknown"})
		same(t, "outcomes", b.texts("SELECT state FROM warehouse.operation_outcome"), []string{"done", "done"})
		same(t, "left to be checked again", b.texts("SELECT test FROM warehouse.recheck WHERE centre = 'H'"), []string{})
	}
}
