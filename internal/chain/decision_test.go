package chain

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// decisions are what was decided about contents.
type decisions map[string]Decision

func (d decisions) decided(digest Digest) (Decision, bool) {
	for content, decision := range d {
		if Of([]byte(content)) == digest {
			return decision, true
		}
	}
	return Decision{}, false
}

// foreign, lost and missing are the three ways on.
func foreign() Decision            { return Decision{GoesOn: Of([]byte("another"))} }
func lost(content string) Decision { return Decision{GoesOn: Of([]byte(content))} }
func missing() Decision            { return Decision{Missing: true} }

// unread is a record that can't be read.
func unread(offset int64, content string) Link {
	return Link{Offset: offset, Digest: Of([]byte(content))}
}

func TestDecisions(t *testing.T) {
	a, b := link(1, 0, "a", Start), link(2, 1, "b", named("a"))
	cases := []struct {
		name    string
		decided decisions
		links   []Link
		want    []string // what is wrong
		taken   string   // positions in order: + with the content, - without it, ? for one that leaves positions out
		next    int64    // drawn next
		names   string   // by that
	}{
		{"foreign, of the next position", decisions{"x": foreign()}, []Link{a, link(2, 1, "x", named("a")), link(2, 2, "b", named("a"))}, nil, "1+ 2+", 3, "b"},
		{"foreign, of a position that was applied", decisions{"x": foreign()}, []Link{a, b, link(1, 2, "x", Start), link(3, 3, "c", named("b"))}, nil, "1+ 2+ 3+", 4, "c"},
		{"foreign, far ahead", decisions{"x": foreign()}, []Link{a, link(9, 1, "x", "junk"), link(2, 2, "b", named("a"))}, nil, "1+ 2+", 3, "b"},
		{"foreign, can't be read", decisions{"x": foreign()}, []Link{a, unread(1, "x"), link(2, 2, "b", named("a"))}, nil, "1+ 2+", 3, "b"},
		{"foreign can't be named", decisions{"x": foreign()}, []Link{a, link(2, 1, "x", named("a")), link(2, 2, "y", named("x"))}, []string{"chain_broken 2 at 2, 1 at 0"}, "1+ 2+", 3, "y"},
		{"what it says holds for the same bytes elsewhere", decisions{"x": foreign()}, []Link{a, link(2, 1, "x", named("a")), b, link(2, 3, "x", named("a"))}, nil, "1+ 2+", 3, "b"},
		{"it holds for no other bytes there", decisions{"x": foreign()}, []Link{a, b, link(2, 1, "y", named("a"))}, []string{"position_taken_twice 2 at 1, 2 at 1"}, "1+ 2+", 3, "b"},

		{"lost, of the next position", decisions{"b": lost("b")}, []Link{a, b, link(3, 2, "c", named("b"))}, nil, "1+ 2- 3+", 4, "c"},
		{"lost, whatever it names", decisions{"b": lost("b")}, []Link{a, link(2, 1, "b", named("y")), link(3, 2, "c", named("b"))}, nil, "1+ 2- 3+", 4, "c"},
		{"lost, and others before it", decisions{"d": lost("d")}, []Link{a, link(4, 1, "d", named("c")), link(5, 2, "e", named("d"))}, nil, "1+ 4- 5+", 6, "e"},
		{"lost, and it begins the chain again", decisions{"b": lost("b")}, []Link{a, link(2, 1, "b", Start), link(3, 2, "c", named("b"))}, nil, "1+ 2- 3+", 4, "c"},
		{"lost, a repeat of it", decisions{"b": lost("b")}, []Link{a, b, b, link(3, 2, "c", named("b")), b}, nil, "1+ 2- 3+", 4, "c"},
		{"lost, of the position applied last", decisions{"y": lost("y")}, []Link{a, b, link(2, 2, "y", named("a")), link(3, 3, "c", named("y"))}, nil, "1+ 2+ 3+", 4, "c"},
		{"lost, of the position applied last, and not named", decisions{"y": lost("y")}, []Link{a, b, link(2, 2, "y", named("a")), link(3, 3, "c", named("b"))}, nil, "1+ 2+ 3+", 4, "c"},
		{"lost, of an older position", decisions{"y": lost("y")}, []Link{a, b, link(1, 2, "y", Start), link(3, 3, "c", named("y"))}, []string{"chain_broken 3 at 3, 2 at 1"}, "1+ 2+ 3+", 4, "c"},
		{"lost, of the position applied last, and named too far on", decisions{"y": lost("y")}, []Link{a, b, link(2, 2, "y", named("a")), link(4, 3, "d", named("y"))}, nil, "1+ 2+ ?4", 3, "b"},

		{"lost, can't be read, and was the next", decisions{"x": lost("x")}, []Link{a, unread(1, "x"), link(3, 2, "c", named("x")), link(4, 3, "d", named("c"))}, nil, "1+ 3+ 4+", 5, "d"},
		{"lost, can't be read, and was a repeat", decisions{"x": lost("x")}, []Link{a, b, unread(2, "x"), link(3, 3, "c", named("x"))}, nil, "1+ 2+ 3+", 4, "c"},
		{"lost, can't be read, and too much before the next", decisions{"x": lost("x")}, []Link{a, unread(1, "x"), link(4, 2, "d", named("x"))}, nil, "1+ ?4", 3, "x"},
		{"lost, can't be read, and not named", decisions{"x": lost("x")}, []Link{a, unread(1, "x"), b}, nil, "1+ 2+", 3, "b"},
		{"lost, can't be read, and something between", decisions{"x": lost("x")}, []Link{a, unread(1, "x"), b, link(3, 3, "c", named("x"))}, []string{"chain_broken 3 at 3, 2 at 1"}, "1+ 2+ 3+", 4, "c"},
		{"the latest that is lost counts", decisions{"x": lost("x"), "y": lost("y")}, []Link{a, unread(1, "x"), unread(2, "y"), link(3, 3, "c", named("x"))}, nil, "1+ ?3", 4, "y"},
		{"lost, two that can't be read", decisions{"x": lost("x"), "y": lost("y")}, []Link{a, unread(1, "x"), unread(2, "y"), link(4, 3, "d", named("y"))}, nil, "1+ 4+", 5, "d"},
		{"lost, can't be read, and a repeat of the last that is lost", decisions{"b": lost("b"), "x": lost("x")}, []Link{a, b, unread(2, "x"), b}, nil, "1+ 2-", 4, "x"},
		{"lost, can't be read, and another one of the last position", decisions{"x": lost("x"), "y": lost("y")}, []Link{a, b, unread(2, "x"), link(2, 3, "y", named("a"))}, nil, "1+ 2+", 4, "y"},
		{"lost, can't be read, and repeated", decisions{"x": lost("x")}, []Link{a, unread(1, "x"), unread(2, "x"), link(4, 3, "d", named("x"))}, nil, "1+ ?4", 3, "x"},
		{"lost, and an older one repeated that is lost, too", decisions{"a": lost("a"), "y": lost("y")}, []Link{a, b, link(2, 2, "y", named("a")), a, link(3, 3, "c", named("y"))}, nil, "1- 2+ 3+", 4, "c"},
		{"lost before the chain begins", decisions{"x": lost("x")}, []Link{link(1, 0, "a", ""), unread(1, "x"), link(3, 2, "c", named("x")), link(4, 3, "d", "")}, []string{"chain_broken 4 at 3, 3 at 2"}, "1+ 3+ 4+", 5, "d"},

		{"missing", decisions{"d": missing()}, []Link{a, link(4, 1, "d", named("c")), link(5, 2, "e", named("d"))}, nil, "1+ 4+ 5+", 6, "e"},
		{"missing at the beginning", decisions{"d": missing()}, []Link{link(4, 1, "d", named("c")), link(5, 2, "e", named("d"))}, nil, "4+ 5+", 6, "e"},
		{"missing, and none is", decisions{"b": missing()}, []Link{a, link(2, 1, "b", named("y")), link(3, 2, "c", named("b"))}, nil, "1+ 2+ 3+", 4, "c"},
		{"missing, a repeat of it", decisions{"d": missing()}, []Link{a, link(4, 1, "d", named("c")), link(4, 2, "d", named("c")), link(5, 3, "e", named("d"))}, nil, "1+ 4+ 5+", 6, "e"},
		{"missing, of a position that was applied", decisions{"x": missing()}, []Link{a, b, link(1, 2, "x", Start)}, []string{"position_taken_twice 1 at 2, 1 at 0"}, "1+ 2+", 3, "b"},
		{"missing, and it comes after all", decisions{"d": missing()}, []Link{a, link(4, 1, "d", named("c")), link(2, 2, "b", named("a"))}, []string{"position_taken_twice 2 at 2, 2 at 0"}, "1+ 4+", 5, "d"},
		{"missing, and it comes after all and never was", decisions{"d": missing(), "b": foreign()}, []Link{a, link(4, 1, "d", named("c")), link(2, 2, "b", named("a"))}, nil, "1+ 4+", 5, "d"},
		{"missing before the last number there is", decisions{"x": missing()}, []Link{a, link(math.MaxInt64, 1, "x", named("a")), b}, nil, "1+ ?9223372036854775807 2+", 3, "b"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			log := Log{Decided: c.decided.decided}
			var taken []string
			for _, l := range c.links {
				switch log.Judge(l) {
				case LeavesOut:
					taken = append(taken, fmt.Sprint("?", l.Position))
				case Hollow:
					taken = append(taken, fmt.Sprint(l.Position, "-"))
				case Taken:
					taken = append(taken, fmt.Sprint(l.Position, "+"))
				}
			}
			if diff := cmp.Diff(c.want, wrong(log.Err())); diff != "" {
				t.Errorf("wrong (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(c.taken, strings.Join(taken, " ")); diff != "" {
				t.Errorf("taken (-want +got):\n%s", diff)
			}
			head := log.Head()
			if next, previous := head.GoesOn(); next != c.next || previous != named(c.names) {
				t.Errorf("goes on with %d that names %s, want %d that names %s", next, previous, c.next, named(c.names))
			}
		})
	}
}

