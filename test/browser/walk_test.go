package browser

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/page"

	"tributary/queries/report/reporttest"
)

// perPage is how many addresses of one page are looked at, each of another shape: lists
// with other values of the same filters are the same page.
const perPage = 4

// views are how pages are looked at: of width, theme and scripts each pair of values
// stands in one of the first four. The last is for its layout alone.
func views() []look {
	return []look{{1440, "light", true}, {390, "dark", true}, {1440, "dark", false}, {390, "light", false}, {768, "light", true}}
}

// seen says whether the n-th address of a page is looked at in a view. The first is in
// all; the others, which the same templates make, are in two, wide and narrow, light and
// dark: by turns with scripts and without.
func seen(n, view int) bool { return n == 0 || view/2 == (n-1)%2 }

// Every page that links lead to from the first one, at each width, in both themes, with
// scripts and without: the browser complains of nothing, axe-core finds nothing, and
// nothing is wider than the page.
func TestEveryPage(t *testing.T) {
	long(t)
	rules := axe(t)
	at, _ := serve(t, reporttest.Told(t, append(reporttest.Story(), hostile()...)), "127.0.0.1:0")
	shots := screenshots(t)
	var addresses []string
	t.Run("walk", func(t *testing.T) { addresses = open(t, at).walk() })
	looks := 0
	for view, l := range views() {
		t.Run(l.String(), func(t *testing.T) { // each in a browser of its own, which ends with it
			b := open(t, at)
			b.use(l)
			before := map[string]int{} // by page
			for _, address := range addresses {
				page, _ := shape(address)
				if seen(before[page], view) {
					looks++
					b.inspect(address, l, rules, shots)
				}
				before[page]++
			}
		})
	}
	t.Logf("%d addresses, %d looks; screenshots are in %s", len(addresses), looks, shots)
}

// Each pair of values of two of width, theme and scripts is in a view, and each address
// is seen at two widths and in both themes.
func TestViewsArePairwise(t *testing.T) {
	pairs := map[[2]any]bool{}
	for _, l := range views()[:4] {
		for _, p := range [][2]any{{l.Width, l.Theme}, {l.Width, l.Scripts}, {l.Theme, l.Scripts}} {
			pairs[p] = true
		}
	}
	if len(pairs) != 12 {
		t.Errorf("of 12 pairs there are %d: %v", len(pairs), pairs)
	}
	for n := range perPage {
		var in []look
		for view, l := range views() {
			if seen(n, view) {
				in = append(in, l)
			}
		}
		if len(in) < 2 || in[0].Width == in[1].Width || in[0].Theme == in[1].Theme {
			t.Errorf("the address %d is seen in %v", n, in)
		}
	}
}

// long skips what takes long, unless it is asked for.
func long(t *testing.T) {
	t.Helper()
	if os.Getenv("TRIBUTARY_BROWSER") != "1" {
		t.Skip("make test-browser runs it")
	}
}

// screenshots is an empty folder for them.
func screenshots(t *testing.T) string {
	t.Helper()
	folder, err := filepath.Abs(filepath.Join("../../out/browser", t.Name()))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(folder); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	return folder
}

// shape is what addresses of one page have in common: the names of their parts, below
// the prefix.
func shape(path string) (page, shape string) {
	u, err := url.Parse(path)
	if err != nil {
		return path, path
	}
	parts := strings.Split(strings.Trim(u.EscapedPath(), "/"), "/")
	page = fmt.Sprint(parts[0], " ", len(parts))
	if parts[0] == "c" && len(parts) > 2 {
		page += parts[2]
	}
	for i := 1; i < len(parts); i++ {
		parts[i] = "*"
	}
	return page, strings.Join(parts, "/") + "?" + strings.Join(slices.Sorted(maps.Keys(u.Query())), "&")
}

