package e2e

import (
	"testing"

	"tributary/test/corpus"
	"tributary/test/rig"
)

// A file that has failed for good is tried again now and then. A round that is
// about to end when such a try becomes due sees it through, and ends well.
func TestOnceSeesRetriesThrough(t *testing.T) {
	t.Parallel()
	s := setUp(t, corpus.Options{Seed: seed(t), Shape: corpus.Small}, rig.Options{Local: true, Extra: "plan:\n  backoff: 200ms\n  retry_failed: 1s\n"})
	for range 4 {
		s.once()
	}
	s.expect(false)
}
