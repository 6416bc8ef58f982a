package pages_test

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"tributary/internal/pg"
	"tributary/queries/report"
	"tributary/queries/report/reporttest"
	"tributary/web/pages"
)

// counting counts questions.
type counting struct {
	pg.Querier
	asked atomic.Int64
}

func (c *counting) Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error) {
	c.asked.Add(1)
	return c.Querier.Query(ctx, sql, args...)
}

// However many readers hear of a change, the stores are asked once for all of them: as
// long as nothing changes again, the moment is the same, and it is of the same span.
func TestReadersShareWhatIsRead(t *testing.T) {
	var position, second, insertion atomic.Value
	position.Store("1")
	second.Store(time.Duration(0))
	insertion.Store("")
	var tracker *counting
	server := busy(t, func(s *pages.Site) {
		tracker = &counting{Querier: s.Tracker}
		s.Tracker = tracker
		s.Position = func(context.Context) string { return position.Load().(string) }
		s.Now = func() time.Time { return reporttest.Start().Add(time.Hour + second.Load().(time.Duration)) }
		s.Beside = func(_ context.Context, st *report.Status) error {
			st.Insertion = insertion.Load().(string)
			return nil
		}
	})
	asked := func(path, want string) int64 {
		t.Helper()
		before := tracker.asked.Load()
		var all sync.WaitGroup
		for range 20 {
			all.Go(func() {
				if status, body := get(t, server, path); status != http.StatusOK || !strings.Contains(body, want) {
					t.Errorf("%s: %d without %q", path, status, want)
				}
			})
		}
		all.Wait()
		return tracker.asked.Load() - before
	}
	once := asked("/", "Where everything stands")
	insertion.Store("position 7 is twice")
	if n := asked("/", "Where everything stands"); once < 4 || once >= 20 || n != 0 {
		t.Errorf("the stores were asked %d times for 20 readers, and %d times for as many after them", once, n)
	}
	position.Store("2")
	if n := asked("/", "position 7 is twice"); n != once {
		t.Errorf("after a change they were asked %d times, not %d", n, once)
	}
	second.Store(time.Minute)
	if n := asked("/", "11:01:00"); n != once {
		t.Errorf("a minute later they were asked %d times, not %d", n, once)
	}
	if n := asked("/?span=24h", "Where everything stands"); n != once {
		t.Errorf("of another span they were asked %d times, not %d", n, once)
	}
	position.Store("") // nobody knows it
	if n := asked("/", "Where everything stands"); n != 20*once {
		t.Errorf("where nobody knows whether anything changed they were asked %d times, not %d", n, 20*once)
	}
}

// Readers who ask while one reading goes on share the next one, though the tracker stands
// elsewhere whenever anybody looks; and if who reads leaves, what is read is there for them.
func TestReadersShareWhatIsReadWhileFilesComeIn(t *testing.T) {
	const readers = 20
	var stands, readings atomic.Int64
	begun, asked, goOn := make(chan struct{}), make(chan struct{}), make(chan struct{})
	server := busy(t, func(s *pages.Site) {
		s.Position = func(context.Context) string {
			n := stands.Add(1)
			if n == 2+readers { // the first one looks twice, the others once until they have a turn
				close(asked)
			}
			return strconv.FormatInt(n, 10)
		}
		s.Beside = func(ctx context.Context, _ *report.Status) error {
			if readings.Add(1) == 1 {
				close(begun)
				<-goOn
			}
			return ctx.Err()
		}
	})
	leaves, leave := context.WithCancel(t.Context())
	first, err := http.NewRequestWithContext(leaves, http.MethodGet, server.URL+"/t/", nil)
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	all.Go(func() {
		if answer, err := http.DefaultClient.Do(first); err == nil {
			answer.Body.Close()
			t.Error("who left has an answer")
		}
	})
	<-begun
	for range readers {
		all.Go(func() {
			if status, _ := get(t, server, "/"); status != http.StatusOK {
				t.Errorf("a reader has the answer %d", status)
			}
		})
	}
	leave()
	<-asked
	close(goOn)
	all.Wait()
	if n := readings.Load(); n > 4 { // one may ask so late that another reading goes on
		t.Errorf("it was read %d times for %d readers", n, readers)
	}
}

// Where a reading takes long, others see what it found for nine times as long, though the
// tracker has changed, and are told of what came since: their page hears of changes from
// where the tracker stood before it was read.
func TestReadingsLeaveTimeToOthers(t *testing.T) {
	const long = 100 * time.Millisecond
	var position atomic.Value
	var passed, readings atomic.Int64
	position.Store("1")
	server := busy(t, func(s *pages.Site) {
		s.Position = func(context.Context) string { return position.Load().(string) }
		s.Now = func() time.Time { return reporttest.Start().Add(time.Hour + time.Duration(passed.Load())) }
		s.Beside = func(context.Context, *report.Status) error {
			readings.Add(1)
			passed.Add(int64(long))
			return nil
		}
	})
	for _, x := range []struct {
		position string
		later    time.Duration
		readings int64
		after    string
	}{
		{"1", 0, 1, "after=1\""},
		{"2", 9*long - 1, 1, "after=1\""},
		{"3", 1, 2, "after=3\""},
		{"4", 5 * long, 2, "after=3\""},
	} {
		position.Store(x.position)
		passed.Add(int64(x.later))
		if status, body := get(t, server, "/"); status != http.StatusOK || !strings.Contains(body, x.after) || readings.Load() != x.readings {
			t.Errorf("%v later at %s: status %d after %d readings; want %d, and %s in the page: %t", x.later, x.position, status, readings.Load(), x.readings, x.after, strings.Contains(body, x.after))
		}
	}
}
