package e2e

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"tributary/internal/engine"
	"tributary/test/corpus"
	"tributary/test/rig"
	"tributary/test/turns"
	"tributary/test/wait"
)

// crash is one case: the program dies when it comes to a label for the n-th
// time, and after that, in each of the next lives, when it comes there first.
type crash struct {
	Label string
	N     int
	Again int
}

func (c crash) String() string { return fmt.Sprintf("%s:%d+%d", c.Label, c.N, c.Again) }

// The program is killed at the labelled steps of package crashpoint, once and
// repeatedly, started again, and what is in the warehouse, the log, the tracker
// and the history is what an undisturbed run gives.
func TestCrashPoints(t *testing.T) {
	want := os.Getenv("TRIBUTARY_CRASHES")
	if want == "" {
		t.Skip("takes minutes: make crashpoints runs it")
	}
	turns.Take(t)
	s := setUp(t, corpus.Options{Seed: seed(t), Shape: corpus.Small}, rig.Options{Local: true, Extra: shortLeases})
	s.binary, s.fromNothing = crashable(t), true // there are steps in how it begins
	s.keepEngines()

	labels := filepath.Join(s.dir, "labels")
	t.Setenv("TRIBUTARY_CRASH_LOG", labels)
	s.once()
	t.Setenv("TRIBUTARY_CRASH_LOG", "")
	undisturbed := s.expect(true)
	told := s.told()
	cases := crashes(t, labels)
	if want != "all" {
		cases = sampled(t, cases, seed(t), int(number(t, "TRIBUTARY_CRASHES", 0)))
	}
	c := openCampaign(t)
	crashed, violations := 0, 0
	for _, at := range cases {
		if !c.due(at.String()) {
			continue
		}
		ok := t.Run(at.String(), func(sub *testing.T) {
			defer func() { s.t = t }()
			s.t = &complaining{TB: sub, name: at.String(), of: c}
			crashed += s.crash(s.t, at, undisturbed.Hash, told)
		})
		if !ok {
			violations++
		}
		c.ended(at.String(), ok)
	}
	c.summary(t, fmt.Sprintf("%d crashes, %d violations", crashed, violations))
}

// crash makes one case in a life of its own, and returns how often the program
// died.
func (s *system) crash(t testing.TB, at crash, hash string, told []toldRow) (crashed int) {
	s.anew()
	n := at.N
	for range 1 + at.Again {
		t.Setenv("TRIBUTARY_CRASH", at.Label+":"+strconv.Itoa(n))
		p := s.start("up", "--once")
		if code := p.code(onceWithin); code == 0 {
			t.Logf("%s is not reached for the %d. time in this life", at.Label, n)
			break
		} else if code > 0 {
			t.Fatalf("tributary up --once: exit code %d, not a crash\n%s", code, p.tail())
		}
		crashed++
		n = 1
	}
	t.Setenv("TRIBUTARY_CRASH", "")
	s.once()
	if got := s.expect(false); got.Hash != hash {
		t.Errorf("warehouse hash %s, of an undisturbed run %s", got.Hash, hash)
	}
	// An event that got lost may be covered by a later one of the same document.
	if diff := gocmp.Diff(told, s.told()); diff != "" {
		t.Errorf("documents that insert told of (-undisturbed +crashed):\n%s", diff)
	}
	return crashed
}

// toldRow counts the documents of which the history knows an end by insert.
type toldRow struct {
	Phase, Status string
	Documents     int64
}

func (s *system) told() (rows []toldRow) {
	s.t.Helper()
	s.engines(func(engine.Endpoints) {
		rows = sql[toldRow](s, "history", `SELECT phase, status, toInt64(uniqExact(document)) AS documents FROM log
			WHERE stage = 'insert' AND document IS NOT NULL AND status IN ('done', 'failed') GROUP BY phase, status ORDER BY phase, status`)
	})
	return rows
}

// crashable builds the program with its crash points.
func crashable(t testing.TB) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "tributary")
	if out, err := exec.Command("go", "build", "-tags", "crashpoints", "-o", path, "tributary/cmd/tributary").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	return path
}

// crashes lists all cases: every occurrence of every label, and its first and
// last one repeatedly.
func crashes(t testing.TB, path string) []crash {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	count := map[string]int{}
	for _, label := range strings.Fields(string(b)) {
		count[label]++
	}
	var out []crash
	for _, label := range slices.Sorted(maps.Keys(count)) {
		for n := 1; n <= count[label]; n++ {
			out = append(out, crash{Label: label, N: n})
		}
		out = append(out, crash{Label: label, N: 1, Again: 3})
		if count[label] > 1 {
			out = append(out, crash{Label: label, N: count[label], Again: 3})
		}
	}
	t.Logf("%d labels, passed %d times in an undisturbed run", len(count), len(out))
	return out
}

// sampled takes so many cases, each of another label as long as there are some,
// of its first, second, middle or last occurrence, one in four repeatedly.
func sampled(t testing.TB, all []crash, from uint64, n int) []crash {
	t.Helper()
	rng := rand.New(rand.NewPCG(from, 0x6372617368))
	byLabel := map[string][]crash{}
	for _, c := range all {
		byLabel[c.Label] = append(byLabel[c.Label], c)
	}
	var out []crash
	labels := slices.Sorted(maps.Keys(byLabel))
	for len(out) < n {
		rng.Shuffle(len(labels), func(i, j int) { labels[i], labels[j] = labels[j], labels[i] })
		for _, label := range labels[:min(len(labels), n-len(out))] {
			of := byLabel[label]
			last := 0
			for last < len(of) && of[last].Again == 0 {
				last++
			}
			switch pick := []int{0, min(1, last-1), last / 2, last - 1}; rng.IntN(4) {
			case 0:
				out = append(out, of[last+rng.IntN(len(of)-last)])
			default:
				out = append(out, of[pick[rng.IntN(4)]])
			}
		}
	}
	return out
}

// keepEngines makes engines with nothing in them, for anew to begin with:
// making a database takes longer than a run.
func (s *system) keepEngines() {
	s.t.Helper()
	p := s.start("engines")
	eventually(s.t, wait.Patience(), func() string {
		if !p.said("engines are serving") {
			return "the engines don't serve yet\n" + p.tail()
		}
		return ""
	})
	p.stop()
	if err := rig.CopyData(s.data(), s.data()+".empty"); err != nil {
		s.t.Fatal(err)
	}
}

// anew removes all data and begins with empty engines.
func (s *system) anew() {
	s.t.Helper()
	s.forget()
	if err := rig.CopyData(s.data()+".empty", s.data()); err != nil {
		s.t.Fatal(err)
	}
}
