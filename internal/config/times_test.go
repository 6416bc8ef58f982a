package config

import (
	"errors"
	"strings"
	"testing"
	"time"
)

// What is wrong with times is said with the key and the way out.
func TestTimesThatAreRefused(t *testing.T) {
	for keys, want := range map[string]string{
		`interval: 1h, cron: "@daily"`:                                        "sources[0].cron: stands beside interval",
		`cron: "@once", max_interval: 4h`:                                     "sources[0].max_interval: stands beside cron",
		`cron: "@once", interval: 1h`:                                         "sources[0].cron: stands beside interval",
		`windows: [{cron: "@once", for: 1h}]`:                                 "sources[0].windows[0].cron: \"@once\" has 1 fields",
		`max_interval: 4h`:                                                    "sources[0].max_interval: needs interval beside it",
		`interval: 1h, max_interval: 59m`:                                     "sources[0].max_interval: 59m is less than interval, 1h",
		`cron: "@daily", max_interval: 4h`:                                    "sources[0].max_interval: stands beside cron",
		`max_interval: -1h`:                                                   "sources[0].max_interval: is negative",
		`cron: "@once", complete_every: 24h`:                                  "sources[0].complete_every: stands beside cron: \"@once\"",
		`interval: 1h, complete_every: 1h`:                                    "sources[0].complete_every: 1h is no longer than interval, 1h",
		`complete_every: -1h`:                                                 "sources[0].complete_every: is negative",
		`cron: "0 0 30 2 *"`:                                                  "sources[0].cron: \"0 0 30 2 *\" never comes",
		`cron: "0 25 * * *"`:                                                  "sources[0].cron: \"0 25 * * *\": hour \"25\"",
		`cron: "@daily", time_zone: Europe/Nowhere`:                           "sources[0].time_zone: \"Europe/Nowhere\" is no time zone",
		`time_zone: Local`:                                                    "sources[0].time_zone",
		`windows: [{cron: "0 22 * * *", for: 30s}]`:                           "sources[0].windows[0].for: is open for 30s only",
		`windows: [{cron: "0 22 * * *", for: 24h}]`:                           "sources[0].windows[0].for: is open for 24h0m0s, and opens again after 24h0m0s",
		`windows: [{cron: "0 22 * * *", for: 0s}]`:                            "sources[0].windows[0].for: is 0",
		`windows: [{cron: "0 22 * * *"}]`:                                     "sources[0].windows[0].for: is open for 0s only",
		`windows: [{for: 8h}]`:                                                "sources[0].windows[0].cron: \"\" has 0 fields",
		`windows: [{cron: "0 22 * * *", for: 8h, days: [mon]}]`:               "sources[0].windows[0].days: unknown key",
		`windows: {cron: "0 22 * * *", for: 8h}`:                              "sources[0].windows: expects a list",
		`windows: [` + strings.Repeat(`{cron: "@daily", for: 1h},`, 17) + `]`: "sources[0].windows: are 17: 16 are the most",
	} {
		text := "sources: [{id: a, centre: H, url: 'file:///x', " + keys + "}]"
		_, applied := Default().ParseSources("test", strings.NewReader(text), "/", Options{})
		_, loaded := Load(write(t, text), nil, Options{})
		for _, err := range []error{applied, loaded} {
			if err == nil || !strings.Contains(err.Error(), want) || strings.Count(err.Error(), "sources[0]") != 1 {
				t.Errorf("%s: %v\nwant %q, once", keys, err, want)
			}
		}
	}
}

// A timetable follows from a definition, whatever else a newer program has put there.
func TestTimetableOfADefinition(t *testing.T) {
	noon := time.Date(2026, 3, 5, 12, 0, 0, 0, time.UTC)
	for definition, want := range map[string]string{ // when it is due after noon, after five polls without a change, and when its window opens
		`{}`:                        "05T13:00",
		`{"id": "a", "newer": [1]}`: "05T13:00",
		`{"cron": "0 3 * * *"}`:     "06T03:00",
		`{"cron": "@once"}`:         "05T13:00",
		`{"interval": "1h", "max_interval": "3h"}`: "05T15:00",
		`{"cron": "0 9 * * *", "time_zone": "America/New_York", "windows": [{"cron": "0 22 * * *", "for": "1h"}]}`: "05T14:00 06T03:00",
	} {
		table, err := TimetableOf(definition, time.Hour)
		if err != nil {
			t.Errorf("%s: %v", definition, err)
			continue
		}
		next, err := table.Next(noon, 5, 1)
		span, err2 := table.Window(noon)
		got := next.UTC().Format("02T15:04")
		if !span.Always() {
			got += " " + span.Opens.UTC().Format("02T15:04")
		}
		if err := errors.Join(err, err2); err != nil || got != want {
			t.Errorf("%s: %s, %v; want %s", definition, got, err, want)
		}
	}
	for definition, want := range map[string]string{
		`{"cron": {"at": "noon"}}`:                                      "cron: expects a single value",
		`{"id": "a", "time_zone": "Mars/Olympus"}`:                      "time_zone: \"Mars/Olympus\" is no time zone",
		`{"windows": [{"cron": "@daily", "for": "1h", "lunar": true}]}`: "lunar",
		`{"cron": `: "definition of a source",
	} {
		if _, err := TimetableOf(definition, time.Hour); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", definition, err, want)
		}
	}
}
