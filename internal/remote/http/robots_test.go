package http

import (
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"
)

// What follows the question mark is a part of what rules are about.
func TestRobotsRulesOfQueries(t *testing.T) {
	r, err := parseRobots(strings.NewReader("User-agent: *\nDisallow: /*?\nAllow: /get?file=\nDisallow: /*.zip$\n"))
	if err != nil {
		t.Fatal(err)
	}
	for at, want := range map[string]bool{"/x": true, "/x?y": false, "/get?file=a": true, "/get?f=a": false, "/a.zip": false, "/get%3Ffile=": true} {
		u, err := url.Parse("http://h" + at)
		if err != nil {
			t.Fatal(err)
		}
		if got := r.allow(u); got != want {
			t.Errorf("%s is allowed: %v", at, got)
		}
	}
}

// However many servers one sends on to, what few of them ask is kept, and that of the
// source's own always.
func TestRobotsOfFewServersAreKept(t *testing.T) {
	root, err := url.Parse("http://own:80/")
	if err != nil {
		t.Fatal(err)
	}
	s := &Session{root: *root}
	for i := range 100 {
		s.keep(&url.URL{Scheme: "http", Host: "own"}, &robots{})
		s.keep(&url.URL{Scheme: "http", Host: fmt.Sprintf("mirror%d:8080", i)}, &robots{})
		if _, own := s.robots["http://own:80"]; !own || len(s.robots) > maxRobotsKept {
			t.Fatalf("after %d mirrors, of %d servers is kept what they ask for, of its own %v", i+1, len(s.robots), own)
		}
	}
}

// Which pause a robots.txt asks for, by the groups that are for us, whatever else stands
// in it: never more than a minute, never less than none.
func TestCrawlDelay(t *testing.T) {
	const group = "User-agent: *\n"
	for _, tt := range []struct {
		about, robots string
		want          time.Duration
	}{
		{"nothing", "", 0},
		{"no group", "Crawl-delay: 5\n", 0},
		{"seconds", group + "Crawl-delay: 5\n", 5 * time.Second},
		{"a fraction", group + "Crawl-delay: 0.25\n", 250 * time.Millisecond},
		{"a fraction without a nought", group + "Crawl-delay: .5\n", 500 * time.Millisecond},
		{"however it is written", group + "  cRAWL-DELAY :2# two\r\n", 2 * time.Second},
		{"after rules", group + "Disallow: /a\nCrawl-delay: 2\nAllow: /b\n", 2 * time.Second},
		{"a byte order mark", "\ufeff" + group + "Crawl-delay: 2\n", 2 * time.Second},

		{"ours before everybody's", group + "Crawl-delay: 9\n\nUser-agent: Tributary\nCrawl-delay: 2\n", 2 * time.Second},
		{"ours without one", group + "Crawl-delay: 9\n\nUser-agent: tributary\nDisallow: /a\n", 0},
		{"another's", group + "Disallow: /a\n\nUser-agent: other\nCrawl-delay: 9\n", 0},
		{"one group of several names", "User-agent: other\nUser-agent: tributary\nCrawl-delay: 2\n", 2 * time.Second},
		{"ours before another's", "User-agent: tributary\nCrawl-delay: 2\nUser-agent: other\nCrawl-delay: 9\n", 2 * time.Second},
		{"a name is no pattern", "User-agent: trib*\nCrawl-delay: 9\n", 0},
		{"of several groups the longest", group + "Crawl-delay: 3\n\n" + group + "Crawl-delay: 1\n", 3 * time.Second},
		{"of several lines the longest", group + "Crawl-delay: 1\nCrawl-delay: 3\nCrawl-delay: none\n", 3 * time.Second},

		{"nought", group + "Crawl-delay: 0\n", 0},
		{"below nought", group + "Crawl-delay: -5\n", 0},
		{"a year", group + "Crawl-delay: 31536000\n", time.Minute},
		{"more than a number holds", group + "Crawl-delay: 1e999\n", time.Minute},
		{"more digits than a number has", group + "Crawl-delay: " + strings.Repeat("9", 5000) + "\n", time.Minute},
		{"below what a number holds", group + "Crawl-delay: -1e999\n", 0},
		{"less than can be waited", group + "Crawl-delay: 1e-30\n", 0},
		{"without end", group + "Crawl-delay: Inf\n", time.Minute},
		{"no number by name", group + "Crawl-delay: NaN\n", 0},
		{"with a unit", group + "Crawl-delay: 10s\n", 0},
		{"with a comma", group + "Crawl-delay: 0,5\n", 0},
		{"two numbers", group + "Crawl-delay: 1 2\n", 0},
		{"empty", group + "Crawl-delay:\n", 0},
		{"no colon", group + "Crawl-delay 5\n", 0},
		{"a page in its place", "<html>Crawl-delay: 5</html>", 0},
		{"beyond what is read", group + strings.Repeat("# so long that nobody reads to its end\n", maxRobots/30) + "Crawl-delay: 5\n", 0},
	} {
		r, err := parseRobots(strings.NewReader(tt.robots))
		if err != nil || r.delay != tt.want {
			t.Errorf("%s: %s, %v; want %s", tt.about, r.delay, err, tt.want)
		}
	}
}
