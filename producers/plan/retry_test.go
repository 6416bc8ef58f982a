//go:build !race

package plan_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"tributary/producers/plan"
	"tributary/recovery/byhand"
	"tributary/schemas"
)

func (b *bench) retry(dry bool) byhand.Outcome {
	b.t.Helper()
	o := b.orders()
	o.Dry = dry
	out, err := o.Retry(b.t.Context(), name)
	if err != nil {
		b.t.Fatal(err)
	}
	return out
}

// fail has the file requested, and the attempt failed.
func (b *bench) fail() {
	b.t.Helper()
	b.request()
	d := *b.done
	d.Result, d.Outcome, d.SHA256, d.Phase, d.Exception, d.Message = schemas.FailedEnd, "permission_denied", "", "download", "permission_denied", "no"
	b.Read(schemas.DownloadFinishedTopic, &d)
}

// What has failed, or waits for its next attempt, is tried again at once by an order,
// which is told with who and why; a dry run changes nothing.
func TestAFileIsTriedAgainAtOnce(t *testing.T) {
	for what, bring := range map[string]func(b *bench){
		"it failed": func(b *bench) { b.fail() },
		"it failed, and was tried again as often as is set": func(b *bench) {
			b.fail()
			b.Exec("UPDATE control.acquisition SET retry_at = NULL")
		},
		"it waits for its next attempt": func(b *bench) {
			b.Exec("UPDATE control.acquisition SET not_before = $1", b.Clock.Add(time.Hour))
		},
	} {
		t.Run(what, func(t *testing.T) {
			b := newBench(t)
			b.show()
			b.EndPolls()
			bring(b)
			b.Drain()
			if jobs := b.Requested(); len(jobs) > 0 {
				t.Fatal("it is tried again by itself already")
			}
			before := b.Text(acquisitionsSQL)
			if out := b.retry(true); !out.Done || b.Text(acquisitionsSQL) != before || len(b.Drain()) > 0 {
				t.Errorf("a dry run changes something, or is refused: %+v", out)
			}
			if out := b.retry(false); !out.Done || !strings.Contains(out.Detail, "as soon as its turn") {
				t.Fatalf("it is refused: %+v", out)
			}
			told := 0
			for _, m := range b.Drain() {
				if e, ok := m.Body.(*schemas.StatusChanged); ok && e.Note == plan.NoteRetried && e.Message == "tried again by ann@host: wrong mice" && e.Attributes["by"] == "ann@host" && e.Attributes["reason"] == "wrong mice" {
					told++
				}
			}
			if told != 1 {
				t.Errorf("it is told %d times", told)
			}
			if out := b.retry(false); out.Done || !strings.Contains(out.Detail, "tributary files priority add/a.zip 9") {
				t.Errorf("what waits for its turn is tried again: %+v", out)
			}
			if n := b.through(); n != 1 {
				t.Errorf("%d documents get positions; want 1", n)
			}
		})
	}
}

// What waits for no next attempt is refused with the way on; so is what is held, and
// what no source shows any more. Where no source is available, it is tried once one is.
func TestRetriesThatAreRefused(t *testing.T) {
	for what, c := range map[string]struct {
		bring func(b *bench)
		want  string
	}{
		"requested":       {func(b *bench) { b.request() }, "it is under way"},
		"received":        {func(b *bench) { b.fetch() }, "it is under way"},
		"complete":        {func(b *bench) { b.unzip(); b.judge() }, "tributary replay"},
		"held":            {func(b *bench) { b.must("hold") }, "tributary files release add/a.zip"},
		"cancelled":       {func(b *bench) { b.must("cancel") }, "tributary replay"},
		"shown no longer": {func(b *bench) { b.fail(); b.Exec("UPDATE control.hosting SET state = 'gone'") }, "no source shows it any more"},
	} {
		t.Run(what, func(t *testing.T) {
			b := newBench(t)
			b.show()
			b.EndPolls()
			c.bring(b)
			before := b.Text(acquisitionsSQL)
			if out := b.retry(false); out.Done || !strings.Contains(out.Detail, c.want) || b.Text(acquisitionsSQL) != before {
				t.Errorf("%+v; want it to be refused with %q", out, c.want)
			}
		})
	}
	b := newBench(t)
	b.show()
	b.EndPolls()
	b.fail()
	b.Exec("UPDATE control.source SET state = 'maintenance'")
	if out := b.retry(false); !out.Done || !strings.Contains(out.Detail, "once a source of it is available") {
		t.Errorf("in maintenance: %+v", out)
	}
}

// A file that fails since its source is not available, while that becomes available, is
// tried again within a turn, not after the pause; while it is not, or closed, it waits.
func TestARetryThatWasMissed(t *testing.T) {
	b := newBench(t)
	b.show()
	b.EndPolls()
	b.Exec("UPDATE control.source SET state = 'maintenance'")
	if jobs := b.Requested(); len(jobs) > 0 {
		t.Fatal("it is requested from a source in maintenance")
	}
	for _, state := range []struct {
		set  string
		jobs int
	}{{"state = 'maintenance'", 0}, {"state = 'available', opens = '2200-01-01', closes = '2200-01-02'", 0}, {"opens = NULL, closes = NULL", 1}} {
		b.Exec("UPDATE control.source SET " + state.set)
		for range 2 {
			if err := b.Turn(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if got := b.Text("SELECT count(*) FROM control.job"); got != fmt.Sprintf("(%d)", state.jobs) {
			t.Errorf("%s: %s jobs, want %d; acquisitions: %s", state.set, got, state.jobs, b.Text("SELECT state, exception, retry_at FROM control.acquisition ORDER BY id"))
		}
	}
}
