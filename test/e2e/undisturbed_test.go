package e2e

import (
	"sync"
	"testing"

	"tributary/internal/engine"
	"tributary/test/corpus"
	"tributary/test/rig"
)

// undisturbed are the hashes of warehouses, by the shape of their corpus, each found
// once for all tests of a run.
var undisturbed struct {
	sync.Mutex
	hashes map[string]func() string
}

// undisturbedHash is the hash of the warehouse that an undisturbed run makes of the
// corpus of a shape: what becomes of a system that is disturbed is compared with it.
// That such a warehouse is the oracle's is for TestCorporaMatchTheOracle to say.
func undisturbedHash(t testing.TB, shape string) string {
	t.Helper()
	undisturbed.Lock()
	hash, known := undisturbed.hashes[shape]
	if !known {
		hash = sync.OnceValue(func() (hash string) {
			s := setUp(t, corpus.Options{Seed: seed(t), Shape: shape}, rig.Options{Local: true})
			s.embedded = true // also where the others are on Apache Kafka
			s.once()
			s.engines(func(engine.Endpoints) { hash = s.hash() })
			return hash
		})
		if undisturbed.hashes == nil {
			undisturbed.hashes = map[string]func() string{}
		}
		undisturbed.hashes[shape] = hash
	}
	undisturbed.Unlock()
	return hash()
}
