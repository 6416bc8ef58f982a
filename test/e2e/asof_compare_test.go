package e2e

import (
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/jackc/pgx/v5/pgxpool"

	"tributary/internal/engine"
	"tributary/internal/pg"
	"tributary/queries/asof"
	"tributary/queries/report"
)

// leastRecordings is how many recordings must be fit to be compared, and how
// many of these in the middle of the run.
const leastRecordings, leastOfTheMiddle = 6, 4

func (s *system) compareRecordings(at engine.Endpoints, pool *pgxpool.Pool, all []recording, times map[int32][]time.Time) {
	s.t.Helper()
	type kept struct {
		recording
		from, to, moment time.Time
	}
	var fit []kept
	middle := 0
	for _, r := range all {
		from, to, ok := r.exact(times)
		if !ok {
			continue
		}
		fit = append(fit, kept{r, from, to, from})
		if r.status.Pending > 0 {
			middle++
		}
	}
	s.t.Logf("%d recordings, of which %d are of exactly the events up to a moment, %d of them with files pending", len(all), len(fit), middle)
	if len(fit) < leastRecordings || middle < leastOfTheMiddle {
		s.t.Fatalf("too few recordings are fit to be compared: %d, %d of them with files pending; want %d and %d", len(fit), middle, leastRecordings, leastOfTheMiddle)
	}
	slices.SortFunc(fit, func(a, b kept) int { return a.from.Compare(b.from) })
	history := openHistory(s.t, at)
	defer history.Close()
	past := &asof.Reader{History: history, Postgres: pool, Writer: asof.Tracked}
	last := false // the last of the moments, or the first: by turns
	for i := 0; i < len(fit); i += max(1, len(fit)/12) {
		k := fit[i]
		if last = !last; last {
			k.moment = k.to.Add(-time.Microsecond)
		}
		if err := past.At(s.t.Context(), k.moment, asof.Scope{}, func(q pg.Querier, _ asof.Filled) error {
			got, err := answersOf(s.t.Context(), q, k.at)
			if err != nil {
				return err
			}
			sameAnswers(s.t, k.moment, k.recording, got)
			return nil
		}); err != nil {
			s.t.Fatal(err)
		}
	}
	a, b := fit[len(fit)/3], fit[len(fit)-1]
	s.compareChanges(a.recording, b.recording, a.moment, b.moment)
	// The commands themselves, at some of these moments.
	for i := 0; i < len(fit); i += max(1, len(fit)/3) {
		k := fit[i]
		moment := k.moment.Format(time.RFC3339Nano)
		got := recording{files: list[report.File](s, "files", "--as-of", moment), documents: list[report.Document](s, "documents", "--as-of", moment),
			stories: map[string][]report.Story{}}
		if st := list[report.Status](s, "status", "--as-of", moment); len(st) == 1 {
			got.status = st[0]
		}
		for f := range k.stories {
			got.stories[f] = list[report.Story](s, "show", f, "--as-of", moment)
		}
		k.status.Rates, got.status.Rates = report.Rates{}, report.Rates{} // of the minutes before the moment, or before it was recorded
		sameAnswers(s.t, k.moment, k.recording, got)
		s.compareCentre(k.recording, moment)
	}
}

// compareCentre compares the files of one centre that was known at the moment, named
// in small letters.
func (s *system) compareCentre(live recording, moment string) {
	s.t.Helper()
	i := slices.IndexFunc(live.files, func(f report.File) bool { return f.Centre != nil })
	if i < 0 {
		return
	}
	centre := *live.files[i].Centre
	others := func(f report.File) bool { return f.Centre == nil || *f.Centre != centre }
	past := list[report.File](s, "files", "--centre", strings.ToLower(centre), "--as-of", moment)
	if diff := gocmp.Diff(slices.DeleteFunc(slices.Clone(live.files), others), past, ignoreMoment()...); diff != "" {
		s.t.Errorf("files of %s as of %s (-live +past):\n%s", centre, moment, diff)
	}
}

// ignoreMoment compares answers but for the moment that they say they are of.
func ignoreMoment() []gocmp.Option {
	return []gocmp.Option{cmpopts.EquateEmpty(), cmpopts.IgnoreFields(report.File{}, "AsOf"), cmpopts.IgnoreFields(report.Document{}, "AsOf"), cmpopts.IgnoreFields(report.Status{}, "AsOf")}
}

func sameAnswers(t testing.TB, moment time.Time, live, past recording) {
	t.Helper()
	for what, x := range map[string][2]any{
		"status": {live.status, past.status}, "files": {live.files, past.files}, "documents": {live.documents, past.documents}, "stories": {live.stories, past.stories},
	} {
		if diff := gocmp.Diff(x[0], x[1], ignoreMoment()...); diff != "" {
			t.Errorf("%s as of %s (-live +past):\n%s", what, moment.Format(time.RFC3339Nano), diff)
		}
	}
}

// compareChanges compares what diff says with the difference of two recordings.
func (s *system) compareChanges(before, after recording, from, to time.Time) {
	s.t.Helper()
	type place struct{ phase, status, exception, version string }
	all := func(r recording) map[string]place {
		out := map[string]place{}
		for _, f := range r.files {
			out["file "+f.Action+"/"+f.File] = place{f.Phase, f.Status, text(f.Exception), text(f.Version)}
		}
		for _, d := range r.documents {
			name := d.Action + "/" + d.File + "/" + d.Document
			out["document "+name] = place{d.Phase, d.Status, r.failures[name], text(d.Version)}
		}
		return out
	}
	was, is := all(before), all(after)
	want := map[string]string{}
	for name, p := range is {
		old, known := was[name]
		switch {
		case !known:
			want[name] = asof.New
		case old.version != "" && p.version != "" && old.version != p.version:
			want[name] = asof.Replaced
		case old.phase != p.phase || old.status != p.status || old.exception != p.exception:
			want[name] = asof.Moved
		}
	}
	for name := range was {
		if _, still := is[name]; !still {
			want[name] = asof.Gone
		}
	}
	got, counted := map[string]string{}, int64(0)
	for i, c := range list[struct {
		asof.Change
		Counts []asof.Count
	}](s, "diff", "--from", from.Format(time.RFC3339Nano), "--to", to.Format(time.RFC3339Nano)) {
		if i == 0 {
			for _, n := range c.Counts {
				counted += n.Count
			}
			continue
		}
		name := c.Kind + " " + c.Action + "/" + c.File
		if c.Document != nil {
			name += "/" + *c.Document
		}
		got[name] = c.Change.Change
	}
	if diff := gocmp.Diff(want, got); diff != "" {
		s.t.Errorf("changes from %s to %s (-recorded +diff):\n%s", from, to, diff)
	}
	if counted != int64(len(want)) || len(want) == 0 {
		s.t.Errorf("diff counts %d changes, %d were recorded", counted, len(want))
	}
}
