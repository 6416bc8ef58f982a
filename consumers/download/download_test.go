package download

import (
	"context"
	"crypto/md5"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kgo"

	"tributary/internal/blob"
	"tributary/internal/blob/blobtest"
	"tributary/internal/config"
	"tributary/internal/remote"
	"tributary/internal/stage"
	"tributary/schemas"
)

func sha(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:])
}

func md(s string) string {
	sum := md5.Sum([]byte(s))
	return hex.EncodeToString(sum[:])
}

func TestAFileIsFetched(t *testing.T) {
	b := newBench(t)
	b.put("a.zip", "content")
	if err := b.work(t.Context(), b.job("a.zip")); err != nil {
		t.Fatal(err)
	}
	d := b.finished()["a.zip"]
	want := &schemas.DownloadFinished{Scope: schemas.Scope{Run: schemas.LiveRun, Session: "session-1", Centre: "H", Source: "src"},
		FileRef: schemas.FileRef{File: schemas.FileID("add", "a.zip"), FileName: "a.zip", Action: "add"}, Job: "job-1", Server: "host:22", Attempt: 1, Look: 3,
		Result: schemas.Fetched, Outcome: sha("content"), Phase: "zip_md5", SHA256: sha("content"), MD5: md("content"), Size: 7, Checksum: "no_checksum", Last: true,
		RequestedAt: &noon, StartedAt: &noon, FinishedAt: &noon}
	if diff := cmp.Diff(want, d); diff != "" {
		t.Errorf("outcome differs (- want, + got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"download running  ", "zip_md5 done " + sha("content") + " no_checksum"}, b.statuses("a.zip")); diff != "" {
		t.Errorf("statuses differ:\n%s", diff)
	}
	got, err := blobtest.ReadAll(t.Context(), b.deps.Blobs, sha("content"), 100)
	if err != nil || string(got) != "content" {
		t.Errorf("the store has %q (%v)", got, err)
	}
	if b.progress == 0 {
		t.Error("the watchdog heard nothing")
	}
}

// How one file's fetch ends; the files beside it are not concerned.
func TestHowAFetchEnds(t *testing.T) {
	const c = "content"
	tests := []struct {
		name             string
		prepare          func(b *bench, f *item)
		listed           func(f *schemas.RequestFile) // changed after the listing
		phase, exception string                       // "" if it is fetched
		checksum         string
		content          string
	}{
		{name: "md5 matched", prepare: func(b *bench, f *item) { b.put("a.zip.md5", md(c)+"  a.zip\n") }, checksum: "matched"},
		{name: "md5 matched in capitals, after a label", prepare: func(b *bench, f *item) { b.put("a.zip.md5", "MD5 (a.zip) = "+strings.ToUpper(md(c))) }, checksum: "matched"},
		{name: "md5 of other bytes", prepare: func(b *bench, f *item) { b.put("a.zip.md5", md("other")) }, phase: "zip_md5", exception: "checksum_mismatch"},
		{name: "md5 unreadable", prepare: func(b *bench, f *item) { b.put("a.zip.md5", "see readme") }, phase: "zip_md5", exception: "checksum_unreadable"},
		{name: "md5 that is a sha256", prepare: func(b *bench, f *item) { b.put("a.zip.md5", sha(c)) }, phase: "zip_md5", exception: "checksum_unreadable"},
		{name: "md5 refused", prepare: func(b *bench, f *item) { b.put("a.zip.md5", "").open = fs.ErrPermission }, phase: "zip_md5", exception: "permission_denied"},
		{name: "md5 not looked for", prepare: func(b *bench, f *item) { b.put("a.zip.md5", md("other")); b.cfg.Checksums = false }, checksum: "no_checksum"},
		{name: "vanished", prepare: func(b *bench, f *item) { delete(b.server.files, "add/a.zip") }, phase: "download", exception: "file_gone"},
		{name: "vanished meanwhile", prepare: func(b *bench, f *item) { f.stat = fs.ErrNotExist }, phase: "download", exception: "file_gone"},
		{name: "refused", prepare: func(b *bench, f *item) { f.open = fs.ErrPermission }, phase: "download", exception: "permission_denied"},
		{name: "transfer fails", prepare: func(b *bench, f *item) { f.read = errors.New("odd") }, phase: "download", exception: "transfer_failed"},
		{name: "truncated without an error", prepare: func(b *bench, f *item) { f.size = 100 }, listed: func(f *schemas.RequestFile) { f.Size = 100 }, phase: "download", exception: "transfer_truncated"},
		{name: "more bytes than the server says", prepare: func(b *bench, f *item) { f.size = 3 }, listed: func(f *schemas.RequestFile) { f.Size = 3 }, phase: "download", exception: "file_changed"},
		{name: "changed since the listing, whole now", listed: func(f *schemas.RequestFile) { f.Size = 5 }, checksum: "no_checksum"},
		{name: "touched since the listing", listed: func(f *schemas.RequestFile) { at := f.ModTime.Add(-90 * time.Second); f.ModTime = &at }, checksum: "no_checksum"},
		{name: "it changes all the time", prepare: func(b *bench, f *item) {
			f.opened = func() {
				b.server.mu.Lock()
				defer b.server.mu.Unlock()
				f.mtime = f.mtime.Add(time.Hour)
				f.bytes = append(f.bytes, '!')
			}
		}, phase: "download", exception: "file_changed"},
		{name: "changed once between listing and fetch", prepare: func(b *bench, f *item) {
			n := 0
			f.opened = func() {
				b.server.mu.Lock()
				defer b.server.mu.Unlock()
				if n++; n == 1 {
					f.bytes, f.mtime = []byte("new content"), noon
				}
			}
		}, checksum: "no_checksum", content: "new content"},
		{name: "listed larger than is allowed", listed: func(f *schemas.RequestFile) { f.Size = 101 }, prepare: func(b *bench, f *item) { b.cfg.MaxFileSize = 100 }, phase: "download", exception: "file_too_large"},
		{name: "it has grown larger than is allowed", prepare: func(b *bench, f *item) { f.bytes = make([]byte, 101); b.cfg.MaxFileSize = 100 }, listed: func(f *schemas.RequestFile) { f.Size = 7 }, phase: "download", exception: "file_too_large"},
		{name: "its bytes never end", prepare: func(b *bench, f *item) { f.endless = true }, phase: "download", exception: "file_changed"},
		{name: "its bytes never end, of a size not told", prepare: func(b *bench, f *item) { f.endless, f.size, b.cfg.MaxFileSize = true, -1, 1<<20 },
			listed: func(f *schemas.RequestFile) { f.Size = -1 }, phase: "download", exception: "file_too_large"},
		{name: "a size that the server does not tell", prepare: func(b *bench, f *item) { f.size = -1 }, checksum: "no_checksum"},
		{name: "a time that the server does not tell", prepare: func(b *bench, f *item) { f.mtime = time.Time{} }, checksum: "no_checksum"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(t)
			f := b.put("a.zip", c)
			b.put("b.zip", "beside it")
			m := b.job("a.zip", "b.zip")
			if tt.prepare != nil {
				tt.prepare(b, f)
			}
			if tt.listed != nil {
				tt.listed(&m.Body.(*schemas.DownloadRequested).Files[0])
			}
			if err := b.work(t.Context(), m); err != nil {
				t.Fatal(err)
			}
			d := b.finished()["a.zip"]
			if d == nil {
				t.Fatal("no outcome")
			}
			content := tt.content
			if content == "" {
				content = c
			}
			if tt.exception == "" {
				if d.Result != schemas.Fetched || d.SHA256 != sha(content) || d.Outcome != d.SHA256 || d.Checksum != tt.checksum {
					t.Errorf("outcome is %+v", d)
				}
			} else {
				if d.Result != schemas.FailedEnd || d.Phase != tt.phase || d.Exception != tt.exception || d.Outcome != tt.exception || d.Message == "" || d.SHA256 != "" {
					t.Errorf("outcome is %+v", d)
				}
				last := b.statuses("a.zip")
				if got := last[len(last)-1]; got != tt.phase+" failed "+tt.exception+" " {
					t.Errorf("status is %q", got)
				}
			}
			if b := b.finished()["b.zip"]; b == nil || b.Result != schemas.Fetched {
				t.Errorf("the file beside it: %+v", b)
			}
		})
	}
}

