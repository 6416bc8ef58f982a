//go:build !race

package tracker

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"tributary/schemas"
)

// everywhere is every (phase, status).
func everywhere() []step {
	var out []step
	for p := range schemas.Phases() {
		for s := range schemas.Statuses() {
			x := step{Phase: p + 1, Status: s + 1}
			if x.ended() {
				x.Exception = fmt.Sprintf("x%d", x.Phase)
			}
			out = append(out, x)
		}
	}
	return out
}

// TestJoinOnEveryPair holds two steps of one thing against section 7: failed is
// sticky and its earliest phase counts, then cancelled, else it only moves
// forward.
func TestJoinOnEveryPair(t *testing.T) {
	for _, a := range everywhere() {
		for _, b := range everywhere() {
			var want step
			switch {
			case a.Status == failed && b.Status == failed, a.Status == cancelled && b.Status == cancelled:
				if want = a; b.Phase < a.Phase {
					want = b
				}
			case a.Status == failed, b.Status == failed:
				if want = a; b.Status == failed {
					want = b
				}
			case a.Status == cancelled, b.Status == cancelled:
				if want = a; b.Status == cancelled {
					want = b
				}
			default:
				if want = a; b.Phase > a.Phase || (b.Phase == a.Phase && b.Status > a.Status) {
					want = b
				}
			}
			if got := a.join(b); got.Phase != want.Phase || got.Status != want.Status || got.Exception != want.Exception {
				t.Errorf("%v and %v give %v, want %v", a, b, got, want)
			}
			if x, y := a.join(b), b.join(a); cmp.Diff(fmt.Sprint(x), fmt.Sprint(y)) != "" {
				t.Errorf("%v and %v depend on their order: %v, %v", a, b, x, y)
			}
			if x := a.join(b).join(b).join(a); x.compare(a.join(b)) != 0 {
				t.Errorf("%v and %v do not settle", a, b)
			}
		}
	}
}

// TestParentOnEveryPair holds a parent of two documents, at every pair of
// (phase, status), against section 7, through the database that sums them up.
func TestParentOnEveryPair(t *testing.T) {
	pool := database(t)
	tr := newTracker(t, pool)
	now := time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)
	var events []event
	type pair struct{ a, b step }
	want := map[string]shown{}
	emit := func(e schemas.StatusChanged) {
		now = now.Add(time.Second)
		events = append(events, event{now, e})
	}
	for _, a := range everywhere() {
		for _, b := range everywhere() {
			if a.Phase < 5 || b.Phase < 5 {
				continue // no phase of a document
			}
			name := fmt.Sprintf("H.2012-10-02.%d.impc.zip", len(want))
			e := unzippedFile(name, 2)
			for _, x := range e {
				emit(x)
			}
			for i, s := range []step{a, b} {
				emit(documentAt(name, fmt.Sprintf("%d.xml", i), s))
			}
			want[name] = parentOf(pair{a, b}.a, pair{a, b}.b)
		}
	}
	apply(t, tr, 0, events...)
	rows, err := pool.Query(t.Context(), `SELECT z.file_name, a.phase_id, a.status_id, a.exception_id, d.phase_id, d.status_id
		FROM tracker.zip_action a JOIN tracker.zip_file z ON z.id = a.zip_id JOIN tracker.zip_download d ON d.id = a.download_id`)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	n := 0
	for rows.Next() {
		var name string
		var got shown
		var phase, status int
		var exception *[16]byte
		if err := rows.Scan(&name, &got.Phase, &got.Status, &exception, &phase, &status); err != nil {
			t.Fatal(err)
		}
		got.Exception = (*uuid.UUID)(exception)
		n++
		if d := cmp.Diff(want[name], got); d != "" {
			t.Errorf("%s: %s", name, d)
		}
		if phase != got.Phase || status != got.Status {
			t.Errorf("%s: the download shows (%d, %d), the file (%d, %d)", name, phase, status, got.Phase, got.Status)
		}
	}
	if err := rows.Err(); err != nil || n != len(want) {
		t.Fatalf("%d files of %d, %v", n, len(want), err)
	}
}

// parentOf says it in the words of section 7, and of quality control.
func parentOf(a, b step) shown {
	var is step
	switch {
	case a.Status == failed && b.Status == failed:
		if is = a; b.Phase < a.Phase {
			is = b
		}
	case a.Status == failed:
		is = a
	case b.Status == failed:
		is = b
	default:
		// What people question or hold keeps no file back.
		for _, x := range []*step{&a, &b} {
			if x.Phase == schemas.QC.ID() && x.Status != done {
				x.Phase, x.Status = schemas.Overview.ID(), done
			}
		}
		if is = a; b.Phase*10+b.Status < a.Phase*10+a.Status {
			is = b
		}
		return shown{Phase: is.Phase, Status: is.Status}
	}
	return show(is)
}

