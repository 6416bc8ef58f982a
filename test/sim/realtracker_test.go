//go:build synctests && !wasip1

package sim

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/twmb/franz-go/pkg/kgo"

	trackerrole "tributary/consumers/tracker"
	"tributary/internal/config"
	"tributary/internal/engine/enginetest"
	"tributary/internal/pg"
	"tributary/internal/stage/sink"
	"tributary/schemas"
	trackerdb "tributary/sql/tracker"
)

// judged is what the log says of a document in one outcome of an attempt.
type judged struct {
	base    shown           // without data checks
	checks  map[int32]shown // by number: the latest counts
	highest int32
}

func (j *judged) end() shown {
	if j.base.status == schemas.Failed.ID() || j.highest == 0 {
		return j.base
	}
	return j.checks[j.highest]
}

// lawL4: the tracker shows what the log says of every document in every
// outcome of every attempt, and the log tells every step of what was accepted.
func (in *installation) lawL4() {
	s := in.s
	want := map[string]*judged{}
	for _, l := range in.log {
		e, ok := l.m.Body.(*schemas.StatusChanged)
		if !ok || e.Entity != schemas.EntityDocument || e.Phase == "" {
			continue
		}
		key := strings.Join([]string{e.FileName, e.Action, fmt.Sprint(e.Attempt), e.Outcome, e.Entry}, " ")
		j := want[key]
		if j == nil {
			j = &judged{checks: map[int32]shown{}}
			want[key] = j
		}
		now := shown{schemas.Phase(e.Phase).ID(), schemas.Status(e.Status).ID()}
		switch {
		case e.Check == 0 && now.rank() > j.base.rank():
			j.base = now
		case e.Check > 0 && now.rank() > j.checks[e.Check].rank():
			j.checks[e.Check], j.highest = now, max(j.highest, e.Check)
		}
	}
	got := map[string]shown{}
	for _, row := range in.must(`SELECT concat_ws(' ', z.file_name, t.short_name, d.attempt, m.outcome, m.fname) || E'\t' || m.phase_id || ' ' || m.status_id FROM tracker.xml_file m
		JOIN tracker.zip_download d ON d.id = m.zip_id JOIN tracker.zip_action a ON a.id = d.za_id JOIN tracker.zip_file z ON z.id = a.zip_id JOIN tracker.processing_type t ON t.id = a.todo_id`) {
		key, text, _ := strings.Cut(row, "\t")
		var is shown
		if _, err := fmt.Sscan(text, &is.phase, &is.status); err != nil {
			s.violate("sim", "%s: %v", row, err)
		}
		got[key] = is
	}
	for key, j := range want {
		if got[key] != j.end() {
			s.violate("L4", "%s is shown at %v; the log says %v", key, got[key], j.end())
		}
	}
	for key := range got {
		if want[key] == nil {
			s.violate("L4", "%s is shown, and the log says nothing of it", key)
		}
	}
	in.toldAll()
}

