// Package centres merges the profile's centres with the configuration's, and keeps a
// member's copy of those that control has.
package centres

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"tributary/internal/config"
	"tributary/internal/profile"
)

// Centre is a centre with all that is known of it.
type Centre struct {
	ShortName, FullName, Email, Phone, Address, IMITSName string
	Active                                                bool
	DefinedBy                                             string `json:"-"` // one of the following; empty: a configuration
}

// Who defines a centre.
const (
	ByProfile       = "profile"
	ByConfiguration = "configuration"
	ByPerson        = "person"
)

// By is who defines the centre.
func (c Centre) By() string { return cmp.Or(c.DefinedBy, ByConfiguration) }

// Of is the centre that a configuration lists.
func Of(c config.Centre) Centre {
	return Centre{ShortName: c.ShortName, FullName: c.FullName, Email: c.Email, Phone: c.Phone,
		Address: c.Address, IMITSName: c.IMITSName, Active: c.Active == nil || *c.Active, DefinedBy: ByConfiguration}
}

// Listed is the centre as a configuration lists it.
func (c Centre) Listed() config.Centre {
	out := config.Centre{ShortName: c.ShortName, FullName: c.FullName, Email: c.Email, Phone: c.Phone, Address: c.Address, IMITSName: c.IMITSName}
	if !c.Active {
		out.Active = &c.Active
	}
	return out
}

// Merge returns the profile's centres, in its order, with what the
// configuration says about them, and then the configuration's own.
func Merge(p *profile.Profile, c config.Config) []Centre {
	var out []Centre
	at := map[string]int{}
	for _, pc := range p.Centres {
		at[pc.ShortName] = len(out)
		out = append(out, Centre{ShortName: pc.ShortName, FullName: pc.FullName, Active: true, DefinedBy: ByProfile})
	}
	for _, cc := range c.Centres {
		row := Of(cc)
		if i, ok := at[cc.ShortName]; ok {
			if row.FullName == "" {
				row.FullName = out[i].FullName
			}
			out[i] = row
			continue
		}
		at[cc.ShortName] = len(out)
		out = append(out, row)
	}
	return out
}

// Set returns the merged centres for looking names up.
func Set(p *profile.Profile, c config.Config) (profile.CentreSet, error) {
	var all []profile.Centre
	for _, m := range Merge(p, c) {
		all = append(all, profile.Centre{ShortName: m.ShortName, FullName: m.FullName})
	}
	set, err := profile.NewCentreSet(all...)
	if err != nil {
		return set, fmt.Errorf("centres of the profile and the configuration: %w", err)
	}
	return set, nil
}

// Known are centres for looking names up. Of two that differ only in case the active
// one counts, or else the first.
func Known(all ...Centre) profile.CentreSet {
	all = slices.Clone(all)
	slices.SortStableFunc(all, func(a, b Centre) int {
		switch {
		case a.Active == b.Active:
			return 0
		case a.Active:
			return -1
		}
		return 1
	})
	seen := map[string]bool{"": true}
	var kept []profile.Centre
	for _, c := range all {
		if fold := strings.ToLower(c.ShortName); !seen[fold] {
			seen[fold] = true
			kept = append(kept, profile.Centre{ShortName: c.ShortName, FullName: c.FullName})
		}
	}
	set, _ := profile.NewCentreSet(kept...) // it refuses only what was left out above
	return set
}
