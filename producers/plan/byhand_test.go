package plan_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"tributary/producers/plan"
	"tributary/producers/plan/plantest"
	"tributary/recovery/byhand"
	"tributary/schemas"
	"tributary/sql/control"
)

const name = "a.zip"

// bench is a file on its way.
type bench struct {
	*plantest.Plane

	t    *testing.T
	look int32
	job  *schemas.DownloadRequested // the last that asked for the file
	done *schemas.DownloadFinished  // its outcome
}

func newBench(t *testing.T) *bench { return &bench{Plane: plantest.New(t), t: t} }

func (b *bench) orders() byhand.Orders {
	return byhand.Orders{Pool: b.Pool, Outbox: b.Outbox, Decision: control.Decision{By: "ann@host", Reason: "wrong mice", At: b.Clock}}
}

// order gives an order, and says whether it was done.
func (b *bench) order(what string) byhand.Outcome {
	b.t.Helper()
	give := map[string]func(byhand.Orders) (byhand.Outcome, error){
		"hold":    func(o byhand.Orders) (byhand.Outcome, error) { return o.Hold(b.t.Context(), name) },
		"cancel":  func(o byhand.Orders) (byhand.Outcome, error) { return o.Cancel(b.t.Context(), name) },
		"release": func(o byhand.Orders) (byhand.Outcome, error) { return o.Release(b.t.Context(), name) },
	}[what]
	out, err := give(b.orders())
	if err != nil {
		b.t.Fatal(err)
	}
	return out
}

// must gives an order that is done.
func (b *bench) must(what string) {
	b.t.Helper()
	if out := b.order(what); !out.Done {
		b.t.Fatalf("%s is refused: %s", what, out.Detail)
	}
}

// show is a new look of the file, as plan reads of it.
func (b *bench) show() {
	b.look++
	b.Read(schemas.FileDiscoveredTopic, b.Look(plantest.Own, name, b.look, 10))
}

func (b *bench) request() {
	b.t.Helper()
	jobs := b.Requested()
	if len(jobs) != 1 || len(jobs[0].Files) != 1 {
		b.t.Fatalf("%d jobs", len(jobs))
	}
	b.job = jobs[0]
	b.done = plantest.FetchedOf(b.job, b.job.Files[0], "sha-1")
}

func (b *bench) fetch() {
	b.t.Helper()
	b.request()
	b.Read(schemas.DownloadFinishedTopic, b.done)
}

func (b *bench) unzip() {
	b.t.Helper()
	b.fetch()
	b.Read(schemas.UnzipFinishedTopic, plantest.UnzippedOf(b.done, 1))
}

// judge stores the verdict of the file's one document, as sequence does.
func (b *bench) judge() {
	b.t.Helper()
	d := b.done
	b.Tx(func(tx pgx.Tx) error {
		if err := control.StoreDocuments(b.t.Context(), tx, []control.Document{{Run: d.Run, File: d.File, Attempt: d.Attempt, Download: d.Outcome, Unzip: "done",
			Document: schemas.DocumentID(d.File, "x.xml"), Entry: "x.xml", Kind: "specimen", SHA256: "x", Result: schemas.Valid, Body: []byte{1}}}); err != nil {
			return err
		}
		if _, err := control.LockFiles(b.t.Context(), tx, []string{d.File}); err != nil {
			return err
		}
		ended, err := control.CompleteExtracted(b.t.Context(), tx, []string{d.File}, b.Clock)
		if err != nil {
			return err
		}
		return control.AfterEnds(b.t.Context(), tx, ended, b.Clock)
	})
}

// release gives what is ready its positions, as sequence does, and returns how many
// documents these are; -1 if no batch is ready.
func (b *bench) release() (documents int) {
	b.t.Helper()
	l := control.Limits{PollCutoff: b.Clock.Add(-time.Hour), ReleaseLimit: b.Clock.Add(-time.Hour), LateLimit: b.Clock}
	documents = -1
	for {
		ready, err := control.ReadyBatches(b.t.Context(), b.Pool, l)
		if err != nil {
			b.t.Fatal(err)
		}
		if len(ready) == 0 {
			return documents
		}
		documents = max(documents, 0)
		b.Tx(func(tx pgx.Tx) error {
			_, batch, err := control.TakeBatch(b.t.Context(), tx, ready[0], l)
			if err != nil {
				return err
			}
			docs, err := control.BatchDocuments(b.t.Context(), tx, batch.ID, []string{"specimen"})
			documents += len(docs)
			last := int64(1)
			if err != nil {
				return err
			}
			return control.ReleaseBatch(b.t.Context(), tx, *batch, &last, b.Clock)
		})
	}
}

