package pages_test

import (
	"encoding/csv"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tributary/queries/report/reporttest"
)

// sheet is what an address hands out as CSV, with its header.
func sheet(t *testing.T, server *httptest.Server, path string) [][]string {
	t.Helper()
	answer, err := http.Get(server.URL + "/t" + path) //nolint:noctx // the test's own server
	if err != nil {
		t.Fatal(err)
	}
	text := read(t, answer)
	h := answer.Header
	if answer.StatusCode != http.StatusOK || !strings.HasPrefix(h.Get("Content-Type"), "text/csv;") || !strings.HasPrefix(h.Get("Content-Disposition"), "attachment; filename=") || !strings.Contains(h.Get("Content-Disposition"), ".csv") ||
		!strings.HasPrefix(h.Get("Content-Security-Policy"), "sandbox") || h.Get("Cache-Control") != "private, no-store" {
		t.Errorf("%s: %d %v", path, answer.StatusCode, h)
	}
	rows, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil {
		t.Fatalf("%s: %v\n%s", path, err, text)
	}
	return rows
}

// A list is handed out as it is narrowed, all of it, and lists lead there.
func TestSheets(t *testing.T) {
	server := open(t)
	says(t, server, "/files?status=failed&sort=name", 200, `<a href="/t/files.csv?sort=name&amp;status=failed" download>`)
	got := sheet(t, server, "/files.csv?sort=name&status=failed&centre=H")
	if len(got) != 3 || got[0][0] != "file" || got[1][0] != reporttest.GoodZip || got[1][5] != "failed" {
		t.Errorf("failed files are %q", got)
	}
	says(t, server, "/documents", 200, `<a href="/t/documents.csv" download>`)
	if got := sheet(t, server, "/documents.csv?status=failed"); len(got) != 2 || got[1][6] != "2" || got[1][7] != "3:7: xsd_missing: no id" {
		t.Errorf("failed documents are %q", got)
	}
	says(t, server, "/analytics/failures?phase=zip_name", 200, `<a href="/t/analytics/failures/answer.csv?phase=zip_name" download>`)
	if got := sheet(t, server, "/analytics/failures/answer.csv?phase=zip_name"); len(got) != 2 || got[0][0] != "week" || got[1][3] != "name_pattern" {
		t.Errorf("the answer is %q", got)
	}
	for path, want := range map[string]int{"/files.csv?status=late": 400, "/files.csv?centre=Nowhere": 404, "/analytics/nothing/answer.csv": 404, "/analytics/failures/answer.csv?since=soon": 400, "/files.csv?as_of=1h": 400} {
		says(t, server, path, want, "<main")
	}
}

// What strangers wrote is no formula in a spreadsheet, and all of it is one list.
func TestSheetsAreHarmless(t *testing.T) {
	server := openHostile(t)
	if got := sheet(t, server, "/files.csv"); len(got) != 76 {
		t.Errorf("%d rows of 75 files", len(got))
	}
	for _, row := range append(sheet(t, server, "/files.csv"), sheet(t, server, "/documents.csv")...) {
		for _, cell := range row {
			if cell != "" && strings.ContainsAny(cell[:1], "=+@\t\r") {
				t.Errorf("a cell begins as a formula: %.80q", cell)
			}
		}
	}
}

// A centre has each error of its documents in words for it, and nothing of others.
func TestOwnSheet(t *testing.T) {
	server, _ := linked(t, reporttest.Busy(), nil)
	says(t, server, "/c/secret-H", 200, `<a href="/t/c/secret-H/errors.csv" download>All errors as CSV</a>`)
	says(t, server, "/c/secret-H/documents?status=failed", 200, `href="/t/c/secret-H/errors.csv?status=failed"`)
	says(t, server, "/c/secret-H/documents", 200, "!errors.csv")
	got := sheet(t, server, "/c/secret-H/errors.csv")
	if len(got) != 2 {
		t.Fatalf("errors are %q", got)
	}
	for i := range got[1] {
		if len(got[1][i]) > 40 {
			got[1][i] = got[1][i][:40]
		}
	}
	want := []string{"add", reporttest.InvalidZip, "H.2026-11-20.1.specimen.impc.xml", "to correct", "27", "5"}
	if d := cmp.Diff(want, got[1][:6]); d != "" || got[1][8] != "xsd_invalid" || !strings.HasPrefix(got[1][7], "Correct it where your export writes it") {
		t.Errorf("-want +got:\n%s\n%q", d, got[1])
	}
	if got := sheet(t, server, "/c/secret-J/errors.csv"); len(got) != 1 {
		t.Errorf("of J there is %q", got)
	}
	// A file that failed as a whole is an error too.
	story, _ := linked(t, reporttest.Story(), nil)
	got = sheet(t, story, "/c/secret-H/errors.csv?status=failed")
	if i := slices.IndexFunc(got, func(row []string) bool { return row[1] == reporttest.BrokenZip }); i < 0 || got[i][2] != "" || got[i][8] != "corrupted_at_producer" || got[i][6] != "bad CRC on both hostings" {
		t.Errorf("errors are %q", got)
	}
	if got := sheet(t, story, "/c/secret-H/errors.csv?action=edit"); len(got) != 1 {
		t.Errorf("of edits there is %q", got)
	}
}
