package e2e

import (
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"tributary/internal/engine"
	"tributary/test/corpus"
	"tributary/test/rig"
)

// work is the number of records in the topics that carry work.
func (s *system) work() map[string]int64 {
	s.t.Helper()
	out := s.records()
	for name := range out {
		// Every session opens and closes, in the log and in the order.
		if strings.Contains(name, "status.changed") || strings.Contains(name, "document.ordered") {
			delete(out, name)
		}
	}
	return out
}

// A second run lists everything again and does nothing else: no byte is
// fetched, no row and no end of a file changes.
func TestOnceAgainChangesNothing(t *testing.T) {
	t.Parallel()
	s := setUp(t, corpus.Options{Seed: seed(t), Shape: corpus.Demo}, rig.Options{Local: true})
	type both struct {
		State state
		Work  map[string]int64
	}
	look := func() (b both) {
		s.engines(func(engine.Endpoints) {
			b = both{s.see(), s.work()}
			s.invariants()
		})
		return b
	}
	s.once()
	before := look()
	s.once()
	after := look()
	if diff := gocmp.Diff(before, after); diff != "" {
		t.Errorf("what the second run changed (-first +second):\n%s", diff)
	}
	s.compare(after.State, true)
}

// What is added later is inserted and nothing else is done again. One of the
// added files is dated before all others, and loses against them.
func TestAddedFilesAreInserted(t *testing.T) {
	t.Parallel()
	s := setUp(t, corpus.Options{Seed: seed(t), Shape: corpus.Demo}, rig.Options{Local: true})
	s.once()
	before := s.expect(true)
	for range 2 {
		if err := s.corpus.Add(9); err != nil {
			t.Fatal(err)
		}
		if err := s.rig.Update(); err != nil {
			t.Fatal(err)
		}
		s.once()
		after := s.expect(true)
		if diff := gocmp.Diff(before.Order, after.Order[:min(len(before.Order), len(after.Order))]); diff != "" {
			t.Errorf("what was inserted before has changed (-before +after):\n%s", diff)
		}
		if len(after.Files) != len(before.Files)+9 {
			t.Errorf("%d files before, %d after 9 were added", len(before.Files), len(after.Files))
		}
		before = after
	}
}

// Other bytes under the name of a file that is there are a new version of it:
// the oracle's rows no longer have what only the old one had.
func TestReuploadIsANewVersion(t *testing.T) {
	t.Parallel()
	s := setUp(t, corpus.Options{Seed: seed(t), Shape: corpus.Demo}, rig.Options{Local: true})
	s.once()
	before := s.expect(true)
	name := s.corpus.Reuploadable()
	runs := len(s.corpus.Oracle.Runs)
	for range 2 {
		// Each upload has one document less than the one before.
		if name == "" || s.corpus.Reuploadable() != name {
			break
		}
		if err := s.corpus.Reupload("add", name); err != nil {
			t.Fatal(err)
		}
		if err := s.rig.Update(); err != nil {
			t.Fatal(err)
		}
		s.once()
		after := s.expect(true)
		if after.Hash == before.Hash {
			t.Errorf("%s was uploaded again with other content, and the warehouse's hash is as before", name)
		}
		before = after
	}
	if len(s.corpus.Oracle.Runs) >= runs {
		t.Errorf("nothing was retracted by uploading %q again: the corpus does not test it", name)
	}
}
