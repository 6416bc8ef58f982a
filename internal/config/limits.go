package config

import (
	"time"

	"tributary/internal/timetable"
)

// Day is which day it is for the limits of a source, as 2006-01-02, and when the next one
// begins: in its time zone, or in UTC where nobody here knows that.
func (s Source) Day(now time.Time) (day string, ends time.Time) {
	zone, err := timetable.Zone(s.TimeZone)
	if err != nil {
		zone = time.UTC
	}
	return timetable.Day(now, zone)
}

// DayOf is Day of the source that is so defined; in UTC where its definition can't be
// read here.
func DayOf(definition string, now time.Time) (day string, ends time.Time) {
	s, err := ParseDefinition(definition)
	if err != nil {
		s = Source{}
	}
	return s.Day(now)
}
