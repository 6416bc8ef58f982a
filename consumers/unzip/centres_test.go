package unzip

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tributary/internal/centres"
	"tributary/internal/config"
	"tributary/schemas"
)

// A name is not refused for its centre by what may be out of date: the centres are
// read anew first, once for an archive, and while that fails there is no verdict.
func TestANameIsRefusedByTheNewestCentresOnly(t *testing.T) {
	const known, added, unknown, another = "H.2026-01-02.1.specimen.impc.xml", "New.2026-01-02.1.specimen.impc.xml", "Nobody.2026-01-02.1.specimen.impc.xml", "Noone.2026-01-02.1.specimen.impc.xml"
	b := newBench(t)
	reads := 0
	var away error
	all := centres.Merge(b.deps.Rules.Profile, config.Config{})
	b.deps.Rules.Centres = centres.NewCopy(all, func(context.Context) ([]centres.Centre, error) {
		reads++
		return all, away
	})
	is := func(when string, entries, want []string, wantReads int) {
		t.Helper()
		reads = 0
		var got []string
		var files []string
		for _, e := range entries {
			files = append(files, e, "<a/>")
		}
		err := b.work(b.fetched(pack(t, files...)))
		for _, m := range b.out {
			if e, ok := m.Body.(*schemas.DocumentExtracted); ok {
				got = append(got, e.DocCentre+e.Exception)
			}
			if e, ok := m.Body.(*schemas.UnzipFinished); ok && err != nil {
				t.Errorf("an end is told of what will be tried again: %+v", e)
			}
		}
		if (err != nil) != (want == nil) {
			t.Errorf("%s: %v", when, err)
		}
		if d := cmp.Diff(want, got); d != "" || reads != wantReads {
			t.Errorf("%s: centres were read %d times, and not %d; names are (- wanted, + judged):\n%s", when, reads, wantReads, d)
		}
	}
	is("known ones", []string{known}, []string{"H"}, 0)
	is("an unknown one", []string{known, unknown, another}, []string{"H", "document_name_centre", "document_name_centre"}, 1)
	is("a name that breaks another rule", []string{"x.xml"}, []string{"document_name_pattern"}, 0)
	away = errors.New("no Postgres")
	is("while Postgres is away", []string{known}, []string{"H"}, 0)
	is("while Postgres is away, an unknown one", []string{unknown}, nil, 1)
	away = nil
	all = append(all, centres.Centre{ShortName: "New", Active: true})
	is("one that was added", []string{added, unknown}, []string{"New", "document_name_centre"}, 1)
	is("once more", []string{added}, []string{"New"}, 0)
}
