package chain

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"tributary/schemas"
)

// link is a record: its content, and what it names.
func link(position, offset int64, content, previous string) Link {
	return LinkOf(&schemas.DocumentOrdered{Position: position, Previous: previous}, []byte(content), offset)
}

func named(content string) string { return Of([]byte(content)).String() }

func TestRule(t *testing.T) {
	a, b := link(1, 0, "a", Start), link(2, 1, "b", named("a"))
	cases := []struct {
		name  string
		links []Link
		want  []string // what is wrong
		begin int64
	}{
		{"genuine", []Link{a, b, link(3, 2, "c", named("b"))}, nil, 1},
		{"repeats", []Link{a, b, link(1, 2, "a", Start), link(2, 3, "b", named("a")), link(3, 4, "c", named("b"))}, nil, 1},
		{"taken twice", []Link{a, b, link(2, 2, "forged", named("a"))}, []string{"position_taken_twice 2 at 2, 2 at 1"}, 1},
		{"taken twice by an older program", []Link{a, b, link(2, 2, "forged", "")}, []string{"position_taken_twice 2 at 2, 2 at 1"}, 1},
		{"another one before", []Link{a, link(2, 1, "forged", named("x"))}, []string{"chain_broken 2 at 1, 1 at 0"}, 1},
		{"no record before", []Link{a, link(2, 1, "older", "")}, []string{"chain_broken 2 at 1, 1 at 0"}, 1},
		{"begins again", []Link{a, link(2, 1, "b", Start)}, []string{"chain_broken 2 at 1, 1 at 0"}, 1},
		{"what is no digest", []Link{a, link(2, 1, "b", "hello")}, []string{"chain_broken 2 at 1, 1 at 0"}, 1},
		{"forged first, then genuine", []Link{a, link(2, 1, "forged", named("a")), link(2, 2, "b", named("a")), link(3, 3, "c", named("b"))},
			[]string{"position_taken_twice 2 at 2, 2 at 1", "chain_broken 3 at 3, 2 at 1"}, 1},
		{"the first names one before it", []Link{link(1, 0, "forged", named("x")), link(1, 1, "a", Start)},
			[]string{"chain_broken 1 at 0, 0 at 0", "position_taken_twice 1 at 1, 1 at 0"}, 1},
		{"older positions", []Link{link(1, 0, "a", ""), link(2, 1, "b", ""), link(2, 2, "other", "")}, nil, 0},
		{"begins behind older ones", []Link{link(1, 0, "a", ""), link(2, 1, "b", Start), link(3, 2, "c", named("b"))}, nil, 2},
		{"goes on behind older ones", []Link{link(1, 0, "a", ""), link(2, 1, "b", named("a"))}, nil, 2},
		{"doesn't go on behind older ones", []Link{link(1, 0, "a", ""), link(2, 1, "b", named("x"))}, []string{"chain_broken 2 at 1, 1 at 0"}, 2},
		{"a chained one of an older position", []Link{link(1, 0, "a", ""), link(2, 1, "b", ""), link(1, 2, "x", Start)}, []string{"position_taken_twice 1 at 2, 1 at 0"}, 0},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			var log Log
			for _, l := range c.links {
				if !log.Take(l) {
					t.Fatalf("%v leaves positions out", l)
				}
			}
			if diff := cmp.Diff(c.want, wrong(log.Err())); diff != "" {
				t.Errorf("wrong (-want +got):\n%s", diff)
			}
			if got := log.Head().Begin; got != c.begin {
				t.Errorf("begins with %d, want %d", got, c.begin)
			}
		})
	}
}

// wrong tells what an error of a log names.
func wrong(err error) (out []string) {
	var joined interface{ Unwrap() []error }
	if !errors.As(err, &joined) {
		return nil
	}
	for _, e := range joined.Unwrap() {
		var b *BrokenError
		if errors.As(e, &b) {
			out = append(out, fmt.Sprintf("%s %d at %d, %d at %d", b.Name, b.Found.Position, b.Found.Offset, b.First.Position, b.First.Offset))
		} else {
			out = append(out, e.Error())
		}
	}
	return out
}

