package expect

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func begin() time.Time { return time.Date(2026, 3, 2, 3, 0, 0, 0, time.UTC) }

// daily is a source that has shown 10 files of 1000 bytes each day, of which the last is
// day n, counted from the first import, which was larger.
func daily(n int) History {
	h := History{Source: "harwell", State: available, Resumed: []time.Time{begin()}, Finds: []Find{{At: begin(), Files: 3000, Bytes: 3e6, Largest: 9000}}}
	for i := 1; i <= n; i++ {
		h.Finds = append(h.Finds, Find{At: begin().AddDate(0, 0, i), Files: 10, Bytes: 10_000, Largest: 1000})
	}
	h.Seen = h.Finds[n].At
	return h
}

func found(e Expectation) (names []string) {
	for _, f := range e.Findings {
		names = append(names, f.Finding)
	}
	return names
}

func TestExpectation(t *testing.T) {
	after := func(h History, d time.Duration) History { h.Seen = h.Finds[len(h.Finds)-1].At.Add(d); return h }
	last := func(h History, f func(*Find)) History { f(&h.Finds[len(h.Finds)-1]); return h }
	hours := time.Hour
	for _, tt := range []struct {
		name string
		h    History
		want []string
	}{
		{"nothing was ever found", History{State: available, Seen: begin()}, nil},
		{"as ever", daily(20), nil},
		{"late in the day", after(daily(20), 35*hours), nil},
		{"late", after(daily(20), 37*hours), []string{Late}},
		{"too young to be late", after(daily(5), 37*24*hours), nil},
		{"just old enough", after(daily(6), 37*hours), []string{Late}},
		{"late, in maintenance", func() History { h := after(daily(20), 37*hours); h.State = "maintenance"; return h }(), nil},
		{"late, suspended", func() History { h := after(daily(20), 37*hours); h.State = "suspended"; return h }(), nil},
		{"resumed a day ago", func() History {
			h := after(daily(20), 200*hours)
			h.Resumed = append(h.Resumed, h.Seen.Add(-24*hours))
			return h
		}(), nil},
		{"resumed two days ago", func() History {
			h := after(daily(20), 200*hours)
			h.Resumed = append(h.Resumed, h.Seen.Add(-48*hours))
			return h
		}(), []string{Late}},
		{"not polled since", func() History { h := daily(20); h.Seen = h.Seen.Add(-hours); return h }(), nil},
		{"few files", last(daily(20), func(f *Find) { f.Files = 3 }), []string{Short}},
		{"not so few files", last(daily(20), func(f *Find) { f.Files = 4 }), nil},
		{"few bytes", last(daily(20), func(f *Find) { f.Bytes = 3333 }), []string{Short}},
		{"empty files", last(daily(20), func(f *Find) { f.Bytes, f.Largest = 0, 0 }), []string{Short}},
		{"many files", last(daily(20), func(f *Find) { f.Files = 31 }), []string{Unusual}},
		{"not so many files", last(daily(20), func(f *Find) { f.Files = 30 }), nil},
		{"many bytes", last(daily(20), func(f *Find) { f.Bytes = 30_001 }), []string{Unusual}},
		{"a large file", last(daily(20), func(f *Find) { f.Largest = 3001 }), []string{Unusual}},
		{"few files, of which one is large", last(daily(20), func(f *Find) { f.Files, f.Bytes, f.Largest = 1, 10_000, 10_000 }), []string{Short, Unusual}},
		{"bytes not told", last(daily(20), func(f *Find) { f.Bytes, f.Largest = -1, -1 }), nil},
		{"what had gathered in maintenance", func() History {
			h := last(daily(20), func(f *Find) { f.Files = 100 })
			h.Resumed = append(h.Resumed, h.Seen.Add(-hours))
			return h
		}(), nil},
		{"a flood long ago makes nothing of another", func() History {
			h := last(daily(25), func(f *Find) { f.Files = 500 })
			h.Finds[10].Files = 1000
			return h
		}(), []string{Unusual}},
		{"an outage long ago makes nothing of another", func() History {
			h := daily(30)
			for i := range h.Finds[:10] {
				h.Finds[i].At = h.Finds[i].At.AddDate(0, 0, -30)
			}
			return after(h, 37*hours)
		}(), []string{Late}},
		{"only files of nothing, ever", func() History {
			h := daily(20)
			for i := range h.Finds {
				h.Finds[i].Bytes, h.Finds[i].Largest = 0, 0
			}
			return h
		}(), nil},
	} {
		if d := cmp.Diff(tt.want, found(Expect(tt.h))); d != "" {
			t.Errorf("%s (- want, + got):\n%s", tt.name, d)
		}
	}
}

