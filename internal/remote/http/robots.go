package http

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
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
	rules  []robotsRule
	delay  time.Duration
	absent bool // the server has none
}

type robotsRule struct {
	allow   bool
	pattern string
}

// maxRobotsKept is of how many servers a session keeps what they ask for: its own, and
// those that it sends on to. It is fixed: mirrors are few.
const maxRobotsKept = 8

// origin names a server as secrets and rules know it.
func origin(u *url.URL) string {
	return u.Scheme + "://" + net.JoinHostPort(strings.ToLower(u.Hostname()), port(u))
}

// rules are what the server of a URL asks of robots, which is read once in a session, of
// each server that it sends on to as well: whom a request goes to decides (RFC 9309). The
// caller has the slot, or is alone.
func (s *Session) rules(ctx context.Context, at *url.URL) (*robots, error) {
	if r, known := s.robots[origin(at)]; known {
		return r, nil
	}
	r, err := s.readRobots(ctx, at)
	if err != nil {
		return nil, err
	}
	s.keep(at, r)
	// Every request to another server follows one to our own, whose pace is kept.
	if s.cfg.Gate != nil && (r.delay > s.pause || sameOrigin(at, &s.root)) {
		s.pause = r.delay
		s.cfg.Gate.AtLeast(ctx, s.pause)
	}
	return r, nil
}

// keep keeps what a server asks for, and where that is of many already, of the source's own
// beside it alone.
func (s *Session) keep(at *url.URL, r *robots) {
	if own, known := s.robots[origin(&s.root)]; len(s.robots) >= maxRobotsKept || s.robots == nil {
		s.robots = map[string]*robots{}
		if known {
			s.robots[origin(&s.root)] = own
		}
	}
	s.robots[origin(at)] = r
}

// readRobots asks for a server's robots.txt. One that refuses it has no wishes; one that is
// in trouble is left alone.
func (s *Session) readRobots(ctx context.Context, of *url.URL) (*robots, error) {
	const op = "read robots.txt of"
	resp, err := s.follow(ctx, http.MethodGet, &url.URL{Scheme: of.Scheme, Host: of.Host, Path: "/robots.txt"}, Part{robots: true})
	switch remote.ClassOf(err) {
	case remote.NotExist, remote.Permission, remote.Auth:
		return &robots{absent: true}, nil
	}
	if err != nil {
		return nil, s.Fail(op, net.JoinHostPort(of.Hostname(), port(of)), err)
	}
	defer Drain(resp)
	r, err := parseRobots(resp.Body)
	if err != nil {
		return nil, s.Fail(op, net.JoinHostPort(of.Hostname(), port(of)), err)
	}
	return r, nil
}

// found says to people what a robots.txt is to us; paced: a pause that it asks for is kept.
func (r *robots) found(paced bool) (text string) {
	switch {
	case r.absent:
		return "none: nothing is forbidden"
	case len(r.rules) == 0 && r.delay == 0:
		return "it says nothing of us"
	case r.delay == 0 || !paced:
		return "it is heeded"
	}
	text = fmt.Sprintf("it is heeded: %s between requests", r.delay)
	if r.delay == maxCrawlDelay {
		text += ", the longest pause that is kept, however much it asks for"
	}
	return text
}

// permit refuses what the robots.txt of a URL's server asks programs to leave alone.
func (s *Session) permit(ctx context.Context, at *url.URL) error {
	r, err := s.rules(ctx, at)
	if err != nil || r.allow(at) {
		return err
	}
	whose := "the server's robots.txt"
	if !sameOrigin(at, &s.root) {
		whose = "the robots.txt of " + at.Host + ", to which the server sends on,"
	}
	return &remote.Error{Class: remote.Permission, Exception: "robots_forbidden", Err: fmt.Errorf("%s asks programs to leave %s alone", whose, at.EscapedPath())}
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
	if at.RawQuery != "" {
		path += "?" + decoded(at.RawQuery)
	}
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
