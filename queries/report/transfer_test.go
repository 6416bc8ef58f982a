package report_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tributary/queries/report"
	"tributary/queries/report/reporttest"
	"tributary/schemas"
)

// The status has the downloads that take long: how far each is, at what rate, and
// when that was told; the story of a file has its bytes so far.
func TestTransfers(t *testing.T) {
	scope := schemas.Scope{Run: schemas.LiveRun, Centre: "H", Source: "harwell"}
	of := func(name string, size int64, change func(*schemas.StatusChanged)) schemas.StatusChanged {
		ref := schemas.FileRef{File: schemas.FileID("add", name), FileName: name, Action: "add"}
		e := schemas.StatusChanged{Scope: scope, FileRef: ref, Entity: schemas.EntityDownload, Attempt: 2, Phase: "download", Status: "running", FileSize: size}
		change(&e)
		return e
	}
	at := func(second int) *time.Time {
		t := reporttest.Start().Add(time.Duration(second) * time.Second)
		return &t
	}
	begun := func(second int) func(*schemas.StatusChanged) {
		return func(e *schemas.StatusChanged) { e.StartedAt = at(second) }
	}
	progress := func(received, rate int64) func(*schemas.StatusChanged) {
		return func(e *schemas.StatusChanged) {
			e.Attributes = schemas.Progress{Received: received, Rate: rate}.Attributes()
		}
	}
	const second, third = "H.2012-10-04.01.impc.zip", "H.2012-10-05.01.impc.zip"
	pool := reporttest.Told(t, []schemas.StatusChanged{
		of(reporttest.GoodZip, 1_200_000_000, begun(0)), of(second, -1, begun(1)), of(third, 10, begun(2)), of(reporttest.BrokenZip, 10, begun(3)),
		of(second, -1, progress(999, 12)), of(reporttest.GoodZip, 1_200_000_000, progress(312_400_000, 8_000_000)),
		of(reporttest.BrokenZip, 10, progress(5, 1)), of(reporttest.BrokenZip, 10, func(e *schemas.StatusChanged) { e.Status, e.Exception, e.Outcome = "failed", "too_slow", "too_slow" }),
	})
	s, err := report.Stand(t.Context(), pool, reporttest.Start().Add(time.Minute), 10)
	if err != nil {
		t.Fatal(err)
	}
	harwell, h, size := "harwell", "H", int64(1_200_000_000)
	want := []report.Transfer{
		{File: reporttest.GoodZip, Action: "add", Centre: &h, Source: &harwell, Attempt: 2, Size: &size, Received: 312_400_000, Rate: 8_000_000, Started: at(0), Told: *at(5)},
		{File: second, Action: "add", Centre: &h, Source: &harwell, Attempt: 2, Received: 999, Rate: 12, Started: at(1), Told: *at(4)},
	}
	if d := cmp.Diff(want, s.Transfers); d != "" {
		t.Errorf("of all (-want +got):\n%s", d)
	}
	one, err := report.Transfers(t.Context(), pool, schemas.FileID("add", second), 10)
	if d := cmp.Diff(want[1:], one); err != nil || d != "" {
		t.Errorf("of one file: %v\n%s", err, d)
	}
	if few, err := report.Transfers(t.Context(), pool, "", 1); err != nil || len(few) != 1 {
		t.Errorf("of those begun first: %+v, %v", few, err)
	}
	now := reporttest.Start().Add(75 * time.Second)
	for i, text := range []string{"312 MB of 1.2 GB, 8.0 MB/s, told 1m10s ago", "999 bytes, 12 bytes/s, told 1m11s ago"} {
		if got := want[i].Progress(now); got != text {
			t.Errorf("%q, want %q", got, text)
		}
	}
	var b strings.Builder
	if err := s.WriteText(&b, now); err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{"downloads under way that take long", "add/" + reporttest.GoodZip + "  harwell  312 MB of 1.2 GB  8.0 MB/s    1m15s  1m10s ago", "add/" + second + "  harwell  999 bytes         12 bytes/s  1m14s  1m11s ago"} {
		if !strings.Contains(b.String(), line) {
			t.Errorf("no %q in\n%s", line, b.String())
		}
	}
	if strings.Count(b.String(), third) != 1 || strings.Count(b.String(), reporttest.BrokenZip) > 1 {
		t.Errorf("one that told nothing, or has ended, is among them:\n%s", b.String())
	}
	stories, err := report.Show(t.Context(), pool, reporttest.GoodZip, "")
	if err != nil || len(stories) != 1 || len(stories[0].Tries) != 1 || stories[0].Tries[0].Bytes != 312_400_000 {
		t.Errorf("its story is %+v, %v", stories, err)
	}
}

// Sizes are written as people say them.
func TestSizesOfTransfers(t *testing.T) {
	for n, want := range map[int64]string{0: "0 bytes", 999: "999 bytes", 1000: "1.0 kB", 9949: "9.9 kB", 9950: "10 kB", 999_499: "999 kB", 999_500: "1.0 MB", 312_000_000: "312 MB",
		1_249_000_000: "1.2 GB", 64 << 30: "69 GB", 5_000_000_000_000: "5.0 TB", 1 << 62: "4611686 TB"} {
		if got, _, _ := strings.Cut(report.Transfer{Received: n}.Progress(time.Now()), ","); got != want {
			t.Errorf("%d: %q, want %q", n, got, want)
		}
	}
}