// What is expected is said with its error factors, the first import left out.
func TestWhatIsExpected(t *testing.T) {
	h := daily(20)
	h.Finds[7].Files = 20
	h.Finds[8].Files = 20
	for i := range 6 {
		h.Fetches = append(h.Fetches, Fetch{At: begin().AddDate(0, 0, i), Bytes: 10_000, Took: 10 * time.Second, Until: time.Minute})
	}
	h.Fetches[2].Took, h.Fetches[3].Took, h.Fetches[4].Until = 0, 40*time.Second, 0
	h.Waiting = Outstanding{Files: 3, Bytes: 90_000}
	e := Expect(h)
	factor := func(f float64) *float64 { return &f }
	for name, x := range map[string]struct{ want, got *Spread }{
		"interval": {&Spread{86400, 86400, 86400, factor(1), 19}, e.Interval},
		"files":    {&Spread{10, 10, 20, factor(2), 19}, e.Files},
		"bytes":    {&Spread{10_000, 10_000, 10_000, factor(1), 19}, e.Bytes},
		"rate":     {&Spread{250, 1000, 1000, factor(4), 5}, e.Rate},
		"load":     {&Spread{60, 60, 60, factor(1), 5}, e.Load},
	} {
		if d := cmp.Diff(x.want, x.got); d != "" {
			t.Errorf("%s (- want, + got):\n%s", name, d)
		}
	}
	if want := h.Seen.AddDate(0, 0, 1); e.Next == nil || !e.Next.Equal(want) {
		t.Errorf("the next is expected at %v, not at %s", e.Next, want)
	}
	if e.ETA == nil || *e.ETA != 90 {
		t.Errorf("90,000 bytes at 1,000 a second take 90 s, not %v", e.ETA)
	}
	want := []string{"harwell", "available", "2026-03-22 03:00:00Z", "2026-03-23 03:00:00Z", "2026-03-23 15:00:00Z", "10 ×2.0", "10 kB ×1.0", "1.0 kB ×4.0", "1m0s ×1.0", "3 (90 kB)", "1m30s", "", ""}
	if d := cmp.Diff(want, e.Cells()); d != "" {
		t.Errorf("cells (- want, + got):\n%s", d)
	}
	if len(want) != len(Header()) {
		t.Errorf("%d cells have %d names", len(want), len(Header()))
	}
}

// What comes in several polls is one arrival, and is not short while it may go on.
func TestWhatComesTogetherIsOneArrival(t *testing.T) {
	h := History{Source: "s", State: available}
	for day := range 20 {
		for i := range 6 {
			h.Finds = append(h.Finds, Find{At: begin().AddDate(0, 0, day).Add(time.Duration(i) * 15 * time.Minute), Files: 10, Bytes: -1, Largest: -1})
		}
	}
	h.Seen = h.Finds[len(h.Finds)-1].At
	e := Expect(h)
	if e.Files == nil || e.Files.Median != 60 || e.Interval.Median != (24*time.Hour-75*time.Minute).Seconds() {
		t.Errorf("60 files a day are taken for %+v, each %+v s", e.Files, e.Interval)
	}
	if e.Bytes != nil {
		t.Errorf("bytes that no poll told are %+v", e.Bytes)
	}
	h.Finds = h.Finds[:len(h.Finds)-5] // the day's first 10
	h.Seen = h.Finds[len(h.Finds)-1].At.Add(15 * time.Minute)
	if got := found(Expect(h)); got != nil {
		t.Errorf("an arrival that may go on is %v", got)
	}
	h.Seen = h.Seen.Add(time.Minute)
	if d := cmp.Diff([]string{Short}, found(Expect(h))); d != "" {
		t.Errorf("an arrival that has ended (- want, + got):\n%s", d)
	}
}

// A source that had so much when it was added that its polls took it up in turns is
// judged by what it delivers, also while that is little.
func TestAFirstImportInTurnsIsNotLearnedFrom(t *testing.T) {
	h := History{Source: "s", State: available}
	for i := range 12 {
		h.Finds = append(h.Finds, Find{At: begin().Add(time.Duration(i) * 30 * time.Second), Files: 10_000, Bytes: 1e9, Largest: 1e6, More: i < 11})
	}
	for day := range 3 {
		h.Finds = append(h.Finds, Find{At: begin().AddDate(0, 0, 1+day), Files: 50, Bytes: 5e6, Largest: 1e5})
	}
	h.Seen = h.Finds[len(h.Finds)-1].At.Add(time.Hour)
	if e := Expect(h); e.Files != nil || e.Interval != nil || len(e.Findings) > 0 {
		t.Errorf("after three days is expected: %v, found: %v", e.Cells(), e.Findings)
	}
	h.Finds[len(h.Finds)-1].More = true
	for day := range 4 {
		h.Finds = append(h.Finds, Find{At: begin().AddDate(0, 0, 4+day), Files: 50, Bytes: 5e6, Largest: 1e5})
	}
	h.Finds[len(h.Finds)-1].Files, h.Finds[len(h.Finds)-1].More = 1, true
	h.Seen = h.Finds[len(h.Finds)-1].At.Add(time.Hour)
	if e := Expect(h); e.Files == nil || e.Files.High != 100 || len(e.Findings) > 0 {
		t.Errorf("after a poll that left some files is expected: %v, found: %v", e.Cells(), e.Findings)
	}
}

