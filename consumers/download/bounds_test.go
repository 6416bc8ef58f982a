package download

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"tributary/internal/blob"
	"tributary/internal/config"
	"tributary/internal/remote"
	"tributary/internal/stage"
	"tributary/schemas"
)

// drip is a reader that brings n bytes at a time, at intervals, for ever; also of
// a file that is not so long. It ends with its context only.
type drip struct {
	ctx   context.Context
	n     int
	every time.Duration
	left  int // bytes, if it ends
}

func (d *drip) Read(b []byte) (int, error) {
	select {
	case <-d.ctx.Done():
		return 0, d.ctx.Err()
	case <-time.After(d.every):
	}
	n := min(d.n, len(b), d.left)
	d.left -= n
	if n == 0 {
		return 0, io.EOF
	}
	for i := range n {
		b[i] = 'x'
	}
	return n, nil
}

// dripping serves a file of that size slowly, for which it says another.
func (b *bench) dripping(name string, n int, every time.Duration, size int) *item {
	f := b.put(name, "")
	f.size = int64(size)
	f.reader = func(ctx context.Context) io.Reader { return &drip{ctx: ctx, n: n, every: every, left: size} }
	return f
}

// A transfer may be slower than the least rate for as long as the grace says, and
// not a step longer; it costs an attempt, and the rest of the job none. At the
// least rate it goes on until its file is whole.
func TestTheLeastRate(t *testing.T) {
	for name, tt := range map[string]struct {
		n     int
		every time.Duration
		size  int
		want  string
		after time.Duration // at most
	}{
		"a byte a second":              {1, time.Second, 5000 << 20, tooSlow, 30 * time.Second},
		"a byte a minute":              {1, time.Minute, 5000 << 20, tooSlow, 30 * time.Second},
		"nothing at all":               {1, 1000 * time.Hour, 5000 << 20, tooSlow, 30 * time.Second},
		"much, and then a drip":        {40 << 10, 45 * time.Second, 5000 << 20, tooSlow, 90 * time.Second},
		"just below":                   {1023, time.Second, 5000 << 20, tooSlow, 33 * time.Second},
		"just above":                   {1100, time.Second, 300 << 10, "", 310 * time.Second},
		"slower, but within the grace": {10, time.Second, 200, "", 25 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t)
				b.dripping("1.zip", tt.n, tt.every, tt.size)
				b.put("2.zip", "content")
				begun := time.Now()
				if err := b.work(t.Context(), b.job("1.zip", "2.zip")); err != nil {
					t.Fatal(err)
				}
				first, second := b.finished()["1.zip"], b.finished()["2.zip"]
				if took := time.Since(begun); first == nil || first.Exception != tt.want || took > tt.after {
					t.Fatalf("after %v the file ends as %+v, want %q within %v", took, first, tt.want, tt.after)
				}
				want := schemas.Fetched
				if tt.want != "" {
					want = schemas.NotTried
				}
				if second.Result != want || second.Last == first.Last || !b.server.isClosed() { // of two that came, the one stored last is
					t.Errorf("the file behind it ends as %+v, want %s", second, want)
				}
			})
		})
	}
}

// A line that several transfers share is not slow for being shared.
func TestTheLeastRateIsOfTheConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		b.server.width = 4
		names := []string{"1.zip", "2.zip", "3.zip", "4.zip"}
		for _, name := range names {
			b.dripping(name, 300, time.Second, 60_000)
		}
		if err := b.work(t.Context(), b.job(names...)); err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			if d := b.finished()[name]; d.Result != schemas.Fetched {
				t.Errorf("%s ends as %+v", name, d)
			}
		}
	})
}

