package clock

import "time"

const (
	// quarter is what all zones differ by.
	quarter = 15 * time.Minute
	// widest is how far two zones may be apart.
	widest = 26 * time.Hour
)

// Difference is by how much the time that a listing shows of files differs from the one
// that is known of them, and of how many.
type Difference struct {
	By    time.Duration
	Files int64
}

// MovedBy is by how much all times have moved at once, if they have: as those of a server
// that shows them in its zone's time of now, when it changes to or from daylight saving.
// It is given the differences of files that have the size they had, and were old before
// and now: who overwrites a file gives it the time of then.
//
// Nine in ten must have moved by the same, which is a difference of zones; fewer than
// three may move only as for daylight saving.
func MovedBy(all []Difference) (by time.Duration, moved bool) {
	var files, most int64
	for _, d := range all {
		files += d.Files
		if d.Files > most {
			most, by = d.Files, d.By
		}
	}
	switch {
	case by == 0 || by%quarter != 0 || by.Abs() > widest || most*10 < files*9:
		return 0, false
	case most < agreed && by.Abs() != time.Hour && by.Abs() != time.Hour/2:
		return 0, false
	}
	return by, true
}