// drawn is any history.
func drawn(t *rapid.T) History {
	h := History{State: available, Seen: begin()}
	r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
	at, spread := begin(), rapid.Float64Range(0, 4).Draw(t, "spread")
	for range rapid.IntRange(0, 60).Draw(t, "finds") {
		at = at.Add(time.Duration(1 << 20 * (1 + int64(1e6*math.Exp(spread*r.NormFloat64())))))
		h.Finds = append(h.Finds, Find{At: at, Files: 1 + r.Int64N(100), Bytes: r.Int64N(1e6), Largest: r.Int64N(1e5)})
		if r.IntN(20) == 0 {
			h.Resumed = append(h.Resumed, at.Add(time.Hour))
		}
		if r.IntN(20) == 0 {
			h.Finds[len(h.Finds)-1].Bytes = -1
		}
	}
	h.Seen = at.Add(time.Duration(rapid.Int64Range(0, 1<<50).Draw(t, "silence")))
	return h
}

func TestLawsOfExpectation(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := drawn(t)
		is := Expect(h)

		mixed := h
		mixed.Finds = slices.Clone(h.Finds)
		rand.Shuffle(len(mixed.Finds), func(i, j int) { mixed.Finds[i], mixed.Finds[j] = mixed.Finds[j], mixed.Finds[i] }) //nolint:gosec // any order will do
		if d := cmp.Diff(is, Expect(mixed)); d != "" {
			t.Fatalf("it depends on the order of the finds:\n%s", d)
		}

		slow := h
		slow.Finds, slow.Resumed = slices.Clone(h.Finds), nil
		stretch := func(at time.Time) time.Time { return begin().Add(4 * at.Sub(begin())) }
		for i := range slow.Finds {
			f := &slow.Finds[i]
			f.At, f.Files, f.Bytes, f.Largest = stretch(f.At), 8*f.Files, 8*f.Bytes, 8*f.Largest
		}
		for _, r := range h.Resumed {
			slow.Resumed = append(slow.Resumed, stretch(r))
		}
		slow.Seen = stretch(h.Seen)
		if d := cmp.Diff(found(is), found(Expect(slow))); d != "" {
			t.Fatalf("a source of which all is slower and larger is judged otherwise:\n%s", d)
		}

		later := h
		later.Seen = h.Seen.Add(time.Duration(rapid.Int64Range(0, 1<<50).Draw(t, "later")))
		for _, f := range found(is) {
			if !slices.Contains(found(Expect(later)), f) {
				t.Fatalf("it is %s no more after more silence", f)
			}
		}

		if len(h.Finds) > 0 {
			more := h
			more.Finds = slices.Clone(h.Finds)
			last := &more.Finds[len(h.Finds)-1]
			last.Files *= 2
			if slices.Contains(found(is), Unusual) && !slices.Contains(found(Expect(more)), Unusual) {
				t.Fatalf("it is unusually large no more with more files")
			}
		}
		for _, s := range []*Spread{is.Interval, is.Files, is.Bytes, is.Largest} {
			if s != nil && (s.Low > s.Median || s.Median > s.High || s.Learned < Least || s.Learned > most || s.Factor != nil && (*s.Factor < 1 || math.IsInf(*s.Factor, 0))) {
				t.Fatalf("a spread is %s", fmt.Sprintf("%+v", *s))
			}
		}
	})
}

// Whoever writes to the topic may tell any counts: none makes a sum of them wrong.
func TestCountsAreWhateverIsTold(t *testing.T) {
	for text, want := range map[string]int64{"7": 7, "0": 0, "": -1, "x": -1, "-3": -1, "1e3": -1, "9223372036854775807": 1 << 53, "99999999999999999999": -1} {
		if got := number(text); got != want {
			t.Errorf("%q counts %d, not %d", text, got, want)
		}
	}
}
