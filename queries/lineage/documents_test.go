package lineage_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func testSuccessors(t *testing.T, b *bench) {
	for position, want := range map[int64][]string{
		1: {"3 edit/H.2012-10-03.01.impc.zip 1", "5 delete/H.2012-10-04.01.impc.zip 1"}, // edited, deleted
		2: {"3 edit/H.2012-10-03.01.impc.zip 1"},
		3: nil,
		4: {"3 edit/H.2012-10-03.01.impc.zip 1"}, // unloaded
		5: nil,                                   // what deletes is the greatest itself
		6: {"7 add/H.2012-10-05.01.impc.zip 1"},
		8: nil, // nobody claims it any more
		9: nil, // failed
	} {
		all, err := b.reader(0).Successors(t.Context(), position, 10)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, s := range all {
			got = append(got, fmt.Sprintf("%d %s/%s %d", s.Position, s.Action, s.File, s.Records))
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("of %d: %s", position, diff)
		}
	}
	if all, err := b.reader(0).Successors(t.Context(), 1, 1); err != nil || len(all) != 1 {
		t.Errorf("%d of at most one, %v", len(all), err)
	}
}

func testDocuments(t *testing.T, b *bench) {
	list := func(entry string, most int) (out []string) {
		docs, err := b.reader(0).Documents(t.Context(), "add", "H.2012-10-05.01.impc.zip", entry, most)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range docs {
			out = append(out, fmt.Sprintf("%d %s %v", d.Position, d.Entry, d.Why != ""))
		}
		return out
	}
	const entry = "H.2012-10-05.1.specimen.impc.xml"
	if diff := cmp.Diff([]string{"7 " + entry + " false", "6 " + entry + " true", "8 y.xml true"}, list("", 10)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"7 " + entry + " false", "6 " + entry + " true"}, list(entry, 10)); diff != "" {
		t.Error(diff)
	}
	if got := list("", 1); len(got) != 1 {
		t.Errorf("%v of at most one", got)
	}
}
