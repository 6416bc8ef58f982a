package browser

import (
	"net/url"
	"testing"

	"tributary/queries/report/reporttest"
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
	for _, l := range []look{{1440, "light", true}, {390, "dark", true}} {
		for _, path := range []string{"/dead-letters", "/findings", "/replays", "/replays/7", "/tail", "/analytics/throughput"} {
			b.inspect(path+"?as_of="+url.QueryEscape(after("stopped")), l, rules, shots)
		}
	}
}
