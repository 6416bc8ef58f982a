package own

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"tributary/internal/pg"
	"tributary/schemas"
	"tributary/schemas/exception"
)

// Day is a day of UTC, and Week seven of them.
const (
	Day  = 24 * time.Hour
	Week = 7 * Day
	// Weeks is how far summaries reach back, in weeks, the one that has not ended left out.
	Weeks = 8
)

// Summary is what came from a centre in a time, and how that stands now. A file that was
// uploaded twice came twice.
type Summary struct {
	Centre string    `json:"centre"`
	From   time.Time `json:"from" doc:"a whole day of UTC"`
	Until  time.Time `json:"until" doc:"a whole day of UTC, which is not in it"`

	Came     int64 `json:"came" doc:"those below together"`
	Loaded   int64 `json:"loaded"`
	Failed   int64 `json:"failed"`
	Underway int64 `json:"underway"`
	Replaced int64 `json:"replaced" doc:"other bytes came later under the same name"`
	Ended    int64 `json:"ended" doc:"without being loaded"`

	Days     []Count   `json:"days"`
	Troubles []Trouble `json:"troubles" doc:"of those that failed, what the centre is to correct first"`
	Servers  []Server  `json:"servers,omitempty" doc:"how they are now; absent where the time has passed"`
}

// Count is how much came on a day, and how much of that has failed.
type Count struct {
	Day    time.Time `json:"day"`
	Came   int64     `json:"came"`
	Failed int64     `json:"failed"`
}

// Monday is when the week of a moment began, in UTC.
func Monday(at time.Time) time.Time {
	day := at.UTC().Truncate(Day)
	return day.AddDate(0, 0, -(int(day.Weekday())+6)%7)
}

// Name is the name of the week that begins at a moment, such as 2026-W47.
func Name(monday time.Time) string {
	year, week := monday.UTC().ISOWeek()
	return fmt.Sprintf("%d-W%02d", year, week)
}

// Last is the summary of the last seven days, today included, with how the servers are.
func (v View) Last(ctx context.Context) (Summary, error) {
	until := v.Now.UTC().Truncate(Day).Add(Day)
	all, err := v.summaries(ctx, until.Add(-Week), 1)
	if err != nil {
		return Summary{}, err
	}
	all[0].Servers, err = v.Servers(ctx)
	return all[0], err
}

// Ended are the summaries of the weeks that have ended, the newest first, from the first
// on in which something came, and not more than Weeks. The newest says how the servers
// are.
func (v View) Ended(ctx context.Context) ([]Summary, error) {
	all, err := v.summaries(ctx, Monday(v.Now).Add(-Weeks*Week), Weeks)
	if err != nil {
		return nil, err
	}
	for len(all) > 0 && all[0].Came == 0 {
		all = all[1:]
	}
	slices.Reverse(all)
	if len(all) > 0 {
		all[0].Servers, err = v.Servers(ctx)
	}
	return all, err
}

// came is how much came on one day and stands alike now.
type came struct {
	Day           int
	Phase, Status string
	Exception     *string
	Description   *string
	Current       bool
	Count         int64
}

