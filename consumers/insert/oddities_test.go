//go:build !race

package insert

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"tributary/schemas"
)

// The end of a batch tells how many findings are open that make no document fail; those
// that do have their documents tell.
func TestBatchEndsTellOfOddities(t *testing.T) {
	b := newBench(t)
	b.must(append(b.version(doc{inc: 1, kind: "experiment", entry: "e.xml", xml: experiments("e1 m1 1"), batch: "1"}), b.batchEnd("1"))...)
	b.must(append(b.version(doc{inc: 2, entry: "a.xml", action: schemas.Delete, xml: mice("H", "m3=a", "m4=a"), batch: "2"}), b.batchEnd("2"))...)
	b.must(append(b.version(doc{inc: 3, kind: "experiment", entry: "f.xml", action: schemas.Delete, xml: experiments("x m1 1"), batch: "3"}), b.batchEnd("3"))...)
	var told []map[string]string
	for _, e := range b.events() {
		if e.Entity == schemas.EntityBatch {
			told = append(told, e.Attributes)
		}
	}
	want := []map[string]string{{"findings": "0"}, {"findings": "2", "warn:delete_of_unknown": "2"}, {"findings": "3", "warn:delete_of_unknown": "3"}}
	if d := cmp.Diff(want, told); d != "" {
		t.Errorf("what ends of batches tell (-want +told):\n%s", d)
	}
}
