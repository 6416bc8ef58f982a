package clock

import "time"

// Even learns from a listing whether its times are those of a disk with FAT, which keeps
// every second of them: as exact to two seconds as they look to one. The zero value knows
// nothing.
type Even struct {
	odd  bool
	seen map[int64]struct{} // even seconds
}

// evens is how many different times must be of even seconds, and none of an odd one: by
// chance that is so of one listing in 65,536.
const evens = 16

// Shows notes the time of an entry, and how exactly it is shown.
func (e *Even) Shows(at time.Time, precision time.Duration) {
	switch {
	case e.odd || at.IsZero() || precision >= time.Minute: // which has no seconds
	case at.Unix()%2 != 0 || at.Nanosecond() != 0:
		e.odd, e.seen = true, nil
	case len(e.seen) < evens && at.Second() != 0: // as those that show minutes or days have
		if e.seen == nil {
			e.seen = map[int64]struct{}{}
		}
		e.seen[at.Unix()] = struct{}{}
	}
}

// Exact is how exact times are at most; 0: as exact as they look.
func (e *Even) Exact() time.Duration {
	if len(e.seen) < evens {
		return 0
	}
	return FAT
}
