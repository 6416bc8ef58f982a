package twin_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tributary/internal/twin"
)

func TestTwins(t *testing.T) {
	for about, tt := range map[string]struct {
		names []string
		want  []string
	}{
		"none":                     {nil, nil},
		"one":                      {[]string{"a.zip"}, nil},
		"case":                     {[]string{"H.1.zip", "h.1.ZIP", "H.2.zip"}, []string{"H.1.zip", "h.1.ZIP"}},
		"case beyond ASCII":        {[]string{"ÄRZTE", "ärzte", "arzte"}, []string{"ÄRZTE", "ärzte"}},
		"accents":                  {[]string{"caf\u00e9", "cafe\u0301", "cafe"}, []string{"cafe\u0301", "caf\u00e9"}},
		"accents and case":         {[]string{"CAF\u00c9", "cafe\u0301"}, []string{"CAF\u00c9", "cafe\u0301"}},
		"one in ASCII, one beyond": {[]string{"\u212a.zip", "k.zip"}, []string{"k.zip", "\u212a.zip"}}, // the sign for Kelvin
		"three, and two":           {[]string{"a", "A", "b", "\u00e9", "\u00c9", "e\u0301"}, []string{"A", "a", "e\u0301", "\u00c9", "\u00e9"}},
	} {
		t.Run(about, func(t *testing.T) {
			var f twin.Finder
			for _, i := range rand.Perm(len(tt.names)) {
				f.Add(tt.names[i])
			}
			if got := f.Count(); got != len(tt.want) {
				t.Errorf("%d names have twins, want %d", got, len(tt.want))
			}
			is := f.First(10)
			got := slices.DeleteFunc(slices.Sorted(slices.Values(tt.names)), func(name string) bool { return !is(name) })
			if d := cmp.Diff(tt.want, got); d != "" && len(tt.want)+len(got) > 0 {
				t.Error(d)
			}
		})
	}
}

// The first sets are the same in whatever order names come, and no more than were asked for.
func TestFirstTwins(t *testing.T) {
	var names []string
	for i := range 1000 {
		names = append(names, fmt.Sprint("a", i), fmt.Sprint("A", i))
	}
	var want []string
	for range 3 {
		var f twin.Finder
		for _, i := range rand.Perm(len(names)) {
			f.Add(names[i])
		}
		if n := f.Count(); n != 2000 {
			t.Errorf("%d names have twins", n)
		}
		is := f.First(7)
		got := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !is(name) })
		if len(got) != 14 || want != nil && !slices.Equal(got, want) {
			t.Errorf("the first are %q, before %q", got, want)
		}
		want = got
		if f.First(0)("a1") {
			t.Error("none was asked for")
		}
	}
}

// A million names, none of which has a twin, as most listings are.
func BenchmarkAMillionNames(b *testing.B) {
	names := make([]string, 1_000_000)
	for i := range names {
		names[i] = fmt.Sprintf("H.2026-01-02.%d.impc.zip", i)
	}
	b.ReportAllocs()
	for b.Loop() {
		var f twin.Finder
		for _, name := range names {
			f.Add(name)
		}
		if n := f.Count(); n != 0 {
			b.Fatalf("%d names have twins", n)
		}
	}
}
