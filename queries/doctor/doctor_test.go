package doctor_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tributary/internal/engine/enginetest"
	"tributary/queries/doctor"
	"tributary/test/wait"
)

// hidden stands in every secret of the cases.
const hidden = "s3cr3t-of-nobody"

// broken is an installation of which a part is broken.
type broken struct {
	name string
	harm func(t *testing.T, w *world)
	want []string // PROBLEM ABOUT of all that is not well
	todo string   // part of the remedy of the first
}

// TestBrokenInstallations breaks a part of an installation that is well: doctor names
// what is broken and what to do about it, and nothing else.
func TestBrokenInstallations(t *testing.T) {
	t.Parallel()
	endpoint := enginetest.ClickHouse(t)
	database := newHistory(t, endpoint)
	provoked := map[doctor.Problem]int{}
	well := newWorld(t, endpoint, database)
	usual := named(well, well.examine())
	if d := cmp.Diff([]string{"not_durable fsync"}, usual); d != "" {
		t.Fatalf("an installation that is well, but that its Postgres does not sync (-want +got):\n%s", d)
	}
	cases := slices.Concat(brokenHere(), brokenPostgres(), brokenKafka(), brokenElsewhere(endpoint))
	var mu sync.Mutex // of what is provoked
	ran := 0
	t.Run("each", func(t *testing.T) {
		for _, c := range cases {
			t.Run(c.name, func(t *testing.T) {
				t.Parallel()
				w := well.beside(t)
				c.harm(t, w)
				lines := w.examine()
				got := slices.DeleteFunc(named(w, lines), func(n string) bool { return slices.Contains(usual, n) && !slices.Contains(c.want, n) })
				if d := cmp.Diff(slices.Sorted(slices.Values(c.want)), got); d != "" {
					t.Errorf("not well (-want +got):\n%s\n%+v", d, lines)
				}
				if doctor.Well(lines) != !slices.ContainsFunc(lines, func(l doctor.Line) bool { return l.State == doctor.Failed }) {
					t.Error("whether all is well is said otherwise than the lines say")
				}
				mu.Lock()
				defer mu.Unlock()
				ran++
				told(t, lines, c, provoked)
			})
		}
	})
	if ran < len(cases) { // some were left out
		return
	}
	for _, d := range doctor.Problems() {
		if provoked[d.Problem] == 0 && !slices.Contains(notHere(), d.Problem) {
			t.Errorf("no case provokes %s", d.Problem)
		}
		delete(provoked, d.Problem)
	}
	if len(cases) < 25 || len(provoked) > 0 {
		t.Errorf("%d cases; %v are not described", len(cases), slices.Sorted(maps.Keys(provoked)))
	}
}

// notHere are problems that no case provokes: that of a configuration that can't be
// read is the command's, those of partitions need an Apache Kafka of several brokers,
// and a server that is slow answers here too soon or never.
func notHere() []doctor.Problem {
	return []doctor.Problem{doctor.ConfigInvalid, doctor.PartitionOffline, doctor.ReplicasAway, doctor.ServerSlow}
}

// told checks what is said of a case.
func told(t *testing.T, lines []doctor.Line, c broken, provoked map[doctor.Problem]int) {
	t.Helper()
	for _, l := range lines {
		if (l.Problem != "") != (l.State == doctor.Failed || l.State == doctor.Warning) || (l.Problem != "") != (l.Remedy != "") {
			t.Errorf("a problem has a name and a remedy, and nothing else has: %+v", l)
		}
		if l.Problem != "" {
			provoked[l.Problem]++
		}
		if strings.Contains(fmt.Sprint(l), hidden) {
			t.Errorf("a secret is shown: %+v", l)
		}
		if len(c.want) > 0 && string(l.Problem)+" "+l.About == c.want[0] && !strings.Contains(l.Remedy, c.todo) {
			t.Errorf("the remedy of %s is %q, want %q in it", l.Problem, l.Remedy, c.todo)
		}
	}
}

// named are the problems that lines have, with what they are about, each once.
func named(w *world, lines []doctor.Line) []string {
	out := []string{}
	for _, l := range lines {
		if l.Problem != "" {
			out = append(out, string(l.Problem)+" "+strings.Replace(l.About, w.cfg.ClickHouse.Database, "HISTORY", 1))
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// A store that never answers takes its check's time, and no other check's.
func TestOneMuteServerKeepsNobody(t *testing.T) {
	t.Parallel()
	endpoint := enginetest.ClickHouse(t)
	w := newWorld(t, endpoint, newHistory(t, endpoint))
	w.cfg.Postgres.URL = configSecret("postgres://u@" + w.mute() + "/d")
	w.cfg.Registry.URL = "http://" + w.mute()
	want := map[string]doctor.State{"config": doctor.OK, "secrets": doctor.OK, "directories": doctor.OK, "postgres": doctor.Failed, "kafka": doctor.OK, "clickhouse": doctor.OK, "registry": doctor.Failed}
	wait.Longer(t, w.timeout/10, func(limit time.Duration) error {
		w.timeout = limit
		got := map[string]doctor.State{}
		for _, l := range w.examine() {
			if l.State != doctor.Skipped {
				got[l.Check] = l.State
			}
		}
		if d := cmp.Diff(want, got); d != "" {
			return fmt.Errorf("states by check (-want +got):\n%s", d)
		}
		return nil
	})
}
