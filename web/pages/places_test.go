package pages_test

import (
	"fmt"
	"net/http"
	"testing"

	"tributary/queries/report"
	"tributary/queries/report/reporttest"
	"tributary/schemas"
	"tributary/web/access"
	"tributary/web/pages/pagestest"
)

// The side list counts what there is, and what somebody has to act on; of the past, and
// where the tracker does not answer, it says no counts.
func TestPlacesAreCounted(t *testing.T) {
	pool := reporttest.Filled(t)
	site := pagestest.Site(t, pool)
	server := servedTo(t, site, access.Reader)
	says(t, server, "/centres", http.StatusOK, `href="/t/files">Files<span class="count"> 4</span></a>`, `>Documents<span class="count"> `, `href="/t/centres" aria-current="page">Centres<span class="count"> `,
		`>Replays</a>`, `>Sessions</a>`)
	says(t, server, "/centres?as_of=10m", http.StatusOK, "!class=\"count")
	reporttest.Add(t, pool,
		schemas.StatusChanged{Entity: schemas.EntitySource, Scope: schemas.Scope{Centre: "H", Source: "harwell"}, Revision: 9, Attributes: map[string]string{"state": "suspended"}},
		schemas.StatusChanged{Entity: schemas.EntityReplay, Scope: schemas.Scope{Run: "00000000-0000-4000-8000-00000000000a"}, Number: 1, Note: schemas.ReplayRequested, Status: "running", Attributes: map[string]string{"by": "will", "from": "xsd"}})
	before, err := report.ReadTotals(t.Context(), pool)
	if err != nil || before.Sources == 0 || before.Replays != 1 {
		t.Errorf("%+v, %v", before, err)
	}
	says(t, server, "/centres", http.StatusOK, `>Sources<span class="count bad"> `+fmt.Sprint(before.Sources)+`<span class="vh"> to act on</span></span></a>`, `>Replays<span class="count"> 1<span class="vh"> under way</span></span></a>`)
	pool.Close()
	says(t, server, "/centres", http.StatusServiceUnavailable, "!class=\"count", ">Files</a>")
}
