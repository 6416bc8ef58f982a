package pages_test

import (
	"fmt"
	"html"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Every link of every page leads to a page, from where one begins on; with -short a few of
// each kind are followed.
func TestLinks(t *testing.T) {
	server := openHostile(t)
	kinds := map[string]int{}
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
			if kinds[kindOf(t, to)]++; testing.Short() && kinds[kindOf(t, to)] > 3 {
				continue
			}
			next = append(next, to)
		}
	}
	if len(seen) < 100 {
		t.Errorf("only %d addresses were found", len(seen))
	}
}

// kindOf is what addresses have in common that differ in what they show of one thing: the
// first word of their path, how many follow it, and what they ask.
func kindOf(t *testing.T, address string) string {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	words := strings.Split(strings.TrimPrefix(u.EscapedPath(), "/t/"), "/")
	return fmt.Sprint(words[0], len(words), slices.Sorted(maps.Keys(u.Query())))
}
