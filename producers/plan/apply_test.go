package plan

import (
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/twmb/franz-go/pkg/kgo"

	"tributary/internal/centres"
	"tributary/internal/config"
	"tributary/internal/engine/enginetest"
	"tributary/internal/kafka"
	"tributary/internal/pg"
	"tributary/internal/stage/sink"
	"tributary/schemas"
	"tributary/sql/control"
)

// plane is control on a real Postgres, with a planner whose clock the test
// moves.
type plane struct {
	*Planner
	t       *testing.T
	now     time.Time
	session string
	offsets map[string]int64
}

func newPlane(t *testing.T) *plane {
	t.Helper()
	pool, err := pg.Open(t.Context(), enginetest.Postgres(t), "test", 10)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	if err := control.Migrate(t.Context(), pool); err != nil {
		t.Fatal(err)
	}
	p := &plane{t: t, now: noon, offsets: map[string]int64{}, session: uuid.NewString()}
	p.Planner = p.member(pool)
	p.tx(func(tx pgx.Tx) error {
		for i, id := range []string{own, other} {
			centre := []string{"H", "Ics"}[i]
			if _, err := control.PutCentre(t.Context(), tx, centres.Centre{ShortName: centre, Active: true}, 1); err != nil {
				return err
			}
			if _, err := control.PutSource(t.Context(), tx, control.Source{ID: id, Centre: centre, Server: id + ":22", Protocol: "sftp", State: "available", MaxSessions: 2, Interval: time.Hour}, 1); err != nil {
				return err
			}
		}
		return control.OpenSession(t.Context(), tx, p.session, 1, false, noon, map[string]control.DueSource{
			uuid.NewString(): {ID: own, Centre: "H", Server: own + ":22"}, uuid.NewString(): {ID: other, Centre: "Ics", Server: other + ":22"}})
	})
	return p
}

func (p *plane) member(pool *pgxpool.Pool) *Planner {
	out := New(config.Default().Plan, 10*time.Minute, false, pool, pg.Outbox{Schema: control.Schema, Codec: codec(p.t)}, pgOffsets(), slog.New(slog.DiscardHandler))
	out.Now = func() time.Time { return p.now }
	return out
}

func (p *plane) tx(fn func(tx pgx.Tx) error) {
	p.t.Helper()
	if err := pg.InTx(p.t.Context(), p.Pool, fn); err != nil {
		p.t.Fatal(err)
	}
}

func (p *plane) exec(sql string, args ...any) {
	p.t.Helper()
	if _, err := p.Pool.Exec(p.t.Context(), sql, args...); err != nil {
		p.t.Fatalf("%s: %v", sql, err)
	}
}

func (p *plane) text(sql string, args ...any) string {
	p.t.Helper()
	var out string
	if err := p.Pool.QueryRow(p.t.Context(), "SELECT coalesce(string_agg(q::text, ' '), '') FROM ("+sql+") q", args...).Scan(&out); err != nil {
		p.t.Fatalf("%s: %v", sql, err)
	}
	return out
}

// look stores what a poll recorded, and returns its announcement.
func (p *plane) look(source, name string, look int32, size int64) *schemas.FileDiscovered {
	p.t.Helper()
	file, date, inc, centre := schemas.FileID("add", name), "2026-01-02", int64(1), "H"
	p.tx(func(tx pgx.Tx) error {
		_, err := control.Record(p.t.Context(), tx, control.Poll{Source: source, Session: p.session, Centre: map[string]string{own: "H", other: "Ics"}[source]}, p.now,
			[]control.Sighting{{File: file, Name: name, Action: "add", Centre: &centre, FileDate: &date, FileInc: &inc, Look: look, Size: size, ListedAt: p.now, Settled: true, Class: "announced", Event: []byte{1}}})
		return err
	})
	return &schemas.FileDiscovered{Scope: schemas.Scope{Run: schemas.LiveRun, Session: p.session, Centre: "H", Source: source},
		FileRef: schemas.FileRef{File: file, FileName: name, Action: "add"}, Change: "new", Look: look, Size: size}
}

func (p *plane) endPolls() {
	p.exec("UPDATE control.poll SET state = 'complete'")
	p.exec("UPDATE control.session SET polls_ended_at = $1", p.now)
}