// through carries what is wanted to its positions, and returns how many documents
// got one.
func (b *bench) through() int {
	b.t.Helper()
	b.unzip()
	b.judge()
	return b.release()
}

const acquisitionsSQL = "SELECT state, result, phase, exception, message, attempt FROM control.acquisition ORDER BY id"

// The ways of a file up to where an order meets it.
var ways = []struct {
	name  string
	bring func(b *bench)
	// in which phases its acquisitions end
	phases []string
}{
	{"announced", func(b *bench) { b.look++; b.Look(plantest.Own, name, b.look, 10); b.EndPolls() }, []string{"download"}},
	{"waiting", func(b *bench) {
		b.look++
		b.Read(schemas.FileDiscoveredTopic, b.Look(plantest.Other, name, b.look, 10))
	}, []string{"download"}},
	{"wanted", func(b *bench) { b.show(); b.EndPolls() }, []string{"download"}},
	{"requested", func(b *bench) { b.show(); b.EndPolls(); b.request() }, []string{"download"}},
	{"queued", func(b *bench) { b.show(); b.request(); b.show(); b.EndPolls() }, []string{"download", "download"}},
	{"received", func(b *bench) { b.show(); b.EndPolls(); b.fetch() }, []string{"unzip"}},
	{"extracted", func(b *bench) { b.show(); b.EndPolls(); b.unzip() }, []string{"xsd"}},
	{"complete", func(b *bench) { b.show(); b.EndPolls(); b.unzip(); b.judge() }, []string{"xsd"}},
}

// What is under way of a file and has no position ends by an order, wherever it is,
// and its batch with it. Outcomes that come later change nothing. What was cancelled
// begins anew with a new look, also of the same bytes; what is held begins with nothing,
// and once released it brings what it would have brought.
func TestWhatIsUnderWayEnds(t *testing.T) {
	for _, order := range []struct{ what, exception, message string }{{"hold", plan.HeldByHand, "held by ann@host: wrong mice"}, {"cancel", plan.CancelledByHand, "cancelled by ann@host: wrong mice"}} {
		for _, w := range ways {
			t.Run(order.what+" "+w.name, func(t *testing.T) {
				b := newBench(t)
				w.bring(b)
				b.Drain()
				dry := b.orders()
				dry.Dry = true
				before := b.Text(acquisitionsSQL)
				if out, err := dry.Hold(t.Context(), name); err != nil || !out.Done || b.Text(acquisitionsSQL) != before {
					t.Errorf("a dry run changes something, or is refused: %+v, %v", out, err)
				}
				b.must(order.what)
				var want []string
				for i, phase := range w.phases {
					want = append(want, fmt.Sprintf("(ended,cancelled,%s,%s,%q,%d)", phase, order.exception, order.message, i+1))
				}
				ended := strings.Join(want, " ")
				if got := b.Text(acquisitionsSQL); got != ended {
					t.Errorf("acquisitions: %s\nwant %s", got, ended)
				}
				told := map[string]int{}
				for _, m := range b.Drain() {
					if e, ok := m.Body.(*schemas.StatusChanged); ok && e.Entity == schemas.EntityDownload && e.Status == string(schemas.Cancelled) && e.Exception == order.exception && e.Message == order.message && e.Accepted != "" {
						told[e.Phase]++
					} else if ok && e.Entity == schemas.EntityFile && e.Attributes["by"] == "ann@host" && e.Attributes["reason"] == "wrong mice" && e.Attributes["ended"] == fmt.Sprint(len(w.phases)) {
						told[e.Note]++
					} else {
						t.Errorf("told: %+v", m.Body)
					}
				}
				wanted := map[string]int{map[string]string{"hold": plan.NoteHeld, "cancel": plan.NoteCancelled}[order.what]: 1}
				for _, phase := range w.phases {
					wanted[phase]++
				}
				if d := cmp.Diff(wanted, told); d != "" {
					t.Errorf("told (-want +got): %s", d)
				}
				b.EndPolls()
				if n := b.release(); n != 0 {
					t.Errorf("the batch is released with %d documents; want it to be, without any", n)
				}
				b.late(ended)
				if order.what == "hold" {
					b.heldAndReleased()
				} else {
					b.show()
				}
				if n := b.through(); n != 1 {
					t.Errorf("%d documents get positions; want 1", n)
				}
				if out := b.order(order.what); out.Done || !strings.Contains(out.Detail, "tributary warehouse unload add/a.zip") {
					t.Errorf("what has its positions ends: %+v", out)
				}
			})
		}
	}
}

