package insert

import (
	"tributary/internal/mapping"
	"tributary/sql/beside"
)

// target is where an inserter writes, and what it knows of an earlier time when
// the same positions were done.
type target struct {
	beside.Target
	// first says that positions are done for the first time: the world is told of
	// them, and what can't be loaded is given up.
	first   bool
	givenUp map[int64]string // exceptions of documents that nobody could load, or whose bytes were lost
	failed  map[string]bool  // operations that failed
}

// verdict is what insert decided when it gave a document up earlier; that is not
// found out again.
func (t target) verdict(it *item) *mapping.DocumentError {
	exception := t.givenUp[it.ev.Position]
	if exception == "" {
		return nil
	}
	return &mapping.DocumentError{Exception: exception, Message: "insert gave the document up when it was loaded first"}
}

// hadFailed tells whether an operation failed when it was done earlier.
func (t target) hadFailed(it *item) bool { return t.failed[operationID(it.ev.Batch)] }
