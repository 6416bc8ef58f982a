package order

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"tributary/queries/asof"
	"tributary/sql/control"
	"tributary/web/access"
)

const (
	// RevokeLink is the name of the order that ends a centre's link.
	RevokeLink = "revoke-link"
	// LinkLife is how long a centre's link is good where nobody says otherwise.
	LinkLife = "90d"
)

// Link is a link by which people of a centre see what is theirs, without its secret.
type Link struct {
	Number    int64      `json:"number"`
	Centre    string     `json:"centre"`
	MadeBy    string     `json:"made_by"`
	CreatedAt time.Time  `json:"created_at"`
	ExpiresAt time.Time  `json:"expires_at"`
	UsedAt    *time.Time `json:"used_at"`
	RevokedAt *time.Time `json:"revoked_at"`
}

// Over says why a link leads nowhere at a moment; empty: it is good.
func (l Link) Over(now time.Time) string {
	switch {
	case l.RevokedAt != nil:
		return "it was revoked at " + l.RevokedAt.UTC().Format(time.RFC3339)
	case !now.Before(l.ExpiresAt):
		return "it ended at " + l.ExpiresAt.UTC().Format(time.RFC3339)
	}
	return ""
}

// used says when a link was used, after what is said of it.
func (l Link) used() string {
	if l.UsedAt == nil {
		return "; nobody has used it"
	}
	return "; it was used last at " + l.UsedAt.UTC().Format(time.RFC3339)
}

// LinkOf is a link as it is shown.
func LinkOf(l control.CentreLink) Link {
	utc := func(t *time.Time) *time.Time {
		if t == nil {
			return nil
		}
		at := t.UTC()
		return &at
	}
	return Link{l.Number, l.Centre, l.MadeBy, l.CreatedAt.UTC(), l.ExpiresAt.UTC(), utc(l.UsedAt), utc(l.RevokedAt)}
}

// Links are the links of a centre, the newest first, those that are over too.
func (d *Deps) Links(ctx context.Context, centre string) ([]Link, error) {
	if d == nil || d.Control == nil {
		return nil, ErrNotHere
	}
	all, err := control.CentreLinks(ctx, d.Control, centre)
	out := make([]Link, 0, len(all))
	for _, l := range slices.Backward(all) {
		out = append(out, LinkOf(l))
	}
	return out, err
}

// MakeLink makes a link by which people of a centre see what is theirs, good for so long
// (empty: LinkLife), and returns its path, which nobody can ask for again.
func (d *Deps) MakeLink(ctx context.Context, centre, life string, by control.Decision) (path string, err error) {
	if d == nil || d.Control == nil {
		return "", ErrNotHere
	}
	good, err := asof.ParseDuration(cmp.Or(life, LinkLife))
	if err != nil {
		return "", bad("for how long: %v", err)
	}
	path, err = d.accounts(by).AddCentreLink(ctx, centre, good, access.Order{By: by.By, Reason: by.Reason})
	if access.Refused(err) {
		err = bad("%v", err)
	}
	return path, err
}

// accounts change what is about accounts and links, as of when somebody decides it.
func (d *Deps) accounts(by control.Decision) access.Accounts {
	return access.Accounts{Pool: d.Control, Now: func() time.Time { return by.At }}
}

// links are the orders about a centre's links. Its page offers them, link by link.
func links(d Deps) Table {
	return Table{{
		On: Centres, Name: RevokeLink, Verb: "Revoke a link of", Least: access.Wrangler, Elsewhere: true,
		About:   "From then on the link leads nowhere. The other links of the centre stay as they are.",
		Value:   &Value{Label: "Number of the link", Hint: "as the centre's page lists it", Must: true},
		Command: func(a Asked) string { return "tributary centres unlink " + or(a.Value, "NUMBER") },
		give: func(ctx context.Context, a Asked) (Outcome, error) {
			out := Outcome{Subject: a.Subject}
			all, err := d.Links(ctx, a.Subject)
			if err != nil {
				return out, err
			}
			i := slices.IndexFunc(all, func(l Link) bool { return strconv.FormatInt(l.Number, 10) == a.Value })
			if i < 0 {
				out.Detail = fmt.Sprintf("there is no link %q of it", a.Value)
				return out, nil
			}
			if out.Detail = all[i].Over(a.At); out.Detail != "" {
				return out, nil
			}
			out.Done, out.Detail = true, "link "+a.Value+" leads nowhere any more"
			if a.Dry {
				out.Detail += all[i].used()
				return out, nil
			}
			err = d.accounts(a.Decision).RevokeCentreLink(ctx, a.Value, access.Order{By: a.By, Reason: a.Reason})
			if access.Refused(err) { // another was faster
				out.Done, out.Detail, err = false, err.Error(), nil
			}
			return out, err
		},
	}}
}
