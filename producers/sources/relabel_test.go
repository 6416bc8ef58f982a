package sources

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"tributary/internal/config"
	"tributary/schemas"
	"tributary/sql/control"
	"tributary/sql/outbox/outboxtest"
	"tributary/test/wait"
)

// working gives sources b and a a job and a running poll each.
func (b *bench) working() {
	b.t.Helper()
	b.do(func(tx pgx.Tx) error {
		polls := map[string]control.DueSource{}
		for id, server := range map[string]string{"a": "one:22", "b": "two:21"} {
			if err := control.AddJob(b.t.Context(), tx, uuid.NewString(), server, id, 1, noon, schemas.Record{Value: []byte{1}}); err != nil {
				return err
			}
			polls[uuid.NewString()] = control.DueSource{ID: id, Centre: "H", Server: server}
		}
		return control.OpenSession(b.t.Context(), tx, uuid.NewString(), 1, false, noon, polls)
	})
	for range 2 {
		if _, ok, err := control.TakePoll(b.t.Context(), b.pool, "member", nil, noon, time.Hour); !ok || err != nil {
			b.t.Fatal(ok, err)
		}
	}
}

// A source's sessions are counted as those of the server that it names, also those
// that are under way: whoever names it, and until it is named no more. Where the
// source moves to another address they stay.
func TestAnotherNameOfAServer(t *testing.T) {
	named := func(src config.Source, server string) config.Source {
		src.Server = server
		return src
	}
	for name, tt := range map[string]struct {
		do   func(b *bench)
		want string // of jobs and polls, by source
	}{
		"nothing is said":                {func(*bench) {}, `(a,one:22,one:22,one:22) (b,two:21,two:21,two:21)`},
		"a person says it":               {func(b *bench) { must(b.put(named(byHand, "One:22"))) }, `(a,one:22,one:22,one:22) (b,one:22,one:22,two:21)`},
		"the configuration says it":      {func(b *bench) { b.declare(named(inFile, "two:21")) }, `(a,two:21,two:21,one:22) (b,two:21,two:21,two:21)`},
		"a person says it no more":       {func(b *bench) { must(b.put(named(byHand, "x"))); must(b.put(byHand)) }, `(a,one:22,one:22,one:22) (b,two:21,two:21,two:21)`},
		"a person says the address":      {func(b *bench) { must(b.put(named(byHand, "two:21"))) }, `(a,one:22,one:22,one:22) (b,two:21,two:21,two:21)`},
		"the source moves, and is named": {func(b *bench) { must(b.put(named(elsewhere, "one:22"))) }, `(a,one:22,one:22,one:22) (b,two:21,two:21,two:21)`},
		"it is named, and moves, and is named otherwise": {func(b *bench) {
			must(b.put(named(byHand, "x")))
			must(b.put(named(elsewhere, "x")))
			must(b.put(named(elsewhere, "y")))
		}, `(a,one:22,one:22,one:22) (b,x,x,two:21)`},
		"a change that is refused": {func(b *bench) { _, _ = b.put(named(inFile, "x")) }, `(a,one:22,one:22,one:22) (b,two:21,two:21,two:21)`},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, inFile)
			must(b.put(byHand))
			b.working()
			tt.do(b)
			if got := b.text("SELECT j.source, j.server, p.server AS poll, coalesce(nullif(j.address, ''), j.server) AS address FROM control.job j JOIN control.poll p USING (source) ORDER BY 1"); got != tt.want {
				t.Errorf("jobs and polls are %s, want %s", got, tt.want)
			}
		})
	}
}

// The event of such a source says both: as which server it is counted, and where it is.
func TestAnotherNameOfAServerIsTold(t *testing.T) {
	b := newBench(t)
	src := byHand
	src.Server = "both"
	must(b.put(src))
	var told []string
	for _, m := range outboxtest.Drain(t, b.pool, control.Schema, b.Outbox.Codec) {
		if e := m.Body.(*schemas.StatusChanged); e.Entity == schemas.EntitySource {
			told = append(told, e.Server+" "+e.Attributes["hostname"])
		}
	}
	if d := cmp.Diff([]string{"both two:21"}, told); d != "" {
		t.Errorf("events differ (- want, + got):\n%s", d)
	}
}

// Who changes a source while its poll ends, or its jobs' outcomes are counted, waits,
// and nobody waits for both.
func TestAServerIsNamedWhileWorkEnds(t *testing.T) {
	for name, end := range map[string][2]func(context.Context, pgx.Tx) error{
		"of a poll": {func(ctx context.Context, tx pgx.Tx) error {
			var p control.Poll
			if err := tx.QueryRow(ctx, "SELECT id, epoch FROM control.poll WHERE source = 'b'").Scan(&p.ID, &p.Epoch); err != nil {
				return err
			}
			return control.CheckPoll(ctx, tx, p)
		}, func(ctx context.Context, tx pgx.Tx) error {
			_, err := control.NextCount(ctx, tx, "revision")
			return err
		}},
		"of a job": {func(ctx context.Context, tx pgx.Tx) error {
			var id string
			if err := tx.QueryRow(ctx, "SELECT id::text FROM control.job WHERE source = 'b'").Scan(&id); err != nil {
				return err
			}
			return control.JobNews(ctx, tx, map[string]int{id: 1})
		}, func(ctx context.Context, tx pgx.Tx) error {
			return control.CountFetches(ctx, tx, map[string]*control.Outcomes{"b": {Fetched: 1}}, time.Now())
		}},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, inFile)
			must(b.put(byHand))
			b.working()
			tx, err := b.pool.Begin(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			defer tx.Rollback(t.Context()) // after the commit there is nothing to roll back
			if err := end[0](t.Context(), tx); err != nil {
				t.Fatal(err)
			}
			put := make(chan error, 1)
			go func() {
				src := byHand
				src.Server = "one:22"
				_, err := b.put(src)
				put <- err
			}()
			const waiting = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
			for deadline := time.Now().Add(wait.Patience()); b.text(waiting) != "(1)" && len(put) == 0; {
				if time.Now().After(deadline) {
					t.Fatal("the change neither waits nor is made")
				}
			}
			if err := end[1](t.Context(), tx); err != nil {
				t.Error(err)
			}
			if err := tx.Commit(t.Context()); err != nil {
				t.Error(err)
			}
			if err := <-put; err != nil {
				t.Error(err)
			}
		})
	}
}
