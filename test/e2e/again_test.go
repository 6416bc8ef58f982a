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

// What rounds do after the first, one after another on one installation. After each
// everything is the oracle's.
func TestRoundsAfterTheFirst(t *testing.T) {
	t.Parallel()
	long(t, "TestLateLowerVersion", "TestVeryManyUnchangedEntriesTellNothing", "TestWeather")
	s := setUp(t, corpus.Options{Seed: seed(t), Shape: corpus.Demo}, rig.Options{Local: true})
	s.once()
	for _, round := range []struct {
		about string
		do    func(*system)
	}{
		{"again changes nothing", againChangesNothing},
		{"added files are inserted", addedFilesAreInserted},
		{"other bytes are a new version", otherBytesAreANewVersion},
	} {
		if !t.Run(round.about, func(sub *testing.T) {
			s.t = sub
			defer func() { s.t = t }()
			round.do(s)
		}) {
			return // what follows begins with what this should have left
		}
	}
}

// Another run lists everything again and does nothing else: no byte is fetched, no row
// and no end of a file changes.
func againChangesNothing(s *system) {
	s.t.Helper()
	type both struct {
		State state
		Work  map[string]int64
	}
	look := func() (b both) {
		s.engines(func(engine.Endpoints) {
			b = both{s.see(), s.work()}
			s.inOrder(s.invariants())
		})
		return b
	}
	before := look()
	s.once()
	after := look()
	if diff := gocmp.Diff(before, after); diff != "" {
		s.t.Errorf("what the second run changed (-first +second):\n%s", diff)
	}
	s.compare(after.State, true)
}

// What is added later is inserted and nothing else is done again. One of the added
// files is dated before all others, and loses against them.
func addedFilesAreInserted(s *system) {
	s.t.Helper()
	before := s.expect(true)
	for range 2 {
		s.add(9)
		s.once()
		after := s.expect(true)
		if diff := gocmp.Diff(before.Order, after.Order[:min(len(before.Order), len(after.Order))]); diff != "" {
			s.t.Errorf("what was inserted before has changed (-before +after):\n%s", diff)
		}
		if len(after.Files) != len(before.Files)+9 {
			s.t.Errorf("%d files before, %d after 9 were added", len(before.Files), len(after.Files))
		}
		before = after
	}
}

// Other bytes under the name of a file that is there are a new version of it: the
// oracle's rows no longer have what only the old one had.
func otherBytesAreANewVersion(s *system) {
	s.t.Helper()
	var before string
	s.engines(func(engine.Endpoints) { before = s.hash() })
	name := s.corpus.Reuploadable()
	runs := len(s.corpus.Oracle.Runs)
	for range 2 {
		// Each upload has one document less than the one before.
		if name == "" || s.corpus.Reuploadable() != name {
			break
		}
		if err := s.corpus.Reupload("add", name); err != nil {
			s.t.Fatal(err)
		}
		if err := s.rig.Update(); err != nil {
			s.t.Fatal(err)
		}
		s.once()
		after := s.expect(true)
		if after.Hash == before {
			s.t.Errorf("%s was uploaded again with other content, and the warehouse's hash is as before", name)
		}
		before = after.Hash
	}
	if len(s.corpus.Oracle.Runs) >= runs {
		s.t.Errorf("nothing was retracted by uploading %q again: the corpus does not test it", name)
	}
}
