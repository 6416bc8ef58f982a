package plan_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"tributary/internal/stage/sink"
	"tributary/producers/plan"
	"tributary/producers/plan/plantest"
	"tributary/schemas"
	"tributary/sql/control"
)

func TestAFileGoesThroughPlan(t *testing.T) {
	p := plantest.New(t)
	d := p.Look(plantest.Own, "a.zip", 1, 10)
	p.EndPolls()
	p.Read(schemas.FileDiscoveredTopic, d)
	if got := p.Text("SELECT class, event IS NULL FROM control.look"); got != "(taken,t)" {
		t.Fatalf("the look is %s", got)
	}
	jobs := p.Requested()
	if len(jobs) != 1 || len(jobs[0].Files) != 1 || jobs[0].Server != plantest.Own+":22" || jobs[0].Source != plantest.Own {
		t.Fatalf("jobs: %+v", jobs)
	}
	f := jobs[0].Files[0]
	if f.Path != "add/a.zip" || f.Attempt != 1 || f.Look != 1 || f.Size != 10 || f.Session != p.Session || f.Centre != "H" || f.RequestedAt == nil {
		t.Errorf("request is %+v", f)
	}
	if again := p.Requested(); len(again) != 0 {
		t.Fatalf("requested twice: %+v", again)
	}
	if yes, err := control.JobOutstanding(t.Context(), p.Pool, jobs[0].Job); err != nil || !yes {
		t.Fatalf("outstanding: %v, %v", yes, err)
	}
	done := plantest.FetchedOf(jobs[0], f, "sha-1")
	p.Read(schemas.DownloadFinishedTopic, done)
	if yes, _ := control.JobOutstanding(t.Context(), p.Pool, jobs[0].Job); yes {
		t.Error("the credit does not come back")
	}
	p.Read(schemas.UnzipFinishedTopic, plantest.UnzippedOf(done, 2))
	if got := p.Text("SELECT state, download, unzip, documents, rank_own, rank_ordinal, last_event IS NOT NULL FROM control.acquisition"); got != "(extracted,sha-1,done,2,t,1,t)" {
		t.Errorf("acquisition is %s", got)
	}
	if got := p.Text("SELECT current_sha256, current_attempt, attempts, acceptances FROM control.file"); got != "(sha-1,1,1,1)" {
		t.Errorf("file is %s", got)
	}
	if got := p.Text("SELECT fetched, fetch_failures FROM control.source WHERE id = $1", plantest.Own); got != "(1,0)" {
		t.Errorf("source is %s", got)
	}
	var accepted string
	for _, m := range p.Drain() {
		if e, ok := m.Body.(*schemas.StatusChanged); ok && e.Accepted != "" {
			accepted = e.Accepted
		}
	}
	if accepted != "sha-1/done" {
		t.Errorf("accepted is %q", accepted)
	}
}

// A batch and its offsets are one: what was applied is not applied again.
func TestABatchAppliesOnce(t *testing.T) {
	p := plantest.New(t)
	d := p.Look(plantest.Own, "a.zip", 1, 10)
	r := p.Batch(schemas.FileDiscoveredTopic, d)
	var wg sync.WaitGroup
	errs := make([]error, 4)
	for i := range errs {
		m := p.Member(p.Pool)
		wg.Go(func() { errs[i] = m.Apply(t.Context(), []sink.Range{r}) })
	}
	wg.Wait()
	won := 0
	for _, err := range errs {
		if err == nil {
			won++
		}
	}
	if won != 1 || p.Text("SELECT count(*) FROM control.acquisition") != "(1)" {
		t.Fatalf("%d members applied it, %s acquisitions: %v", won, p.Text("SELECT count(*) FROM control.acquisition"), errs)
	}
	next, err := p.Position(t.Context(), schemas.FileDiscoveredTopic, 0)
	if err != nil || next != 1 {
		t.Errorf("the next offset is %d (%v)", next, err)
	}
}

// Nobody stops for a record that cannot be read, or names no file.
func TestRecordsThatAreNothingArePassedOver(t *testing.T) {
	p := plantest.New(t)
	d := p.Look(plantest.Own, "a.zip", 1, 10)
	r := p.Batch(schemas.FileDiscoveredTopic, &schemas.FileDiscovered{FileRef: schemas.FileRef{File: "not a uuid"}}, &schemas.FileDiscovered{},
		&schemas.FileDiscovered{FileRef: schemas.FileRef{File: schemas.FileID("add", "unknown.zip")}, Look: 1}, d)
	r.Records[1].Headers = nil
	if err := p.Apply(t.Context(), []sink.Range{r}); err != nil {
		t.Fatal(err)
	}
	if got := p.Text("SELECT class FROM control.look"); got != "(taken)" {
		t.Errorf("the good record's look is %s", got)
	}
}

