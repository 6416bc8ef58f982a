package http

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"tributary/internal/remote"
)

// maxRobots is how much of a robots.txt is read. It is fixed by RFC 9309: a
// server that says more expects that the rest is not read.
const maxRobots = 500 << 10

// maxCrawlDelay is the longest pause between requests that a robots.txt may ask for:
// servers hang up on who is silent for longer.
const maxCrawlDelay = time.Minute

// robots is what a server asks programs to leave alone (RFC 9309), and what pause it
// asks them to make between requests (Crawl-delay, which is older than that, and no part
// of it).
type robots struct {
	rules []robotsRule
	delay time.Duration
}

type robotsRule struct {
	allow   bool
	pattern string
}

// readRobots asks for robots.txt, and says what was found. A server that refuses
// it has no wishes; one that is in trouble is left alone.
func (s *Session) readRobots(ctx context.Context) (r *robots, found string, err error) {
	const op = "read robots.txt of"
	resp, done, err := s.get(ctx, http.MethodGet, s.At("/robots.txt", false)) //nolint:bodyclose // done closes it
	switch remote.ClassOf(err) {
	case remote.NotExist, remote.Permission, remote.Auth:
		if s.cfg.Gate != nil {
			s.cfg.Gate.AtLeast(ctx, 0)
		}
		return nil, "none: nothing is forbidden", nil
	}
	if err != nil {
		return nil, "", s.Fail(op, s.target.Server(), err)
	}
	defer done()
	r, err = parseRobots(resp.Body)
	if err != nil {
		return nil, "", s.Fail(op, s.target.Server(), err)
	}
	if found = "it says nothing of us"; len(r.rules) > 0 || r.delay > 0 {
		found = "it is heeded"
	}
	if s.cfg.Gate == nil {
		return r, found, nil
	}
	if r.delay > 0 {
		found += fmt.Sprintf(": %s between requests", r.delay)
		if r.delay == maxCrawlDelay {
			found += ", the longest pause that is kept, however much it asks for"
		}
	}
	s.cfg.Gate.AtLeast(ctx, r.delay)
	return r, found, nil
}

// parseRobots keeps the rules of the groups for us, or else of those for everybody. Of
// several pauses the longest counts. What is beyond maxRobots is not read.
func parseRobots(from io.Reader) (*robots, error) {
	var ours, everybodys robots
	named, us, everybody, naming := false, false, false, false
	lines := bufio.NewScanner(io.LimitReader(from, maxRobots))
	lines.Buffer(nil, maxRobots+1)
	for lines.Scan() {
		line, _, _ := strings.Cut(strings.TrimPrefix(lines.Text(), "\ufeff"), "#")
		key, value, _ := strings.Cut(line, ":")
		key, value = strings.ToLower(strings.TrimSpace(key)), strings.TrimSpace(value)
		switch key {
		case "user-agent":
			if !naming {
				us, everybody = false, false
			}
			naming, us, everybody = true, us || strings.EqualFold(value, UserAgent), everybody || value == "*"
			named = named || us
		case "allow", "disallow":
			naming = false
			rule := robotsRule{key == "allow", decoded(value)}
			if us && value != "" {
				ours.rules = append(ours.rules, rule)
			}
			if everybody && value != "" {
				everybodys.rules = append(everybodys.rules, rule)
			}
		case "crawl-delay":
			naming = false
			if us {
				ours.delay = max(ours.delay, crawlDelay(value))
			}
			if everybody {
				everybodys.delay = max(everybodys.delay, crawlDelay(value))
			}
		}
	}
	if named {
		return &ours, lines.Err()
	}
	return &everybodys, lines.Err()
}

// crawlDelay reads a pause in seconds, which may have a fraction. What is no number, or
// none above zero, is no pause; a number of any size is a minute at most.
func crawlDelay(value string) time.Duration {
	seconds, err := strconv.ParseFloat(value, 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) || !(seconds > 0) {
		return 0
	}
	return time.Duration(min(seconds, maxCrawlDelay.Seconds()) * float64(time.Second))
}

// allow tells whether a URL may be asked for: the longest rule that fits decides,
// of two such that one which allows it.
func (r *robots) allow(at *url.URL) bool {
	path := decoded(at.EscapedPath())
	length, allowed := -1, true
	for _, rule := range r.rules {
		if n := len(rule.pattern); n >= length && rule.fits(path) {
			allowed = rule.allow || n == length && allowed
			length = n
		}
	}
	return allowed
}

// fits compares a path with a pattern, in which * is any text and $ at the end is
// the path's end.
func (r robotsRule) fits(path string) bool {
	pattern, whole := strings.CutSuffix(r.pattern, "$")
	parts := strings.Split(pattern, "*")
	if !strings.HasPrefix(path, parts[0]) {
		return false
	}
	path = path[len(parts[0]):]
	for i, part := range parts[1:] {
		if whole && i == len(parts)-2 {
			return strings.HasSuffix(path, part)
		}
		at := strings.Index(path, part)
		if at < 0 {
			return false
		}
		path = path[at+len(part):]
	}
	return !whole || path == ""
}

// decoded is a path without percent-encoding, where that can be read, so that
// both ways to write it are the same.
func decoded(path string) string {
	if plain, err := url.PathUnescape(path); err == nil {
		return plain
	}
	return path
}