// An attempt that failed says how many bytes had come by then.
func TestWhatArrivedIsTold(t *testing.T) {
	for name, tc := range map[string]struct {
		prepare func(b *bench, f *item)
		size    int64 // as listed
		want    int64
	}{
		"truncated":          {func(b *bench, f *item) { f.size = 100 }, 100, 7},
		"other bytes":        {func(b *bench, f *item) { b.put("a.zip.md5", md("other")) }, 7, 7},
		"changed":            {func(b *bench, f *item) { f.stat = fs.ErrNotExist }, 7, 7},
		"it never was there": {func(b *bench, f *item) { delete(b.server.files, "add/a.zip") }, 7, 0},
		"too large":          {func(b *bench, f *item) { b.cfg.MaxFileSize = 5 }, 7, 0},
		"whole":              {func(b *bench, f *item) {}, 7, 7},
	} {
		b := newBench(t)
		f := b.put("a.zip", "content")
		m := b.job("a.zip")
		tc.prepare(b, f)
		m.Body.(*schemas.DownloadRequested).Files[0].Size = tc.size
		if err := b.work(t.Context(), m); err != nil {
			t.Fatal(err)
		}
		var got []int64
		for _, out := range b.out {
			if e, ok := out.Body.(*schemas.StatusChanged); ok && e.Status != string(schemas.Running) {
				got = append(got, e.Bytes)
			}
		}
		if !slices.Equal(got, []int64{tc.want}) {
			t.Errorf("%s: %d bytes are told, want %d", name, got, tc.want)
		}
	}
}