func TestErrorsNameBothRecords(t *testing.T) {
	a, b := link(7, 6, "a", Start), link(7, 9, "b", Start)
	for _, e := range []*BrokenError{
		{Name: TakenTwice, First: a, Known: true, Found: b},
		{Name: Broken, First: a, Known: true, Found: link(8, 9, "b", named("x"))},
	} {
		for _, part := range []string{e.Name, "position 7", "offset 6", "offset 9", named("a"), named("b")} {
			if !strings.Contains(e.Error(), part) {
				t.Errorf("%q does not say %q", e, part)
			}
		}
	}
}

func TestAGapIsNotTaken(t *testing.T) {
	var log Log
	if log.Take(link(2, 0, "b", Start)) {
		t.Error("position 2 was taken first")
	}
}

func TestManyAreCounted(t *testing.T) {
	var log Log
	log.Take(link(1, 0, "a", Start))
	for i := range int64(maxNamed + 5) {
		log.Take(link(1, i+1, fmt.Sprint("forged ", i), Start))
	}
	got := wrong(log.Err())
	if len(got) != maxNamed+1 || got[maxNamed] != "and 5 more" {
		t.Errorf("got %d: %v", len(got), got)
	}
}

func TestWhatWasAppliedIsCompared(t *testing.T) {
	cases := []struct {
		name    string
		log     []Link
		applied Link
		begin   int64
		wrong   bool
	}{
		{"equal", []Link{link(1, 0, "a", Start)}, link(1, 0, "a", ""), 1, false},
		{"another offset", []Link{link(1, 0, "a", Start)}, link(1, 9, "a", ""), 1, false},
		{"different", []Link{link(1, 0, "a", Start)}, link(1, 0, "b", ""), 1, true},
		{"different, in a log of older programs", []Link{link(1, 0, "a", "")}, link(1, 0, "b", ""), 1, true},
		{"different, before any chain", []Link{link(1, 0, "a", "")}, link(1, 0, "b", ""), 0, false},
		{"not there", []Link{link(1, 0, "a", Start)}, link(2, 1, "b", ""), 1, false},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			var log Log
			for _, l := range c.log {
				log.Take(l)
			}
			log.Applied(c.applied, c.begin)
			if got := log.Err() != nil; got != c.wrong {
				t.Errorf("got %v", log.Err())
			}
		})
	}
}

// Whatever is repeated, a genuine log is; and one record that nobody drew, at any
// place behind the chain's begin, is named.
func TestAnyForgedRecordIsNamed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.Int64Range(1, 6000).Draw(t, "positions")
		begin := rapid.Int64Range(1, n).Draw(t, "begin")
		var genuine []Link
		previous := Start
		for p := int64(1); p <= n; p++ {
			content, prev := fmt.Sprint("position ", p), previous
			if p < begin {
				prev = ""
			} else {
				previous = named(content)
			}
			genuine = append(genuine, link(p, 0, content, prev))
		}
		var all []Link
		for i, l := range genuine {
			all = append(all, l)
			if i%97 == 0 {
				all = append(all, genuine[rapid.IntRange(0, i).Draw(t, "repeated")])
			}
		}
		judge := func(links []Link) error {
			var log Log
			for i, l := range links {
				l.Offset = int64(i)
				if !log.Take(l) {
					t.Fatalf("%v leaves positions out", l)
				}
			}
			return log.Err()
		}
		if err := judge(all); err != nil {
			t.Fatalf("genuine: %v", err)
		}
		at := rapid.IntRange(int(begin), len(all)).Draw(t, "forged behind")
		next := int64(0)
		for _, l := range all[:at] {
			next = max(next, l.Position)
		}
		if next < begin {
			return
		}
		forged := link(rapid.Int64Range(begin, next+1).Draw(t, "position"), 0, "forged", rapid.SampledFrom([]string{"", Start, named("x"), genuine[next-1].Digest.String()}).Draw(t, "names"))
		if forged.Position == n+1 && forged.Previous == genuine[n-1].Digest.String() {
			return // nothing contradicts it yet
		}
		forgedLog := append(append(append([]Link{}, all[:at]...), forged), all[at:]...)
		if judge(forgedLog) == nil {
			t.Fatalf("%v behind %d is not named", forged, at)
		}
	})
}
