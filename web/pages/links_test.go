package pages_test

import (
	"html"
	"regexp"
	"strings"
	"testing"
)

// Every link of every page leads to a page, from where one begins on.
func TestLinks(t *testing.T) {
	server := openHostile(t)
	link := regexp.MustCompile(`<a [^>]*href="([^"]*)"`)
	seen, next := map[string]bool{"/t/": true}, []string{"/t/"}
	const most = 500
	for n := 0; n < most && len(next) > 0; n++ {
		at := next[0]
		next = next[1:]
		status, body := get(t, server, strings.TrimPrefix(at, "/t"))
		if status != 200 {
			t.Errorf("%s: %d", at, status)
		}
		for _, m := range link.FindAllStringSubmatch(body, -1) {
			to, fragment, _ := strings.Cut(html.UnescapeString(m[1]), "#")
			switch {
			case to == "":
				if fragment != "" && !strings.Contains(body, `id="`+fragment+`"`) {
					t.Errorf("%s leads to #%s, which is not there", at, fragment)
				}
				continue
			case !strings.HasPrefix(to, "/t/"):
				t.Errorf("%s leads to %s", at, to)
				continue
			case seen[to], strings.Contains(to, "as_of="): // TestLinksOfTheMoment follows these
				continue
			}
			seen[to] = true
			next = append(next, to)
		}
	}
	if len(seen) < 100 {
		t.Errorf("only %d addresses were found", len(seen))
	}
}
