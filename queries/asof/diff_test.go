package asof

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tributary/queries/report"
)

// changesOf are the changes of a scope, each in one line, and the counts.
func changesOf(t *testing.T, r *Reader, from, to time.Time, s Scope) (changes, counts []string) {
	t.Helper()
	told := func(s *Stand) string {
		if s == nil {
			return "-"
		}
		out := s.Phase + "," + s.Status
		for _, x := range []*string{s.Exception, s.Version} {
			if x != nil {
				out += "," + *x
			}
		}
		return out
	}
	if err := r.Diff(t.Context(), from, to, s, func(d *Difference) error {
		for _, c := range d.Counts {
			counts = append(counts, fmt.Sprintf("%d %s %s %s > %s", c.Count, c.Kind, c.Change, told(c.From), told(c.To)))
		}
		return d.Changes(t.Context(), 0, func(c Change) error {
			document := ""
			if c.Document != nil {
				document = "/" + *c.Document
			}
			changes = append(changes, fmt.Sprintf("%s %s/%s%s %s > %s", c.Change, c.Action, c.File, document, told(c.From), told(c.To)))
			return nil
		})
	}); err != nil {
		t.Fatal(err)
	}
	return changes, counts
}

// What changed between the moment before a file's attempt and the end, and
// between others, is known from the story.
func TestWhatChangedBetweenTwoMoments(t *testing.T) {
	pool := database(t)
	log := story()
	r := reader(t, pool, log)
	at := func(what func(Event) bool) time.Time {
		for _, e := range log {
			if what(e) {
				return e.At
			}
		}
		t.Fatal("there is no such event")
		return time.Time{}
	}
	second := at(func(e Event) bool { return e.Number == 2 }) // the second session begins
	changes, counts := changesOf(t, r, second, end(), Scope{})
	want := []string{
		"replaced add/H.2012-10-02.01.impc.zip xsd,failed,xsd_invalid,aa > overview,done,cc",
		"new add/H.2013-01-01.01.impc.zip - > zip_name,done",
		"new delete/H.2013-01-01.01.impc.zip - > overview,done,dd",
		"new add/H2013.zip - > zip_name,failed,name_pattern",
		"replaced add/H.2012-10-02.01.impc.zip/H.2012-10-02.1.specimen.impc.xml overview,done,aa > overview,done,cc",
		"gone add/H.2012-10-02.01.impc.zip/H.2012-10-02.2.experiment.impc.xml xsd,failed,xsd_invalid,aa > -",
		"new add/H.2012-10-02.01.impc.zip/H.2012-10-02.3.specimen.impc.xml - > overview,done,cc",
		"new delete/H.2013-01-01.01.impc.zip/H.2013-01-01.1.specimen.impc.xml - > overview,done,dd",
	}
	if diff := cmp.Diff(want, changes); diff != "" {
		t.Errorf("changes (-want +told):\n%s", diff)
	}
	if diff := cmp.Diff([]string{
		"1 file new - > zip_name,done",
		"1 file new - > zip_name,failed,name_pattern",
		"1 file new - > overview,done",
		"1 file replaced xsd,failed,xsd_invalid > overview,done",
		"1 document gone xsd,failed,xsd_invalid > -",
		"2 document new - > overview,done",
		"1 document replaced overview,done > overview,done",
	}, counts); diff != "" {
		t.Errorf("counts (-want +told):\n%s", diff)
	}

	requested := at(func(e Event) bool { return e.Attempt == 1 && e.Phase == "download" })
	for _, x := range []struct {
		name     string
		from, to time.Time
		scope    Scope
		want     []string
	}{
		{"one file moves", requested.Add(-time.Microsecond), requested, Scope{Name: first}, []string{"moved add/" + first + " zip_name,done > download,pending"}},
		{"its failure", requested, requested.Add(time.Second), Scope{Centre: "h"}, []string{"moved add/" + first + " download,pending > download,failed,truncated"}},
		{"another file", requested, requested.Add(time.Second), Scope{Name: "H.2013*"}, nil},
		{"another centre", second, end(), Scope{Centre: "Ics"}, nil},
		{"told again only", end().Add(-time.Second), end(), Scope{}, nil},
	} {
		if got, _ := changesOf(t, r, x.from, x.to, x.scope); cmp.Diff(x.want, got) != "" {
			t.Errorf("%s (-want +told):\n%s", x.name, cmp.Diff(x.want, got))
		}
	}
	if err := r.Diff(t.Context(), end(), end(), Scope{}, func(*Difference) error { return nil }); err == nil {
		t.Error("a moment is compared with itself")
	}
}

// Changes come page by page, in the order of all, and narrowed to those of one kind.
func TestChangesPageByPage(t *testing.T) {
	pool := database(t)
	r := reader(t, pool, story())
	err := r.Diff(t.Context(), start(), end(), Scope{}, func(d *Difference) error {
		var all []Change
		if err := d.Changes(t.Context(), 0, func(c Change) error { all = append(all, c); return nil }); err != nil {
			return err
		}
		for _, n := range []Narrowed{{Limit: 1}, {Limit: 2}, {Limit: len(all)}, {}, {Kind: "document", Limit: 2}, {Change: New, Limit: 3}, {Change: Gone, Limit: 1}} {
			var want, got []Change
			for _, c := range all {
				if (n.Kind == "" || c.Kind == n.Kind) && (n.Change == "" || c.Change == n.Change) {
					want = append(want, c)
				}
			}
			for pages := 0; pages <= len(all); pages++ {
				page, next, err := d.Page(t.Context(), n)
				if err != nil {
					return err
				}
				if n.Limit > 0 && len(page) > n.Limit {
					t.Errorf("%+v: a page of %d", n, len(page))
				}
				got = append(got, page...)
				if n.After = next; next == "" {
					break
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%+v (-want +told):\n%s", n, diff)
			}
		}
		for _, n := range []Narrowed{{Kind: "row"}, {Change: "lost"}, {After: "x"}, {After: "W10"}, {After: cursor(Change{File: "a\x00"})}, {After: strings.Repeat("A", 30_000)}} {
			var bad *report.FilterError
			if _, _, err := d.Page(t.Context(), n); !errors.As(err, &bad) || len(err.Error()) > 300 {
				t.Errorf("%.40v: %v", n, err)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
