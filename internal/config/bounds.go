package config

// Leaves tells whether the source leaves files that its listings show, beside those that
// its filters exclude.
func (s Source) Leaves() bool {
	return s.DoneFile != "" || s.MinSize > 0 || s.MaxSize > 0 || s.MinAge > 0 || s.MaxAge > 0 || s.LatestOnly
}

// checkBounds looks whether a file can be within the bounds of size and age.
func (d *decoder) checkBounds(s *Source, at string) {
	if s.MaxSize > 0 && s.MinSize > s.MaxSize {
		d.problem(at+".min_size", "is %s, and max_size %s: no file is both, so correct one of them", s.MinSize, s.MaxSize)
	}
	if s.MaxAge > 0 && s.MinAge >= s.MaxAge {
		d.problem(at+".min_age", "is %s, and max_age %s: a file would be too old before it is taken, so correct one of them", s.MinAge, s.MaxAge)
	}
}
