package scale

import (
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"tributary/queries/report/reporttest"
	"tributary/test/scale/plans"
	"tributary/web/pages/pagestest"
)

// mostStatements is how many statements a page may ask of the tracker one after another:
// those of the page Now, which shows what nothing else has together.
const mostStatements = 12

// known is what is asked where a list is empty, to tell a source of which there is nothing
// from one that nobody knows: once for each list.
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
		heard.listen(true)
		ask(t, handler, address)
		asked := map[string]int{}
		statements := heard.listen(false)
		for _, s := range statements {
			asked[fmt.Sprint(plans.Words(s.sql), s.args)]++
		}
		for s, n := range asked {
			if n > 1 && s != known {
				t.Errorf("%s asks %d times: %s", address, n, s)
			}
		}
		if len(statements) > mostStatements {
			t.Errorf("%s asks %d statements, more than %d", address, len(statements), mostStatements)
		}
		most = max(most, len(statements))
	}
	if most == 0 {
		t.Error("no page asks anything")
	}
}
