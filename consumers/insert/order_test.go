package insert

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"tributary/schemas"
)

// TestAnyOrderGivesTheSame is law L2: the current rows, the open findings,
// context and overview follow from the set of versions, whatever order they
// came in, and whatever of them came again in a later attempt.
func TestAnyOrderGivesTheSame(t *testing.T) {
	for seed := range uint64(4) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 7))
			var want []string
			versions := randomVersions(r)
			for order := range 4 {
				b := newBench(t)
				if order > 0 {
					r.Shuffle(len(versions), func(i, j int) { versions[i], versions[j] = versions[j], versions[i] })
				}
				got := applyVersions(b, r, versions, order)
				if order == 0 {
					want = got
					continue
				}
				same(t, fmt.Sprintf("order %d", order), got, want)
			}
		})
	}
}

func applyVersions(b *bench, r *rand.Rand, versions [][]doc, order int) []string {
	for n, v := range versions {
		times := 1
		if order > 1 && r.IntN(4) == 0 {
			times = 2
		}
		for range times {
			batch := fmt.Sprintf("%d-%d", order, b.at.position)
			for i := range v {
				v[i].batch = batch
			}
			events := append(b.version(v...), b.batchEnd(batch))
			// Positions come one by one, or many in a transaction.
			if r.IntN(2) == 0 {
				for _, e := range events {
					b.must(e)
				}
			} else {
				b.must(events...)
			}
		}
		_ = n
	}
	return append([]string{b.hash()}, b.state()...)
}

// state is what must be the same besides the rows.
func (b *bench) state() []string {
	var out []string
	for _, q := range []string{
		"SELECT specimen_id, litter_id FROM warehouse.current_specimen ORDER BY 1",
		"SELECT experiment_id, specimen_ids::text, value FROM warehouse.current_measurement ORDER BY 1, 2",
		"SELECT DISTINCT f.message, r.experiment_id FROM warehouse.finding f JOIN warehouse.run_specimen s USING (position, ordinal) JOIN warehouse.procedure_run r ON r.position = s.position AND r.ordinal = s.procedure_run WHERE f.open ORDER BY 1, 2",
		"SELECT procedure_id, parameter_id, measurements, first_date::text, last_date::text FROM warehouse.context ORDER BY 1, 2",
		"SELECT procedure_id, specimens, runs, measurements, findings FROM warehouse.overview ORDER BY 1",
	} {
		out = append(append(out, "--"), b.texts(q)...)
	}
	return out
}

// TestContextEqualsRecomputation compares what is kept up per batch with what
// the current rows say.
func TestContextEqualsRecomputation(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	b := newBench(t)
	for range 3 {
		applyVersions(b, r, randomVersions(r), 2)
		same(t, "context", b.texts("SELECT procedure_id, parameter_id, measurements, first_date::text, last_date::text FROM warehouse.context ORDER BY 1, 2"),
			b.texts(`SELECT r.procedure_id, m.parameter_id, count(*), min(r.date_of_experiment)::text, max(r.date_of_experiment)::text
				FROM warehouse.procedure_run r JOIN warehouse.measurement m ON m.position = r.position AND m.procedure_run = r.ordinal
				WHERE r.is_current GROUP BY 1, 2 ORDER BY 1, 2`))
		same(t, "overview", b.texts("SELECT sum(specimens), sum(runs), sum(measurements), sum(findings) FROM warehouse.overview"),
			b.texts(`SELECT (SELECT count(*) FROM warehouse.current_specimen)::numeric, (SELECT count(*) FROM warehouse.current_procedure_run)::numeric,
				(SELECT count(*) FROM warehouse.current_measurement)::numeric, (SELECT count(*) FROM warehouse.finding WHERE open)::numeric`))
	}
}

// randomVersions makes complete versions of a few files that disagree about a
// few keys: several versions and runs of a file, failed and lacking documents,
// all actions.
func randomVersions(r *rand.Rand) [][]doc {
	var out [][]doc
	seen := map[string]bool{}
	for range 14 {
		action := schemas.Actions()[r.IntN(3)]
		base := doc{action: action, inc: int64(r.IntN(3)), rank: r.IntN(3), run: int64(r.IntN(2))}
		id := fmt.Sprint(base.action, base.inc, base.rank, base.run)
		if seen[id] {
			continue
		}
		seen[id] = true
		// The entries of a version are those of its bytes, whatever the run.
		bytes := rand.New(rand.NewPCG(uint64(base.inc)*100+uint64(base.rank)*10+uint64(schemas.ActionOrder(action)), 1))
		var v []doc
		for e := range 3 {
			if bytes.IntN(3) == 0 && e > 0 {
				continue
			}
			d := base
			d.entry, d.docInc = fmt.Sprintf("%d.xml", e), int64(e)
			if d.kind = "specimen"; e == 2 {
				d.kind = "experiment"
			}
			var list []string
			for m := range 4 {
				if bytes.IntN(2) == 0 {
					if e == 2 {
						list = append(list, fmt.Sprintf("e%d m%d %d", m, bytes.IntN(2)*m, bytes.IntN(100)))
					} else {
						list = append(list, fmt.Sprintf("m%d=%d", m, bytes.IntN(100)))
					}
				}
			}
			if e == 2 {
				d.xml = experiments(list...)
			} else {
				d.xml = mice("H", list...)
			}
			d.failed = r.IntN(5) == 0
			v = append(v, d)
		}
		out = append(out, v)
	}
	return out
}

// The hash sees every current value, and nothing else.
func TestHashSeesValues(t *testing.T) {
	load := func(litter, value string, more ...doc) string {
		b := newBench(t)
		b.must(b.event(doc{inc: 1, entry: "s.xml", xml: mice("H", "m1="+litter)}), b.event(doc{inc: 1, kind: "experiment", entry: "e.xml", xml: experiments("e1 m1 " + value)}))
		for _, d := range more {
			b.must(b.event(d))
		}
		return b.hash()
	}
	base := load("a", "1")
	if load("b", "1") == base || load("a", "2") == base {
		t.Error("a value has changed, and the hash has not")
	}
	if load("a", "1", doc{date: "2023-01-01", entry: "old.xml", xml: mice("H", "m1=old")}, doc{inc: 9, failed: true}) != base {
		t.Error("a superseded row or a failed document changes the hash")
	}
}
