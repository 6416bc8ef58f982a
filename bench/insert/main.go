// Command insert times the loading of one large document, 4,000 experiments in
// 15 MB of XML, by the real inserter (from the event that orders it to the
// commit: zip, XML, rows, claims, which of them hold, outcome), beside a bare
// COPY of the same rows into tables of the same definition. Both write to the
// same Postgres in turn, and the line at the end gives the medians of all
// rounds.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"tributary/bench/counters"
	"tributary/bench/document"
	"tributary/bench/program"
	"tributary/bench/rounds"
)

func main() {
	var b bench
	flag.StringVar(&b.dir, "dir", "", "folder to work in (default a temporary one, removed afterwards)")
	flag.StringVar(&b.engines, "engines", os.Getenv("TRIBUTARY_ENGINES"), "folder of fetched engines")
	flag.IntVar(&b.experiments, "experiments", 4000, "experiments in the document")
	flag.IntVar(&b.rounds, "rounds", 7, "documents to load")
	program.Main("insert", b.run)
}

type bench struct {
	dir, engines        string
	experiments, rounds int
}

func (b *bench) run(ctx context.Context) (err error) {
	if b.dir == "" {
		if b.dir, err = os.MkdirTemp("", "tributary-bench-"); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, os.RemoveAll(b.dir)) }()
		if err := os.Chmod(b.dir, 0o755); err != nil { // another user runs the embedded Postgres
			return err
		}
	}
	s, err := start(ctx, b.dir, b.engines)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.stop()) }()
	var loads, whole, processor rounds.Pairs
	for round := range b.rounds + 1 {
		doc := document.Experiments(round, b.experiments)
		rows, err := s.rowsOf(doc, int64(1e9)+int64(round))
		if err != nil {
			return err
		}
		var o, p, end time.Duration
		var ours, peer counters.Used // of the processor, until the commit
		// Who begins changes from round to round.
		for _, first := range []bool{round%2 == 0, round%2 != 0} {
			if first {
				o, end, ours, err = s.load(ctx, "experiment", doc)
			} else {
				p, peer, err = s.timePeer(ctx, rows)
			}
			if err != nil {
				return err
			}
		}
		if err := s.equal(ctx, rows); err != nil {
			return err
		}
		if round == 0 {
			continue // caches and plans are made
		}
		whole.Add((o + end).Seconds(), p.Seconds())
		processor.Add((ours.Program + ours.Postgres).Seconds(), (peer.Program + peer.Postgres).Seconds())
		fmt.Printf("round %d: %.1f MB, %d rows: ours %.2f s (and %.2f s for the batch's end: checks, context, overview), peer %.2f s, ratio %.2f; processor: program %.2f s, Postgres %.2f s, peer's %.2f and %.2f s\n",
			round, float64(len(doc))/1e6, rows.n, o.Seconds(), end.Seconds(), p.Seconds(), loads.Add(o.Seconds(), p.Seconds()),
			ours.Program.Seconds(), ours.Postgres.Seconds(), peer.Program.Seconds(), peer.Postgres.Seconds())
	}
	fmt.Println(loads.Line("insert"))
	fmt.Println(whole.Line("batch-end"))
	fmt.Println(processor.Line("processor"))
	return nil
}

// equal makes sure that both wrote the same rows.
func (s *setup) equal(ctx context.Context, r *rows) error {
	for _, t := range r.tables {
		var ours, peer int64
		if err := s.pool.QueryRow(ctx, "SELECT (SELECT count(*) FROM warehouse."+t.name+"), (SELECT count(*) FROM peer."+t.name+")").Scan(&ours, &peer); err != nil {
			return err
		}
		if t.name == "specimen" {
			continue // the mice that experiments are on come from a document before
		}
		if ours-s.before[t.name] != peer {
			return fmt.Errorf("%s has %d rows, the peer's %d", t.name, ours-s.before[t.name], peer)
		}
	}
	return nil
}

// counts are the rows of the warehouse before anything is timed.
func counts(ctx context.Context, pool *pgxpool.Pool, tables []string) (map[string]int64, error) {
	out := map[string]int64{}
	for _, t := range tables {
		var n int64
		if err := pool.QueryRow(ctx, "SELECT count(*) FROM warehouse."+t).Scan(&n); err != nil {
			return nil, err
		}
		out[t] = n
	}
	return out, nil
}
