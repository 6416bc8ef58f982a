package e2e

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/jackc/pgx/v5/pgxpool"

	"tributary/internal/engine"
	"tributary/internal/pg"
	"tributary/schemas"
	"tributary/test/corpus"
	"tributary/test/rig"
	"tributary/test/turns"
	"tributary/test/wait"
)

// While members are killed and restarted, the live tracker's answers are
// recorded. Later the commands say the same as of that time: for every recording
// that holds exactly the events up to some moment, as the log itself says.
func TestThePastIsWhatTheLiveTrackerSaid(t *testing.T) {
	if os.Getenv("TRIBUTARY_ASOF") == "" {
		t.Skip("takes a minute: make test-asof runs it")
	}
	turns.Take(t)
	t.Parallel()
	s := setUp(t, corpus.Options{Seed: seed(t), Shape: corpus.Demo}, rig.Options{Local: true,
		Extra: lively + "tracker:\n  wait: 20ms\nhistory:\n  wait: 200ms\nkafka:\n  session_timeout: 6s\n"})
	s.engines(func(at engine.Endpoints) {
		pool, err := pg.Open(t.Context(), at.Postgres, "recorder", 2)
		if err != nil {
			t.Fatal(err)
		}
		defer pool.Close()
		rec := record(t, pool)
		roles := []string{"schedule poll plan publish", "download unzip validate", "sequence insert", "tracker history"}
		const tracking = 3
		members := make([]*process, len(roles))
		start := func(i int) { members[i] = s.start(append([]string{"run"}, strings.Fields(roles[i])...)...) }
		for i := range roles {
			start(i)
		}
		// Each time that the tracker has read some more, members are killed; they
		// come back when it has read what was told by then.
		for round, victims := range [][]int{{1}, {2}, {1, 2}, {0}, {1, 3}, {0, 1, 2, 3}} {
			before := rec.seen(t)
			if round > 0 {
				s.publishMore(round)
			}
			var now int64
			eventually(t, wait.Patience(), func() string {
				if now = rec.seen(t); now < before+50 {
					return fmt.Sprintf("round %d: the tracker has read %d records, %d before", round, now, before)
				}
				return ""
			})
			for _, i := range victims {
				members[i].kill(false)
			}
			told := s.records()[s.topic("status.changed")]
			if slices.Contains(victims, tracking) {
				told = rec.seen(t) // nobody reads on
			}
			var rests int64
			eventually(t, wait.Patience(), func() string {
				if rests = rec.seen(t); rests < told {
					return fmt.Sprintf("round %d: the tracker has read %d records of %d", round, rests, told)
				}
				return ""
			})
			t.Logf("killed %v after %d records; the tracker rests at %d", victims, now, rests)
			for _, i := range victims {
				start(i)
			}
		}
		s.settled(members...)
		for _, m := range members[:tracking] {
			m.stop()
		}
		records := s.caughtUp(at, pool)
		rec.stop()
		rec.done.Wait()
		rec.seen(t)
		members[tracking].stop()
		s.compareRecordings(at, pool, rec.all, logTimes(t, s.bootstrap(at), s.topic("status.changed"), records))
	})
}

// publishMore lets the centres publish more files, and in one round other bytes
// under a known name.
func (s *system) publishMore(round int) {
	s.t.Helper()
	err := s.corpus.Add(6)
	if name := s.corpus.Reuploadable(); err == nil && round == 3 && name != "" {
		err = s.corpus.Reupload("add", name)
	}
	if err == nil {
		err = s.rig.Update()
	}
	if err != nil {
		s.t.Fatal(err)
	}
}

// caughtUp waits until tracker and history have read the whole log, and returns
// its length.
func (s *system) caughtUp(at engine.Endpoints, pool *pgxpool.Pool) (records int64) {
	s.t.Helper()
	conn := openHistory(s.t, at)
	defer conn.Close()
	eventually(s.t, wait.Patience(), func() string {
		records = s.records()[s.topic("status.changed")]
		var inTracker int64
		var inHistory uint64
		if err := pool.QueryRow(s.t.Context(), "SELECT sum(next_offset)::bigint FROM tracker.consumed WHERE topic = $1", schemas.StatusChangedTopic).Scan(&inTracker); err != nil {
			return err.Error()
		}
		if err := conn.QueryRow(s.t.Context(), "SELECT count() FROM log WHERE topic = ?", schemas.StatusChangedTopic).Scan(&inHistory); err != nil {
			return err.Error()
		}
		if inTracker != records || int64(inHistory) != records {
			return fmt.Sprintf("of %d records the tracker has read %d and the history %d", records, inTracker, inHistory)
		}
		return ""
	})
	return records
}

func openHistory(t testing.TB, at engine.Endpoints) driver.Conn {
	t.Helper()
	conn, err := engine.OpenClickHouse(at.ClickHouse, "tributary")
	if err != nil {
		t.Fatal(err)
	}
	return conn
}
