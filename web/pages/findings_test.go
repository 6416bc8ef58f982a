package pages_test

import (
	"net/http"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"tributary/queries/report/reporttest"
	"tributary/web/pages"
)

func TestFindings(t *testing.T) {
	server := busy(t, func(s *pages.Site) {
		pool := s.Tracker.(*pgxpool.Pool)
		reporttest.Findings(t, pool)
		s.Warehouse = pool
		s.Meaning = func(check string) string { return "What " + check + " finds." }
	})
	answers(t, server, "/findings", http.StatusOK, "4 errors are open in what was loaded.", "What specimen_unknown finds.", "Errors: their documents have failed",
		`<a href="/t/findings?centre=H&amp;check=specimen_unknown">3 findings</a>`, `<a href="/t/findings?centre=J&amp;check=specimen_unknown">1 finding</a>`, ">Warnings</th>")
	answers(t, server, "/findings?centre=H&check=specimen_unknown", http.StatusOK, "Open findings of specimen_unknown in data of H.",
		`<a href="/t/files/add/H.2026-11-20.02.impc.zip">`, "12:3</td>", "15</td>", "⟨U&#43;202E⟩exe.txt")
	answers(t, server, "/findings?centre=H&check=other", http.StatusOK, "No finding of other is open in data of H.")
	answers(t, server, "/findings?centre=H", http.StatusBadRequest, "name a centre and a check")
	answers(t, server, "/findings?centre=H&check=date_odd&after=x", http.StatusBadRequest, "take the address of the next page as it was given")
	answers(t, busy(t, unchanged), "/findings", http.StatusServiceUnavailable, "it has no connection to where it lies")
}