// Every job ends within its bound, whatever the server does at whatever step.
func TestEveryJobEnds(t *testing.T) {
	never := func(ctx context.Context) error {
		<-ctx.Done()
		return errors.New("the connection was closed")
	}
	for name, tt := range map[string]struct {
		prepare func(b *bench)
		want    string
	}{
		"it never answers a connection": {func(b *bench) {
			b.deps.Dial = func(ctx context.Context, _ remote.Config) (remote.Session, error) {
				<-ctx.Done()
				return nil, ctx.Err()
			}
		}, "timed_out"},
		"it never begins to send":     {func(b *bench) { b.server.files["add/1.zip"].wait = never }, "timed_out"},
		"it never describes the file": {func(b *bench) { b.server.files["add/1.zip"].waitStat = never }, "timed_out"},
		"it never begins the checksum": {func(b *bench) {
			b.put("1.zip.md5", "").wait = never
		}, "timed_out"},
		"the checksum never ends": {func(b *bench) { b.dripping("1.zip.md5", 1, time.Second, 1<<20) }, "timed_out"},
		"the least rate, for ever": {func(b *bench) {
			b.dripping("1.zip", 2048, time.Second, 60<<30)
		}, tooSlow},
		"the least rate, for ever, of a size not told": {func(b *bench) {
			f := b.dripping("1.zip", 2048, time.Second, 1<<40)
			f.size = -1
		}, tooSlow},
		"more than was listed, for ever": {func(b *bench) {
			f := b.dripping("1.zip", 2048, time.Second, 1<<40)
			f.size = 10_000
		}, "file_changed"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t)
				b.put("1.zip", "content")
				b.put("2.zip", "content")
				tt.prepare(b)
				c, begun := b.cfg, time.Now()
				if err := b.work(t.Context(), b.job("1.zip", "2.zip")); err != nil {
					t.Fatal(err)
				}
				bound := 2*c.ConnectTimeout.D() + c.IdleTimeout.D() + c.JobBudget.D() + c.FileBudget.D()
				if took := time.Since(begun); took > bound {
					t.Errorf("the job took %v, more than %v", took, bound)
				}
				if d := b.finished()["1.zip"]; d == nil || d.Result != schemas.FailedEnd || d.Exception != tt.want {
					t.Errorf("it ends as %+v, want %s", d, tt.want)
				}
			})
		})
	}
}

// When the time of a connection is over no further file is begun: what is left
// costs no attempt, however slowly the small files came.
func TestTheBudgetOfAJob(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		var names []string
		for i := range 100 {
			names = append(names, string(rune('a'+i/26))+string(rune('a'+i%26))+".zip")
			b.dripping(names[i], 10, time.Second, 250) // within the grace
		}
		begun := time.Now()
		if err := b.work(t.Context(), b.job(names...)); err != nil {
			t.Fatal(err)
		}
		budget := b.cfg.JobBudget.D()
		if took := time.Since(begun); took < budget || took > budget+b.cfg.RateGrace.D() {
			t.Errorf("the job took %v with a budget of %v", took, budget)
		}
		n := 0
		for _, d := range b.finished() {
			switch {
			case d.Result == schemas.Fetched:
				n++
			case d.Result != schemas.NotTried || !strings.Contains(d.Message, "download.job_budget"):
				t.Errorf("%s ends as %+v", d.FileName, d)
			}
		}
		if n < 20 || n == len(names) {
			t.Errorf("%d files were fetched", n)
		}
	})
}

// A job that takes long is detached, as soon as that is allowed; a process that
// stops then has it given back, which costs no attempt.
func TestALongJobIsDetachedAndGivenBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		b.dripping("1.zip", 2048, time.Second, 60<<30)
		b.put("2.zip", "content")
		begun, stopping, asked := time.Now(), make(chan struct{}), []time.Duration{}
		b.detach = func() (<-chan struct{}, bool) {
			asked = append(asked, time.Since(begun))
			if len(asked) == 3 {
				time.AfterFunc(time.Hour, func() { close(stopping) })
			}
			return stopping, len(asked) == 3
		}
		if err := b.work(t.Context(), b.job("1.zip", "2.zip")); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]time.Duration{20 * time.Second, 21 * time.Second, 22 * time.Second}, asked); diff != "" {
			t.Errorf("asked to be detached at:\n%s", diff)
		}
		if took := time.Since(begun); took != time.Hour+22*time.Second {
			t.Errorf("it is given back after %v", took)
		}
		for name, why := range map[string]string{"1.zip": "stopped", "2.zip": "download.job_budget"} {
			if d := b.finished()[name]; d == nil || d.Result != schemas.NotTried || d.Exception != schemas.NotTried || !strings.Contains(d.Message, why) {
				t.Errorf("%s ends as %+v", name, d)
			}
		}
		if !b.server.isClosed() {
			t.Error("the session stays open")
		}
	})
}