// records are events as they come from Kafka.
func (p *plane) records(topic string, bodies ...any) []*kgo.Record {
	p.t.Helper()
	var out []*kgo.Record
	for _, b := range bodies {
		key := ""
		switch b := b.(type) {
		case *schemas.FileDiscovered:
			key = b.File
		case *schemas.DownloadFinished:
			key = b.File
		case *schemas.UnzipFinished:
			key = b.File
		}
		r, err := p.Outbox.Codec.Encode(schemas.Message{ID: uuid.NewString(), Topic: topic, Key: key, Stage: "test", Time: p.now, Body: b})
		if err != nil {
			p.t.Fatal(err)
		}
		out = append(out, kafka.ToKgo("test", r))
	}
	return out
}

func (p *plane) batch(topic string, bodies ...any) sink.Range {
	p.t.Helper()
	from := p.offsets[topic]
	p.offsets[topic] = from + int64(len(bodies))
	return sink.Range{Topic: topic, From: from, To: from + int64(len(bodies)), Records: p.records(topic, bodies...)}
}

// read applies events of one topic.
func (p *plane) read(topic string, bodies ...any) {
	p.t.Helper()
	if err := p.Apply(p.t.Context(), []sink.Range{p.batch(topic, bodies...)}); err != nil {
		p.t.Fatal(err)
	}
}

// dispatch requests what it can and returns the jobs of the outbox, which it
// empties.
func (p *plane) dispatch() []*schemas.DownloadRequested {
	p.t.Helper()
	if err := p.Dispatch(p.t.Context(), p.now); err != nil {
		p.t.Fatal(err)
	}
	return p.jobs()
}

func (p *plane) jobs() []*schemas.DownloadRequested {
	p.t.Helper()
	var out []*schemas.DownloadRequested
	for _, m := range p.drain() {
		if b, ok := m.Body.(*schemas.DownloadRequested); ok {
			out = append(out, b)
			if m.Key != b.Job {
				p.t.Errorf("a job's key is %q", m.Key)
			}
		}
	}
	return out
}

func (p *plane) drain() []schemas.Message {
	p.t.Helper()
	return enginetest.Drain(p.t, p.Pool, control.Schema, p.Outbox.Codec)
}

func fetchedOf(j *schemas.DownloadRequested, f schemas.RequestFile, sha string) *schemas.DownloadFinished {
	return &schemas.DownloadFinished{Scope: schemas.Scope{Run: schemas.LiveRun, Session: f.Session, Centre: f.Centre, Source: j.Source}, FileRef: f.FileRef, Job: j.Job, Server: j.Server,
		Attempt: f.Attempt, Look: f.Look, Result: schemas.Fetched, Outcome: sha, SHA256: sha, Size: f.Size, Checksum: "no_checksum"}
}

func unzippedOf(d *schemas.DownloadFinished, documents int32) *schemas.UnzipFinished {
	return &schemas.UnzipFinished{Scope: d.Scope, FileRef: d.FileRef, Attempt: d.Attempt, Download: d.Outcome, SHA256: d.SHA256, Result: schemas.Unzipped, Outcome: "done", Documents: documents}
}

