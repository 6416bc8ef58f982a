package report_test

import (
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tributary/queries/report"
	"tributary/queries/report/reporttest"
	"tributary/schemas"
)

// What is listed by time, by hash, by part of a name, and of what waits.
func TestFilters(t *testing.T) {
	pool := reporttest.Filled(t)
	at := func(second int) time.Time { return reporttest.Start().Add(time.Duration(second) * time.Second) }
	const good, broken, bad, waits = "02.01", "03.01", "2012.zip", "09.01"
	for name, tc := range map[string]struct {
		filter    report.Filter
		files     []string
		documents int
	}{
		"changed since":              {report.Filter{Since: at(19)}, []string{broken, waits}, 0},
		"changed before":             {report.Filter{Until: at(16)}, []string{bad}, 0},
		"changed between":            {report.Filter{Since: at(7), Until: at(19)}, []string{good, bad}, 2},
		"documents of what changed":  {report.Filter{Since: at(16)}, []string{good, broken, waits}, 2},
		"waiting":                    {report.Filter{Waiting: true}, []string{waits}, 0},
		"waiting without news":       {report.Filter{Waiting: true, Until: at(21)}, nil, 0},
		"a part, capitals no matter": {report.Filter{Contains: "H.2012-10-0"}, []string{good, broken, waits}, 2},
		"small letters":              {report.Filter{Contains: "h2012.Z"}, []string{bad}, 0},
		"no pattern in a part":       {report.Filter{Contains: "H%09"}, nil, 0},
		"a pattern":                  {report.Filter{Name: "H.*-03*"}, []string{broken}, 0},
		"the whole name":             {report.Filter{Name: "H.2012-10-0"}, nil, 0},
		"session by number":          {report.Filter{Session: "1"}, []string{good, broken}, 2},
		"no such session":            {report.Filter{Session: "2"}, nil, 0},
		"failed documents":           {report.Filter{Status: "failed"}, []string{good, broken, bad}, 1},
		"documents at xsd":           {report.Filter{Phase: "xsd"}, []string{good}, 1},
		"documents that are through": {report.Filter{Phase: "overview", Status: "done"}, nil, 1},
	} {
		var files []string
		if err := report.Files(t.Context(), pool, tc.filter, func(f report.File) error {
			files = append(files, f.File)
			return nil
		}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if !slices.EqualFunc(files, tc.files, strings.Contains) {
			t.Errorf("%s: files %q, want those with %q", name, files, tc.files)
		}
		documents := 0
		if err := report.Documents(t.Context(), pool, tc.filter, func(report.Document) error { documents++; return nil }); err != nil || documents != tc.documents {
			t.Errorf("%s: %d documents, want %d: %v", name, documents, tc.documents, err)
		}
	}
}

// A file is found by any bytes that were received for it, however its hash is
// written, by those only, and from 6 digits on.
func TestFilterByHash(t *testing.T) {
	const hash = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
	events := reporttest.Story()
	for i := range events {
		e := &events[i]
		e.Outcome, e.Accepted = strings.ReplaceAll(e.Outcome, "aa11", hash), strings.ReplaceAll(e.Accepted, "aa11", hash)
		if e.SHA256 != "" {
			e.SHA256 = hash
		}
	}
	pool := reporttest.Told(t, events)
	for prefix, want := range map[string]int{"012345": 1, "0123456789ABCDEF": 1, hash: 1, "012346": 0, "01234567f": 0, strings.Repeat("0", 64): 0} {
		n := 0
		if err := report.Files(t.Context(), pool, report.Filter{SHA256: prefix}, func(report.File) error { n++; return nil }); err != nil || n != want {
			t.Errorf("%s: %d files, want %d: %v", prefix, n, want, err)
		}
	}
}

// A filter that can't be is refused by its name, before anything is asked.
func TestFiltersThatCantBe(t *testing.T) {
	cursor := func(text string) string { return base64.RawURLEncoding.EncodeToString([]byte(text)) }
	for _, tc := range []struct {
		want   string
		filter report.Filter
	}{
		{"phase", report.Filter{Phase: "xsd}"}}, {"status", report.Filter{Status: "late"}}, {"action", report.Filter{Action: "Add"}}, {"sort", report.Filter{Sort: "size"}},
		{"session", report.Filter{Session: "-1"}}, {"session", report.Filter{Session: "one"}},
		{"sha256", report.Filter{SHA256: "12345"}}, {"sha256", report.Filter{SHA256: "12345%"}}, {"sha256", report.Filter{SHA256: strings.Repeat("0", 65)}},
		{"since", report.Filter{Since: reporttest.Start(), Until: reporttest.Start()}},
		{"q", report.Filter{Contains: "a\x00"}}, {"name", report.Filter{Name: "\xff"}},
		{"after", report.Filter{After: "not base64!"}}, {"after", report.Filter{After: cursor("nonsense")}}, {"after", report.Filter{After: cursor(`["name"]`)}},
		{"after", report.Filter{After: cursor(`["newest","2026-11-21T10:00:00Z","` + schemas.ID("f", "1") + `"]`)}},
		{"after", report.Filter{After: cursor(`["newest","2026-11-21T10:00:00Z","` + schemas.ID("f", "1") + `"]`), Sort: report.Oldest}},
		{"after", report.Filter{After: cursor(`["newest","now","` + schemas.ID("f", "1") + `"]`), Sort: report.Newest}},
		{"after", report.Filter{After: cursor(`["newest","2026-11-21T10:00:00Z","1"]`), Sort: report.Newest}},
		{"after", report.Filter{After: cursor(`["name","\u0000","add"]`)}}, {"after", report.Filter{After: cursor(`["name","` + strings.Repeat("x", 20<<10) + `","add"]`)}},
	} {
		_, err := report.FilePage(t.Context(), nil, tc.filter)
		var bad *report.FilterError
		if !errors.As(err, &bad) || bad.Filter != tc.want {
			t.Errorf("%+v: %v, want one about %s", tc.filter, err, tc.want)
		}
	}
	for _, text := range []string{`["name","a","add"]`, `["name","a","add","b","x"]`, `["newest","-infinity","1","b","1"]`} {
		f := report.Filter{After: cursor(text)}
		if strings.Contains(text, "newest") {
			f.Sort = report.Newest
		}
		var bad *report.FilterError
		if _, err := report.DocumentPage(t.Context(), nil, f); !errors.As(err, &bad) {
			t.Errorf("documents after %s: %v", text, err)
		}
	}
}

// many are files of the same and of different times, under several actions, with
// documents.
func many() []schemas.StatusChanged {
	var out []schemas.StatusChanged
	for _, action := range []string{"edit", "add", "delete"} {
		for _, name := range []string{"b'; --.zip", "a\u202e<b>.zip", "ß.zip", "B.zip", "😀\".zip"} {
			ref := schemas.FileRef{File: schemas.FileID(action, name), FileName: name, Action: action}
			scope := schemas.Scope{Run: schemas.LiveRun, Centre: "H", Source: "harwell"}
			out = append(out, schemas.StatusChanged{Scope: scope, FileRef: ref, Entity: schemas.EntityDownload, Attempt: 1, Phase: "unzip", Status: "done", Outcome: "aa/done", Rows: 2},
				schemas.StatusChanged{Scope: scope, FileRef: ref, Entity: schemas.EntityDownload, Attempt: 1, Accepted: "aa/done"})
			for _, entry := range []string{"é.xml", "d.xml"} {
				d := schemas.StatusChanged{Scope: scope, FileRef: ref, Entity: schemas.EntityDocument, Attempt: 1, Phase: "xsd", Status: "done", Outcome: "aa/done"}
				d.Entry, d.Document = entry, schemas.DocumentID(ref.File, entry)
				out = append(out, d)
			}
		}
	}
	return out
}

// Pages of any size, one after the other, are the whole list, in its order.
func TestPages(t *testing.T) {
	pool := reporttest.Told(t, many())
	// Two that changed at the same moment are told apart.
	if _, err := pool.Exec(t.Context(), "UPDATE tracker.zip_action SET last_update = (SELECT max(last_update) FROM tracker.zip_action) WHERE todo_id = 1"); err != nil {
		t.Fatal(err)
	}
	if _, err := pool.Exec(t.Context(), "UPDATE tracker.zip_action SET last_update = '-infinity' WHERE todo_id = 3"); err != nil {
		t.Fatal(err)
	}
	for _, sort := range []string{report.ByName, report.Newest, report.Oldest} {
		var files, documents []string
		file := func(f report.File) string { return f.Action + "/" + f.File }
		document := func(d report.Document) string { return d.Action + "/" + d.File + "/" + d.Document }
		if err := errors.Join(
			report.Files(t.Context(), pool, report.Filter{Sort: sort}, func(f report.File) error { files = append(files, file(f)); return nil }),
			report.Documents(t.Context(), pool, report.Filter{Sort: sort}, func(d report.Document) error { documents = append(documents, document(d)); return nil })); err != nil {
			t.Fatal(err)
		}
		if len(files) != 15 || len(documents) != 30 || sort == report.Newest && (!strings.HasPrefix(files[0], "add/") || !strings.HasPrefix(files[14], "delete/")) ||
			sort == report.Oldest && (!strings.HasPrefix(files[0], "delete/") || !strings.HasPrefix(files[14], "add/")) ||
			sort == report.ByName && (files[0] != "add/B.zip" || files[14] != "edit/😀\".zip") {
			t.Fatalf("%s: files %q\ndocuments %q", sort, files, documents)
		}
		for _, limit := range []int{1, 2, 7, 15, 30} {
			t.Run(fmt.Sprint(sort, limit), func(t *testing.T) {
				got := paged(t, limit, sort, func(f report.Filter) (report.Page[report.File], error) { return report.FilePage(t.Context(), pool, f) }, file)
				if d := cmp.Diff(files, got); d != "" {
					t.Errorf("files (-at once +in pages):\n%s", d)
				}
				got = paged(t, limit, sort, func(f report.Filter) (report.Page[report.Document], error) {
					return report.DocumentPage(t.Context(), pool, f)
				}, document)
				if d := cmp.Diff(documents, got); d != "" {
					t.Errorf("documents (-at once +in pages):\n%s", d)
				}
			})
		}
	}
}

// paged is a list, read in pages.
func paged[T any](t *testing.T, limit int, sort string, read func(report.Filter) (report.Page[T], error), name func(T) string) (names []string) {
	t.Helper()
	f := report.Filter{Sort: sort, Limit: limit}
	for range 100 {
		p, err := read(f)
		if err != nil {
			t.Fatal(err)
		}
		if len(p.Rows) > limit || len(p.Rows) == 0 || p.Next != "" && len(p.Rows) < limit {
			t.Fatalf("a page of %d has %d rows", limit, len(p.Rows))
		}
		for _, r := range p.Rows {
			names = append(names, name(r))
		}
		if f.After = p.Next; f.After == "" {
			return names
		}
	}
	t.Fatal("the list does not end")
	return nil
}

// A page has a bounded number of rows, whatever is asked for, and a document of it as
// few errors as are wanted.
func TestPagesAreBounded(t *testing.T) {
	pool := reporttest.Filled(t)
	for limit, want := range map[int]int{0: 4, 1: 1, 1 << 40: 4, -1: 4} {
		if p, err := report.FilePage(t.Context(), pool, report.Filter{Limit: limit}); err != nil || len(p.Rows) != want {
			t.Errorf("limit %d: %d rows, %v", limit, len(p.Rows), err)
		}
	}
	p, err := report.DocumentPage(t.Context(), pool, report.Filter{Errors: 1})
	if err != nil || len(p.Rows) != 2 || len(p.Rows[0].Errors) != 1 || *p.Rows[0].Errors[0].Line != 3 || p.Rows[0].ErrorsTotal != 2 {
		t.Errorf("%+v, %v", p, err)
	}
}