// A job during which members died stays in its partition, where deaths are
// counted; and so does one of which nobody can say.
func TestAJobThatKillsIsNotDetached(t *testing.T) {
	for name, tt := range map[string]struct {
		deaths func(context.Context, string) (int, error)
		want   bool
	}{
		"none": {func(context.Context, string) (int, error) { return 0, nil }, true},
		"one":  {func(context.Context, string) (int, error) { return 1, nil }, true},
		"two":  {func(context.Context, string) (int, error) { return 2, nil }, false},
		"no answer": {func(context.Context, string) (int, error) {
			return 0, errors.New("the database is away")
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t)
				b.dripping("1.zip", 2048, time.Second, 200<<10)
				b.deps.Deaths = tt.deaths
				detached := false
				b.detach = func() (<-chan struct{}, bool) { detached = true; return nil, true }
				if err := b.work(t.Context(), b.job("1.zip")); err != nil || b.finished()["1.zip"].Result != schemas.Fetched {
					t.Fatalf("%v, %+v", err, b.finished())
				}
				if detached != tt.want {
					t.Errorf("detached: %v", detached)
				}
			})
		})
	}
}

// A repeat waits for the member that has the job's session for as long as that
// could be dead; then it is dropped, so that it does not hold up its partition.
func TestARepeatOfWhatAnotherMemberDoesIsDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		b.put("a.zip", "content")
		b.deps.Lease = 10 * time.Second
		elsewhere := errors.New("another member has it")
		b.deps.Hold = func(ctx context.Context, _, _ string) (context.Context, func(), error) { return ctx, nil, elsewhere }
		begun := time.Now()
		var err error
		for err = elsewhere; err != nil; time.Sleep(time.Second) {
			if err = b.work(t.Context(), b.job("a.zip")); err != nil && !errors.Is(err, elsewhere) {
				t.Fatal(err)
			}
		}
		if took := time.Since(begun); took < 20*time.Second || took > 23*time.Second || b.dials > 0 {
			t.Errorf("it is dropped after %v, and %d sessions", took, b.dials)
		}
	})
}

// What a server claims keeps no room from others, and takes no attempt from
// theirs: only what has come counts.
func TestAClaimKeepsNoRoomFromOthers(t *testing.T) {
	const gib = 1 << 30
	synctest.Test(t, func(t *testing.T) {
		var d disk
		d.free.Store(20 * gib)
		space := d.space(gib)
		space.ServerShare = 0.5
		ctx, stop := context.WithCancel(t.Context())
		var dripping atomic.Int32
		ended := make(chan struct{})
		for range 4 {
			liar := newBench(t)
			liar.deps.Space = space
			f := liar.dripping("liar.zip", 2048, time.Second, 9*gib)
			f.opened = func() { dripping.Add(1) }
			go func() {
				_ = liar.work(ctx, liar.job("liar.zip"))
				ended <- struct{}{}
			}()
		}
		time.Sleep(time.Minute)
		b := newBench(t)
		b.deps.Space = space
		b.put("good.zip", "content").size = 8 * gib // what it says is believed as far as it can be
		m := b.job("good.zip")
		b.server.files["add/good.zip"].size = 0
		m.Body.(*schemas.DownloadRequested).Server = "good:22"
		if err := b.work(t.Context(), m); err != nil || b.finished()["good.zip"].Result != schemas.Fetched {
			t.Errorf("beside %d transfers that claim 9 GiB each: %v, %+v", dripping.Load(), err, b.finished()["good.zip"])
		}
		stop()
		for range 4 {
			<-ended
		}
	})
}

// Two files that do not fit together: the younger is given up without an attempt,
// and the older is finished.
func TestOfTwoThatDoNotFitOneIsFinished(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const size = 6 * mib
		var d disk
		d.free.Store(20 * mib)
		space := d.space(10 * mib)
		var benches []*bench
		done := make(chan struct{}, 2)
		for i := range 2 {
			b := newBench(t)
			b.deps.Space, b.deps.Blobs = space, weighed{b.deps.Blobs, &d}
			b.dripping("a.zip", 64<<10, time.Second, size)
			benches = append(benches, b)
			go func() {
				time.Sleep(time.Duration(i) * 1500 * time.Millisecond)
				if err := b.work(t.Context(), b.job("a.zip")); err != nil {
					t.Error(err)
				}
				done <- struct{}{}
			}()
		}
		<-done
		<-done
		older, younger := benches[0].finished()["a.zip"], benches[1].finished()["a.zip"]
		if older.Result != schemas.Fetched {
			t.Errorf("the older ends as %+v", older)
		}
		if younger.Result != schemas.NotTried || younger.Exception != schemas.NoRoom {
			t.Errorf("the younger ends as %+v", younger)
		}
	})
}

