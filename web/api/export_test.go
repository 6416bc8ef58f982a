package api

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// All rows of an answer are had in the format that is asked for; what can't be answered is
// a problem, as long as nothing was answered.
func TestExport(t *testing.T) {
	server := served(t, New(whole(t)))
	for _, c := range []struct {
		path   string
		status int
		want   string
	}{
		{`/sql/export {"store":"tracker","statement":"SELECT n FROM generate_series(1, 3000) n","format":"csv"}`, 200, "\n3000\n"},
		{`/sql/export {"store":"tracker","statement":"SELECT 1 AS one, NULL AS two","format":"json"}`, 200, `{"one":1,"two":null}` + "\n"},
		{`/sql/export {"store":"tracker","statement":"SELECT '=1' AS one","format":"csv","escape_formulas":true}`, 200, "'=1"},
		{`/sql/export {"store":"tracker","statement":"SELECT 1 AS one","format":"parquet"}`, 200, "PAR1"},
		{`/sql/export {"store":"tracker","statement":"DROP TABLE tracker.file","format":"csv"}`, 400, `"type":"/problems/bad_statement"`},
		{`/sql/export {"store":"tracker","statement":"SELECT 1 / (n - 9) FROM generate_series(1, 20) n","format":"csv"}`, 400, `"type":"/problems/bad_statement"`},
		{`/sql/export {"store":"history","statement":"SELECT 1","format":"csv"}`, 503, `"type":"/problems/not_here"`},
		{`/sql/export {"store":"tracker","statement":"SELECT 1","format":"xml"}`, 422, `"location":"body.format"`},
		{`/recipes/rejected/export {"format":"csv","parameters":{"centre":"H"}}`, 200, "rank,centre,"},
		{`/recipes/rejected/export {"format":"csv","parameters":{"centre":"nobody"}}`, 404, `"type":"/problems/unknown_centre"`},
		{`/recipes/rejected/export {"format":"csv","parameters":{"colour":"red"}}`, 400, `"type":"/problems/bad_parameter"`},
		{`/recipes/none/export {"format":"csv"}`, 404, `"type":"/problems/no_such_recipe"`},
	} {
		answer, body := asks(t, server, exchange{path: c.path})
		if answer.StatusCode != c.status || !strings.Contains(string(body), c.want) {
			t.Errorf("%s: %d %.300s, want %d with %s", c.path, answer.StatusCode, body, c.status, c.want)
		}
	}
	deps := whole(t)
	deps.Asker = nil
	if answer, body := asks(t, served(t, New(deps)), exchange{path: `/sql/export {"store":"tracker","statement":"SELECT 1","format":"csv"}`}); answer.StatusCode != 503 {
		t.Errorf("where nobody asks: %d %s", answer.StatusCode, body)
	}
}

// An answer that goes wrong once a part of it was sent breaks off: nobody takes it for whole.
func TestExportBreaksOff(t *testing.T) {
	a := New(whole(t))
	server := served(t, a)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL+base+"/sql/export",
		strings.NewReader(`{"store":"tracker","statement":"SELECT repeat('x', 1000), 1 / (n - 900) FROM generate_series(1, 1000) n","format":"csv"}`))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if n, err := io.Copy(io.Discard, answer.Body); err == nil || answer.StatusCode != http.StatusOK || n < heldBack {
		t.Errorf("%d, and %d bytes, which seem to be whole: %v", answer.StatusCode, n, err)
	}
}

// Who reads a recorded answer has no connection to bound.
func TestExportedToARecorder(t *testing.T) {
	w := httptest.NewRecorder()
	e := &exported{to: w}
	for range 3 {
		if _, err := e.Write(make([]byte, heldBack)); err != nil {
			t.Fatal(err)
		}
	}
	if err := e.begin(); err != nil || w.Body.Len() != 3*heldBack {
		t.Errorf("%d bytes, %v", w.Body.Len(), err)
	}
	e.sent = maxExport
	if _, err := e.Write([]byte("x")); err == nil {
		t.Error("there is no end")
	}
}
