package browser

import (
	"testing"

	"github.com/chromedp/chromedp/kb"

	"tributary/queries/report/reporttest"
	"tributary/web/access"
)

// Keys do what the dialog says, outside of fields only, and can be switched off.
func TestKeys(t *testing.T) {
	at, _ := serve(t, reporttest.Filled(t), "127.0.0.1:0")
	b := open(t, at)
	shots := screenshots(t)
	b.use(look{1440, "light", true})
	b.visit("/")
	press := b.press

	press("/")
	b.until(`document.activeElement.id === "q"`)
	press("p?j")
	if got := eval[string](b, `document.querySelector("#q").value`); got != "p?j" || !eval[bool](b, says("Live ·")+` && !document.querySelector("#keys").open`) {
		t.Errorf("typed %q; %s", got, b.text(".live"))
	}
	eval[bool](b, `document.activeElement.blur() ?? true`)

	row := func() string {
		return eval[string](b, `document.activeElement.closest("tr")?.innerText ?? ""`)
	}
	var rows []string
	for _, key := range []string{"j", "j", "j", "k", "k", "k"} {
		press(key)
		rows = append(rows, row())
	}
	if rows[0] == "" || rows[0] == rows[1] || rows[1] != rows[3] || rows[0] != rows[4] || rows[5] != rows[0] {
		t.Errorf("j j j k k k led to %q", rows)
	}
	to := eval[string](b, `document.activeElement.href`)
	press(kb.Enter)
	b.until(`location.href === "` + to + `" && document.readyState === "complete"`)
	b.until(`!document.querySelector(".live button").hidden`)
	press("g")
	press("n")
	b.until(`location.pathname === "` + prefix + `/" && document.readyState === "complete" && !document.querySelector(".live button").hidden`)

	press("?")
	b.until(`document.querySelector("#keys").open`)
	b.shoot(shots + "/keys.png")
	for _, v := range b.accessible(axe(t)) {
		t.Errorf("axe-core: %s: %s\n%v", v.ID, v.Help, v.Nodes)
	}
	eval[bool](b, `document.querySelector("#keys-on").click() ?? true`)
	press(kb.Escape)
	b.until(`!document.querySelector("#keys").open`)
	b.visit("/?again")
	b.until(`!document.querySelector(".live button").hidden`)
	press("?")
	press("p")
	press("j")
	if eval[bool](b, `document.querySelector("#keys").open || document.querySelector(".live button").innerText !== "Pause"`) || row() != "" {
		t.Error("keys are obeyed that were switched off")
	}
	if c := b.complaints("status of 404"); len(c) > 0 {
		t.Errorf("the browser complains: %v", c)
	}
}

// The menu of a row needs no script: a key opens it, the next one is in it, and Escape closes
// it; on a phone all of it is within the window.
func TestMenusOfRows(t *testing.T) {
	d := newDesk(t, access.Operator)
	shots := screenshots(t)
	for _, l := range []look{{1440, "light", true}, {390, "dark", false}} {
		d.use(l)
		d.visit("/sources")
		d.scripts(true) // the test's own
		const menu = `document.querySelector("[popovertarget]").popoverTargetElement`
		eval[bool](d.tab, `document.querySelector("[popovertarget]").focus() ?? true`)
		d.press(kb.Enter)
		d.until(menu + `.matches(":popover-open")`)
		if !eval[bool](d.tab, `(r => r.left >= 0 && r.right <= document.documentElement.clientWidth && r.bottom <= innerHeight && r.height > 0)(`+menu+`.getBoundingClientRect())`) {
			t.Errorf("at %s the menu is not within the window: %s", l, eval[string](d.tab, `JSON.stringify(`+menu+`.getBoundingClientRect())`))
		}
		d.shoot(shots + "/menu-" + l.String() + ".png")
		for _, v := range d.accessible(axe(t)) {
			t.Errorf("axe-core: %s: %s\n%v", v.ID, v.Help, v.Nodes)
		}
		d.press(kb.Tab)
		d.until(menu + `.contains(document.activeElement)`)
		d.press(kb.Escape)
		d.until(`!` + menu + `.matches(":popover-open")`)
	}
}
