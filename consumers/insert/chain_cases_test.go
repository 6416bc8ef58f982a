//go:build !race

package insert

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"tributary/internal/chain"
	"tributary/schemas"
	"tributary/sql/warehouse"
)

func TestAPositionThatContradictsAnotherStopsInsertion(t *testing.T) {
	type records = []*schemas.DocumentOrdered
	cases := []struct {
		name    string
		from    int64 // the chain's begin; 0: there is none
		first   func(r *rebuilt, e records) records
		older   bool // applied the first ones, and noted no digests
		then    func(r *rebuilt, e records) records
		applied int64  // the last position
		broken  string // what is said; empty: insertion goes on
	}{
		{name: "repeats", from: 1,
			first: func(_ *rebuilt, e records) records { return append(append(records{}, e[:4]...), e[1:3]...) },
			then:  func(_ *rebuilt, e records) records { return append(append(records{}, e[:4]...), e[2:]...) }, applied: 7},
		{name: "forged after genuine, at once", from: 1,
			first:   func(_ *rebuilt, e records) records { return e[:2] },
			then:    func(_ *rebuilt, e records) records { return records{e[2], e[3], forged(e[2], 3, e[2].Previous), e[4]} },
			applied: 4, broken: "position_taken_twice: the record of position 3 at offset 4"},
		{name: "forged after genuine, later", from: 1,
			first:   func(_ *rebuilt, e records) records { return e[:5] },
			then:    func(_ *rebuilt, e records) records { return records{forged(e[2], 3, e[2].Previous), e[5]} },
			applied: 5, broken: "position_taken_twice: the record of position 3 at offset 5"},
		{name: "forged first, and fits", from: 1,
			first:   func(r *rebuilt, e records) records { return e[:3] },
			then:    func(_ *rebuilt, e records) records { return records{forged(e[3], 4, e[3].Previous), e[3], e[4]} },
			applied: 4, broken: "position_taken_twice: the record of position 4 at offset 4"},
		{name: "forged first, a copy of the last", from: 1,
			first:   func(_ *rebuilt, e records) records { return e[:3] },
			then:    func(_ *rebuilt, e records) records { return records{forged(e[2], 4, e[2].Previous), e[3]} },
			applied: 3, broken: "chain_broken: the record of position 4 at offset 3"},
		{name: "forged first, as older programs write", from: 1,
			first:   func(_ *rebuilt, e records) records { return e[:3] },
			then:    func(_ *rebuilt, e records) records { return records{forged(e[3], 4, ""), e[3]} },
			applied: 3, broken: "chain_broken: the record of position 4 at offset 3"},
		{name: "the chain begins again", from: 1,
			first:   func(_ *rebuilt, e records) records { return e[:3] },
			then:    func(_ *rebuilt, e records) records { return records{forged(e[3], 4, chain.Start)} },
			applied: 3, broken: "chain_broken: the record of position 4 at offset 3"},
		{name: "drawn again by an older control", from: 1,
			first:   func(_ *rebuilt, e records) records { return e[:5] },
			then:    func(_ *rebuilt, e records) records { return records{forged(e[0], 3, e[2].Previous)} },
			applied: 5, broken: "position_taken_twice: the record of position 3 at offset 5"},
		{name: "behind an older program", from: 4, older: true,
			first: func(_ *rebuilt, e records) records { return e[:3] },
			then:  func(_ *rebuilt, e records) records { return append(append(records{}, e[1:3]...), e[3:]...) }, applied: 7},
		{name: "restored behind an older program", from: 0, older: true,
			first: func(_ *rebuilt, e records) records { return e[:3] },
			then:  func(r *rebuilt, e records) records { return records{forged(e[3], 4, r.digest(e[2]))} }, applied: 4},
		{name: "restored behind an older program, wrongly", from: 0, older: true,
			first:   func(_ *rebuilt, e records) records { return e[:3] },
			then:    func(r *rebuilt, e records) records { return records{forged(e[3], 4, r.digest(e[1]))} },
			applied: 3, broken: "chain_broken: the record of position 4 at offset 3"},
		{name: "what an older program has applied is drawn again", from: 0, older: true,
			first:   func(_ *rebuilt, e records) records { return e[:3] },
			then:    func(_ *rebuilt, e records) records { return records{forged(e[1], 2, chain.Start)} },
			applied: 3, broken: "position_taken_twice: the record of position 2 at offset 3"},
		{name: "before the chain begins nothing is proven", from: 0,
			first: func(_ *rebuilt, e records) records { return e[:3] },
			then:  func(_ *rebuilt, e records) records { return records{forged(e[1], 2, ""), e[3]} }, applied: 4},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			r := rebuildBench(t)
			events := r.made(0, 1)
			from := c.from
			if from == 0 {
				from = int64(len(events)) + 1
			}
			r.chained(events, from)
			first := c.first(r, events)
			r.o.produce(r.bootstrap, first...)
			stop := start(t, r.inserter())
			last := int64(0)
			for _, ev := range first {
				last = max(last, ev.Position)
			}
			r.await(last)
			stop()
			if c.older {
				r.exec("DELETE FROM warehouse.chain")
				r.exec("UPDATE warehouse.state SET chain_begin = NULL")
			}
			r.o.produce(r.bootstrap, c.then(r, events)...)
			for range 2 { // a restart changes nothing
				registry, log := prometheus.NewRegistry(), &lines{}
				r.in.deps.Metrics, r.in.deps.Log = registry, slog.New(slog.NewTextHandler(log, nil))
				stop = start(t, r.inserter())
				if c.broken == "" {
					r.await(c.applied)
					stop()
					continue
				}
				r.eventually("the stop", func() bool {
					return gauge(t, registry, "tributary_insert_chain_broken") == 1 && strings.Contains(log.String(), c.broken)
				})
				stop()
			}
			if got := r.texts("SELECT next_position - 1 FROM warehouse.state")[0]; got != fmt.Sprint(c.applied) {
				t.Errorf("applied up to %s, want %d", got, c.applied)
			}
			if got := r.chainBroken(); !strings.HasPrefix(got, c.broken) || (got == "") != (c.broken == "") {
				t.Errorf("it is said: %q, want %q", got, c.broken)
			}
			r.in.deps.Metrics = nil
			_, err := r.again().Verify(t.Context(), func(warehouse.TableComparison) error { return nil })
			var broken *chain.BrokenError
			if errors.As(err, &broken) != (c.broken != "") {
				t.Fatalf("verify: %v", err)
			}
			if c.broken != "" && !strings.Contains(err.Error(), c.broken) {
				t.Errorf("verify says %v, not %s", err, c.broken)
			}
		})
	}
}
