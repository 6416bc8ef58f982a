//go:build !race

package insert

import (
	"testing"

	"github.com/google/uuid"

	"tributary/internal/profile"
	"tributary/schemas"
)

// What is told of documents says by what they were loaded and checked; the end
// of a batch at which all records of a centre are checked says so too, since
// most of their documents are not told of.
func TestEventsTellTheVersions(t *testing.T) {
	b := newBench(t)
	b.in.deps.Versions = profile.Versions{Upload: map[string]string{"specimen": "loads mice", "experiment": "loads runs"}, Data: "checks"}
	versions := func() (out []string) {
		for _, e := range b.events() {
			for _, p := range e.Passed {
				out = append(out, p.Phase+": "+p.VersionOf)
			}
			out = append(out, e.Entity+" "+e.Phase+": "+e.VersionOf)
		}
		b.told()
		return out
	}
	b.must(append(b.version(doc{inc: 1, entry: "s.xml", docInc: 1, xml: mice("H", "m1")}, doc{inc: 1, entry: "e.xml", docInc: 1, kind: "experiment", xml: experiments("e1 m2 1")}), b.batchEnd("batch"))...)
	same(t, "told", versions(), []string{"document upload: loads mice", "document upload: loads runs",
		"data: checks", "context: checks", "document overview: checks", "document data: checks", "batch : "})
	op := &schemas.DocumentOrdered{Scope: schemas.Scope{Run: schemas.LiveRun, Centre: "H"}, What: schemas.PositionCheck, Batch: uuid.NewString(), Domain: "H"}
	b.in.deps.Versions.Data = "other checks"
	b.must(op, b.batchEnd(op.Batch))
	same(t, "told of a check of all", versions(), []string{"batch : other checks"})
	// A document of which something else changes is not judged whole.
	b.must(append(b.version(doc{inc: 2, entry: "s.xml", docInc: 2, batch: "another", xml: mice("H", "m2")}), b.batchEnd("another"))...)
	same(t, "told of the next end", versions(), []string{"document upload: loads mice",
		"data: ", "context: ", "document overview: ", "data: other checks", "context: other checks", "document overview: other checks", "batch : "})
}
