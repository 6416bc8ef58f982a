package browser

import (
	"net/url"
	"testing"

	"github.com/jackc/pgx/v5"

	"tributary/internal/centres"
	"tributary/internal/pg"
	"tributary/producers/plan/plantest"
	"tributary/queries/report/reporttest"
	"tributary/sql/control"
	"tributary/web/access"
	"tributary/web/order"
	"tributary/web/pages"
	"tributary/web/pages/pagestest"
)

// What lies beside the tracker is looked at as of a moment, wide and narrow.
func TestTheRestOfThePast(t *testing.T) {
	long(t)
	events, after := reporttest.Moments()
	tracker := reporttest.Told(t, events)
	at, _ := serveTo(t, tracker, "127.0.0.1:0", anybody{}, func(s *pages.Site) {
		s.Past = pagestest.Remembering(t, tracker, reporttest.HistoryOf(t, events)).Past
	})
	b, rules, shots := open(t, at), axe(t), screenshots(t)
	for _, l := range []look{{1440, "light", true}, {768, "light", true}, {390, "dark", true}} {
		b.use(l)
		for _, path := range []string{"/dead-letters", "/findings", "/replays", "/replays/7", "/replays/8", "/tail", "/analytics/throughput"} {
			b.inspect(path+"?as_of="+url.QueryEscape(after("judged")), l, rules, shots)
		}
		b.inspect("/findings?as_of="+url.QueryEscape(after("accepted")), l, rules, shots) // of which not all is told
	}
}

// A centre's page with its links, and the form that makes one, wide and narrow.
func TestLinksOfACentre(t *testing.T) {
	long(t)
	p := plantest.New(t)
	if err := pg.InTx(t.Context(), p.Pool, func(tx pgx.Tx) error {
		_, err := control.PutCentre(t.Context(), tx, centres.Centre{ShortName: "H", Active: true}, 1)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	deps := order.Deps{Control: p.Pool, Outbox: p.Outbox}
	for _, reason := range []string{"for pat", reporttest.HostileText} {
		if _, err := deps.MakeLink(t.Context(), "H", "", control.Decision{By: reason, Reason: reason, At: reporttest.Start()}); err != nil {
			t.Fatal(err)
		}
	}
	at, _ := serveTo(t, reporttest.Told(t, reporttest.Busy()), "127.0.0.1:0", as(access.Wrangler), func(s *pages.Site) {
		s.Definitions, s.Orders = &deps, order.New(deps)
	})
	b, rules, shots := open(t, at), axe(t), screenshots(t)
	for _, l := range []look{{1440, "light", true}, {390, "dark", true}} {
		b.use(l)
		for _, path := range []string{"/centres/H", "/centres/H/link", "/centres/H/revoke-link?value=1", "/files/add/" + reporttest.InsertedZip} {
			b.inspect(path, l, rules, shots)
		}
	}
}
