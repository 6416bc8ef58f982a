package standing

import (
	"time"

	"tributary/sql/control"
)

// shownClock is what is known of the clock of a source's server, in seconds.
type shownClock struct {
	AheadLeast *float64   `json:"ahead_least_seconds"` // negative: it is behind; null: not known
	AheadMost  *float64   `json:"ahead_most_seconds"`
	Precision  float64    `json:"precision_seconds"` // of the least exact time of its last listing
	Yearless   bool       `json:"yearless"`          // that had times without a year
	Zones      []float64  `json:"zones_seconds"`     // by how much its listing's times are ahead of exact ones
	Moved      float64    `json:"moved_seconds"`     // by how much all times moved at once, the last time that they did
	MovedAt    *time.Time `json:"moved_at"`
	Skew       float64    `json:"skew_seconds"` // how far the clock is wrong at the least; 0: it is right as far as is known
	Since      *time.Time `json:"skewed_since"`
}

// clockOf is that of a source; nil: nothing is known.
func clockOf(s control.Standing) *shownClock {
	c := s.Clock
	if c.Text() == "" {
		return nil
	}
	seconds := func(d *time.Duration) *float64 {
		if d == nil {
			return nil
		}
		v := d.Seconds()
		return &v
	}
	at := func(t time.Time) *time.Time {
		if t.IsZero() {
			return nil
		}
		return &t
	}
	ahead := c.Ahead()
	shown := &shownClock{AheadLeast: seconds(ahead.Least), AheadMost: seconds(ahead.Most), Precision: c.Precision.Seconds(), Yearless: c.Yearless, Zones: []float64{},
		Moved: c.Moved.Seconds(), MovedAt: at(c.MovedAt), Skew: c.Skew.Seconds(), Since: at(c.Since)}
	for _, z := range c.Zones {
		shown.Zones = append(shown.Zones, z.Seconds())
	}
	return shown
}
