package browser

import (
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"tributary/web"
	"tributary/web/access"
	"tributary/web/static"
)

// parts is a page with what the script adds to.
const parts = `<!doctype html><title>Parts</title><script src="/t/static/tributary.js" defer></script><p id="said"></p>
<p id="there"><time datetime="2026-11-21T23:30:00Z" data-local>21 Nov 2026, 23:30:00 UTC</time></p>
<p id="odd"><time datetime="never" data-local>never</time></p>
<p class="cli"><code>tributary show 'a b.zip'</code></p>`

// Times that ask for it are shown in local time too, and the command line can be copied.
func TestParts(t *testing.T) {
	long(t)
	server := httptest.NewServer(web.New(web.Config{Prefix: prefix}, web.Deps{Guard: anybody{}, Static: static.Files, Log: slog.New(slog.DiscardHandler),
		Routes: []access.Route{{Pattern: "GET /{$}", Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, parts) })}}}).Handler())
	t.Cleanup(server.Close)
	b := open(t, server.URL+prefix)
	for _, name := range []string{"clipboard-read", "clipboard-write"} {
		if _, err := chromedp.CallBrowser(b.ctx, browser.SetPermission, browser.SetPermissionParams{
			Permission: &browser.PermissionDescriptor{Name: name}, Setting: browser.PermissionSettingGranted}); err != nil {
			t.Fatal(err)
		}
	}
	call(b, emulation.SetFocusEmulationEnabled, emulation.SetFocusEmulationEnabledParams{Enabled: true})
	call(b, emulation.SetTimezoneOverride, emulation.SetTimezoneOverrideParams{TimezoneID: "Asia/Tokyo"})
	b.visit("/")
	if got := b.text("#there"); got != "21 Nov 2026, 23:30:00 UTC 22 Nov, 08:30:00 GMT+9" {
		t.Errorf("local time: %q", got)
	}
	if got := b.text("#odd"); got != "never" {
		t.Errorf("local time of none: %q", got)
	}
	at := eval[[]float64](b, `(r => [r.x + r.width / 2, r.y + r.height / 2])(document.querySelector(".cli button").getBoundingClientRect())`)
	b.do(chromedp.MouseClickXY(at[0], at[1]))
	b.until(`document.querySelector(".cli button").innerText === "Copied" && document.querySelector("#said").innerText !== ""`)
	if got := eval[string](b, "navigator.clipboard.readText()"); got != "tributary show 'a b.zip'" {
		t.Errorf("copied %q", got)
	}
	call(b, emulation.SetTimezoneOverride, emulation.SetTimezoneOverrideParams{TimezoneID: "UTC"})
	b.visit("/?utc")
	if got := b.text("#there"); got != "21 Nov 2026, 23:30:00 UTC" {
		t.Errorf("where UTC is local: %q", got)
	}
	if c := b.complaints("favicon.ico"); len(c) > 0 {
		t.Errorf("the browser complains: %v", c)
	}
}
