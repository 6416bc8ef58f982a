package standing

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"tributary/internal/config"
	"tributary/internal/pg"
	"tributary/sql/control"
)

// Left says by which limit a poll of a source of a definition, that ended at a time, left
// files, and to which polls.
func Left(limit, definition string, ended time.Time) string {
	if !control.OfDay(limit) {
		return fmt.Sprintf("one poll takes up (%s): the next polls take up the rest", control.LimitKey(limit))
	}
	_, ends := config.DayOf(definition, ended)
	return fmt.Sprintf("are taken up on one day (%s): polls from %s on take up the rest", control.LimitKey(limit), ends.UTC().Format("2006-01-02 15:04:05Z"))
}

// takenUp is what the polls of a source take up, as far as it is limited.
type takenUp struct {
	Day   string    `json:"day"`  // in its time zone
	Ends  time.Time `json:"ends"` // when the next one begins
	Files int64     `json:"files"`
	Bytes int64     `json:"bytes"`

	Postponed int64  `json:"postponed,omitempty"` // new and changed files that the last poll left
	StoppedBy string `json:"stopped_by,omitempty"`

	limits config.Source
	left   string
}

// takenUpOf reads what was taken up of a source on this day, and what its last poll left.
func takenUpOf(ctx context.Context, q pg.Querier, st control.Standing, now time.Time) (takenUp, error) {
	t := takenUp{}
	t.Day, t.Ends = config.DayOf(st.Definition, now)
	taken, err := control.TakenOn(ctx, q, st.ID, t.Day)
	if err != nil {
		return t, err
	}
	t.Files, t.Bytes = taken.Files, taken.Bytes
	if src, err := config.ParseDefinition(st.Definition); err == nil {
		t.limits = src
	}
	listings, err := control.ListingsOf(ctx, q, st.ID)
	if e := listings.Ended; err == nil && e != nil && e.Postponed > 0 && e.EndedAt != nil {
		t.Postponed, t.StoppedBy, t.left = e.Postponed, e.StoppedBy, Left(e.StoppedBy, st.Definition, *e.EndedAt)
	}
	return t, err
}

// text says it for people.
func (t takenUp) text() string {
	var b strings.Builder
	if t.limits.MaxFilesPerDay > 0 || t.limits.MaxBytesPerDay > 0 {
		files, bytes := strconv.FormatInt(t.Files, 10), strconv.FormatInt(t.Bytes, 10)
		if n := t.limits.MaxFilesPerDay; n > 0 {
			files += fmt.Sprintf(" of %d", n)
		}
		if n := t.limits.MaxBytesPerDay; n > 0 {
			bytes += fmt.Sprintf(" of %d", n)
		}
		fmt.Fprintf(&b, "taken up on %s, until %s: %s files, %s bytes\n", t.Day, inZone(t.Ends), files, bytes)
	}
	if t.Postponed > 0 {
		fmt.Fprintf(&b, "its last poll showed %d more new or changed files than %s\n", t.Postponed, t.left)
	}
	return b.String()
}
