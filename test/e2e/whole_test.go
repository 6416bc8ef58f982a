package e2e

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"tributary/internal/engine"
	"tributary/test/corpus"
	"tributary/test/rig"
)

// What is done to the whole corpus besides its files: so many are uploaded
// again, and so many unloaded.
const (
	againInWhole  = 12
	unloadInWhole = 5
)

// 300 zips with every fault, action and kind of content, from real servers.
// Then reference lists are loaded, some files are uploaded again, and some are
// unloaded. Each time every end, claim, row, finding, context and overview is
// what the oracle says.
func TestWholeCorpus(t *testing.T) {
	t.Parallel()
	long(t, "TestCorporaMatchTheOracle", "TestOtherOrders")
	s := setUp(t, corpus.Options{Seed: seed(t), Shape: corpus.Whole}, rig.Options{})
	s.once()
	s.expect(true)

	if err := s.corpus.LoadLists(); err != nil {
		t.Fatal(err)
	}
	s.engines(func(engine.Endpoints) { s.loadLists() })
	if err := s.corpus.Again(againInWhole); err != nil {
		t.Fatal(err)
	}
	if err := s.rig.Update(); err != nil {
		t.Fatal(err)
	}
	s.once()
	s.expect(true)

	gone, err := s.corpus.Unload(unloadInWhole)
	if err != nil {
		t.Fatal(err)
	}
	s.engines(func(engine.Endpoints) { s.unload(gone) })
	s.once() // so that tracker and history hear of it
	s.expect(true)
}

// unload takes versions of files away again.
func (s *system) unload(list []corpus.Upload) {
	s.t.Helper()
	for _, u := range list {
		s.ask("warehouse", "unload", u.File, "--action", u.Action, "--version", u.SHA256, "--reason", "a test")
	}
}

// loadLists loads the reference lists of the whole corpus.
func (s *system) loadLists() {
	s.t.Helper()
	lists := s.corpus.Lists()
	for _, name := range slices.Sorted(maps.Keys(lists)) {
		path := filepath.Join(s.dir, name+".csv")
		if err := os.WriteFile(path, []byte(lists[name]), 0o644); err != nil {
			s.t.Fatal(err)
		}
		s.ask("reference", "load", name, path)
	}
}
