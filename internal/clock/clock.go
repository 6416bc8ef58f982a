// Package clock keeps what is known of a server's clock and of how the server shows
// times: how far the clock is ahead of ours, by what its answers and our own sightings
// say, and whether all times have moved at once, as where a zone changes to or from
// daylight saving. It knows no protocol and no store.
//
// A file that was not there when we last looked and is there now was written, by the
// server's clock, no later than when we saw it: so that clock is ahead of ours by at
// least the difference. How far it is ahead at most follows only from a file that grew
// meanwhile: others may have brought their times along from elsewhere.
package clock

import (
	"slices"
	"time"
)

const (
	// Tolerance is how far a clock may be from ours without a word. It is fixed:
	// Kerberos asks for the same.
	Tolerance = 5 * time.Minute
	// farthest is how far from UTC a time zone may be.
	farthest = 14 * time.Hour
	// kept is how many finds are kept, the newest.
	kept = 16
	// FAT is how exact times are that FAT keeps: it has two seconds in one.
	FAT = 2 * time.Second
	// agreed is how many finds must say the same before it is believed: one file may
	// have any time.
	agreed = 3
)

// Bounds are how far the server's clock is ahead of ours: at least, and at most.
// Negative: it is behind. Nil: there is no such bound.
type Bounds struct {
	Least *time.Duration `json:"least,omitempty"`
	Most  *time.Duration `json:"most,omitempty"`
}

// Find is what one poll says of the clock, by the newest file that it found.
type Find struct {
	Least time.Duration `json:"least"`
	Most  time.Duration `json:"most"`
	// Grew says that the file grew between two looks: then Most is a bound, too.
	Grew bool `json:"grew,omitempty"`
}

// Sighting is the find of a file whose time is written, as exact as precision, that
// changed after one look began and before another ended, by our clock.
func Sighting(written time.Time, precision time.Duration, before, after time.Time, grew bool) Find {
	return Find{Least: written.Sub(after), Most: written.Add(precision).Sub(before), Grew: grew}
}

// Clock is what is known of the clock of a source's server. The zero value knows nothing.
type Clock struct {
	// Server says of which, as host:port.
	Server string `json:"server,omitempty"`
	// Looked is when the last complete listing began, by our clock.
	Looked time.Time `json:"looked,omitzero"`
	// Told is what the server's answers in the last poll said of its clock: that counts
	// before what its files say.
	Told *Bounds `json:"told,omitempty"`
	// Finds are what its files have said, the oldest first.
	Finds []Find `json:"finds,omitempty"`
	// Precision is how exact the least exact time of a file in the last listing was; 0:
	// it showed none. What shows no seconds shows the time of an unknown zone.
	Precision time.Duration `json:"precision,omitempty"`
	// Yearless says that the last listing had times without a year.
	Yearless bool `json:"yearless,omitempty"`
	// Zones are the differences between the times that its listing shows and the exact
	// ones, as seen in the last poll.
	Zones []time.Duration `json:"zones,omitempty"`
	// Moved is by how much all times moved at once, the last time that they did, and
	// MovedAt when that was seen; zero: never.
	Moved   time.Duration `json:"moved,omitempty"`
	MovedAt time.Time     `json:"moved_at,omitzero"`
	// Skew is how far the clock is from ours at the least, where that was told as a
	// finding, and Since when; zero: it is right as far as is known.
	Skew  time.Duration `json:"skew,omitempty"`
	Since time.Time     `json:"since,omitzero"`
}

// Of is what is known of a server: nothing of the clock where the source has moved to
// another.
func (c Clock) Of(server string) Clock {
	if c.Server != server {
		c = Clock{Server: server, Precision: c.Precision}
	}
	return c
}

// Found adds a find. Where the newest ones contradict what the older ones said, the clock
// was set, and the older ones are forgotten.
func (c *Clock) Found(f Find) {
	before := c.files()
	c.Finds = append(slices.Clone(c.Finds), f)
	c.Finds = c.Finds[max(0, len(c.Finds)-kept):]
	if len(c.Finds) < agreed {
		return
	}
	newest := c.Finds[len(c.Finds)-agreed:]
	behind, ahead := true, true
	for _, n := range newest {
		behind = behind && before.Least != nil && n.Most < *before.Least
		ahead = ahead && before.Most != nil && n.Least > *before.Most
	}
	if behind || ahead {
		c.Finds = newest
	}
}

// files are the bounds that so many finds agree on that it is no single file's matter.
func (c Clock) files() (b Bounds) {
	var least, most []time.Duration
	for _, f := range c.Finds {
		least = append(least, f.Least)
		if f.Grew {
			most = append(most, f.Most)
		}
	}
	slices.Sort(least)
	slices.Sort(most)
	if n := len(least); n >= agreed {
		b.Least = &least[n-agreed]
	}
	if len(most) >= agreed {
		b.Most = &most[agreed-1]
	}
	return b
}

// Ahead is how far the clock is ahead of ours.
func (c Clock) Ahead() Bounds {
	if c.Told != nil {
		return *c.Told
	}
	return c.files()
}

// Guess is one value within the bounds, of which 0 is preferred: what is not known to
// be wrong counts as right.
func (c Clock) Guess() time.Duration {
	switch b := c.Ahead(); {
	case b.Least != nil && *b.Least > 0:
		return *b.Least
	case b.Most != nil && *b.Most < 0:
		return *b.Most
	}
	return 0
}

// Skewed is how far the clock is from ours at the least, if that is more than may be.
// What the time zone of a listing explains is no fault of the clock's.
func (c Clock) Skewed() (time.Duration, bool) {
	may := Tolerance
	if c.Precision >= time.Minute && c.Told == nil {
		may += farthest
	}
	by := c.Guess()
	return by, by.Abs() > may
}
