package pages_test

import (
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"tributary/internal/centres"
	"tributary/internal/pg"
	"tributary/producers/plan/plantest"
	"tributary/queries/report/reporttest"
	"tributary/sql/control"
	"tributary/web/access"
	"tributary/web/order"
	"tributary/web/pages"
)

// Wranglers make a centre's link on its page, see it once, and revoke it; readers see no
// link at all.
func TestLinksOfACentre(t *testing.T) {
	p := plantest.New(t)
	if err := pg.InTx(t.Context(), p.Pool, func(tx pgx.Tx) error {
		_, err := control.PutCentre(t.Context(), tx, centres.Centre{ShortName: "H", Active: true}, 1)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	log, deps := &strings.Builder{}, order.Deps{Control: p.Pool, Outbox: p.Outbox}
	site := pages.Site{Prefix: "/t", Tracker: reporttest.Told(t, reporttest.Busy()), Log: slog.New(slog.NewTextHandler(log, nil)), Now: func() time.Time { return p.Clock }, Orders: order.New(deps), Definitions: &deps}
	wrangler, reader := servedTo(t, site, access.Wrangler), servedTo(t, site, access.Reader)
	const heading, form = "Links to its own view", `href="/t/centres/H/link">Make a link …</a>`
	says(t, reader, "/centres/H", 200, "!"+heading, "!/link\"")
	if status, _ := get(t, reader, "/centres/H/link"); status != http.StatusForbidden {
		t.Errorf("a reader asks for the form: %d", status)
	}
	says(t, wrangler, "/centres/H", 200, heading, form, "None: its people need an account, or a link.", "!"+order.RevokeLink)
	says(t, wrangler, "/centres/H/link", 200, `name="expires" value="90d"`, `maxlength="500"`, "tributary centres link H --expires 90d")
	says(t, wrangler, "/centres/Nowhere/link", 404)

	for _, c := range []struct{ expires, reason, want string }{{"soon", "", "for how long"}, {"900d", "", "366 days at most"}, {"90d", strings.Repeat("x", control.MaxReason+1), "more than 500 are not kept"}} {
		if answer, body := send(t, wrangler, "/centres/H/link", url.Values{"expires": {c.expires}, "reason": {c.reason}}); answer.StatusCode != http.StatusBadRequest || !strings.Contains(body, c.want) {
			t.Errorf("for %s: %d\n%s", c.expires, answer.StatusCode, body)
		}
	}
	answer, body := send(t, wrangler, "/centres/H/link", url.Values{"expires": {"12h"}, "reason": {"for <pat>"}})
	if answer.StatusCode != http.StatusOK || answer.Header.Get("Cache-Control") != "private, no-store" || len(answer.Cookies()) > 0 {
		t.Fatalf("%d %v\n%s", answer.StatusCode, answer.Header, body)
	}
	path := shows(t, body, `<a class="mono" href="(/t/c/[^"]+)"`)
	secret := strings.TrimPrefix(path, "/t/c/")
	if !strings.Contains(body, "Before this path belongs") {
		t.Errorf("where nobody knows the address, it is not said:\n%s", body)
	}
	page := says(t, wrangler, "/centres/H", 200, heading, `<th role="rowheader" scope="row" class="nowrap">1</th>`, "<bdi>will</bdi>", "good <a class=\"btn small\"", "never")
	if strings.Contains(page, secret) || strings.Contains(log.String(), secret) {
		t.Error("the secret is shown, or logged, later")
	}
	revoke := strings.TrimPrefix(shows(t, page, `href="([^"]+revoke-link[^"]+)"`), "/t")
	says(t, wrangler, revoke, 200, `name="value" value="1"`, "link 1 leads nowhere any more", "tributary centres unlink 1")
	to, _, _ := strings.Cut(revoke, "?")
	if answer, body := send(t, wrangler, to, url.Values{"value": {"1"}, "reason": {"left"}}); answer.StatusCode != http.StatusSeeOther || answer.Header.Get("Location") != "/t/centres/H" {
		t.Errorf("%d to %s\n%s", answer.StatusCode, answer.Header.Get("Location"), body)
	}
	says(t, wrangler, "/centres/H", 200, "it was revoked at", "!good <a")
	says(t, wrangler, revoke, 200, "It is refused:</b> <bdi>it was revoked at")
	says(t, wrangler, to, 200, "Number of the link", "!It is refused")
	known := site
	known.Address = "https://tracker.example.org/t"
	if _, body := send(t, servedTo(t, known, access.Wrangler), "/centres/H/link", url.Values{"expires": {"12h"}}); !strings.Contains(body, "<bdi>https://tracker.example.org/t/c/") || strings.Contains(body, "Before this path") {
		t.Errorf("the address is\n%s", body)
	}
}