func TestAFileGoesThroughPlan(t *testing.T) {
	p := newPlane(t)
	d := p.look(own, "a.zip", 1, 10)
	p.endPolls()
	p.read(schemas.FileDiscoveredTopic, d)
	if got := p.text("SELECT class, event IS NULL FROM control.look"); got != "(taken,t)" {
		t.Fatalf("the look is %s", got)
	}
	jobs := p.dispatch()
	if len(jobs) != 1 || len(jobs[0].Files) != 1 || jobs[0].Server != own+":22" || jobs[0].Source != own {
		t.Fatalf("jobs: %+v", jobs)
	}
	f := jobs[0].Files[0]
	if f.Path != "add/a.zip" || f.Attempt != 1 || f.Look != 1 || f.Size != 10 || f.Session != p.session || f.Centre != "H" || f.RequestedAt == nil {
		t.Errorf("request is %+v", f)
	}
	if again := p.dispatch(); len(again) != 0 {
		t.Fatalf("requested twice: %+v", again)
	}
	if yes, err := control.JobOutstanding(t.Context(), p.Pool, jobs[0].Job); err != nil || !yes {
		t.Fatalf("outstanding: %v, %v", yes, err)
	}
	done := fetchedOf(jobs[0], f, "sha-1")
	p.read(schemas.DownloadFinishedTopic, done)
	if yes, _ := control.JobOutstanding(t.Context(), p.Pool, jobs[0].Job); yes {
		t.Error("the credit does not come back")
	}
	p.read(schemas.UnzipFinishedTopic, unzippedOf(done, 2))
	if got := p.text("SELECT state, download, unzip, documents, rank_own, rank_ordinal, last_event IS NOT NULL FROM control.acquisition"); got != "(extracted,sha-1,done,2,t,1,t)" {
		t.Errorf("acquisition is %s", got)
	}
	if got := p.text("SELECT current_sha256, current_attempt, attempts, acceptances FROM control.file"); got != "(sha-1,1,1,1)" {
		t.Errorf("file is %s", got)
	}
	if got := p.text("SELECT fetched, fetch_failures FROM control.source WHERE id = $1", own); got != "(1,0)" {
		t.Errorf("source is %s", got)
	}
	var accepted string
	for _, m := range p.drain() {
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
	p := newPlane(t)
	d := p.look(own, "a.zip", 1, 10)
	r := p.batch(schemas.FileDiscoveredTopic, d)
	var wg sync.WaitGroup
	errs := make([]error, 4)
	for i := range errs {
		m := p.member(p.Pool)
		wg.Go(func() { errs[i] = m.Apply(t.Context(), []sink.Range{r}) })
	}
	wg.Wait()
	won := 0
	for _, err := range errs {
		if err == nil {
			won++
		}
	}
	if won != 1 || p.text("SELECT count(*) FROM control.acquisition") != "(1)" {
		t.Fatalf("%d members applied it, %s acquisitions: %v", won, p.text("SELECT count(*) FROM control.acquisition"), errs)
	}
	next, err := p.Position(t.Context(), schemas.FileDiscoveredTopic, 0)
	if err != nil || next != 1 {
		t.Errorf("the next offset is %d (%v)", next, err)
	}
}

// Nobody stops for a record that cannot be read, or names no file.
func TestRecordsThatAreNothingArePassedOver(t *testing.T) {
	p := newPlane(t)
	d := p.look(own, "a.zip", 1, 10)
	r := p.batch(schemas.FileDiscoveredTopic, &schemas.FileDiscovered{FileRef: schemas.FileRef{File: "not a uuid"}}, &schemas.FileDiscovered{},
		&schemas.FileDiscovered{FileRef: schemas.FileRef{File: schemas.FileID("add", "unknown.zip")}, Look: 1}, d)
	r.Records[1].Headers = nil
	if err := p.Apply(t.Context(), []sink.Range{r}); err != nil {
		t.Fatal(err)
	}
	if got := p.text("SELECT class FROM control.look"); got != "(taken)" {
		t.Errorf("the good record's look is %s", got)
	}
}

// An unzip that is read before its download is kept in the database.
func TestAnEarlyUnzipSurvives(t *testing.T) {
	p := newPlane(t)
	p.read(schemas.FileDiscoveredTopic, p.look(own, "a.zip", 1, 10))
	p.endPolls()
	j := p.dispatch()[0]
	done := fetchedOf(j, j.Files[0], "sha-1")
	p.read(schemas.UnzipFinishedTopic, unzippedOf(done, 1))
	p.read(schemas.DownloadFinishedTopic, done)
	if got := p.text("SELECT state, documents FROM control.acquisition"); got != "(extracted,1)" {
		t.Errorf("acquisition is %s", got)
	}
	if got := p.text("SELECT download, unzip, early IS NULL FROM control.attempt"); got != "(sha-1,done,t)" {
		t.Errorf("attempt is %s", got)
	}
}

// Looks of other sources wait for the producing centre's own ones, until
// these have been polled or the session is too old.
func TestWaitingForTheOwnSource(t *testing.T) {
	t.Run("it hosts the file", func(t *testing.T) {
		p := newPlane(t)
		p.read(schemas.FileDiscoveredTopic, p.look(other, "a.zip", 1, 10))
		if got := p.text("SELECT class FROM control.look"); got != "(waiting)" {
			t.Fatalf("the look is %s", got)
		}
		if err := p.revisit(t.Context(), p.now); err != nil {
			t.Fatal(err)
		}
		if got := p.text("SELECT class FROM control.look"); got != "(waiting)" {
			t.Fatalf("while the own source is polled the look is %s", got)
		}
		p.read(schemas.FileDiscoveredTopic, p.look(own, "a.zip", 1, 11))
		p.endPolls()
		if err := p.revisit(t.Context(), p.now); err != nil {
			t.Fatal(err)
		}
		if got := p.text("SELECT source, class FROM control.look ORDER BY source"); got != "(other,superseded) (own,taken)" {
			t.Errorf("looks are %s", got)
		}
	})
	t.Run("it does not", func(t *testing.T) {
		p := newPlane(t)
		p.read(schemas.FileDiscoveredTopic, p.look(other, "a.zip", 1, 10))
		p.endPolls()
		if err := p.revisit(t.Context(), p.now); err != nil {
			t.Fatal(err)
		}
		if j := p.dispatch(); len(j) != 1 || j[0].Source != other {
			t.Errorf("jobs: %+v", j)
		}
	})
	t.Run("its poll never ends", func(t *testing.T) {
		p := newPlane(t)
		p.read(schemas.FileDiscoveredTopic, p.look(other, "a.zip", 1, 10))
		p.now = noon.Add(p.Cutoff + time.Second)
		if err := p.revisit(t.Context(), p.now); err != nil {
			t.Fatal(err)
		}
		if got := p.text("SELECT class FROM control.look"); got != "(taken)" {
			t.Errorf("after the cut-off the look is %s", got)
		}
	})
}

func TestRetriesComeThroughTheDatabase(t *testing.T) {
	p := newPlane(t)
	p.read(schemas.FileDiscoveredTopic, p.look(own, "a.zip", 1, 10))
	p.endPolls()
	j := p.dispatch()[0]
	d := fetchedOf(j, j.Files[0], "permission_denied")
	d.Result, d.SHA256, d.Phase, d.Exception, d.Message = schemas.FailedEnd, "", "download", "permission_denied", "nul \x00 and \xff"
	p.read(schemas.DownloadFinishedTopic, d)
	if got := p.text("SELECT state, result, exception, retry_at - $1 FROM control.acquisition", noon); got != "(ended,failed,permission_denied,01:00:00)" {
		t.Fatalf("acquisition is %s", got)
	}
	p.now = noon.Add(2 * time.Hour)
	for range 2 {
		if err := p.revisit(t.Context(), p.now); err != nil {
			t.Fatal(err)
		}
	}
	j = p.dispatch()[0]
	if f := j.Files[0]; f.Attempt != 2 || f.Session != "" {
		t.Errorf("request is %+v", f)
	}
	if got := p.text("SELECT count(*), count(retry_at), max(retries) FROM control.acquisition"); got != "(2,0,1)" {
		t.Errorf("acquisitions: %s", got)
	}
}

// Two planners that dispatch at once request every file once and keep the
// servers' credit.
func TestTwoPlannersDispatchAtOnce(t *testing.T) {
	p := newPlane(t)
	var all []any
	for i := range 60 {
		all = append(all, p.look(own, fmt.Sprintf("%02d.zip", i), 1, 16<<20))
	}
	p.endPolls()
	p.read(schemas.FileDiscoveredTopic, all...)
	members := []*Planner{p.member(p.Pool), p.member(p.Pool), p.member(p.Pool)}
	requested := map[string]int{}
	for turn := range 100 {
		var wg sync.WaitGroup
		for _, m := range members {
			wg.Go(func() {
				if err := m.Dispatch(t.Context(), p.now); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		jobs := p.jobs()
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
				ends = append(ends, fetchedOf(j, f, "sha of "+f.FileName))
			}
		}
		p.read(schemas.DownloadFinishedTopic, ends...)
	}
	if len(requested) != 60 {
		t.Errorf("%d of 60 files were requested", len(requested))
	}
	for name, n := range requested {
		if n != 1 {
			t.Errorf("%s was requested %d times", name, n)
		}
	}
	if got := p.text("SELECT count(*) FROM control.job"); got != "(0)" {
		t.Errorf("jobs left: %s", got)
	}
}

// Outcomes of the same jobs, read by two members in opposite orders, do not
// make them wait for each other.
func TestOutcomesOfSharedJobsDoNotDeadlock(t *testing.T) {
	p := newPlane(t)
	var all []any
	for i := range 40 {
		all = append(all, p.look([]string{own, other}[i%2], fmt.Sprintf("%02d.zip", i), 1, 10))
	}
	p.endPolls()
	p.read(schemas.FileDiscoveredTopic, all...)
	jobs := p.dispatch()
	var halves [2][]any
	for _, j := range jobs {
		for i, f := range j.Files {
			halves[i%2] = append(halves[i%2], fetchedOf(j, f, "sha of "+f.FileName))
		}
	}
	if len(jobs) != 2 || len(halves[0])+len(halves[1]) != 40 {
		t.Fatalf("%d jobs", len(jobs))
	}
	var wg sync.WaitGroup
	for i, half := range halves {
		m := p.member(p.Pool)
		r := sink.Range{Topic: schemas.DownloadFinishedTopic, Partition: int32(i), To: int64(len(half)), Records: p.records(schemas.DownloadFinishedTopic, half...)}
		wg.Go(func() {
			if err := m.Apply(t.Context(), []sink.Range{r}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if got := p.text("SELECT count(*) FROM control.job"); got != "(0)" {
		t.Errorf("jobs left: %s", got)
	}
	if got := p.text("SELECT sum(fetched) FROM control.source"); got != "(40)" {
		t.Errorf("fetches counted: %s", got)
	}
}

// What has gone silent is published again with the same id, once per budget.
func TestASilentJobIsRepeated(t *testing.T) {
	p := newPlane(t)
	p.read(schemas.FileDiscoveredTopic, p.look(own, "a.zip", 1, 10))
	p.endPolls()
	if err := p.Dispatch(t.Context(), p.now); err != nil {
		t.Fatal(err)
	}
	id := func() (ids []string) {
		for _, m := range p.drain() {
			if m.Topic == schemas.DownloadRequestedTopic {
				ids = append(ids, m.ID)
			}
		}
		return ids
	}
	first := id()
	reg := prometheus.NewRegistry()
	p.Metrics = NewMetrics(reg)
	p.exec("UPDATE control.job SET news_at = clock_timestamp() - interval '1 hour'")
	now := time.Now()
	for range 2 {
		if err := p.remind(t.Context(), now); err != nil {
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
	p := newPlane(t)
	p.read(schemas.FileDiscoveredTopic, p.look(own, "a.zip", 1, 10))
	p.endPolls()
	if err := p.Dispatch(t.Context(), p.now); err != nil {
		t.Fatal(err)
	}
	again := func(why, want string) {
		t.Helper()
		if err := p.wantAgain(t.Context(), time.Now()); err != nil {
			t.Fatal(err)
		}
		if got := p.text("SELECT state FROM control.acquisition"); got != want {
			t.Errorf("%s: it is %s, want %s", why, got, want)
		}
	}
	p.exec("UPDATE control.acquisition SET news_at = clock_timestamp() - interval '1 hour'")
	again("while a job has it", "(requested)")
	p.exec("DELETE FROM control.job")
	p.exec("UPDATE control.acquisition SET news_at = clock_timestamp()")
	again("while its outcome may be read yet", "(requested)")
	p.exec("UPDATE control.acquisition SET news_at = clock_timestamp() - interval '1 hour'")
	again("when nobody has answered for its budget", "(wanted)")
	if err := p.Dispatch(t.Context(), time.Now()); err != nil {
		t.Fatal(err)
	}
	if got := p.text("SELECT state, attempt FROM control.acquisition"); got != "(requested,2)" {
		t.Errorf("requested again it is %s", got)
	}
}

// While something keeps files from being fetched no job is given out, and all
// that is wanted goes on when that is over.
func TestDormantPlanningGivesNoJobs(t *testing.T) {
	p := newPlane(t)
	p.read(schemas.FileDiscoveredTopic, p.look(own, "a.zip", 1, 10))
	p.endPolls()
	low := errors.New("low disk")
	p.Dormant = func() error { return low }
	for _, want := range []string{"(0)", "(1)"} {
		if err := p.Dispatch(t.Context(), p.now); err != nil {
			t.Fatal(err)
		}
		if got := p.text("SELECT count(*) FROM control.job"); got != want {
			t.Errorf("dormant %v: %s jobs, want %s", low, got, want)
		}
		low = nil
	}
}

// What is wanted from a source that is removed ends, also where no server has
// credit, or none is left at all: nothing would ever ask for it again.
func TestWhatARemovedSourceWasToGiveEnds(t *testing.T) {
	for _, tt := range []struct{ name, sources string }{
		{"and others have no credit", "UPDATE control.source SET state = 'removed' WHERE id = 'own'"},
		{"and no source is left", "UPDATE control.source SET state = 'removed'"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := newPlane(t)
			p.endPolls()
			p.read(schemas.FileDiscoveredTopic, p.look(own, "a.zip", 1, 10))
			p.exec("INSERT INTO control.job (id, server, source, remaining, requested_at, news_at, event, headers) SELECT gen_random_uuid(), 'other:22', 'other', 1, $1, now(), '', '[]' FROM generate_series(1, 2)", p.now)
			p.exec(tt.sources)
			if err := p.Dispatch(t.Context(), p.now); err != nil {
				t.Fatal(err)
			}
			if got := p.text("SELECT state, result, exception, retry_at FROM control.acquisition"); got != "(ended,cancelled,source_removed,)" {
				t.Errorf("it is %s", got)
			}
		})
	}
}