// toldAll checks that the log tells every step of the documents of accepted
// outcomes: what was acknowledged late may be done again, but not be missing.
func (in *installation) toldAll() {
	told := map[string]bool{}
	for _, l := range in.log {
		if e, ok := l.m.Body.(*schemas.StatusChanged); ok && e.Phase != "" {
			told[said(e.File, e.Attempt, e.Outcome, e.Document, schemas.Phase(e.Phase), schemas.Status(e.Status))] = true
		}
	}
	for _, row := range in.must(`SELECT concat_ws(E'\t', a.file, a.attempt, a.download, a.unzip, v.document, v.kind, v.result) FROM control.acquisition a
		JOIN control.document v ON v.file = a.file AND v.run = a.run AND v.attempt = a.attempt AND v.download = a.download AND v.unzip = a.unzip
		WHERE a.state = 'ended' AND a.result = 'complete'`) {
		c := strings.Split(row, "\t")
		var attempt int32
		if _, err := fmt.Sscan(c[1], &attempt); err != nil {
			in.s.violate("sim", "%s: %v", row, err)
		}
		outcome := c[2] + "/" + c[3]
		steps := []string{
			said(c[0], attempt, c[2], "", schemas.ZipMD5, schemas.Done),
			said(c[0], attempt, outcome, "", schemas.Unzip, schemas.Done),
		}
		named := schemas.Done
		if c[5] == "" {
			named = schemas.Failed
		}
		steps = append(steps, said(c[0], attempt, outcome, c[4], schemas.XMLName, named))
		if named == schemas.Done {
			verdict := schemas.Done
			if c[6] != schemas.Valid {
				verdict = schemas.Failed
			}
			steps = append(steps, said(c[0], attempt, outcome, c[4], schemas.XSD, verdict))
		}
		for _, step := range steps {
			if !told[step] {
				in.s.violate("L4", "the log does not tell of document %s, attempt %d: %s", c[4], attempt, step)
			}
		}
	}
}

// lawL5: the tracker's rows come again from the log, cut into batches in
// another way.
func (in *installation) lawL5() {
	s, ctx := in.s, context.Background()
	pool, err := pg.Open(ctx, enginetest.Postgres(in.t), "sim rebuild", 2)
	if err != nil {
		s.violate("sim", "%v", err)
		return
	}
	in.t.Cleanup(pool.Close)
	if err := trackerdb.Migrate(ctx, pool); err != nil {
		s.violate("sim", "%v", err)
		return
	}
	parts := map[int32][]*kgo.Record{}
	for _, l := range in.log {
		if l.topic == schemas.StatusChangedTopic {
			parts[l.rec.Partition] = append(parts[l.rec.Partition], l.rec)
		}
	}
	again := trackerrole.New(config.Tracker{}, trackerrole.Deps{Pool: pool, Codec: s.shared.codec, Prefix: prefix, Log: slog.New(slog.DiscardHandler)})
	rng := rand.New(rand.NewPCG(s.seed, 5))
	for len(parts) > 0 {
		var ids []int32
		for id := range parts {
			ids = append(ids, id)
		}
		slices.Sort(ids)
		id := ids[rng.IntN(len(ids))]
		n := min(len(parts[id]), 1+rng.IntN(80))
		batch := parts[id][:n]
		r := sink.Range{Topic: schemas.StatusChangedTopic, Partition: id, From: batch[0].Offset, To: batch[n-1].Offset + 1, Records: batch}
		if err := again.Apply(ctx, []sink.Range{r}); err != nil {
			s.violate("L5", "the tracker cannot be rebuilt: %v", err)
			return
		}
		if parts[id] = parts[id][n:]; len(parts[id]) == 0 {
			delete(parts, id)
		}
	}
	live, rebuilt := in.dump(in.pool), in.dump(pool)
	if diff := cmp.Diff(live, rebuilt); diff != "" {
		s.violate("L5", "rows of the tracker (-live +rebuilt):\n%s", diff)
	}
	if len(live["zip_action"]) == 0 {
		s.violate("sim", "the tracker is empty")
	}
}

// dump is every row of every table and view of the tracker, as sorted text, without
// what depends on who wrote it: parts of counts, whose sums are in the view standing.
func (in *installation) dump(pool *pgxpool.Pool) map[string][]string {
	out := map[string][]string{}
	names, err := column(pool, `SELECT c.relname FROM pg_class c WHERE c.relnamespace = 'tracker'::regnamespace AND c.relkind IN ('r', 'v')
		AND c.relname NOT IN ('consumed', 'consumed_topic', 'schema_version', 'tally') ORDER BY 1`)
	for _, name := range names {
		if err == nil {
			out[name], err = column(pool, "SELECT x::text FROM tracker."+name+" x ORDER BY 1")
		}
	}
	if err != nil {
		in.s.violate("sim", "%v", err)
	}
	return out
}
