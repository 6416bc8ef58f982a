package browser

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tributary/web/access"
)

// An operator adds a source: refused with what is wrong, tried, checked step by step, and
// defined. The form, and what it says, are whole at each width.
func TestDefineSource(t *testing.T) {
	long(t)
	rules, shots := axe(t), screenshots(t)
	d := newDesk(t, access.Operator)
	folder := t.TempDir()
	if err := os.Mkdir(filepath.Join(folder, "add"), 0o755); err != nil {
		t.Fatal(err)
	}
	d.use(look{1440, "light", true})
	d.visit("/sources")
	d.goes(`[...document.querySelectorAll("nav.acts a")].find(a => a.pathname.endsWith("/new/source")).click()`)
	press := func(do string) { d.goes(`document.querySelector("main form [value=` + do + `]").click()`) }
	d.fill(map[string]string{"id": "new", "centre": "H", "url": "gopher://h", "description": `<b>"mice"</b>`})
	press("try")
	if said := d.text("main .notice.failed"); !strings.Contains(said, "It is refused") {
		t.Errorf("refused: %q", said)
	}
	d.complaints("status of 400")
	eval[bool](d.tab, `document.querySelector("main details").open = true`)
	d.examine("define refused", rules, shots)
	d.fill(map[string]string{"url": "file://" + folder})
	press("check")
	if said := d.text("main ol.list"); !strings.Contains(said, "All of it works.") || !strings.Contains(said, "list") {
		t.Errorf("checked: %q", said)
	}
	d.examine("define checked", rules, shots)
	press("try")
	if said := d.text("main .notice"); !strings.Contains(d.text("main"), "It would be added") {
		t.Errorf("tried: %q", said)
	}
	press("save")
	if said := d.text(".notice.done"); said != "new: added" {
		t.Errorf("defined: %q", said)
	}
	if c := d.complaints(); len(c) > 0 {
		t.Errorf("the browser complains: %v", c)
	}
}

// An operator defines many sources by a text, told first what would change; the form is
// whole at each width.
func TestDefineManySources(t *testing.T) {
	long(t)
	rules, shots := axe(t), screenshots(t)
	d := newDesk(t, access.Operator)
	d.use(look{1440, "light", true})
	d.visit("/sources")
	d.goes(`[...document.querySelectorAll("nav.acts a")].find(a => a.pathname.endsWith("/definitions")).click()`)
	press := func(do string) { d.goes(`document.querySelector("main form [value=` + do + `]").click()`) }
	d.fill(map[string]string{"text": "sources:\n- {id: many, centre: H, url: 'gopher://h'}"})
	press("try")
	if said := d.text("main .notice.failed"); !strings.Contains(said, "It is refused") {
		t.Errorf("refused: %q", said)
	}
	d.complaints("status of 400")
	d.examine("many refused", rules, shots)
	d.fill(map[string]string{"text": "sources:\n- {id: many, centre: H, url: 'file:///in', description: '<b>mice</b>'}\n- {id: more, centre: H, url: 'file:///more'}"})
	press("try")
	if said := d.text("main [role=status]"); !strings.Contains(said, "It would change 2") {
		t.Errorf("tried: %q", said)
	}
	d.examine("many tried", rules, shots)
	press("apply")
	if said := d.text(".notice.done"); said != "2 definitions have changed; 0 stay as they were" {
		t.Errorf("applied: %q", said)
	}
	if c := d.complaints(); len(c) > 0 {
		t.Errorf("the browser complains: %v", c)
	}
}