// walk follows links from the first page and returns the addresses below the prefix,
// one of each shape and perPage of each page at most.
func (b *tab) walk() []string {
	b.t.Helper()
	b.use(look{1440, "light", true})
	pages, shapes := map[string]int{}, map[string]bool{}
	all, shown := []string{"/", "/c/secret"}, []string(nil) // nothing leads to a centre's own view
	for i := 0; i < len(all); i++ {
		status := b.visit(all[i])
		if status != http.StatusOK && !(status == http.StatusNotFound && b.beforeItWas(all[i])) {
			b.t.Errorf("a link leads to %s, which answers %d", all[i], status)
		}
		if eval[string](b, "document.contentType") != "text/html" {
			continue // a picture or a file, to be kept
		}
		shown = append(shown, all[i])
		for _, link := range eval[[]string](b, `[...document.querySelectorAll("a[href]:not([download])")].map(a => a.href)`) {
			path, ours := strings.CutPrefix(link, b.at)
			path, _, _ = strings.Cut(path, "#")
			if !ours || path == "" || strings.HasPrefix(path, "/static/") {
				continue
			}
			if page, s := shape(path); !shapes[s] && pages[page] < perPage {
				shapes[s] = true
				pages[page]++
				all = append(all, path)
			}
		}
	}
	b.complaints()
	return shown
}

// beforeItWas tells whether the page of one thing, which was asked for as of a moment, says
// that it was not known yet, and leads on from there.
func (b *tab) beforeItWas(address string) bool {
	u, err := url.Parse(address)
	return err == nil && u.Query().Has("as_of") && eval[bool](b, `!!document.querySelector("section.tm a.first[href]")`)
}

// violation is what axe-core says against a page.
type violation struct {
	ID, Help string
	Nodes    []struct{ HTML, FailureSummary string }
}

const runAxe = `axe.run(document, {resultTypes: ["violations"], runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]}).then(r => JSON.stringify(r.violations.map(v =>
	({id: v.id, help: v.help, nodes: v.nodes.map(n => ({html: n.html, failureSummary: n.failureSummary}))}))))`

// inspect looks at a page in one way, and keeps a screenshot.
func (b *tab) inspect(address string, l look, rules, shots string) {
	b.t.Helper()
	status := b.visit(address)
	if wide := eval[[]string](b, wider); len(wide) > 0 {
		b.t.Errorf("%.200s at %s is wider than its window: %s", address, l, strings.Join(wide, ", "))
	}
	if l.Scripts || b.t.Failed() { // without them a page looks the same
		b.shoot(filepath.Join(shots, file(address)+"-"+l.String()+".png"))
	}
	b.scripts(true)     // axe-core is one; those of the page have had their time
	if l.Width != 768 { // only the layout is another there
		for _, v := range b.accessible(rules) {
			b.t.Errorf("%s at %s: axe-core: %s: %s\n%v", address, l, v.ID, v.Help, v.Nodes)
		}
	}
	var expected []string
	if status != http.StatusOK {
		expected = []string{fmt.Sprintf("the server responded with a status of %d", status)}
	}
	for _, c := range b.complaints(expected...) {
		b.t.Errorf("%s at %s: %s", address, l, c)
	}
	b.scripts(l.Scripts)
}

// wider is what sticks out to the right of the window, but for what lies in a region
// of its own that scrolls.
const wider = `(() => {
	const width = document.documentElement.clientWidth;
	if (document.documentElement.scrollWidth <= width && document.body.scrollWidth <= width) return [];
	return ["scrolls to " + document.documentElement.scrollWidth].concat([...document.querySelectorAll("body *")].filter(e => e.getBoundingClientRect().right > width + 1).slice(0, 5)
		.map(e => e.tagName.toLowerCase() + "." + [...e.classList].join(".")));
})()`

// accessible is what axe-core finds in the page.
func (b *tab) accessible(rules string) []violation {
	b.t.Helper()
	eval[bool](b, rules+"; true")
	var found []violation
	if err := json.Unmarshal([]byte(eval[string](b, runAxe)), &found); err != nil {
		b.t.Fatal(err)
	}
	return found
}

var unsafe = regexp.MustCompile(`[^A-Za-z0-9._-]+`)

// file is the name of a file for an address.
func file(address string) string {
	name := strings.Trim(unsafe.ReplaceAllString(address, "_"), "_")
	return "page-" + name[:min(len(name), 80)]
}

func (b *tab) shoot(to string) {
	b.t.Helper()
	beyond := true
	picture := call(b, page.CaptureScreenshot, page.CaptureScreenshotParams{CaptureBeyondViewport: &beyond}).Data
	if err := os.WriteFile(to, picture, 0o644); err != nil {
		b.t.Fatal(err)
	}
}
