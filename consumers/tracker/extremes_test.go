//go:build !race

package tracker

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"tributary/internal/stage/sink"
	"tributary/schemas"
	"tributary/test/texts"
)

// TestExtremeNumbers shows that no number and no moment of status.changed, in whatever
// field of an event about whatever, stops the tracker.
func TestExtremeNumbers(t *testing.T) {
	tr := newTracker(t, database(t))
	var next int64
	for _, entity := range entities() {
		for _, tc := range texts.Extreme(func() any { return bodyAbout(entity) }) {
			rec := recordOf(t, tr, tc.Body, next)
			next++
			if err := tr.Apply(t.Context(), []sink.Range{{Topic: schemas.StatusChangedTopic, From: rec.Offset, To: next, Records: []*kgo.Record{rec}}}); err != nil {
				t.Errorf("an event about a %s with an extreme %s: %v", entity, tc.Field, err)
				next--
			}
		}
	}
}