// heldAndReleased shows a held file anew, which begins nothing, and releases it.
func (b *bench) heldAndReleased() {
	b.t.Helper()
	b.show()
	if err := b.Revisit(b.t.Context(), b.Clock.Add(48*time.Hour)); err != nil {
		b.t.Fatal(err)
	}
	if jobs := b.Requested(); len(jobs) > 0 {
		b.t.Fatalf("a held file is requested: %+v", jobs)
	}
	if got := b.Text("SELECT result, exception FROM control.acquisition ORDER BY id DESC LIMIT 1"); got != "(cancelled,held_by_hand)" {
		b.t.Errorf("the new look is told of as %s", got)
	}
	if out := b.order("hold"); out.Done || !strings.Contains(out.Detail, "held by ann@host: wrong mice") {
		b.t.Errorf("held twice: %+v", out)
	}
	if out := b.order("cancel"); out.Done {
		b.t.Errorf("a held file is cancelled: %+v", out)
	}
	b.Clock = b.Clock.Add(time.Second)
	b.must("release")
	if got := b.Text("SELECT held_at, held_by, held_why FROM control.file"); got != `(,"","")` {
		b.t.Errorf("the file is held by %s", got)
	}
	if out := b.order("release"); out.Done {
		b.t.Errorf("released twice: %+v", out)
	}
}

// late reads what may come of the last request, twice and in both orders.
func (b *bench) late(want string) {
	b.t.Helper()
	if b.done == nil {
		b.Read(schemas.FileDiscoveredTopic, &schemas.FileDiscovered{Scope: schemas.Scope{Run: schemas.LiveRun, Session: b.Session, Centre: "H", Source: plantest.Own},
			FileRef: schemas.FileRef{File: schemas.FileID("add", name), FileName: name, Action: "add"}, Change: "new", Look: b.look, Size: 10})
	} else {
		u := plantest.UnzippedOf(b.done, 1)
		b.Read(schemas.UnzipFinishedTopic, u)
		for range 2 {
			b.Read(schemas.DownloadFinishedTopic, b.done)
			b.Read(schemas.UnzipFinishedTopic, u)
		}
		b.judge()
	}
	if err := b.Revisit(b.t.Context(), b.Clock.Add(48*time.Hour)); err != nil {
		b.t.Fatal(err)
	}
	if got := b.Text(acquisitionsSQL); got != want {
		b.t.Errorf("what came later has changed something: %s\nwant %s", got, want)
	}
	if jobs := b.Requested(); len(jobs) > 0 {
		b.t.Errorf("%d jobs are requested", len(jobs))
	}
	if got := b.Text("SELECT count(*) FROM control.job"); got != "(0)" {
		b.t.Errorf("the credit of %s jobs is not returned", got)
	}
	if got := b.Text("SELECT count(early) FROM control.attempt"); got != "(0)" {
		b.t.Errorf("%s outcomes are kept for later", got)
	}
	if n := b.release(); n > 0 {
		b.t.Errorf("%d documents get positions", n)
	}
}

// What failed and is to be tried again is not, once it is cancelled, and only after the
// release, once it is held.
func TestRetriesAreEnded(t *testing.T) {
	for _, what := range []string{"hold", "cancel"} {
		t.Run(what, func(t *testing.T) {
			b := newBench(t)
			b.show()
			b.EndPolls()
			b.request()
			d := *b.done
			d.Result, d.Outcome, d.SHA256, d.Phase, d.Exception, d.Message = schemas.FailedEnd, "permission_denied", "", "download", "permission_denied", "no"
			b.Read(schemas.DownloadFinishedTopic, &d)
			b.must(what)
			if err := b.Revisit(t.Context(), b.Clock.Add(48*time.Hour)); err != nil {
				t.Fatal(err)
			}
			if jobs := b.Requested(); len(jobs) > 0 {
				t.Fatalf("it is tried again")
			}
			if got := b.Text("SELECT result, attempt FROM control.acquisition ORDER BY id"); got != "(failed,1) (cancelled,2)" {
				t.Errorf("acquisitions: %s", got)
			}
			if what == "hold" {
				b.must("release")
				if n := b.through(); n != 1 {
					t.Errorf("%d documents get positions; want 1", n)
				}
			}
		})
	}
}