// The outcome that returns the credit is produced when the session is closed,
// and only the last is.
func TestTheSessionIsClosedBeforeTheLastOutcome(t *testing.T) {
	for _, width := range []int{1, 3} {
		b := newBench(t)
		b.server.width = width
		var names []string
		for i := range 7 {
			names = append(names, fmt.Sprint(i, ".zip"))
			b.put(names[i], fmt.Sprint("content ", i))
		}
		outcomes := 0
		b.onEmit = func(m schemas.Message) {
			d, ok := m.Body.(*schemas.DownloadFinished)
			if !ok {
				return
			}
			outcomes++
			if d.Last != (outcomes == len(names)) {
				t.Errorf("outcome %d of %d says last: %v", outcomes, len(names), d.Last)
			}
			if b.server.isClosed() != d.Last {
				t.Errorf("at outcome %d of %d the session is closed: %v", outcomes, len(names), b.server.isClosed())
			}
		}
		if err := b.work(t.Context(), b.job(names...)); err != nil {
			t.Fatal(err)
		}
		if len(b.finished()) != len(names) || b.dials != 1 {
			t.Errorf("%d outcomes over %d sessions", len(b.finished()), b.dials)
		}
	}
}

// When the session is lost, the file under way fails and the files not begun
// end not tried.
func TestALostSession(t *testing.T) {
	b := newBench(t)
	for _, name := range []string{"1.zip", "2.zip", "3.zip", "4.zip"} {
		b.put(name, "content of "+name)
	}
	b.server.files["add/2.zip"].read = syscall.ECONNRESET
	if err := b.work(t.Context(), b.job("1.zip", "2.zip", "3.zip", "4.zip")); err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for name, d := range b.finished() {
		got[name] = d.Result + " " + d.Exception
	}
	want := map[string]string{"1.zip": "fetched ", "2.zip": "failed connection_lost", "3.zip": "not_tried not_tried", "4.zip": "not_tried not_tried"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("outcomes differ:\n%s", diff)
	}
	if b.server.opens["add/3.zip"]+b.server.opens["add/4.zip"] != 0 {
		t.Error("a file that was not tried was opened")
	}
	if len(b.statuses("3.zip")) != 0 {
		t.Errorf("a file that was not tried tells %v", b.statuses("3.zip"))
	}
	if !b.finished()["4.zip"].Last || !b.server.isClosed() {
		t.Error("the session is not closed at the last outcome")
	}
}

