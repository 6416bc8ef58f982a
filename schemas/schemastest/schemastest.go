// Package schemastest gives tests what costs much to make of the schemas, and is the same
// for all.
package schemastest

import (
	"sync"
	"testing"

	"tributary/schemas"
)

// codec is made once for a test binary: it takes longer than many a test, above all with
// the race detector.
var codec = sync.OnceValues(schemas.NewCodec)

// Codec returns the codec that the tests of a binary share.
func Codec(t testing.TB) *schemas.Codec {
	t.Helper()
	c, err := codec()
	if err != nil {
		t.Fatalf("make the codec: %v", err)
	}
	return c
}
