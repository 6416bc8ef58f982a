package e2e

import (
	"testing"

	"tributary/internal/engine"
	"tributary/test/corpus"
	"tributary/test/rig"
)

// The whole way over real SFTP and FTP: every file, document, row and position
// is what the oracle says, and what each phase made of it is what it was, unless
// its version says otherwise.
func TestCorporaMatchTheOracle(t *testing.T) {
	t.Parallel()
	for _, shape := range []string{corpus.Small, corpus.Demo, corpus.Faults} {
		t.Run(shape, func(t *testing.T) {
			t.Parallel()
			s := setUp(t, corpus.Options{Seed: seed(t), Shape: shape}, rig.Options{})
			s.fromNothing = shape == corpus.Demo
			s.once()
			s.engines(func(at engine.Endpoints) {
				s.stands(at, true)
				if shape != corpus.Small {
					s.golden(at, shape)
				}
			})
		})
	}
}

// Whole batches load the same, in the order of their key from the first document to the
// last: what they make of the corpus is the oracle's, and its hash that of batches that
// are released early.
func TestWholeBatchesMatchTheOracle(t *testing.T) {
	t.Parallel()
	s := setUp(t, corpus.Options{Seed: seed(t), Shape: corpus.Demo}, rig.Options{Local: true})
	s.fromNothing = true
	s.releaseWhole()
	s.once()
	if got, want := s.expect(true).Hash, undisturbedHash(t, corpus.Demo); got != want {
		t.Errorf("warehouse hash %s, and %s where batches are released early", got, want)
	}
}
