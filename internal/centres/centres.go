// Package centres merges the profile's centres with the configuration's.
package centres

import (
	"fmt"

	"tributary/internal/config"
	"tributary/internal/profile"
)

// Centre is a centre with all that is known of it.
type Centre struct {
	ShortName, FullName, Email, Phone, Address, IMITSName string
	Active                                                bool
}

// Merge returns the profile's centres, in its order, with what the
// configuration says about them, and then the configuration's own.
func Merge(p *profile.Profile, c config.Config) []Centre {
	var out []Centre
	at := map[string]int{}
	for _, pc := range p.Centres {
		at[pc.ShortName] = len(out)
		out = append(out, Centre{ShortName: pc.ShortName, FullName: pc.FullName, Active: true})
	}
	for _, cc := range c.Centres {
		row := Centre{ShortName: cc.ShortName, FullName: cc.FullName, Email: cc.Email, Phone: cc.Phone,
			Address: cc.Address, IMITSName: cc.IMITSName, Active: cc.Active == nil || *cc.Active}
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
