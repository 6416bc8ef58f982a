package shadow

import (
	"encoding/json"
	"errors"
	"fmt"

	"tributary/internal/profile"
	"tributary/schemas"
	"tributary/sql/control"
)

// ErrOtherVersions says that a shadow was made with another profile than that by
// which its promotion would be judged.
var ErrOtherVersions = errors.New("the profile that is configured judges or loads documents differently than the one that the shadow was asked for with: set profile to that one, take shadow_profile out and restart all members, or make a new shadow with tributary replay --shadow, and compare again")

// ErrMixed says that a shadow's documents were judged by several profiles.
var ErrMixed = errors.New("documents of the shadow were judged by another profile than it was asked for with: start all members with the profile, or shadow_profile, that is configured here, then make a new shadow")

// Equal reports whether documents would be judged and loaded now as when the
// run was asked for.
func Equal(run *control.ReplayRun, now profile.Versions) (bool, error) {
	asked, err := versionsOf(run)
	return err == nil && asked.known && asked.Equal(now), err
}

// versions are those that a run was asked for with.
type versions struct {
	profile.Versions
	known bool
}

func versionsOf(run *control.ReplayRun) (v versions, err error) {
	if len(run.Versions) == 0 {
		return v, nil
	}
	if err := json.Unmarshal(run.Versions, &v.Versions); err != nil {
		return v, fmt.Errorf("versions of replay %d: %w", run.Number, err)
	}
	v.known = true
	return v, nil
}

// others reports whether a document was judged, in the phases that a run from
// the given one goes through, by other versions than those.
func (v versions) others(from string, d *schemas.DocumentValidated) bool {
	if !v.known || from == schemas.FromUpload {
		return false
	}
	if from == schemas.FromUnzip && d.UnzipVersion != "" && d.UnzipVersion != v.Unzip {
		return true
	}
	return d.XSDVersion != "" && d.XSDVersion != v.XSD[d.Kind]
}
