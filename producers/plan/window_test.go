//go:build !race

package plan_test

import (
	"testing"
	"time"

	"tributary/producers/plan/plantest"
	"tributary/schemas"
	"tributary/sql/control"
)

// No job of a source begins outside of its window, and what has begun goes on.
// Another source that shows the file serves meanwhile; else the file is tried again
// when the window opens.
func TestJobsKeepToWindows(t *testing.T) {
	const shut = "UPDATE control.source SET opens = $1, closes = $2 WHERE id = $3"
	for name, c := range map[string]struct {
		other bool   // whether another source shows the file
		from  string // from where it is fetched meanwhile
	}{
		"the file lies there alone":       {false, ""},
		"another source shows it as well": {true, plantest.Other},
	} {
		t.Run(name, func(t *testing.T) {
			p := plantest.New(t)
			d := p.Look(plantest.Own, "a.zip", 1, 10)
			if c.other {
				p.Look(plantest.Other, "a.zip", 1, 10)
			}
			p.EndPolls()
			p.Read(schemas.FileDiscoveredTopic, d)
			opens := p.Clock.Add(time.Hour)
			p.Exec(shut, opens, opens.Add(time.Hour), plantest.Own)
			from := ""
			for _, j := range p.Requested() {
				from += j.Source
			}
			if from != c.from {
				t.Fatalf("it is fetched from %q, want %q", from, c.from)
			}
			if c.other {
				return
			}
			if got := p.Text("SELECT state, result, exception, retry_at = $1 FROM control.acquisition", opens); got != "(ended,failed,source_unavailable,t)" {
				t.Errorf("outside of the window: %s", got)
			}
			for moment, want := range map[time.Time]int{opens.Add(-time.Second): 0, opens: 1} {
				retries, err := control.RetryFiles(t.Context(), p.Pool, moment, 10)
				if err != nil || len(retries) != want {
					t.Errorf("at %s %d files are tried again, %v; want %d", moment, len(retries), err, want)
				}
			}
		})
	}
	t.Run("what was requested before it closes", func(t *testing.T) {
		p := plantest.New(t)
		j, f := p.RequestedOne("a.zip", 1)
		p.Exec(shut, p.Clock.Add(-time.Hour), p.Clock, plantest.Own)
		if why, err := control.SourceRests(t.Context(), p.Pool, plantest.Own); why != "" || err != nil {
			t.Errorf("the job is given back: %q, %v", why, err)
		}
		p.Read(schemas.DownloadFinishedTopic, plantest.FetchedOf(j, f, "sha-1"))
		if got := p.Text("SELECT state FROM control.acquisition"); got != "(received)" {
			t.Errorf("what it brought is %s", got)
		}
	})
	t.Run("a window that nobody moves on", func(t *testing.T) {
		p := plantest.New(t)
		p.Read(schemas.FileDiscoveredTopic, p.Look(plantest.Own, "a.zip", 1, 10))
		p.EndPolls()
		p.Exec(shut, p.Clock.Add(-2*time.Hour), p.Clock.Add(-time.Hour), plantest.Own)
		if jobs := p.Requested(); len(jobs) != 0 {
			t.Errorf("jobs: %+v", jobs)
		}
		if got := p.Text("SELECT retry_at > $1 FROM control.acquisition", p.Clock.Add(time.Minute)); got != "(t)" {
			t.Error("it is tried again and again")
		}
	})
}
