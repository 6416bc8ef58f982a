package access

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"tributary/sql/control"
)

const (
	// maxTokenLife is how long a token is good for at most.
	maxTokenLife = 366 * 24 * time.Hour
	// tokensKept is how long a token that is over is still listed.
	tokensKept = 90 * 24 * time.Hour
	// LinkLife is how long a link waits to be used.
	LinkLife = 10 * time.Minute
	// tokenPrefix lets people, and programs that look for forgotten secrets, see what
	// they have found.
	tokenPrefix = "tributary_"
)

// AddToken makes a token for a program, and returns its secret, which nobody can ask
// for again. The token is good for that long, a year at most.
func (a Accounts) AddToken(ctx context.Context, p Person, life time.Duration, o Order) (secret string, err error) {
	if err := checkName(p.Name); err != nil {
		return "", err
	}
	if life <= 0 || life > maxTokenLife {
		return "", refuse("a token is good for 366 days at most, and for some time at least: not for %s", life)
	}
	secret = newSecret()
	err = a.change(ctx, "token:"+p.Name, o, func(tx pgx.Tx, now time.Time) (string, error) {
		p, err := settled(ctx, tx, p)
		if err != nil {
			return "", err
		}
		t := control.AccountToken{Name: p.Name, Role: p.Role.String(), Centre: p.Centre, CreatedAt: now, ExpiresAt: now.Add(life)}
		added, err := control.AddToken(ctx, tx, t, digest(secret), now.Add(-tokensKept))
		if err == nil && !added {
			err = refuse("%s: there is, or was not long ago, such a token: give this one another name", p.Name)
		}
		return fmt.Sprintf("added: %s, until %s", does(p), t.ExpiresAt.UTC().Format(time.RFC3339)), err
	})
	if err != nil {
		return "", err
	}
	return tokenPrefix + secret, nil
}

// RevokeToken ends a token: its next request is refused.
func (a Accounts) RevokeToken(ctx context.Context, name string, o Order) error {
	if err := checkName(name); err != nil {
		return err
	}
	return a.change(ctx, "token:"+name, o, func(tx pgx.Tx, now time.Time) (string, error) {
		revoked, err := control.RevokeToken(ctx, tx, name, now)
		if err == nil && !revoked {
			err = refuse("%s: there is no such token that is still good: tributary tokens list has them", name)
		}
		return "revoked", err
	})
}

// tokenDigest is the digest of a token's secret as it was printed; nil for what can't
// be one.
func tokenDigest(printed string) []byte {
	secret, ok := strings.CutPrefix(printed, tokenPrefix)
	if !ok {
		return nil
	}
	return digest(secret)
}

// AddLink makes a link that logs in once, within LinkLife, and returns its path below
// the address of the pages. Who uses it needs no account.
func (a Accounts) AddLink(ctx context.Context, role Role, o Order) (path string, err error) {
	if role < Reader || role > Operator {
		return "", refuse("a link is for a reader, a wrangler or an operator, not for a %s", role)
	}
	secret, by := newSecret(), short(o.By)
	err = a.change(ctx, "link:"+by, o, func(tx pgx.Tx, now time.Time) (string, error) {
		return "made: " + role.String(), control.AddLink(ctx, tx, digest(secret), role.String(), by, now, now.Add(LinkLife))
	})
	if err != nil {
		return "", err
	}
	return loginPath + "/" + secret, nil
}

// EndLinks ends all links that were not used, and everybody's sessions that links
// began, and tells how many there were.
func (a Accounts) EndLinks(ctx context.Context, o Order) (links, sessions int64, err error) {
	err = a.change(ctx, "links", o, func(tx pgx.Tx, _ time.Time) (string, error) {
		links, sessions, err = control.EndLinks(ctx, tx)
		return fmt.Sprintf("ended: %d links, %d logins", links, sessions), err
	})
	return links, sessions, err
}
