package clock

import (
	"fmt"
	"strings"
	"time"
)

// Text says to people what is known of the clock, in one line; empty: nothing is.
func (c Clock) Text() string {
	var parts []string
	if said := c.aheadText(); said != "" {
		parts = append(parts, said)
	}
	if said := c.exactText(); said != "" {
		parts = append(parts, said)
	}
	if len(c.Zones) > 0 {
		parts = append(parts, "its listing is in "+zonesText(c.Zones))
	}
	if !c.MovedAt.IsZero() {
		parts = append(parts, fmt.Sprintf("all times moved by %s, as seen at %s", c.Moved, c.MovedAt.UTC().Format("2006-01-02 15:04:05Z")))
	}
	return strings.Join(parts, "; ")
}

// aheadText says what is known of how far the clock is ahead. Times of an unknown zone
// say nothing of that by themselves.
func (c Clock) aheadText() string {
	whose := "its clock is "
	by := " by what it tells"
	if c.Told == nil {
		by = " by its files"
		if c.Precision >= time.Minute {
			whose = "its listing, of an unknown zone, is "
		}
	}
	b := c.Ahead()
	switch {
	case b.Least == nil && b.Most == nil:
		return ""
	case b.Most == nil && *b.Least > 0:
		return whose + "ahead of ours by " + short(*b.Least) + " or more," + by
	case b.Most == nil:
		return whose + "not known to be wrong," + by
	case b.Least != nil && *b.Least > 0:
		return whose + "ahead of ours by " + short(*b.Least) + " to " + short(*b.Most) + "," + by
	case *b.Most < 0 && b.Least != nil:
		return whose + "behind ours by " + short(-*b.Most) + " to " + short(-*b.Least) + "," + by
	case *b.Most < 0:
		return whose + "behind ours by " + short(-*b.Most) + " or more," + by
	}
	return whose + "right," + by
}

func short(d time.Duration) string {
	if d < time.Second {
		return d.Round(time.Millisecond).String()
	}
	return d.Round(time.Second).String()
}

func (c Clock) exactText() string {
	var said string
	switch p := c.Precision; {
	case p == 0:
		return ""
	case p >= 24*time.Hour:
		said = "times are exact to the day at worst"
	case p >= time.Minute:
		said = "times are exact to the minute"
	case p >= FAT:
		said = "times are exact to two seconds, as a disk with FAT keeps them"
	case p >= time.Second:
		said = "times are exact to the second"
	default:
		said = "times are exact"
	}
	if c.Yearless {
		said += ", some without a year"
	}
	return said
}

func zonesText(zones []time.Duration) string {
	var all []string
	for _, z := range zones {
		sign := "+"
		if z < 0 {
			sign = "-"
		}
		all = append(all, fmt.Sprintf("UTC%s%02d:%02d", sign, int(z.Abs()/time.Hour), int(z.Abs()%time.Hour/time.Minute)))
	}
	return strings.Join(all, " and ")
}
