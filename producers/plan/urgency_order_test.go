//go:build !race

package plan_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tributary/producers/plan"
	"tributary/producers/plan/plantest"
	"tributary/recovery/byhand"
	"tributary/schemas"
)

func (b *bench) prioritise(priority int, dry bool) byhand.Outcome {
	b.t.Helper()
	o := b.orders()
	o.Dry = dry
	out, err := o.Priority(b.t.Context(), name, priority)
	if err != nil {
		b.t.Fatal(err)
	}
	return out
}

const prioritiesSQL = "SELECT f.priority, f.priority_by, f.priority_why, (SELECT array_agg(priority) FROM control.acquisition) FROM control.file f"

// A file that waits is given a priority wherever it waits, with who and why, until its
// bytes have come; what waits for no session is refused, with the way out.
func TestAFileIsGivenAPriority(t *testing.T) {
	const none = `(,"","",`
	given := map[string]struct{ detail, priorities string }{
		"announced": {"once it is taken up", `(9,ann@host,"wrong mice",)`},
		"waiting":   {"once it is taken up", `(9,ann@host,"wrong mice",)`},
		"wanted":    {"in place of its source's", `(9,ann@host,"wrong mice",{9})`},
		"requested": {"a job asks for it already", `(9,ann@host,"wrong mice",{9})`},
		"queued":    {"a job asks for it already", `(9,ann@host,"wrong mice","{9,9}")`},
		"received":  {"its bytes have come", none + "{NULL})"},
		"extracted": {"its bytes have come", none + "{NULL})"},
		"complete":  {"nothing of it waits to be fetched", none + "{NULL})"},
	}
	for _, w := range ways {
		t.Run(w.name, func(t *testing.T) {
			b := newBench(t)
			w.bring(b)
			b.Drain()
			want := given[w.name]
			done := strings.HasPrefix(want.priorities, "(9")
			before := b.Text(prioritiesSQL)
			if out := b.prioritise(9, true); out.Done != done || b.Text(prioritiesSQL) != before || len(b.Drain()) > 0 {
				t.Errorf("a dry run changes something: %+v", out)
			}
			if out := b.prioritise(9, false); out.Done != done || !strings.Contains(out.Detail, want.detail) {
				t.Errorf("it is given a priority: %+v; want %v, %s", out, done, want.detail)
			}
			if d := cmp.Diff(want.priorities, b.Text(prioritiesSQL)); d != "" {
				t.Errorf("priorities (-want +got):\n%s", d)
			}
			told := 0
			for _, m := range b.Drain() {
				e, ok := m.Body.(*schemas.StatusChanged)
				if !ok || e.Entity != schemas.EntityFile || e.Note != plan.NotePriority || e.Message != "given the priority 9 by ann@host: wrong mice" ||
					e.Attributes["priority"] != "9" || e.Attributes["by"] != "ann@host" || e.Attributes["reason"] != "wrong mice" {
					t.Errorf("told: %+v", m.Body)
				}
				told++
			}
			if (told == 1) != done {
				t.Errorf("told %d times", told)
			}
			if w.name != "wanted" {
				return
			}
			b.fetch()
			if got := b.Text(prioritiesSQL); got != none+"{9})" {
				t.Errorf("once its bytes have come: %s", got)
			}
			b.Read(schemas.UnzipFinishedTopic, plantest.UnzippedOf(b.done, 1))
			b.judge()
			if n := b.release(); n != 1 {
				t.Fatalf("%d documents get positions", n)
			}
			if out := b.prioritise(9, false); out.Done || !strings.Contains(out.Detail, "its documents have their positions") || !strings.Contains(out.Detail, "tributary replay") {
				t.Errorf("what has its positions is given a priority: %+v", out)
			}
		})
	}
}

// A look that had a priority before it was taken up is requested by it; a file that is
// held is refused; a hold ends a priority; and there are ten of them.
func TestPrioritiesOfLooksAndHolds(t *testing.T) {
	b := newBench(t)
	b.look++
	d := b.Look(plantest.Own, name, b.look, 10)
	if out := b.prioritise(0, false); !out.Done {
		t.Fatalf("%+v", out)
	}
	b.Read(schemas.FileDiscoveredTopic, d)
	if got := b.Text("SELECT state, priority FROM control.acquisition"); got != "(wanted,0)" {
		t.Errorf("the acquisition is %s", got)
	}
	b.must("hold")
	if got := b.Text("SELECT priority, priority_by FROM control.file"); got != `(,"")` {
		t.Errorf("a held file has the priority %s", got)
	}
	if out := b.prioritise(9, false); out.Done || !strings.Contains(out.Detail, "tributary files release add/a.zip") {
		t.Errorf("a held file is given a priority: %+v", out)
	}
	for _, p := range []int{-1, 10} {
		if _, err := b.orders().Priority(t.Context(), name, p); err == nil || !strings.Contains(err.Error(), "0 to 9") {
			t.Errorf("the priority %d: %v", p, err)
		}
	}
}
