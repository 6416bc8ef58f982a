package plan

import (
	"cmp"
	"slices"

	"tributary/sql/control"
)

// Candidates are the hostings from which an acquisition may still fetch, best
// first.
func (f *File) Candidates(a *control.Acquisition) []control.Hosting {
	return Candidates(f.Centre, f.hostings, a)
}

// Candidates are those of a file's hostings from which an acquisition may still
// fetch, best first: the producing centre's own, whose word counts, then by the
// preference that people give sources, by reputation, and ties broken by id. What has
// not settled is not fetched.
func Candidates(centre string, hostings []control.Hosting, a *control.Acquisition) []control.Hosting {
	var out []control.Hosting
	fastest := 0.0 // of their sources, in bytes a second
	for _, h := range hostings {
		if h.Present && h.Settled && h.Available() && !a.Tried[h.Source].GivenUp {
			out = append(out, h)
			fastest = max(fastest, h.Speed())
		}
	}
	elsewhere := func(h control.Hosting) int {
		if h.SourceCentre == centre {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(out, func(x, y control.Hosting) int {
		return cmp.Or(cmp.Compare(elsewhere(x), elsewhere(y)), cmp.Compare(y.Preference, x.Preference),
			cmp.Compare(expected(y, fastest), expected(x, fastest)), cmp.Compare(known(x), known(y)), cmp.Compare(x.Source, y.Source))
	})
	return out
}

// expected is how many right bytes a second a hosting may be expected to bring. A source
// whose speed nobody knows is taken to be as fast as the fastest. Corrupt bytes count
// twice, as a fetch that failed and by their share: however fast they come, they cost an
// unzip, and are less welcome than none.
func expected(h control.Hosting, fastest float64) float64 {
	return h.Success() * (1 - h.Corruption()) * max(cmp.Or(h.Speed(), fastest), 1)
}

// known lets a source that is not known come before one of which no more is expected: so
// each is measured, and one that works but is slow is not kept to.
func known(h control.Hosting) int {
	if h.Known() {
		return 1
	}
	return 0
}