// An unzip that is read before its download is kept in the database.
func TestAnEarlyUnzipSurvives(t *testing.T) {
	p := plantest.New(t)
	p.Read(schemas.FileDiscoveredTopic, p.Look(plantest.Own, "a.zip", 1, 10))
	p.EndPolls()
	j := p.Requested()[0]
	done := plantest.FetchedOf(j, j.Files[0], "sha-1")
	p.Read(schemas.UnzipFinishedTopic, plantest.UnzippedOf(done, 1))
	p.Read(schemas.DownloadFinishedTopic, done)
	if got := p.Text("SELECT state, documents FROM control.acquisition"); got != "(extracted,1)" {
		t.Errorf("acquisition is %s", got)
	}
	if got := p.Text("SELECT download, unzip, early IS NULL FROM control.attempt"); got != "(sha-1,done,t)" {
		t.Errorf("attempt is %s", got)
	}
}

// Looks of other sources wait for the producing centre's own ones, until
// these have been polled or the session is too old.
func TestWaitingForTheOwnSource(t *testing.T) {
	t.Run("it hosts the file", func(t *testing.T) {
		p := plantest.New(t)
		p.Read(schemas.FileDiscoveredTopic, p.Look(plantest.Other, "a.zip", 1, 10))
		if got := p.Text("SELECT class FROM control.look"); got != "(waiting)" {
			t.Fatalf("the look is %s", got)
		}
		if err := p.Revisit(t.Context(), p.Clock); err != nil {
			t.Fatal(err)
		}
		if got := p.Text("SELECT class FROM control.look"); got != "(waiting)" {
			t.Fatalf("while the own source is polled the look is %s", got)
		}
		p.Read(schemas.FileDiscoveredTopic, p.Look(plantest.Own, "a.zip", 1, 11))
		p.EndPolls()
		if err := p.Revisit(t.Context(), p.Clock); err != nil {
			t.Fatal(err)
		}
		if got := p.Text("SELECT source, class FROM control.look ORDER BY source"); got != "(other,superseded) (own,taken)" {
			t.Errorf("looks are %s", got)
		}
	})
	t.Run("it does not", func(t *testing.T) {
		p := plantest.New(t)
		p.Read(schemas.FileDiscoveredTopic, p.Look(plantest.Other, "a.zip", 1, 10))
		p.EndPolls()
		if err := p.Revisit(t.Context(), p.Clock); err != nil {
			t.Fatal(err)
		}
		if j := p.Requested(); len(j) != 1 || j[0].Source != plantest.Other {
			t.Errorf("jobs: %+v", j)
		}
	})
	t.Run("its poll never ends", func(t *testing.T) {
		p := plantest.New(t)
		p.Read(schemas.FileDiscoveredTopic, p.Look(plantest.Other, "a.zip", 1, 10))
		p.Clock = plantest.Noon.Add(p.Cutoff + time.Second)
		if err := p.Revisit(t.Context(), p.Clock); err != nil {
			t.Fatal(err)
		}
		if got := p.Text("SELECT class FROM control.look"); got != "(taken)" {
			t.Errorf("after the cut-off the look is %s", got)
		}
	})
}

func TestRetriesComeThroughTheDatabase(t *testing.T) {
	p := plantest.New(t)
	p.Read(schemas.FileDiscoveredTopic, p.Look(plantest.Own, "a.zip", 1, 10))
	p.EndPolls()
	j := p.Requested()[0]
	d := plantest.FetchedOf(j, j.Files[0], "permission_denied")
	d.Result, d.SHA256, d.Phase, d.Exception, d.Message = schemas.FailedEnd, "", "download", "permission_denied", "nul \x00 and \xff"
	p.Read(schemas.DownloadFinishedTopic, d)
	if got := p.Text("SELECT state, result, exception, retry_at - $1 FROM control.acquisition", plantest.Noon); got != "(ended,failed,permission_denied,01:00:00)" {
		t.Fatalf("acquisition is %s", got)
	}
	p.Clock = plantest.Noon.Add(2 * time.Hour)
	ending := p.Member(p.Pool)
	ending.EndRetries()
	if err := ending.Revisit(t.Context(), p.Clock); err != nil || len(p.Requested()) > 0 {
		t.Fatalf("a planner that is to begin no retries has begun one, %v", err)
	}
	for range 2 {
		if err := p.Revisit(t.Context(), p.Clock); err != nil {
			t.Fatal(err)
		}
	}
	j = p.Requested()[0]
	if f := j.Files[0]; f.Attempt != 2 || f.Session != "" {
		t.Errorf("request is %+v", f)
	}
	if got := p.Text("SELECT count(*), count(retry_at), max(retries) FROM control.acquisition"); got != "(2,0,1)" {
		t.Errorf("acquisitions: %s", got)
	}
}

