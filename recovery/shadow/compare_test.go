package shadow

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tributary/internal/engine/enginetest"
	"tributary/internal/pg"
	"tributary/internal/profile"
	"tributary/recovery/shadow/shadowtest"
	"tributary/sql/control"
)

// fixture is a control database with a shadow run, and what compares it.
type fixture struct {
	*Comparer
	*shadowtest.Run
	run *control.ReplayRun
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	pool, err := pg.Open(t.Context(), enginetest.Filled(t, "control", control.Migrate), "test", 4)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	run := shadowtest.New(t, pool)
	return &fixture{&Comparer{Control: pool, Codec: run.Codec}, run, run.Asked}
}

type docs = shadowtest.Documents

// Verdicts are compared document by document, with those of the newest live
// attempt that was complete; an archive that failed as a whole counts for all
// its documents.
func TestVerdictsAreCompared(t *testing.T) {
	f := newFixture(t)
	f.File("requested", shadowtest.Judged(docs{"a": shadowtest.Refused(2), "b": shadowtest.Refused(3), "c": shadowtest.Refused(4)}), shadowtest.Judged(docs{"a": shadowtest.Valid(), "b": shadowtest.Refused(3), "c": shadowtest.Refused(3)}))
	f.File("requested", shadowtest.Failed("zip_encrypted"), shadowtest.Judged(docs{"a": shadowtest.Valid(), "b": shadowtest.Refused(1)}))
	f.File("requested", shadowtest.Failed("zip_encrypted"), shadowtest.Failed("zip_encrypted"))
	f.File("requested", shadowtest.Judged(docs{"a": shadowtest.Refused(1)}), shadowtest.Failed("zip_encrypted"))
	f.File("requested", shadowtest.Judged(docs{"a": shadowtest.Refused(1), "new": shadowtest.Refused(1)}), shadowtest.Judged(docs{"a": shadowtest.Refused(1), "gone": shadowtest.Valid()}))
	f.File("requested", shadowtest.Judged(docs{"a": shadowtest.Refused(1)}), shadowtest.Judged(docs{"a": shadowtest.Valid()}), shadowtest.Judged(docs{"a": shadowtest.Refused(1)}), shadowtest.Failed("zip_encrypted"))
	f.File("waiting", shadowtest.End{}, shadowtest.Judged(docs{"a": shadowtest.Valid()}))
	f.File("refused", shadowtest.End{}, shadowtest.Judged(docs{"a": shadowtest.Valid()}))

	var got []string
	counter := NewCounter()
	skipped, err := f.Compare(t.Context(), f.run, func(d *Document) error {
		got = append(got, fmt.Sprintf("%s/%s %s: %s%s > %s%s", d.FileName, d.Entry, d.Change, d.Live.Result, d.Live.Exception, d.Shadow.Result, d.Shadow.Exception))
		counter.Add(d)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"f1.zip/a newly refused: valid > failedxsd_error",
		"f1.zip/b unchanged: failedxsd_error > failedxsd_error",
		"f1.zip/c refused otherwise: failedxsd_error > failedxsd_error",
		"f2.zip/a newly refused: valid > failedzip_encrypted",
		"f2.zip/b refused otherwise: failedxsd_error > failedzip_encrypted",
		"f3.zip/ unchanged: failedzip_encrypted > failedzip_encrypted",
		"f4.zip/a refused otherwise: failedzip_encrypted > failedxsd_error",
		"f5.zip/a unchanged: failedxsd_error > failedxsd_error",
		"f5.zip/gone newly refused: valid > ",
		"f5.zip/new refused otherwise:  > failedxsd_error",
		"f6.zip/a unchanged: failedxsd_error > failedxsd_error",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(Skipped{Unfinished: 1, Refused: 1}, skipped); diff != "" {
		t.Error(diff)
	}
	groups := counter.Groups(ByException)
	wantGroups := []Group{
		{By: Total, Counts: Counts{Documents: 11, Unchanged: 4, NewlyRefused: 3, RefusedOtherwise: 4}},
		{By: ByException, Group: "", Counts: Counts{Documents: 1, NewlyRefused: 1}},
		{By: ByException, Group: "xsd_error", Counts: Counts{Documents: 7, Unchanged: 3, NewlyRefused: 1, RefusedOtherwise: 3}},
		{By: ByException, Group: "zip_encrypted", Counts: Counts{Documents: 3, Unchanged: 1, NewlyRefused: 1, RefusedOtherwise: 1}},
	}
	if diff := cmp.Diff(wantGroups, groups); diff != "" {
		t.Error(diff)
	}
}

// A shadow tells of the profile that it was asked for with, and documents that a
// member has judged by another one are counted.
func TestVersionsOfAShadow(t *testing.T) {
	f := newFixture(t)
	other := shadowtest.Refused(1)
	other.XSDVersion = "y"
	f.File("requested", shadowtest.Judged(docs{"a": shadowtest.Refused(1), "b": other}), shadowtest.Judged(docs{"a": shadowtest.Refused(1), "b": shadowtest.Refused(1)}))
	skipped, err := f.Compare(context.Background(), f.run, func(*Document) error { return nil })
	if skipped.Mixed != 1 || err != nil {
		t.Errorf("%d documents were judged by others (%v), want 1", skipped.Mixed, err)
	}
	now := profile.Versions{Unzip: "u", XSD: map[string]string{"specimen": "x"}, Upload: map[string]string{}}
	if equal, err := Equal(f.run, now); !equal || err != nil {
		t.Errorf("the same versions are others (%v)", err)
	}
	now.XSD["specimen"] = "y"
	if equal, _ := Equal(f.run, now); equal {
		t.Error("another version of a schema is the same")
	}
	if equal, _ := Equal(&control.ReplayRun{}, now); equal {
		t.Error("unknown versions are the same")
	}
}

// Claims have the same digest in any order, and another one if anything of them
// differs.
func TestDigestOfClaims(t *testing.T) {
	a, b := [16]byte{1}, [16]byte{2}
	var x, y sum
	x.add(1, 7, a, b)
	x.add(2, 7, b, a)
	y.add(2, 7, b, a)
	y.add(1, 7, a, b)
	if x != y {
		t.Error("the order of claims counts")
	}
	for _, other := range []func(*sum){
		func(s *sum) { s.add(2, 7, b, b) }, func(s *sum) { s.add(2, 7, a, a) }, func(s *sum) { s.add(3, 7, b, a) }, func(s *sum) { s.add(2, 8, b, a) }, func(*sum) {},
	} {
		var z sum
		z.add(1, 7, a, b)
		if other(&z); x == z {
			t.Error("claims that differ have the same digest")
		}
	}
}

// Parts of a comparison list each file that would change once and in order, count each
// document once, and add up to the whole.
func TestPartsAddUp(t *testing.T) {
	f := newFixture(t)
	for n := range 9 {
		was := shadowtest.Refused(2)
		if n%2 == 0 {
			was = shadowtest.Valid()
		}
		f.File("requested", shadowtest.Judged(docs{"a": shadowtest.Refused(2), "b": shadowtest.Refused(2), "c": shadowtest.Refused(1)}), shadowtest.Judged(docs{"a": was, "b": was, "c": shadowtest.Refused(1)}))
	}
	f.File("waiting", shadowtest.End{}, shadowtest.Judged(docs{"a": shadowtest.Valid()}))
	want, skipped, err := f.Count(t.Context(), f.run)
	if err != nil {
		t.Fatal(err)
	}
	changed := []string{"f1.zip", "f3.zip", "f5.zip", "f7.zip", "f9.zip"}
	for _, c := range []struct {
		most  int
		time  time.Duration
		parts int
		files []string
	}{{100, time.Hour, 1, changed}, {2, time.Hour, 3, changed}, {1, time.Hour, 6, changed}, {0, time.Hour, 1, nil}, {3, -time.Hour, 5, changed}} {
		var files []string
		counter, left, parts, compared := NewCounter(), Skipped{}, 0, int64(0)
		for after := int64(0); ; parts++ {
			p, err := f.Part(t.Context(), f.run, after, c.most, time.Now().Add(c.time))
			if err != nil || len(p.Files) > c.most || parts > 20 {
				t.Fatalf("%+v: part %d has %d files, %v", c, parts, len(p.Files), err)
			}
			for _, x := range p.Files {
				files = append(files, x.File)
				if x.NewlyRefused != 2 || x.Unchanged != 1 || x.Documents != 3 || x.First.Entry != "a" || x.First.Live.String() != "valid" || x.First.Shadow.String() != "xsd_error at xsd, 2 errors" {
					t.Errorf("%+v: %+v", c, x)
				}
			}
			counter.AddGroups(p.Groups)
			left.Add(p.Skipped)
			compared += p.Compared
			if after = p.Next; after == 0 {
				parts++
				break
			}
		}
		if d := cmp.Diff([]any{c.files, want.Groups(""), skipped, int64(10)}, []any{files, counter.Groups(""), left, compared}); d != "" || parts != c.parts {
			t.Errorf("%+v: %d parts:\n%s", c, parts, d)
		}
	}
	documentPartsAddUp(t, f)
}

// documentPartsAddUp holds that parts of documents are together all that would change.
func documentPartsAddUp(t *testing.T, f *fixture) {
	t.Helper()
	line := func(d *Document) string { return d.FileName + "/" + d.Entry + " " + d.Change }
	var want []string
	skipped, err := f.Changes(t.Context(), f.run, func(d *Document) error { want = append(want, line(d)); return nil })
	if err != nil || len(want) != 10 {
		t.Fatal(want, err)
	}
	for enough, parts := range map[int]int{1: 2, 100: 1} { // eight files are compared at once
		var got []string
		left, n := Skipped{}, 0
		for after := int64(0); n == 0 || after > 0; n++ {
			rows, s, next, err := f.DocumentPart(t.Context(), f.run, after, enough, time.Now().Add(time.Hour))
			if err != nil || n > 5 {
				t.Fatal(n, err)
			}
			for i := range rows {
				got = append(got, line(&rows[i]))
			}
			left.Add(s)
			after = next
		}
		if d := cmp.Diff([]any{want, skipped}, []any{got, left}); d != "" || n < parts {
			t.Errorf("%d at least: %d parts:\n%s", enough, n, d)
		}
	}
}
