package e2e

import (
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"tributary/internal/engine"
	"tributary/test/corpus"
	"tributary/test/rig"
)

// againInWhole is how many files of the whole corpus are uploaded again.
const againInWhole = 12

// 300 zips with every fault, action and kind of content, from real servers, and
// a second session in which some are uploaded again: every end, claim, row,
// finding, context and overview is what the oracle says.
func TestWholeCorpus(t *testing.T) {
	s := setUp(t, corpus.Options{Seed: seed(t), Shape: corpus.Whole}, rig.Options{})
	s.once()
	s.expectWhole(true)
	if err := s.corpus.Again(againInWhole); err != nil {
		t.Fatal(err)
	}
	if err := s.rig.Update(); err != nil {
		t.Fatal(err)
	}
	s.once()
	s.expectWhole(true)
}

// expectWhole is expect, and compares all of the warehouse.
func (s *system) expectWhole(undisturbed bool) state {
	s.t.Helper()
	var got state
	s.engines(func(at engine.Endpoints) {
		got = s.see()
		s.invariants()
		pool, err := pgxpool.New(s.t.Context(), at.Postgres)
		if err != nil {
			s.t.Fatal(err)
		}
		defer pool.Close()
		compareWarehouse(s.t, pool, s.corpus.Oracle.Warehouse)
	})
	s.compare(got, undisturbed)
	return got
}
