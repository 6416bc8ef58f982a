package timetable

import "time"

// Day is which day it is in a time zone, as 2006-01-02, and when the next one begins.
func Day(now time.Time, zone *time.Location) (day string, ends time.Time) {
	const all = ^uint64(0)
	midnight := Cron{minutes: 1, hours: 1, days: all, months: all, weekdays: all, both: true, zone: zone}
	return now.In(zone).Format(time.DateOnly), midnight.Next(now)
}