// Two planners that dispatch at once request every file once and keep the
// servers' credit.
func TestTwoPlannersDispatchAtOnce(t *testing.T) {
	p := plantest.New(t)
	var all []any
	for i := range 60 {
		all = append(all, p.Look(plantest.Own, fmt.Sprintf("%02d.zip", i), 1, 16<<20))
	}
	p.EndPolls()
	p.Read(schemas.FileDiscoveredTopic, all...)
	members := []*plan.Planner{p.Member(p.Pool), p.Member(p.Pool), p.Member(p.Pool)}
	requested := map[string]int{}
	for turn := range 100 {
		var wg sync.WaitGroup
		for _, m := range members {
			wg.Go(func() {
				if err := m.Dispatch(t.Context(), p.Clock); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		jobs := p.Jobs()
		if len(jobs) == 0 {
			break
		}
		if len(jobs) > 2 {
			t.Fatalf("turn %d: %d jobs for a server of 2 sessions", turn, len(jobs))
		}
		var ends []any
		for _, j := range jobs {
			for _, f := range j.Files {
				requested[f.FileName]++
				ends = append(ends, plantest.FetchedOf(j, f, "sha of "+f.FileName))
			}
		}
		p.Read(schemas.DownloadFinishedTopic, ends...)
	}
	if len(requested) != 60 {
		t.Errorf("%d of 60 files were requested", len(requested))
	}
	for name, n := range requested {
		if n != 1 {
			t.Errorf("%s was requested %d times", name, n)
		}
	}
	if got := p.Text("SELECT count(*) FROM control.job"); got != "(0)" {
		t.Errorf("jobs left: %s", got)
	}
}

// Outcomes of the same jobs, read by two members in opposite orders, do not
// make them wait for each other.
func TestOutcomesOfSharedJobsDoNotDeadlock(t *testing.T) {
	p := plantest.New(t)
	var all []any
	for i := range 40 {
		all = append(all, p.Look([]string{plantest.Own, plantest.Other}[i%2], fmt.Sprintf("%02d.zip", i), 1, 10))
	}
	p.EndPolls()
	p.Read(schemas.FileDiscoveredTopic, all...)
	jobs := p.Requested()
	var halves [2][]any
	for _, j := range jobs {
		for i, f := range j.Files {
			halves[i%2] = append(halves[i%2], plantest.FetchedOf(j, f, "sha of "+f.FileName))
		}
	}
	if len(jobs) != 2 || len(halves[0])+len(halves[1]) != 40 {
		t.Fatalf("%d jobs", len(jobs))
	}
	var wg sync.WaitGroup
	for i, half := range halves {
		m := p.Member(p.Pool)
		r := sink.Range{Topic: schemas.DownloadFinishedTopic, Partition: int32(i), To: int64(len(half)), Records: p.Records(schemas.DownloadFinishedTopic, half...)}
		wg.Go(func() {
			if err := m.Apply(t.Context(), []sink.Range{r}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if got := p.Text("SELECT count(*) FROM control.job"); got != "(0)" {
		t.Errorf("jobs left: %s", got)
	}
	if got := p.Text("SELECT sum(fetched) FROM control.source"); got != "(40)" {
		t.Errorf("fetches counted: %s", got)
	}
}

// What has gone silent is published again with the same id, once per budget.
func TestASilentJobIsRepeated(t *testing.T) {
	p := plantest.New(t)
	p.Read(schemas.FileDiscoveredTopic, p.Look(plantest.Own, "a.zip", 1, 10))
	p.EndPolls()
	if err := p.Dispatch(t.Context(), p.Clock); err != nil {
		t.Fatal(err)
	}
	id := func() (ids []string) {
		for _, m := range p.Drain() {
			if m.Topic == schemas.DownloadRequestedTopic {
				ids = append(ids, m.ID)
			}
		}
		return ids
	}
	first := id()
	reg := prometheus.NewRegistry()
	p.With(func(d *plan.Deps) { d.Metrics = reg })
	p.Exec("UPDATE control.job SET news_at = clock_timestamp() - interval '1 hour'")
	now := time.Now()
	for range 2 {
		if err := p.Remind(t.Context(), now); err != nil {
			t.Fatal(err)
		}
	}
	if again := id(); len(first) != 1 || fmt.Sprint(again) != fmt.Sprint(first) {
		t.Errorf("requested as %v, and again as %v", first, again)
	}
	counted, err := reg.Gather()
	if err != nil || len(counted) != 1 || counted[0].GetMetric()[0].GetCounter().GetValue() != 1 {
		t.Errorf("what was requested again is counted as %v, %v", counted, err)
	}
}

// A request that no job holds and nobody answers is made again, as another
// attempt: so are restored ones whose outcome is not kept any more. One that a
// job holds is not, however long it takes.
func TestARequestWithoutAJobIsMadeAgain(t *testing.T) {
	p := plantest.New(t)
	p.Read(schemas.FileDiscoveredTopic, p.Look(plantest.Own, "a.zip", 1, 10))
	p.EndPolls()
	if err := p.Dispatch(t.Context(), p.Clock); err != nil {
		t.Fatal(err)
	}
	again := func(why, want string) {
		t.Helper()
		if err := p.WantAgain(t.Context(), time.Now()); err != nil {
			t.Fatal(err)
		}
		if got := p.Text("SELECT state FROM control.acquisition"); got != want {
			t.Errorf("%s: it is %s, want %s", why, got, want)
		}
	}
	p.Exec("UPDATE control.acquisition SET news_at = clock_timestamp() - interval '1 hour'")
	again("while a job has it", "(requested)")
	p.Exec("DELETE FROM control.job")
	p.Exec("UPDATE control.acquisition SET news_at = clock_timestamp()")
	again("while its outcome may be read yet", "(requested)")
	p.Exec("UPDATE control.acquisition SET news_at = clock_timestamp() - interval '1 hour'")
	again("when nobody has answered for its budget", "(wanted)")
	if err := p.Dispatch(t.Context(), time.Now()); err != nil {
		t.Fatal(err)
	}
	if got := p.Text("SELECT state, attempt FROM control.acquisition"); got != "(requested,2)" {
		t.Errorf("requested again it is %s", got)
	}
}

// While something keeps files from being fetched no job is given out, and all
// that is wanted goes on when that is over.
func TestDormantPlanningGivesNoJobs(t *testing.T) {
	p := plantest.New(t)
	p.Read(schemas.FileDiscoveredTopic, p.Look(plantest.Own, "a.zip", 1, 10))
	p.EndPolls()
	low := errors.New("low disk")
	p.With(func(d *plan.Deps) { d.Dormant = func() error { return low } })
	for _, want := range []string{"(0)", "(1)"} {
		if err := p.Dispatch(t.Context(), p.Clock); err != nil {
			t.Fatal(err)
		}
		if got := p.Text("SELECT count(*) FROM control.job"); got != want {
			t.Errorf("dormant %v: %s jobs, want %s", low, got, want)
		}
		low = nil
	}
}

// What is wanted from a source that is removed ends, also where no server has
// credit, or none is left at all: nothing would ever ask for it again.
func TestWhatARemovedSourceWasToGiveEnds(t *testing.T) {
	for _, tt := range []struct {
		name, sources string
		jobs          int // of the other server
	}{
		{"and others have no credit", "UPDATE control.source SET state = 'removed' WHERE id = 'own'", 2},
		{"and others have credit", "UPDATE control.source SET state = 'removed' WHERE id = 'own'", 0},
		{"and no source is left", "UPDATE control.source SET state = 'removed'", 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := plantest.New(t)
			p.EndPolls()
			p.Read(schemas.FileDiscoveredTopic, p.Look(plantest.Own, "a.zip", 1, 10))
			p.Exec("INSERT INTO control.job (id, server, source, remaining, requested_at, news_at, event, headers) SELECT gen_random_uuid(), 'other:22', 'other', 1, $1, now(), '', '[]' FROM generate_series(1, $2)", p.Clock, tt.jobs)
			p.Exec(tt.sources)
			if err := p.Dispatch(t.Context(), p.Clock); err != nil {
				t.Fatal(err)
			}
			if got := p.Text("SELECT state, result, exception, retry_at FROM control.acquisition"); got != "(ended,cancelled,source_removed,)" {
				t.Errorf("it is %s", got)
			}
		})
	}
}

// A job carries how its source is defined when it is made. A source whose
// definition is not known, in a control that was restored or comes from a program
// of before, waits until it is.
func TestAJobCarriesItsSource(t *testing.T) {
	p := plantest.New(t)
	p.Exec("UPDATE control.source SET definition = '{}' WHERE id = $1", plantest.Own)
	d := p.Look(plantest.Own, "a.zip", 1, 10)
	p.EndPolls()
	p.Read(schemas.FileDiscoveredTopic, d)
	if jobs := p.Requested(); len(jobs) != 0 || p.Text("SELECT state FROM control.acquisition") != "(wanted)" {
		t.Fatalf("requested without a definition: %+v", jobs)
	}
	p.Exec(`UPDATE control.source SET definition = '{"id": "own", "url": "file:///own"}' WHERE id = $1`, plantest.Own)
	if jobs := p.Requested(); len(jobs) != 1 || jobs[0].Definition != `{"id": "own", "url": "file:///own"}` {
		t.Fatalf("jobs: %+v", jobs)
	}
}
