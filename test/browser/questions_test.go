package browser

import (
	"fmt"
	"strings"

	"tributary/test/corpus"
)

// question is what somebody asks who has never seen the pages.
type question struct {
	asks string
	// steps lead from the first page to the answer: texts of links and buttons that are to
	// be seen, and FIELD:=VALUE for what is typed.
	steps []string
	told  []string // by the page that they lead to
}

// questions are those of data managers, wranglers, operators and analysts about the demo.
func questions(broken corpus.DocEnd) []question {
	return []question{
		{"Did my file arrive, and where is it wrong?", []string{"Files", "q:=" + broken.File, "Search", broken.File}, []string{"xsd_invalid", "· line ", "What to do"}},
		{"Which source is late?", []string{"Sources"}, []string{"of 9 sources deliver as usual"}},
		{"When are its next files expected?", []string{"Sources", "harwell"}, []string{"Next expected", "Late after", " listed"}},
		{"What do I tell a centre?", []string{"Tell "}, []string{"Report to send to it", "To act on"}},
		{"Is it healthy, what runs, how far is it behind?", nil, []string{"Session ", "Waiting", "Seen until inserted"}},
		{"How many specimens has each centre?", []string{"SQL", "tables of warehouse", "Run", "statement:=SELECT centre, count(*) FROM current_specimen GROUP BY 1", "Run"}, []string{"Ics"}},
		{"What changed since?", []string{"Changes", "1 h"}, []string{" changed.", "In numbers"}},
		{"How did it stand?", []string{"As of…", "as_of:=10s", "Go there"}, []string{"Nothing can be changed from here."}},
		{"From which bytes is a value, and what replaced it?", []string{"Files", "done", "edit", ".impc.zip", ".specimen.impc.xml", "/2", "Compare with the stored bytes"}, []string{"are what was loaded.", "bytes "}},
		{"How is what failed processed again?", []string{"Files", "failed", "Replay these …", "What would it be?"}, []string{"It would be "}},
	}
}

// answers finds the answers from the first page on, by what is to be seen only.
func (b *tab) answers(all []question) {
	b.t.Helper()
	for _, q := range all {
		if status := b.visit("/"); status != 200 {
			b.t.Fatalf("the first page answers %d", status)
		}
		for _, step := range q.steps {
			if field, value, is := strings.Cut(step, ":="); is {
				eval[bool](b, fmt.Sprintf(`(f => { f.focus(); f.select() })([...document.querySelectorAll("main [name=%[1]s], header details [name=%[1]s]")].find(e => e.checkVisibility())) ?? true`, field))
				b.press(value)
				continue
			}
			b.follow(step)
		}
		for _, want := range q.told {
			if text := b.text("body"); !strings.Contains(text, want) {
				b.t.Errorf("%s After %q the page does not say %q:\n%s", q.asks, q.steps, want, text)
			}
		}
	}
}

// follow clicks on the link or button that is to be seen with a text, whole or as part of
// its own, and waits for where it leads.
func (b *tab) follow(text string) {
	b.t.Helper()
	found := eval[string](b, fmt.Sprintf(`(() => {
		window.stale = true;
		const seen = [...document.querySelectorAll("nav a, header summary, header button, main a, main button")].filter(e => e.checkVisibility());
		const is = seen.find(e => e.innerText.trim() === %[1]q) ?? seen.find(e => e.innerText.includes(%[1]q));
		is?.click();
		return is?.tagName ?? "";
	})()`, text))
	switch found {
	case "":
		b.t.Fatalf("nothing is to be seen with the text %q:\n%s", text, b.text("body"))
	case "SUMMARY":
	default:
		b.until(`window.stale === undefined && document.readyState === "complete"`)
	}
}
