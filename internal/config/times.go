package config

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"tributary/internal/timetable"
)

// Window is when a source may be polled and fetched from.
type Window struct {
	Cron string   `yaml:"cron"` // when it opens
	For  Duration `yaml:"for"`  // how long it is open
}

// timeKeys are the keys of a source that say when it is polled.
func timeKeys() []string { return []string{"interval", "max_interval", "cron", "time_zone", "windows"} }

// TimetableOf is the timetable of the source that is so defined; interval is that
// between its polls, where it has no cron expression. Keys that say something else
// are not looked at: they may be a newer program's.
func TimetableOf(definition string, interval time.Duration) (timetable.Timetable, error) {
	keys, err := definedKeys(definition)
	if err != nil {
		return timetable.Timetable{}, err
	}
	maps.DeleteFunc(keys, func(key string, _ any) bool { return !slices.Contains(timeKeys(), key) })
	text, err := json.Marshal(keys)
	if err != nil {
		return timetable.Timetable{}, fmt.Errorf("definition of a source: %w", err)
	}
	s, err := ParseDefinition(string(text))
	if err != nil {
		return timetable.Timetable{}, err
	}
	var problems Problems
	t := s.timetable(func(path, format string, args ...any) {
		problems = append(problems, Problem{File: "definition of a source", Path: path, Message: fmt.Sprintf(format, args...)})
	})
	if t.Interval = interval; len(problems) > 0 {
		return timetable.Timetable{}, problems
	}
	return t, nil
}

// timetable reads what the source says of times; report gets a key and what is wrong
// with its value.
func (s Source) timetable(report func(path, format string, args ...any)) timetable.Timetable {
	t := timetable.Timetable{Longest: s.MaxInterval.D(), Zone: time.UTC}
	if zone, err := timetable.Zone(s.TimeZone); err != nil {
		report("time_zone", "%q %s", s.TimeZone, err)
	} else {
		t.Zone = zone
	}
	if t.Once = s.Cron == timetable.Once; !t.Once && s.Cron != "" {
		if c, err := timetable.ParseCron(s.Cron, t.Zone); err != nil {
			report("cron", "%s", err)
		} else {
			t.Cron = &c
		}
	}
	if len(s.Windows) > timetable.MaxWindows {
		report("windows", "are %d: %d are the most, and one opens at each of the days and hours that its cron lists", len(s.Windows), timetable.MaxWindows)
		return t
	}
	for i, w := range s.Windows {
		at := item("windows", i)
		opens, err := timetable.ParseCron(w.Cron, t.Zone)
		if err != nil {
			report(at+".cron", "%s", err)
			continue
		}
		window, err := timetable.NewWindow(opens, w.For.D())
		if err != nil {
			report(at+".for", "%s", err)
			continue
		}
		t.Windows = append(t.Windows, window)
	}
	return t
}

// checkTimes looks at when a source is polled.
func (d *decoder) checkTimes(s *Source, at string) {
	s.timetable(func(path, format string, args ...any) {
		if !d.hasProblem(at + "." + path) {
			d.problem(at+"."+path, format, args...)
		}
	})
	_, interval := d.places[at+".interval"]
	switch {
	case s.Cron != "" && interval:
		d.problem(at+".cron", "stands beside interval, and each says when the source is polled: take one of them out")
	case s.MaxInterval > 0 && s.Cron != "":
		d.problem(at+".max_interval", "stands beside cron, which has its own times: take it out, or write interval in place of cron")
	case s.MaxInterval > 0 && !interval:
		d.problem(at+".max_interval", "needs interval beside it, from which it grows: write both")
	case s.MaxInterval > 0 && s.MaxInterval < s.Interval:
		d.problem(at+".max_interval", "%s is less than interval, %s: write one that is longer, or take it out", s.MaxInterval, s.Interval)
	}
	switch {
	case s.CompleteEvery > 0 && s.Cron == timetable.Once:
		d.problem(at+".complete_every", "stands beside cron: \"@once\", whose polls are all complete: take one of them out")
	case s.CompleteEvery > 0 && s.CompleteEvery <= s.Interval:
		d.problem(at+".complete_every", "%s is no longer than interval, %s, so that every poll would be complete: write one that is longer, or take it out", s.CompleteEvery, s.Interval)
	}
}