// TestDocumentOnEveryCheck holds what a document shows of its own failures and
// of its data checks.
func TestDocumentOnEveryCheck(t *testing.T) {
	for _, base := range everywhere() {
		for _, first := range everywhere() {
			for _, second := range everywhere() {
				d := &document{}
				d.add(&document{Check: 2, Checked: second})
				d.add(&document{Base: base})
				d.add(&document{Check: 1, Checked: first})
				want := second
				if base.ended() {
					want = base
				}
				if got := d.shown(); got.compare(want) != 0 {
					t.Fatalf("base %v, checks %v and %v: shows %v, want %v", base, first, second, got, want)
				}
			}
		}
	}
}

func TestWhatAnAttemptShows(t *testing.T) {
	at := func(phase, status int) *outcome { return &outcome{Step: step{Phase: phase, Status: status}} }
	for name, tc := range map[string]struct {
		attempt       attempt
		phase, status int
	}{
		"nothing":                    {attempt{}, 0, 0},
		"requested":                  {attempt{Outcomes: map[string]*outcome{"": at(2, pending)}}, 2, pending},
		"one outcome, not judged":    {attempt{Outcomes: map[string]*outcome{"": at(2, running), "a": at(3, done)}}, 3, done},
		"two outcomes, not judged":   {attempt{Outcomes: map[string]*outcome{"": at(2, running), "a": at(3, done), "b": at(3, done)}}, 2, running},
		"one of two":                 {attempt{Accepted: "a", Outcomes: map[string]*outcome{"": at(2, running), "a": at(3, done), "b": at(2, failed)}}, 3, done},
		"the other of two":           {attempt{Accepted: "b", Outcomes: map[string]*outcome{"": at(2, running), "a": at(3, done), "b": at(2, failed)}}, 2, failed},
		"a chain":                    {attempt{Accepted: "a/done", Outcomes: map[string]*outcome{"a": at(4, running), "a/done": at(4, done), "a/bad": at(4, failed)}}, 4, done},
		"a longer word is no prefix": {attempt{Accepted: "ab", Outcomes: map[string]*outcome{"": at(2, running), "a": at(2, failed), "ab": at(3, done)}}, 3, done},
		"judged":                     {attempt{Accepted: "a/done", Final: step{Phase: 4, Status: failed}, Outcomes: map[string]*outcome{"a/done": at(4, done)}}, 4, failed},
	} {
		if got := tc.attempt.own(); got.Phase != tc.phase || got.Status != tc.status {
			t.Errorf("%s: (%d, %d), want (%d, %d)", name, got.Phase, got.Status, tc.phase, tc.status)
		}
	}
}

func TestWhichAttemptAFileShows(t *testing.T) {
	row := func(number, repeats int32, dropped bool) attemptRow {
		return attemptRow{state: &attempt{Run: "r", Number: number, Repeats: repeats, Dropped: dropped, Outcomes: map[string]*outcome{"": {Step: step{Phase: 2, Status: pending}}}}}
	}
	ofRun := func(run string, r attemptRow) attemptRow {
		r.state.Run = run
		return r
	}
	for name, tc := range map[string]struct {
		rows []attemptRow
		want int32
	}{
		"none":                       {nil, 0},
		"the latest":                 {[]attemptRow{row(2, 0, false), row(3, 0, false), row(1, 0, false)}, 3},
		"the one it repeats":         {[]attemptRow{row(1, 0, false), row(2, 0, false), row(3, 1, false)}, 1},
		"through several":            {[]attemptRow{row(1, 0, false), row(2, 1, false), row(3, 2, false)}, 1},
		"one that is not here":       {[]attemptRow{row(2, 1, false)}, 2},
		"not one that was not tried": {[]attemptRow{row(1, 0, false), row(2, 0, true)}, 1},
		"nothing if none was tried":  {[]attemptRow{row(1, 0, true)}, 0},
		"itself is no repeat":        {[]attemptRow{row(1, 0, false), row(2, 2, false)}, 2},
		"a later one is no repeat":   {[]attemptRow{row(1, 2, false), row(2, 1, false)}, 1},
		"one of another run":         {[]attemptRow{row(1, 0, false), ofRun("z", row(2, 0, false)), row(3, 2, false)}, 2},
	} {
		got := int32(0)
		if a := latestAttempt(tc.rows); a != nil {
			got = a.state.Number
		}
		if got != tc.want {
			t.Errorf("%s: attempt %d, want %d", name, got, tc.want)
		}
	}
}
