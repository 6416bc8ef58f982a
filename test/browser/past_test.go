package browser

import (
	"testing"
	"time"

	"tributary/queries/report/reporttest"
	"tributary/web/pages"
)

// Time is walked along by a slider, which goes where it is let go, and by keys; the page
// says where it stands, and leads back.
func TestAlongTime(t *testing.T) {
	long(t)
	at, _ := serveTo(t, reporttest.Filled(t), "127.0.0.1:0", anybody{}, func(s *pages.Site) {
		s.Now = func() time.Time { return reporttest.Start().Add(3 * time.Hour) }
	})
	b := open(t, at)
	shots := screenshots(t)
	stands := func(query string) {
		t.Helper()
		b.until(`location.search === "?as_of=` + query + `" && document.readyState === "complete" && document.querySelector(".tm") !== null`)
	}
	b.use(look{1440, "light", true})
	b.visit("/files?as_of=2026-11-21T12:30:00Z")
	b.press("[")
	stands("2026-11-21T11%3A30%3A00Z")
	b.press("[")
	stands("2026-11-21T10%3A30%3A00Z")
	b.press("[") // which the history doesn't know
	b.press("]")
	stands("2026-11-21T11%3A30%3A00Z")
	eval[bool](b, `(() => {
		const slider = document.querySelector(".tm [type=range]");
		slider.dispatchEvent(new PointerEvent("pointerdown"));
		slider.value = Date.UTC(2026, 10, 21, 10, 20) / 1000;
		slider.dispatchEvent(new Event("input"));
		if (!slider.getAttribute("aria-valuetext").startsWith("2026-11-21, 10:")) return false;
		slider.dispatchEvent(new Event("change"));
		return true;
	})()`)
	b.until(`location.search.startsWith("?as_of=2026-11-21T10%3A") && document.readyState === "complete" && document.querySelector(".tm") !== null`)
	for _, c := range b.complaints() {
		t.Error(c)
	}
	b.inspect("/diff?from=3h&to=1h", look{1440, "light", true}, axe(t), shots) // which no link leads to
}
