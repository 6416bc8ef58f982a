package remote

import (
	"net/http"
	"slices"
	"sync"
	"time"
)

// Clock is what is known of a server's clock. Sessions go by it, and note in it what
// they learn. Its methods may be called from several goroutines.
type Clock struct {
	// Now is our own clock; time.Now by default.
	Now func() time.Time
	// Ahead is how far the server's clock is believed to be ahead of ours.
	Ahead time.Duration

	// mu guards what is below it.
	mu sync.Mutex
	// zones are the differences between times as listings show them and exact ones.
	zones []time.Duration
	// told says that a server told its time: it is ahead by least to most.
	told        bool
	least, most time.Duration
}

// maxZones is how many differences between shown and exact times are believed:
// those of summer and winter, and of another directory on another machine.
const maxZones = 4

// Ours is the time by our own clock.
func (c *Clock) Ours() time.Time {
	if c.Now != nil {
		return c.Now()
	}
	return time.Now()
}

// Theirs is the time by the server's clock, as far as that is known.
func (c *Clock) Theirs() time.Time { return c.Ours().Add(c.Ahead) }

// Restless tells whether another version of a file that was written at a time may have
// the same minute, or look as if, so that its exact time is asked for.
func (c *Clock) Restless(written time.Time) bool { return c.Theirs().Sub(written) <= restless }

// Learn notes a difference between a shown and an exact time, if it is one of a
// time zone.
func (c *Clock) Learn(zone time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if zone%(15*time.Minute) == 0 && zone.Abs() <= 14*time.Hour && len(c.zones) < maxZones && !slices.Contains(c.zones, zone) {
		c.zones = append(c.zones, zone)
	}
}

// Zones are the differences between times as listings show them and exact ones that
// were seen, at most four.
func (c *Clock) Zones() []time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.zones)
}

// Hear notes what an answer says of the server's clock, which was asked for after one
// moment and had come before another. What lay in a cache on the way tells of another time.
func (c *Clock) Hear(h http.Header, after, before time.Time) {
	date, err := http.ParseTime(h.Get("Date"))
	if age := h.Get("Age"); err != nil || age != "" && age != "0" {
		return
	}
	least, most := date.Sub(before), date.Add(time.Second).Sub(after)
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.told || most-least < c.most-c.least {
		c.told, c.least, c.most = true, least, most
	}
}

// Told is how far the server's clock is ahead of ours, at least and at most, by what it
// says itself. False: it doesn't.
func (c *Clock) Told() (least, most time.Duration, told bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.least, c.most, c.told
}