// A job says how its source is reached, whatever this member's configuration says;
// one of a program before jobs did is done as the configuration says.
func TestAJobCarriesItsSource(t *testing.T) {
	for definition, want := range map[string]string{`{"id": "src", "url": "sftp://u@there/"}`: "sftp://u@there/", "": "sftp://u@here/"} {
		b := newBench(t)
		b.put("a.zip", "x")
		b.deps.Sources = map[string]config.Source{"src": {ID: "src", URL: "sftp://u@here/"}}
		b.deps.Limits = config.Limits{Reply: 7}
		b.definition = definition
		dial, got := b.deps.Dial, remote.Config{}
		b.deps.Dial = func(ctx context.Context, c remote.Config) (remote.Session, error) {
			got = c
			return dial(ctx, c)
		}
		if err := b.work(t.Context(), b.job("a.zip")); err != nil {
			t.Fatal(err)
		}
		if d := b.finished()["a.zip"]; d == nil || d.Result != schemas.Fetched || got.URL != want || got.Limits.Reply != 7 {
			t.Errorf("%q: it ended as %+v, from %s with %+v", definition, d, got.URL, got.Limits)
		}
	}
}

func TestNoSessionAtAll(t *testing.T) {
	for _, tt := range []struct {
		name, exception string
		prepare         func(b *bench)
	}{
		{"refused", "connection_lost", func(b *bench) { b.dial = syscall.ECONNREFUSED }},
		{"a definition that only a newer program knows", "misconfigured", func(b *bench) { b.definition = `{"id": "src", "window": "night"}` }},
		{"an older program's job of an unknown source", "misconfigured", func(b *bench) { b.definition = "" }},
		{"a secret that is not there", "misconfigured", func(b *bench) {
			b.definition = `{"id": "src", "url": "ftp://reader@host/", "password": "env:TRIBUTARY_TEST_NO_SUCH_SECRET"}`
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(t)
			b.put("a.zip", "x")
			b.put("b.zip", "y")
			tt.prepare(b)
			if err := b.work(t.Context(), b.job("a.zip", "b.zip")); err != nil {
				t.Fatal(err)
			}
			for _, name := range []string{"a.zip", "b.zip"} {
				if d := b.finished()[name]; d == nil || d.Result != schemas.FailedEnd || d.Exception != tt.exception || d.Last != (name == "b.zip") {
					t.Errorf("%s: %+v", name, d)
				}
			}
		})
	}
}

// A store without room is our trouble, not the file's: the job is tried again.
func TestAFullDiskIsNoOutcome(t *testing.T) {
	b := newBench(t)
	b.put("a.zip", "content")
	store := b.deps.Blobs
	b.deps.Blobs = full{store}
	if err := b.work(t.Context(), b.job("a.zip")); !errors.Is(err, blob.ErrFull) {
		t.Fatalf("error is %v", err)
	}
	if len(b.finished()) != 0 {
		t.Errorf("outcomes: %v", b.finished())
	}
	if !b.server.isClosed() {
		t.Error("the session stays open")
	}
	b.deps.Blobs, b.server = store, &server{files: b.server.files, opens: map[string]int{}}
	if err := b.work(t.Context(), b.job("a.zip")); err != nil || b.finished()["a.zip"].Result != schemas.Fetched {
		t.Errorf("with room again: %v, %+v", err, b.finished()["a.zip"])
	}
}

