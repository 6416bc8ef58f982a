package report

import (
	"context"

	"tributary/internal/pg"
)

// FindSource returns a source by its name, and how it is suspended; nil if it is not.
// One that the tracker doesn't know is an UnknownError.
func FindSource(ctx context.Context, q pg.Querier, name string) (found Source, rests *Suspended, err error) {
	if name == "" {
		return found, nil, &UnknownError{What: "source"}
	}
	if err := Known(ctx, q, "", name); err != nil {
		return found, nil, err
	}
	if err := sourcesOf(ctx, q, name, func(s Source) error {
		found = s
		return nil
	}); err != nil {
		return found, nil, err
	}
	all, err := suspended(ctx, q)
	for _, s := range all {
		if s.Source == name {
			rests = &s
		}
	}
	return found, rests, err
}

// CentreStanding is a centre, where its files stand, and the sources that it runs.
type CentreStanding struct {
	Centre   string   `json:"centre"`
	FullName *string  `json:"full_name"`
	Email    *string  `json:"email"`
	Active   bool     `json:"active"`
	Sources  []string `json:"sources"`
	Files    []Count  `json:"files"`
}

// StandingOf tells how a centre stands, by its short name; capitals don't matter. One
// that the tracker doesn't know is an UnknownError.
func StandingOf(ctx context.Context, q pg.Querier, centre string) (CentreStanding, error) {
	if centre == "" {
		return CentreStanding{}, &UnknownError{What: "centre"}
	}
	if err := Known(ctx, q, centre, ""); err != nil {
		return CentreStanding{}, err
	}
	found, err := list[struct {
		Centre          string
		FullName, Email *string
		Active          bool
		Sources         []string
	}](ctx, q, "a centre", `SELECT c.short_name, c.full_name, c.email, c.is_active,
		ARRAY(SELECT s.short_name FROM tracker.file_source s WHERE s.centre_id = c.id ORDER BY s.short_name COLLATE "C")
		FROM tracker.centre c WHERE lower(c.short_name) = lower($1) ORDER BY c.short_name <> $1, c.short_name LIMIT 1`, centre)
	if err == nil && len(found) == 0 {
		err = &UnknownError{What: "centre", Name: centre} // its case is another than Postgres knows
	}
	if err != nil {
		return CentreStanding{}, err
	}
	f := found[0]
	s := CentreStanding{Centre: f.Centre, FullName: f.FullName, Email: f.Email, Active: f.Active, Sources: f.Sources}
	s.Files, err = counted(ctx, q, "file", s.Centre)
	return s, err
}
