package browser

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"

	"tributary/queries/report/reporttest"
	"tributary/schemas"
)

// failedFile is an event that adds one failed file to the counts.
func failedFile(n int) schemas.StatusChanged {
	name := fmt.Sprintf("late-%d.zip", n)
	return schemas.StatusChanged{Scope: schemas.Scope{Run: schemas.LiveRun, Session: schemas.ID("session", "1")}, Entity: schemas.EntityFile,
		FileRef: schemas.FileRef{File: schemas.FileID("add", name), FileName: name, Action: "add"}, Phase: "zip_name", Status: "failed", Exception: "name_pattern"}
}

// files is an expression that says whether the page counts so many files.
func files(n int) string {
	return fmt.Sprintf(`document.querySelector("#stand .head .muted").innerText === "%d"`, n)
}

func says(text string) string {
	return fmt.Sprintf(`document.querySelector(".live").innerText.includes(%q)`, text)
}

// A change in the tracker arrives on an open page without loading it again; while it
// is paused, pointed at or focused it stays as it is and says how much waits; and a
// lost connection is told, and found again.
func TestLive(t *testing.T) {
	pool := reporttest.Filled(t)
	at, stop := serve(t, pool, "127.0.0.1:0")
	b := open(t, at)
	shots := screenshots(t)
	b.use(look{1440, "light", true})
	b.visit("/")
	b.until(files(4))
	eval[bool](b, `window.same = true`)
	tell := func(n int) { reporttest.Add(t, pool, failedFile(n)) }

	tell(1)
	b.until(files(5))

	b.press("p")
	tell(2)
	b.until(says("1 change since"))
	if !eval[bool](b, files(5)+"&&"+says("Paused at")+"&&"+says("Go on")) {
		t.Errorf("paused: %s", b.text("main"))
	}
	b.shoot(shots + "/paused.png")
	b.press("p")
	b.until(files(6))

	eval[bool](b, `(document.querySelector("#stand").scrollIntoView(), true)`)
	over := eval[[]float64](b, `(r => [r.x + r.width / 2, r.y + 10])(document.querySelector("#stand").getBoundingClientRect())`)
	b.do(chromedp.MouseEvent(input.DispatchMouseEventTypeMouseMoved, over[0], over[1]))
	b.until(`document.querySelector("#stand").matches(":hover")`)
	tell(3)
	b.until(says("1 change waits"))
	if !eval[bool](b, files(6)) {
		t.Error("a section changed under the pointer")
	}
	b.shoot(shots + "/held.png")
	b.do(chromedp.MouseEvent(input.DispatchMouseEventTypeMouseMoved, 5, 5))
	b.until(files(7))

	eval[bool](b, `document.querySelector("#stand a").focus() ?? true`)
	tell(4)
	b.until(says("1 change waits"))
	eval[bool](b, `document.activeElement.blur() ?? true`)
	b.until(files(8))
	if !eval[bool](b, `window.same === true`) {
		t.Error("the page was loaded again")
	}
	if c := b.complaints(); len(c) > 0 {
		t.Errorf("the browser complains: %v", c)
	}

	b.use(look{390, "light", true}) // where there is little room to say so
	eval[bool](b, `(() => { const real = fetch; window.asked = 0; window.fetch = (...what) => { window.asked++; return real(...what); }; return true; })()`)
	stop()
	b.until(says("Connection lost at") + "&&" + says("Now"))
	b.until(says("tries again in 8 s")) // after the second try
	if asked := eval[int](b, `window.asked`); asked > 2 {
		t.Errorf("of a server that is not there, the page was asked for %d times in two tries to connect", asked)
	}
	if wide := eval[[]string](b, wider); len(wide) > 0 {
		t.Errorf("a lost connection is wider than the window: %v", wide)
	}
	b.shoot(shots + "/lost.png")
	serve(t, pool, strings.TrimSuffix(strings.TrimPrefix(at, "http://"), prefix))
	eval[bool](b, `document.querySelector(".live button").click() ?? true`)
	b.until(says("Live ·"))
	tell(5)
	b.until(files(9))
}

// The theme changes at once and stays: with a script without loading the page again,
// without one by the button.
func TestTheme(t *testing.T) {
	at, _ := serve(t, reporttest.Filled(t), "127.0.0.1:0")
	b := open(t, at)
	b.use(look{1440, "light", true})
	const dark = `getComputedStyle(document.body).backgroundColor === "rgb(15, 20, 24)"`
	b.visit("/")
	if eval[bool](b, dark) {
		t.Fatal("it is dark from the beginning")
	}
	eval[bool](b, `window.same = true; document.querySelector("#theme-dark").click() ?? true`)
	b.until(dark)
	b.until(`performance.getEntriesByType("resource").some(e => e.name.endsWith("/theme") && e.responseEnd > 0)`)
	if !eval[bool](b, "window.same === true") {
		t.Error("the page was loaded again")
	}
	b.visit("/?again")
	if !eval[bool](b, dark+` && document.querySelector("#theme-dark").checked`) {
		t.Error("the theme did not stay")
	}
	b.scripts(false)
	b.visit("/?without")
	eval[bool](b, `document.querySelector("#theme-light").checked = true; document.querySelector("form[action$='/theme'] button").click() ?? true`)
	b.until(`location.search === "?without" && document.readyState === "complete" && document.querySelector("#theme-light").defaultChecked && !(` + dark + `)`)
	if c := b.complaints(); len(c) > 0 {
		t.Errorf("the browser complains: %v", c)
	}
}
