package config

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"tributary/internal/timetable"
)

// Throttle bounds how fast a server is asked, or one source of it, by all members
// together.
type Throttle struct {
	Cron     string   `yaml:"cron,omitempty"`     // when it begins to hold; empty: it holds while none before it does
	For      Duration `yaml:"for,omitempty"`      // how long it holds then
	Of       string   `yaml:"of,omitempty"`       // server (default), with all its sources, or source: this one alone
	Rate     Bytes    `yaml:"rate,omitempty"`     // bytes of files a second
	Requests int      `yaml:"requests,omitempty"` // a minute, evenly spread
	Pause    Duration `yaml:"pause,omitempty"`    // between the answer to a request and the next
}

// Throttles are those of a source, in their order: of those for its server the first
// that holds counts, and of those for the source alone likewise. One without a bound
// says that there is none while it holds.
type Throttles []Throttle

// What a throttle is of.
const (
	ThrottleServer = "server"
	ThrottleSource = "source"
)

// Bounds of throttles. Servers hang up on those who are silent for longer than the one,
// or who read more slowly than the other.
const (
	maxThrottlePause = Duration(time.Minute)
	minThrottleRate  = Bytes(64 << 10)
	maxThrottles     = timetable.MaxWindows
)

// At returns which throttle of a server, or of a source, holds at a moment, by the time
// zone of the source; the zero Throttle: none does.
func (all Throttles) At(now time.Time, of, zone string) (Throttle, error) {
	place, err := timetable.Zone(zone)
	if err != nil {
		return Throttle{}, fmt.Errorf("time_zone: %q %w", zone, err)
	}
	for i, t := range all {
		if t.of() != of {
			continue
		}
		if t.Cron == "" {
			return t, nil
		}
		w, err := t.window(place)
		if err != nil {
			return Throttle{}, fmt.Errorf("%s: %w", item("throttle", i), err)
		}
		if span, err := (timetable.Timetable{Windows: []timetable.Window{w}}).Window(now); err == nil && span.Has(now) {
			return t, nil
		}
	}
	return Throttle{}, nil
}

// of is what the throttle is of.
func (t Throttle) of() string {
	if t.Of == "" {
		return ThrottleServer
	}
	return t.Of
}

// window is when a throttle with a cron expression holds.
func (t Throttle) window(zone *time.Location) (timetable.Window, error) {
	begins, err := timetable.ParseCron(t.Cron, zone)
	if err != nil {
		return timetable.Window{}, err
	}
	return timetable.NewWindow(begins, t.For.D())
}

// Every is the least time from one request to the next that Requests leave.
func (t Throttle) Every() time.Duration {
	if t.Requests <= 0 {
		return 0
	}
	return time.Minute / time.Duration(t.Requests)
}

// Bounds tells whether the throttle bounds anything.
func (t Throttle) Bounds() bool { return t.Rate > 0 || t.Requests > 0 || t.Pause > 0 }

// String says for people what the throttle allows.
func (t Throttle) String() string {
	text := ""
	for _, part := range []struct {
		given bool
		says  string
	}{
		{t.Rate > 0, t.Rate.String() + " a second"},
		{t.Requests > 0, fmt.Sprintf("%d requests a minute", t.Requests)},
		{t.Pause > 0, t.Pause.String() + " between requests"},
	} {
		if part.given && text != "" {
			text += ", "
		}
		if part.given {
			text += part.says
		}
	}
	if text == "" {
		return "no bound"
	}
	return text
}

// ThrottlesOf are the throttles of the source that is so defined, and its time zone. Keys
// that say something else are not looked at: they may be a newer program's.
func ThrottlesOf(definition string) (all Throttles, zone string, err error) {
	keys, err := definedKeys(definition)
	if err != nil {
		return nil, "", err
	}
	maps.DeleteFunc(keys, func(key string, _ any) bool { return !slices.Contains([]string{"throttle", "time_zone"}, key) })
	text, err := json.Marshal(keys)
	if err != nil {
		return nil, "", fmt.Errorf("definition of a source: %w", err)
	}
	s, err := ParseDefinition(string(text))
	return s.Throttle, s.TimeZone, err
}

// checkThrottles looks at how fast a source and its server are asked.
func (d *decoder) checkThrottles(s *Source, at string) {
	if len(s.Throttle) > maxThrottles {
		d.problem(at, "are %d: %d are the most, and one holds at each of the days and hours that its cron lists", len(s.Throttle), maxThrottles)
		return
	}
	zone, err := timetable.Zone(s.TimeZone)
	if err != nil {
		zone = time.UTC // which is told elsewhere
	}
	always := map[string]int{}
	for i, t := range s.Throttle {
		at := item(at, i)
		if t.Of != "" {
			d.oneOf(at+".of", t.Of, ThrottleServer, ThrottleSource)
		}
		d.checkThrottle(t, zone, at)
		if before, ok := always[t.of()]; ok {
			d.problem(at, "never counts, since %s of the %s holds always: put it before that one, or give that one cron and for", item("throttle", before), t.of())
		} else if t.Cron == "" {
			always[t.of()] = i
		}
	}
}

func (d *decoder) checkThrottle(t Throttle, zone *time.Location, at string) {
	switch {
	case t.Cron == "" && t.For > 0:
		d.problem(at+".cron", "is missing: for says how long the throttle holds from then on; write both, or neither")
	case t.Cron == "" && !t.Bounds():
		d.problem(at, "bounds nothing: write rate (bytes a second), requests (a minute) or pause (between requests), or take it out")
	case t.Cron != "":
		begins, err := timetable.ParseCron(t.Cron, zone)
		if err != nil {
			d.problem(at+".cron", "%s", err)
		} else if _, err := timetable.NewWindow(begins, t.For.D()); err != nil && !d.hasProblem(at+".for") {
			d.problem(at+".for", "%s", err)
		}
	}
	if t.Rate > 0 && t.Rate < minThrottleRate {
		d.problem(at+".rate", "is %s a second: write %s or more, since servers hang up on those who read more slowly, or let the source rest by windows", t.Rate, minThrottleRate)
	}
	if t.Requests > 60000 {
		d.problem(at+".requests", "is %d a minute: write up to 60000, or take it out for no bound", t.Requests)
	}
	if t.Pause > maxThrottlePause {
		d.problem(at+".pause", "is %s: write up to %s, since servers hang up on those who are silent for longer, or let the source rest by windows", t.Pause, maxThrottlePause)
	}
}