// What is not under way is just held. A file that no source shows at its release is
// taken up once one does.
func TestReleasesThatHaveNothingToFetch(t *testing.T) {
	b := newBench(t)
	b.show()
	b.EndPolls()
	b.must("cancel")
	if out := b.order("cancel"); out.Done || !strings.Contains(out.Detail, "tributary files hold add/a.zip") {
		t.Errorf("cancelled twice: %+v", out)
	}
	b.must("hold")
	if out := b.order("release"); !out.Done || out.Detail != "nothing of it was held back" {
		t.Errorf("released: %+v", out)
	}
	b.show()
	b.must("hold")
	b.Exec("UPDATE control.source SET state = 'maintenance'")
	if out := b.order("release"); !out.Done || !strings.Contains(out.Detail, "once a source of it is available") {
		t.Errorf("released: %+v", out)
	}
	if err := b.Revisit(t.Context(), b.Clock); err != nil {
		t.Fatal(err)
	}
	b.Exec("UPDATE control.source SET state = 'available'")
	b.Clock = b.Clock.Add(25 * time.Hour)
	if err := b.Revisit(t.Context(), b.Clock); err != nil {
		t.Fatal(err)
	}
	if n := b.through(); n != 1 {
		t.Errorf("%d documents get positions; want 1", n)
	}
}

func TestFilesAreNamed(t *testing.T) {
	b := newBench(t)
	b.show()
	for named, want := range map[string]string{
		"b.zip":          "no such file is known",
		"add/b.zip":      "no such file is known",
		"archive/a.zip":  "there is no action archive",
		"edit/a.zip":     "no such file is known",
		"add/a.zip":      "",
		"\x00\xff/a.zip": "there is no action",
		"no \x00.zip":    "no such file is known",
	} {
		o := b.orders()
		o.Dry = true
		out, err := o.Hold(t.Context(), named)
		if err != nil || out.Done != (want == "") || !strings.Contains(out.Detail, want) {
			t.Errorf("%q: %+v, %v; want %q", named, out, err, want)
		}
	}
	b.Exec("INSERT INTO control.file (id, name, action) VALUES ($1, 'a.zip', 'edit')", schemas.FileID("edit", name))
	if out := b.order("hold"); out.Done || !strings.Contains(out.Detail, "add/a.zip, edit/a.zip") {
		t.Errorf("a name of two files: %+v", out)
	}
}

// A hold and an outcome that come in the same moment end in one of two ways: the
// outcome is accepted and then ended, or it comes too late.
func TestAHoldRacesWithOutcomes(t *testing.T) {
	for range 3 {
		b := newBench(t)
		b.show()
		b.EndPolls()
		b.request()
		var wg sync.WaitGroup
		wg.Go(func() { b.Read(schemas.DownloadFinishedTopic, b.done) })
		wg.Go(func() { b.must("hold") })
		wg.Wait()
		got := b.Text("SELECT state, result, exception FROM control.acquisition")
		if got != "(ended,cancelled,held_by_hand)" || b.Text("SELECT count(*) FROM control.job") != "(0)" {
			t.Fatalf("acquisitions: %s", got)
		}
		b.must("release")
		if n := b.through(); n != 1 {
			t.Fatalf("%d documents get positions; want 1", n)
		}
	}
}

// A batch that is released in the moment of a hold has its positions, and the hold is
// refused; or it goes out without the file.
func TestAHoldRacesWithPositions(t *testing.T) {
	for range 3 {
		b := newBench(t)
		b.show()
		b.EndPolls()
		b.unzip()
		b.judge()
		var out byhand.Outcome
		documents := 0
		var wg sync.WaitGroup
		wg.Go(func() { documents = b.release() })
		wg.Go(func() { out = b.order("hold") })
		wg.Wait()
		if out.Done == (documents == 1) || documents < 0 {
			t.Fatalf("held: %+v, and %d documents got positions", out, documents)
		}
	}
}
