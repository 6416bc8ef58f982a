package lineage_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tributary/queries/lineage"
)

func testRetract(t *testing.T, b *bench) {
	for name, tc := range map[string]struct {
		position int
		want     lineage.Retraction
	}{
		// 77 is then as document 2 says.
		"an edit": {3, lineage.Retraction{Documents: []string{"H.2012-10-03.1.specimen.impc.xml"}, Restored: []string{},
			Tables: []lineage.Change{{Table: "specimen", Records: 1, Current: 1, Again: 1}}}},
		// 78 is then as document 1 says.
		"a deletion": {5, lineage.Retraction{Documents: []string{"x.xml"}, Restored: []string{},
			Tables: []lineage.Change{{Table: "specimen", Records: 1, Again: 1}}}},
		// 76 is then unknown; 77 has a greater claim anyhow.
		"an add": {2, lineage.Retraction{Documents: []string{"H.2012-10-02.1.specimen.impc.xml"}, Restored: []string{},
			Tables: []lineage.Change{{Table: "specimen", Records: 2, Current: 1, Gone: 1}}}},
		// What version 2 had withdrawn counts again: 79 as it was, and 80, which
		// version 2 lacks.
		"a version": {7, lineage.Retraction{Documents: []string{"H.2012-10-05.1.specimen.impc.xml"}, Restored: []string{"H.2012-10-05.1.specimen.impc.xml", "y.xml"},
			Tables: []lineage.Change{{Table: "specimen", Records: 1, Current: 1, Again: 2}}}},
		"what is unloaded already": {4, lineage.Retraction{Documents: []string{}, Restored: []string{}, Tables: []lineage.Change{}}},
	} {
		t.Run(name, func(t *testing.T) {
			if err := b.pool.QueryRow(t.Context(), "SELECT action, file_name, archive FROM warehouse.document WHERE position = $1", tc.position).
				Scan(&tc.want.Action, &tc.want.File, &tc.want.Version); err != nil {
				t.Fatal(err)
			}
			got, err := b.reader(0).Retract(t.Context(), tc.want.Action, tc.want.File, tc.want.Version)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(&tc.want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

func testFind(t *testing.T, b *bench) {
	b.load(doc{position: 11, day: 1, action: "edit", xml: mice("77", "S1")})
	var id string
	if err := b.pool.QueryRow(t.Context(), "SELECT document FROM warehouse.document WHERE position = 7").Scan(&id); err != nil {
		t.Fatal(err)
	}
	for what, want := range map[string]int64{
		"6": 6, strings.ToUpper(id): 7,
		"H.2012-10-05.01.impc.zip/H.2012-10-05.1.specimen.impc.xml":      7, // the version that holds
		"H.2012-10-05.01.impc.zip/y.xml":                                 8, // withdrawn, but there is no other
		"edit/H.2012-10-01.01.impc.zip/H.2012-10-01.1.specimen.impc.xml": 11,
	} {
		d, err := b.reader(0).Find(t.Context(), what)
		if err != nil || d.Position != want {
			t.Errorf("%s is %+v, %v; want position %d", what, d, err, want)
		}
	}
	for what, want := range map[string]string{
		"H.2012-10-01.01.impc.zip/H.2012-10-01.1.specimen.impc.xml": "say add/H.2012-10-01.01.impc.zip/H.2012-10-01.1.specimen.impc.xml or edit/",
		"9": "no such document was loaded", "nothing": "no such document", "a/b/c/d": "FILE/ENTRY",
	} {
		if _, err := b.reader(0).Find(t.Context(), what); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", what, err, want)
		}
	}
	if _, err := b.reader(0).Find(t.Context(), "99"); !errors.Is(err, lineage.ErrNotFound) {
		t.Errorf("an unknown document is %v", err)
	}
}