func TestAJobThatIsNotOutstandingIsDropped(t *testing.T) {
	for _, outstanding := range []bool{true, false} {
		t.Run(fmt.Sprintf("outstanding: %v", outstanding), func(t *testing.T) {
			b := newBench(t)
			b.put("a.zip", "content")
			var steps []string
			b.deps.Hold = func(ctx context.Context, job, server string) (context.Context, func(), error) {
				steps = append(steps, "hold "+job+" "+server)
				return ctx, func() { steps = append(steps, fmt.Sprintf("end, closed: %v", b.server.isClosed())) }, nil
			}
			b.deps.Outstanding = func(context.Context, string) (bool, error) {
				steps = append(steps, "ask")
				return outstanding, nil
			}
			if err := b.work(t.Context(), b.job("a.zip")); err != nil {
				t.Fatal(err)
			}
			want := []string{"hold job-1 host:22", "ask", fmt.Sprintf("end, closed: %v", outstanding)}
			if diff := cmp.Diff(want, steps); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// A job of a source that is left alone by now is given back without a connection; if
// control does not say how the source stands, the job goes on.
func TestAJobOfASourceThatRestsIsGivenBack(t *testing.T) {
	for name, tt := range map[string]struct {
		state string
		err   error
		want  string
		dials int
	}{
		"available":         {"", nil, schemas.Fetched, 1},
		"maintenance":       {"maintenance", nil, schemas.NotTried, 0},
		"control is silent": {"", errors.New("no answer"), schemas.Fetched, 1},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.put("a.zip", "content")
			b.deps.Rests = func(context.Context, string) (string, error) { return tt.state, tt.err }
			if err := b.work(t.Context(), b.job("a.zip")); err != nil {
				t.Fatal(err)
			}
			got := b.finished()["a.zip"]
			if got == nil || got.Result != tt.want || !got.Last || b.dials != tt.dials {
				t.Errorf("after %d connections it ends as %+v", b.dials, got)
			}
		})
	}
}

// A job has one session at a time: while another member has it this one waits,
// and one whose session was taken over stops.
func TestAJobHasOneSessionAtATime(t *testing.T) {
	elsewhere := errors.New("another member has it")
	b := newBench(t)
	b.put("a.zip", "content")
	b.deps.Hold = func(ctx context.Context, _, _ string) (context.Context, func(), error) { return ctx, nil, elsewhere }
	if err := b.work(t.Context(), b.job("a.zip")); !errors.Is(err, elsewhere) || b.dials > 0 {
		t.Errorf("the job ends with %v after %d sessions, while another member has it", err, b.dials)
	}
	b.deps.Hold = func(ctx context.Context, _, _ string) (context.Context, func(), error) {
		held, lose := context.WithCancelCause(ctx)
		lose(elsewhere)
		return held, func() {}, nil
	}
	b.deps.Outstanding = func(context.Context, string) (bool, error) { return true, nil }
	if err := b.work(t.Context(), b.job("a.zip")); !errors.Is(err, elsewhere) {
		t.Errorf("the job whose session was taken over ends with %v", err)
	}
	if told := b.finished(); len(told) > 0 {
		t.Errorf("it tells %v", told)
	}
}

// A job that takes longer than control waits is requested again meanwhile: the
// repeat behind it is dropped; one that was requested after its end is not.
func TestARepeatFromBeforeTheEndIsDropped(t *testing.T) {
	for _, tt := range []struct {
		name      string
		partition int32
		offset    int64
		at        time.Time
		dials     int
	}{
		{"requested before the end", 1, 8, noon.Add(-time.Minute), 1},
		{"requested after the end", 1, 8, noon.Add(time.Minute), 2},
		{"the same record again", 1, 7, noon.Add(-time.Minute), 2},
		{"another partition's", 2, 8, noon.Add(-time.Minute), 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(t)
			b.put("a.zip", "content")
			m := b.job("a.zip")
			for _, rec := range []*kgo.Record{{Partition: 1, Offset: 7, Timestamp: noon.Add(-time.Hour)}, {Partition: tt.partition, Offset: tt.offset, Timestamp: tt.at}} {
				b.server.closed = 0
				in := stage.Input{Message: m, Record: rec, Progress: func() {}, Emit: swallow, EmitAcknowledged: swallow}
				if err := b.Work(t.Context(), in); err != nil {
					t.Fatal(err)
				}
			}
			if b.dials != tt.dials {
				t.Errorf("%d sessions, not %d", b.dials, tt.dials)
			}
		})
	}
}

func swallow(context.Context, ...schemas.Message) error { return nil }

// A job that control knows to be over is not worked on again: what the log has
// not been told by then, nobody would tell it after a crash.
func TestTheLogIsToldBeforeControl(t *testing.T) {
	b := newBench(t)
	b.put("a.zip", "content")
	refused := errors.New("the log cannot be reached")
	b.acknowledge = func([]schemas.Message) error { return refused }
	if err := b.work(t.Context(), b.job("a.zip")); !errors.Is(err, refused) {
		t.Errorf("the job ends with %v, not: %v", err, refused)
	}
	if told := b.finished(); len(told) > 0 {
		t.Errorf("control is told of what the log does not know: %v", told)
	}
	var seen []string
	b.acknowledge = func(msgs []schemas.Message) error {
		if told := b.finished(); len(told) > 0 {
			t.Errorf("control is told before the log: %v", told)
		}
		for _, m := range msgs {
			seen = append(seen, m.Topic)
		}
		return nil
	}
	if err := b.work(t.Context(), b.job("a.zip")); err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(seen, schemas.StatusChangedTopic) || b.finished()["a.zip"] == nil {
		t.Errorf("the log is told of %v, control of %v", seen, b.finished())
	}
}

// The same outcome has the same ids, another outcome others.
func TestIdsFollowFromTheOutcome(t *testing.T) {
	run := func(content string, read error) map[string]bool {
		b := newBench(t)
		b.put("a.zip", content).read = read
		m := b.job("a.zip")
		if err := b.work(t.Context(), m); err != nil {
			t.Fatal(err)
		}
		if len(b.ids()) != 3 {
			t.Errorf("%d ids of 3 events", len(b.ids()))
		}
		return b.ids()
	}
	first := run("content", nil)
	if diff := cmp.Diff(first, run("content", nil)); diff != "" {
		t.Errorf("the same outcome has other ids:\n%s", diff)
	}
	for name, other := range map[string]map[string]bool{"other bytes": run("others", nil), "a failure": run("content", errors.New("odd"))} {
		same := 0
		for id := range other {
			if first[id] {
				same++
			}
		}
		if same != 1 { // that it began
			t.Errorf("%s: %d of 3 ids are the same", name, same)
		}
	}
}

func TestACancelledJobEndsWithoutOutcome(t *testing.T) {
	b := newBench(t)
	ctx, cancel := context.WithCancel(t.Context())
	b.put("a.zip", "content").opened = cancel
	b.server.files["add/a.zip"].read = context.Canceled
	b.put("b.zip", "content")
	if err := b.work(ctx, b.job("a.zip", "b.zip")); !errors.Is(err, context.Canceled) {
		t.Fatalf("error is %v", err)
	}
	if len(b.finished()) != 0 || !b.server.isClosed() {
		t.Errorf("outcomes %v, closed %v", b.finished(), b.server.isClosed())
	}
}

func TestAnEmitThatFailsEndsTheJob(t *testing.T) {
	b := newBench(t)
	b.server.width = 4
	var names []string
	for i := range 20 {
		names = append(names, fmt.Sprint(i, ".zip"))
		b.put(names[i], "content")
	}
	b.emit = errors.New("broker is away")
	if err := b.work(t.Context(), b.job(names...)); !errors.Is(err, b.emit) {
		t.Fatalf("error is %v", err)
	}
}

// A poison job of several files gives them back, each to be requested alone;
// one file is quarantined.
func TestFail(t *testing.T) {
	b := newBench(t)
	b.put("a.zip", "x")
	b.put("b.zip", "y")
	b.out = b.Fail(b.job("a.zip", "b.zip"), errors.New("panic: boom"))
	for _, name := range []string{"a.zip", "b.zip"} {
		if d := b.finished()[name]; d == nil || d.Result != schemas.NotTried || d.Exception != schemas.Quarantined || d.Message != "panic: boom" || d.Last != (name == "b.zip") || len(b.statuses(name)) != 0 {
			t.Errorf("%s: %+v", name, d)
		}
	}
	b.out = b.Fail(b.job("a.zip"), errors.New("panic: boom"))
	if d := b.finished()["a.zip"]; d == nil || d.Result != schemas.Quarantined || d.Phase != "download" || !d.Last || d.Outcome != schemas.Quarantined {
		t.Errorf("alone: %+v", d)
	}
	if diff := cmp.Diff([]string{"download failed quarantined "}, b.statuses("a.zip")); diff != "" {
		t.Errorf("statuses differ:\n%s", diff)
	}
}