// summaries are of so many weeks one after the other. What came since has changed since:
// so it is found by the index on the last change.
func (v View) summaries(ctx context.Context, from time.Time, weeks int) ([]Summary, error) {
	rows, err := list[came](ctx, v.Tracker, `SELECT day, p.short_name AS phase, s.short_name AS status, x.short_name AS exception, x.description, current, count(*) FROM (
			SELECT floor(extract(epoch FROM r.received - $2) / 86400)::int AS day, a.phase_id, a.status_id, a.exception_id, r.sha256 IS NOT DISTINCT FROM d.version AS current
			FROM tracker.zip_action a JOIN tracker.zip_file z ON z.id = a.zip_id JOIN tracker.zip_version r ON r.za_id = a.id LEFT JOIN tracker.zip_download d ON d.id = a.download_id
			WHERE a.last_update >= $2 AND z.centre_id IN `+mine+` AND r.received >= $2 AND r.received < $3
			UNION ALL -- those that were refused before they were fetched
			SELECT floor(extract(epoch FROM a.created - $2) / 86400)::int, a.phase_id, a.status_id, a.exception_id, true
			FROM tracker.zip_action a JOIN tracker.zip_file z ON z.id = a.zip_id
			WHERE a.last_update >= $2 AND z.centre_id IN `+mine+` AND a.created >= $2 AND a.created < $3 AND a.status_id = {status failed}
				AND NOT EXISTS (SELECT FROM tracker.zip_version r WHERE r.za_id = a.id)) c
		JOIN tracker.phase p ON p.id = phase_id JOIN tracker.a_status s ON s.id = status_id LEFT JOIN tracker.an_exception x ON x.id = exception_id
		GROUP BY 1, 2, 3, 4, 5, 6 ORDER BY 1, 2, 3, 4`, v.Centre, from, from.Add(time.Duration(weeks)*Week))
	if err != nil {
		return nil, err
	}
	out := make([]Summary, weeks)
	for i := range out {
		out[i] = Summary{Centre: v.Centre, Troubles: []Trouble{}, From: from.Add(time.Duration(i) * Week), Until: from.Add(time.Duration(i+1) * Week)}
		for day := range 7 {
			out[i].Days = append(out[i].Days, Count{Day: out[i].From.Add(time.Duration(day) * Day)})
		}
	}
	for _, r := range rows {
		if r.Day >= 0 && r.Day < 7*weeks {
			out[r.Day/7].add(r)
		}
	}
	for i := range out {
		slices.SortStableFunc(out[i].Troubles, func(a, b Trouble) int {
			return cmp.Or(cmp.Compare(rank(a.Move), rank(b.Move)), cmp.Compare(b.Files, a.Files), strings.Compare(a.Exception, b.Exception))
		})
	}
	return out, nil
}

// rank has what the centre is to correct come first.
func rank(m exception.Move) int {
	return slices.Index([]exception.Move{exception.Centre, exception.Us, exception.Nobody}, m)
}

func (s *Summary) add(r came) {
	s.Came += r.Count
	day := &s.Days[r.Day%7]
	day.Came += r.Count
	switch status := schemas.Status(r.Status); {
	case !r.Current:
		s.Replaced += r.Count
	case status == schemas.Failed:
		s.Failed += r.Count
		day.Failed += r.Count
		s.trouble(r)
	case status == schemas.Cancelled:
		s.Ended += r.Count
	case status == schemas.Done && schemas.Phase(r.Phase).ID() >= schemas.Overview.ID():
		s.Loaded += r.Count
	default:
		s.Underway += r.Count
	}
}

func (s *Summary) trouble(r came) {
	name := cmp.Or(pg.Value(r.Exception), "unnamed")
	i := slices.IndexFunc(s.Troubles, func(t Trouble) bool { return t.Exception == name })
	if i < 0 {
		t := Trouble{Exception: name, Move: exception.MoveOf(name)}
		if _, known := exception.PlainOf(name); !known && schemas.Phase(r.Phase).ID() >= schemas.Data.ID() {
			t.Move = exception.Centre // a finding
		}
		t.Title, t.Do = Words(name, pg.Value(r.Description), t.Move)
		s.Troubles, i = append(s.Troubles, t), len(s.Troubles)
	}
	s.Troubles[i].Files += r.Count
	s.Troubles[i].Failed += r.Count
}

// ToCorrect is how many of those that failed the centre is to correct.
func (s Summary) ToCorrect() (n int64) {
	for _, t := range s.Troubles {
		if t.Move == exception.Centre {
			n += t.Files
		}
	}
	return n
}

// Of is the summary of the week that begins at a moment.
func (v View) Of(ctx context.Context, monday time.Time) (Summary, error) {
	all, err := v.summaries(ctx, monday, 1)
	if err != nil {
		return Summary{}, err
	}
	return all[0], nil
}

// ParseWeek is when the week of that name began; ok is false for what is none of those
// that summaries reach, the present one included.
func ParseWeek(name string, now time.Time) (monday time.Time, ok bool) {
	for i := range Weeks + 1 {
		if monday = Monday(now).Add(-time.Duration(i) * Week); Name(monday) == name {
			return monday, true
		}
	}
	return time.Time{}, false
}
