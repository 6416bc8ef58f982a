package e2e

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tributary/internal/engine"
	"tributary/test/corpus"
	"tributary/test/rig"
)

// wholeCorpus is that of TestWholeCorpus, with all that is done to it, and what
// is unloaded.
func wholeCorpus(t testing.TB) (*corpus.Corpus, []corpus.Upload) {
	t.Helper()
	c, err := corpus.Generate(corpus.Options{Seed: seed(t), Shape: corpus.Whole})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.LoadLists(); err != nil {
		t.Fatal(err)
	}
	if err := c.Again(againInWhole); err != nil {
		t.Fatal(err)
	}
	gone, err := c.Unload(unloadInWhole)
	if err != nil {
		t.Fatal(err)
	}
	return c, gone
}

// ordersEnv is the variable by which make orders says how many.
const ordersEnv = "TRIBUTARY_ORDERS"

// Law L2: the same files in other orders, over three to five sessions each,
// and reference lists and unloads at any time between, give the same warehouse:
// claims, rows, open findings, context and overview.
// What inserts is the real thing; the order is made here, as sequence would
// make it. TestWholeCorpusInAnotherOrder does it with the whole program.
func TestOtherOrders(t *testing.T) {
	t.Parallel()
	orders := number(t, ordersEnv, 3)
	c, gone := wholeCorpus(t)
	l := newLoader(t, c, gone)
	hashes := make([]string, orders)
	t.Run("order", func(t *testing.T) {
		for n := range orders {
			t.Run(fmt.Sprint(n), func(t *testing.T) {
				t.Parallel()
				hashes[n] = l.load(t, int(n), rand.New(rand.NewPCG(seed(t), n)))
			})
		}
	})
	if different := slices.Compact(slices.Sorted(slices.Values(hashes))); len(different) != 1 {
		t.Errorf("warehouse hashes %v, want one", different)
	}
}

// The same with the whole program, sessions being runs of up --once, in one of ten
// orders. The hash is that of the undisturbed order, by way of the oracle.
func TestWholeCorpusInAnotherOrder(t *testing.T) {
	t.Parallel()
	if os.Getenv(ordersEnv) == "" {
		t.Skip("takes a minute: make orders runs it")
	}
	for n := range max(1, number(t, ordersEnv, 0)/10) {
		rng := rand.New(rand.NewPCG(seed(t), 100+n))
		c, gone := wholeCorpus(t)
		s := local(t, c)
		parts := corpus.Parts(c.Uploads(), 3+rng.IntN(3), rng.IntN)
		lists := rng.IntN(len(parts))
		for i, part := range parts {
			if i == len(parts)-1 && i > 0 {
				s.engines(func(engine.Endpoints) { s.unload(known(gone, parts[:i])) })
			}
			if err := c.WriteUploads(s.sources(), part); err != nil {
				t.Fatal(err)
			}
			s.once()
			if i == lists {
				s.engines(func(engine.Endpoints) { s.loadLists() })
			}
		}
		s.engines(func(engine.Endpoints) { s.unload(known(gone, parts[len(parts)-1:])) })
		s.once()
		s.expect(false)
	}
}

// known are those uploads that were part of the given ones.
func known(list []corpus.Upload, parts [][]corpus.Upload) []corpus.Upload {
	there := map[string]bool{}
	for _, u := range slices.Concat(parts...) {
		there[u.Action+"/"+u.File+u.SHA256] = true
	}
	return slices.DeleteFunc(slices.Clone(list), func(u corpus.Upload) bool { return !there[u.Action+"/"+u.File+u.SHA256] })
}

// local is a system whose sources are plain directories, without those that
// misbehave, and nothing in them yet.
func local(t testing.TB, c *corpus.Corpus) *system {
	t.Helper()
	s := &system{t: t, binary: program(t), dir: openDir(t), corpus: c}
	yaml := "data_dir: ./data\nprofile: impc\nsources:\n"
	for _, source := range c.Sources {
		if source.Fault == "" {
			yaml += fmt.Sprintf("  - id: %s\n    centre: %s\n    hosts: [%s]\n    url: file://%s\n", source.ID, source.Centre, strings.Join(c.Hosts(source.ID), ", "), filepath.Join(s.sources(), source.ID))
		}
	}
	s.rig = &rig.Rig{Dir: s.dir, Config: filepath.Join(s.dir, "tributary.yaml"), Corpus: c}
	if err := os.WriteFile(s.rig.Config, []byte(yaml), 0o644); err != nil {
		t.Fatal(err)
	}
	return s
}
