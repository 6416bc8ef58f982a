package obs

import (
	"fmt"
	"testing"
)

// However many values others choose, a label has no more than its bound and one.
func TestLabelsAreBounded(t *testing.T) {
	var l Labels
	for range 2 { // what stood for itself stays so
		seen := map[string]int{}
		for i := range 3 * MaxLabels {
			seen[l.Of(fmt.Sprint("source-", i))]++
		}
		if len(seen) != MaxLabels+1 || seen[OtherLabel] != 2*MaxLabels || seen["source-0"] != 1 {
			t.Errorf("%d values, %d of %d stand for others", len(seen), seen[OtherLabel], 3*MaxLabels)
		}
	}
}
