package standing

import (
	"strings"
	"testing"
	"time"

	"tributary/sql/control"
)

// When a source is polled next is shown as its clocks and UTC have it, with its
// window and the end of its maintenance.
func TestTimesThatAreShown(t *testing.T) {
	now := time.Date(2026, 3, 28, 12, 0, 0, 0, time.UTC)
	due, until := now.Add(30*time.Minute), now.Add(13*time.Hour)
	const night = `"time_zone": "Europe/Berlin", "windows": [{"cron": "0 22 * * *", "for": "6h"}]`
	times := map[string]int{"once": 1, "on demand": 0}
	for name, c := range map[string]struct {
		s    control.Standing
		want string
	}{
		"by interval": {control.Standing{Due: &due}, "next:\n  2026-03-28 12:30:00Z\n  2026-03-28 13:30:00Z\n"},
		"at once":     {control.Standing{}, "next:\n  2026-03-28 12:00:00Z\n"},
		"grown": {control.Standing{Due: &due, Unchanged: 1, Source: control.Source{Definition: `{"max_interval": "3h"}`}},
			"polled every 2h, every 3h at most; polls in a row that found no change: 1\nnext:\n  2026-03-28 12:30:00Z\n  2026-03-28 14:30:00Z\n  2026-03-28 17:30:00Z\n"},
		"minimally": {control.Standing{Due: &due, Source: control.Source{Definition: `{"complete_every": "24h"}`}},
			"polled completely every 24h, and minimally between: the next poll is complete\nnext:\n"},
		"minimally, between": {control.Standing{Due: &due, Source: control.Source{Definition: `{"complete_every": "24h"}`},
			Directories: control.Directories{Complete: now.Add(-time.Hour), Minimal: 3, By: map[string]control.Directory{"add": {}, "edit": {Mute: true}, "delete": {Mute: true}}}},
			"polled completely every 24h, and minimally between: the last complete poll began 2026-03-28 11:00:00Z; minimal polls since: 3\n" +
				"listed by minimal polls too, since files come there and the directory's time stays: delete, edit\nnext:\n"},
		"outside of its window": {control.Standing{Due: &due, Source: control.Source{Definition: `{` + night + `}`}},
			"its window is closed until Sat 2026-03-28 22:00:00 CET (2026-03-28 21:00:00Z)\nnext:\n  Sat 2026-03-28 22:00:00 CET (2026-03-28 21:00:00Z)\n  Sat 2026-03-28 23:00:00 CET"},
		"by cron": {control.Standing{Due: &due, Source: control.Source{Definition: `{"cron": "30 2 * * *", "time_zone": "Europe/Berlin"}`}},
			"next:\n  Sat 2026-03-28 13:30:00 CET (2026-03-28 12:30:00Z)\n  Sun 2026-03-29 03:00:00 CEST (2026-03-29 01:00:00Z)\n  Mon 2026-03-30 02:30:00 CEST"},
		"once": {control.Standing{Due: &due, Source: control.Source{ID: "a", Definition: `{"cron": "@once"}`}},
			"it is polled until one poll is complete, and on demand from then on: tributary sources poll a\nnext:\n  2026-03-28 12:30:00Z\n"},
		"on demand": {control.Standing{OnDemand: true, Source: control.Source{ID: "a", Definition: `{"cron": "@once"}`}},
			"it was polled completely, and is polled on demand only: tributary sources poll a\n"},
		"in maintenance": {control.Standing{Due: &due, Source: control.Source{ID: "a", State: "maintenance"}},
			"left alone until it is resumed: tributary sources resume a\n"},
		"in maintenance until some time": {control.Standing{Due: &due, MaintainedUntil: &until, Source: control.Source{ID: "a", State: "maintenance"}},
			"left alone until 2026-03-29 01:00:00Z, or until it is resumed: tributary sources resume a\nnext:\n  2026-03-29 01:00:00Z\n  2026-03-29 02:00:00Z\n"},
		"that can't be computed": {control.Standing{Source: control.Source{Definition: `{"cron": "hourly"}`}}, "when it is due can't be computed: definition of a source: cron: \"hourly\" has 1 fields"},
	} {
		t.Run(name, func(t *testing.T) {
			c.s.Interval = time.Hour
			if c.s.Definition == "" {
				c.s.Definition = control.Undefined
			}
			shown := timesOf(c.s, now)
			if got := timesText(c.s, shown); !strings.HasPrefix(got, c.want) {
				t.Errorf("it says\n%s\nwant\n%s", got, c.want)
			}
			out := map[string]any{}
			showTimes(out, shown)
			most, few := times[name]
			if !few {
				most = shownTimes
			}
			if demand, told := out["on_demand"]; told != few || few && demand != c.s.OnDemand {
				t.Errorf("as JSON: %v", out)
			}
			_, failed := out["schedule_error"]
			_, window := out["window"]
			if failed != (shown.err != nil) || window != strings.Contains(c.want, "window") || c.s.State == "" && !failed && len(out["next"].([]time.Time)) != most {
				t.Errorf("as JSON: %v", out)
			}
		})
	}
}
