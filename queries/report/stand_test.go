package report_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tributary/queries/report"
	"tributary/queries/report/reporttest"
	"tributary/schemas/exception"
)

// What failed is told by exception, those first that need somebody here; a centre is
// told of its own files.
func TestFailures(t *testing.T) {
	pool := reporttest.Told(t, reporttest.Busy())
	now := reporttest.Start().Add(time.Hour)
	short := func(all []report.Failing, err error) (out []report.Failing) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range all {
			if f.Happened == "" || f.Do == "" {
				t.Errorf("%s: its meaning or the next step is lacking", f.Exception)
			}
			f.Happened, f.Do, f.Last = "", "", time.Time{}
			out = append(out, f)
		}
		return out
	}
	none := make([]int64, report.TrendDays)
	today := slices.Clone(none)
	today[report.TrendDays-1] = 1
	want := []report.Failing{
		{Exception: "host_key_mismatch", Move: exception.Us, Sources: []string{"jax"}, Centres: []report.CentreCount{}, Days: none},
		{Exception: "login_failed", Move: exception.Us, Sources: []string{"ics"}, Centres: []report.CentreCount{}, Days: none},
		{Exception: "xsd_invalid", Move: exception.Centre, Failed: 1, Sources: []string{}, Centres: []report.CentreCount{{Centre: "H", Files: 1}}, Days: today},
		{Exception: "transfer_truncated", Move: exception.Nobody, Retried: 1, Sources: []string{}, Centres: []report.CentreCount{{Centre: "J", Files: 1}}, Days: none},
	}
	if d := cmp.Diff(want, short(report.Failures(t.Context(), pool, now, ""))); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(want[3:], short(report.Failures(t.Context(), pool, now, "J"))); d != "" {
		t.Error(d)
	}
}

// The pace of the last hour, and what was usual in that hour of the days before.
func TestPace(t *testing.T) {
	pool := reporttest.Told(t, reporttest.Busy())
	hour, _ := report.FindSpan("1h")
	p, err := report.ReadPace(t.Context(), pool, reporttest.Start().Add(time.Hour), hour)
	if err != nil {
		t.Fatal(err)
	}
	if p.Received.Total != 2 || p.Received.Values[10] != 2 || p.Received.Usual != nil {
		t.Errorf("received: %+v", p.Received)
	}
	if p.Inserted.Total != 3 || p.Inserted.Values[11] != 3 || p.Inserted.Usual != nil {
		t.Errorf("inserted: %+v", p.Inserted)
	}
	if p.Latency.Half == nil || *p.Latency.Half <= 0 || p.Latency.Values[0] != *p.Latency.Most {
		t.Errorf("latency: %+v", p.Latency)
	}
	later, err := report.ReadPace(t.Context(), pool, reporttest.Start().Add(25*time.Hour), hour)
	if err != nil {
		t.Fatal(err)
	}
	if later.Received.Total != 0 || later.Received.Usual == nil || *later.Received.Usual != 0 || later.Latency.Half != nil {
		t.Errorf("a day later: %+v", later)
	}
	if _, ok := report.FindSpan("1y"); ok {
		t.Error("a year is measured")
	}
}

func TestPolls(t *testing.T) {
	pool := reporttest.Told(t, append(reporttest.Story(), reporttest.Busy()...))
	var last []string
	if err := report.LastPolls(t.Context(), pool, 24, func(p report.Poll) error {
		last = append(last, p.Source+" "+p.Status)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{"harwell done", "ics failed", "jax failed"}, last); d != "" {
		t.Error(d)
	}
	polls, err := report.Polls(t.Context(), pool, "harwell", time.Time{}, 10)
	if err != nil || len(polls) != 1 || !polls[0].News() || polls[0].Session != 1 {
		t.Errorf("%+v, %v", polls, err)
	}
	if polls, err = report.Polls(t.Context(), pool, "harwell", *polls[0].Ended, 10); err != nil || len(polls) != 0 {
		t.Errorf("before the first: %+v, %v", polls, err)
	}
	var unknown *report.UnknownError
	if _, err = report.Polls(t.Context(), pool, "nowhere", time.Time{}, 10); !errors.As(err, &unknown) {
		t.Errorf("polls of what is no source: %v", err)
	}
}

func TestSessions(t *testing.T) {
	pool := reporttest.Told(t, reporttest.Busy())
	numbers := func(before time.Time, limit int) (out []int64) {
		t.Helper()
		all, err := report.Sessions(t.Context(), pool, before, limit)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range all {
			out = append(out, *s.Number)
		}
		return out
	}
	if d := cmp.Diff([]int64{2, 1}, numbers(time.Time{}, 10)); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]int64{1}, numbers(reporttest.Start().Add(30*time.Minute), 10)); d != "" {
		t.Error(d)
	}
	s, err := report.TellSession(t.Context(), pool, 1)
	if err != nil {
		t.Fatal(err)
	}
	if s.State != "failed" || s.Polls != 2 || s.PollsFailed != 1 || len(s.PollList) != 2 || s.PollList[0].Source != "jax" || len(s.Tasks) == 0 || s.Tasks[0].Phase != "zip_name" {
		t.Errorf("%+v", s)
	}
	if _, err = report.TellSession(t.Context(), pool, 7); !errors.Is(err, report.ErrNotFound) || err.Error() != "the tracker knows no session 7" {
		t.Errorf("a session that there is not: %v", err)
	}
}

func TestStandingOf(t *testing.T) {
	pool := reporttest.Told(t, reporttest.Busy())
	s, err := report.StandingOf(t.Context(), pool, "h")
	if err != nil {
		t.Fatal(err)
	}
	if s.Centre != "H" || !slices.Equal(s.Sources, []string{"harwell", "ics"}) || !slices.Equal(s.Files, []report.Count{{Phase: "xsd", Status: "failed", Count: 1}, {Phase: "overview", Status: "done", Count: 1}}) {
		t.Errorf("%+v", s)
	}
	var unknown *report.UnknownError
	if _, err = report.StandingOf(t.Context(), pool, "X"); !errors.As(err, &unknown) || len(unknown.Known) != 2 {
		t.Errorf("%v", err)
	}
}