// Positions of which records were taken are found behind those that are lost,
// and the lost ones are not.
func TestLostPositionsAreUnknown(t *testing.T) {
	last := int64(3*blockSize + 5)
	log := Log{Decided: decisions{"behind": missing()}.decided}
	previous := Start
	for p := int64(1); p <= last; p++ {
		log.Take(link(p, p, fmt.Sprint(p), previous))
		previous = named(fmt.Sprint(p))
	}
	log.Take(link(1<<40, 1, "behind", "junk"))
	log.Take(link(1<<40+1, 2, "next", named("behind")))
	for position, want := range map[int64]string{0: "", 1: "1", blockSize: fmt.Sprint(blockSize), blockSize + 1: fmt.Sprint(blockSize + 1), last: fmt.Sprint(last),
		last + 1: "", 1<<40 - 1: "", 1 << 40: "behind", 1<<40 + 1: "next", 1<<40 + 2: ""} {
		got, known := log.At(position)
		if known != (want != "") || known && got.Digest != Of([]byte(want)) {
			t.Errorf("position %d: %v, %v, want %q", position, got, known, want)
		}
	}
}

// A record that was applied, and of which it was decided later that it never was,
// doesn't contradict what is made from the log.
func TestWhatWasAppliedAndPassedOverIsNoContradiction(t *testing.T) {
	for _, c := range []struct {
		name    string
		decided decisions
		wrong   bool
	}{
		{"nothing was decided", nil, true},
		{"it never was", decisions{"forged": foreign()}, false},
		{"it was, and is lost", decisions{"forged": lost("forged")}, true},
		{"something before it is missing", decisions{"forged": missing()}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			log := Log{Decided: c.decided.decided}
			log.Take(link(1, 0, "a", Start))
			log.Take(link(2, 1, "b", named("a")))
			log.Applied(link(2, 7, "forged", ""), 1)
			if got := log.Err() != nil; got != c.wrong {
				t.Errorf("got %v", log.Err())
			}
		})
	}
}

// Errors say what whoever reads them can do.
func TestErrorsShowTheWaysOn(t *testing.T) {
	var h Head
	if err := h.Follow(link(1, 0, "a", Start)); err != nil {
		t.Fatal(err)
	}
	var broken *BrokenError
	if err := h.Follow(link(2, 17, "b", named("x"))); !errors.As(err, &broken) || !strings.Contains(err.Error(), "tributary topics pass-over document.ordered 0 17 --dry-run") {
		t.Errorf("got %v", err)
	}
	if broken.Rebuild = true; !strings.Contains(broken.Error(), "tributary warehouse rebuild") {
		t.Errorf("got %v", broken)
	}
}