// A file that has no room alone says so, and is tried as any other that fails.
func TestAFileThatIsTooLargeByItselfSaysSo(t *testing.T) {
	for server, want := range map[string]string{"more than there is": "by itself", "more than a server's share": "blobs.server_share"} {
		b := newBench(t)
		var d disk
		d.free.Store(20_000)
		b.deps.Space = d.space(10_000)
		b.deps.Space.ServerShare = 0.5
		b.put("a.zip", "").size = 11_000
		if want == "blobs.server_share" {
			b.server.files["add/a.zip"].size = 6_000
		}
		if err := b.work(t.Context(), b.job("a.zip")); err != nil {
			t.Fatal(err)
		}
		if d := b.finished()["a.zip"]; d.Result != schemas.FailedEnd || d.Exception != schemas.NoRoom || !strings.Contains(d.Message, want) {
			t.Errorf("%s: %+v", server, d)
		}
	}
}

// weighed is a store that takes its bytes from a disk.
type weighed struct {
	blob.Store
	d *disk
}

func (s weighed) Create(ctx context.Context) (blob.Writer, error) {
	w, err := s.Store.Create(ctx)
	return &weighedWriter{Writer: w, d: s.d}, err
}

type weighedWriter struct {
	blob.Writer
	d    *disk
	n    int64
	kept bool
}

func (w *weighedWriter) Write(b []byte) (int, error) {
	w.n += int64(len(b))
	w.d.free.Add(-int64(len(b)))
	return w.Writer.Write(b)
}

func (w *weighedWriter) Commit() (blob.Ref, error) {
	w.kept = true
	return w.Writer.Commit()
}

func (w *weighedWriter) Abort() error {
	if !w.kept {
		w.d.free.Add(w.n)
		w.n = 0
	}
	return w.Writer.Abort()
}

// The defaults leave room for the slow lines of partners: what they bound is
// written in docs/explanation/guarantees.md.
func TestDefaultBounds(t *testing.T) {
	c := config.Default().Download
	got := []int64{int64(c.MinRate), int64(c.RateGrace), int64(c.FileBudget), int64(c.JobBudget), int64(c.DetachAfter), int64(c.MaxDetached)}
	if slices.ContainsFunc(got, func(n int64) bool { return n <= 0 }) {
		t.Errorf("a bound is off by default: %v", got)
	}
}

// late is a context that has ended, of which those made of it have not heard yet.
type late struct{ context.Context }

func (late) Done() <-chan struct{} { return make(chan struct{}) }

// refusing is a store whose context has ended.
type refusing struct {
	fullWriter
	ctx context.Context
}

func (r refusing) Write([]byte) (int, error) { return 0, r.ctx.Err() }

// A context tells those made of it that it has ended a moment later, and whoever
// writes to the store in that moment is told by the store. That is no fault of the
// store's: the file's time is over.
func TestAFileThatIsOverIsNoFaultOfTheStore(t *testing.T) {
	b := newBench(t)
	b.put("1.zip", "content")
	over, end := context.WithCancelCause(t.Context())
	end(errFileOver)
	r := &run{d: b.Downloader, job: &schemas.DownloadRequested{}, in: stage.Input{Progress: func() {}}, session: b.server}
	room, err := b.deps.Space.Reserve("host:22", 7)
	if err != nil {
		t.Fatal(err)
	}
	defer room.Release()
	rerr, err := r.transfer(late{over}, schemas.RequestFile{Path: "add/1.zip"}, 7, &begun{Writer: refusing{ctx: over}}, room)
	if err != nil || !errors.Is(rerr, errTooSlow) {
		t.Errorf("the transfer ends with %v, and the store's fault is %v", rerr, err)
	}
}
