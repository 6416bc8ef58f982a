package scale

import (
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"tributary/queries/report/reporttest"
	"tributary/test/scale/plans"
	"tributary/web/pages/pagestest"
)

// mostStatements is how many statements a page may ask of the tracker one after another:
// those of the page Now, which shows what nothing else has together.
const mostStatements = 14

// known is what every list of a source asks first: names are compared here, as Postgres
// takes not all that an address may hold. There are few, and it doesn't count.
const known = "SELECT short_name FROM tracker.file_source[]"

// A page takes no longer than a few of its statements do only if it asks few, and none of
// them twice.
func TestPagesAskNothingTwice(t *testing.T) {
	_, plain := tracker(t)
	years := reporttest.Fill(t, plain, 2000)
	site := pagestest.Site(t, plain)
	site.History = nil
	heard := &recorder{}
	cfg := plain.Config()
	cfg.ConnConfig.Tracer = heard
	pool, err := pgxpool.NewWithConfig(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	handler, routes := served(t, site, pool, years.End)
	most := 0
	for _, address := range addresses(t, routes) {
		if strings.HasSuffix(address, "/report") || handedOutWhole(address) {
			continue // it is handed out to be kept, whole
		}
		heard.listen(true)
		ask(t, handler, address)
		asked := map[string]int{}
		for _, s := range heard.listen(false) {
			asked[fmt.Sprint(plans.Words(s.sql), s.args)]++
		}
		delete(asked, known)
		for s, n := range asked {
			if n > 1 {
				t.Errorf("%s asks %d times: %s", address, n, s)
			}
		}
		if len(asked) > mostStatements {
			t.Errorf("%s asks %d statements, more than %d", address, len(asked), mostStatements)
		}
		most = max(most, len(asked))
	}
	if most == 0 {
		t.Error("no page asks anything")
	}
}
