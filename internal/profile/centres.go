package profile

import (
	"context"
	"fmt"
	"strings"
)

// Centres knows the centres that names may speak of.
type Centres interface {
	// Lookup finds a centre by its short name without regard to case, and
	// returns the canonical spelling.
	Lookup(shortName string) (canonical string, ok bool)
	// Renew has them read anew where they may have changed: so before a name is
	// refused for its centre. After an error nobody can tell now whether it is known.
	Renew(ctx context.Context) error
}

// CentreSet is a fixed set of centres. The zero set is empty.
type CentreSet struct {
	byFold map[string]string
}

// NewCentreSet makes a set of the given centres. A short name may be given
// again with the same spelling, as when a configuration adds to what it says
// about a centre of the profile; two names that differ only in case, or an
// empty one, are an error.
func NewCentreSet(centres ...Centre) (CentreSet, error) {
	set := CentreSet{byFold: make(map[string]string, len(centres))}
	for _, centre := range centres {
		if centre.ShortName == "" {
			return CentreSet{}, fmt.Errorf("a centre has no short name")
		}
		fold := strings.ToLower(centre.ShortName)
		if known, ok := set.byFold[fold]; ok && known != centre.ShortName {
			return CentreSet{}, fmt.Errorf("centres %q and %q differ only in case: keep one", known, centre.ShortName)
		}
		set.byFold[fold] = centre.ShortName
	}
	return set, nil
}

// Lookup implements Centres.
func (s CentreSet) Lookup(shortName string) (string, bool) {
	canonical, ok := s.byFold[strings.ToLower(shortName)]
	return canonical, ok
}

// Renew implements Centres: a fixed set is always the newest.
func (s CentreSet) Renew(context.Context) error { return nil }
