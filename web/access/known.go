package access

import (
	"context"

	"github.com/jackc/pgx/v5"

	"time"
	"tributary/sql/control"
)

// Known is the account of somebody whom a provider knows, with the role that it says:
// made where there is none. It is nil if it is disabled. An account of that name that
// logs in here, or that is somebody else's there, is not given away.
func (a Accounts) Known(ctx context.Context, issuer, subject string, p Person) (account *control.Account, err error) {
	by := Order{By: issuer, Reason: "logged in there"}
	is, err := control.ReadAccount(ctx, a.Pool, p.Name)
	if err != nil {
		return nil, err
	}
	switch {
	case is == nil:
		err = a.change(ctx, p.Name, by, func(tx pgx.Tx, now time.Time) (string, error) {
			is = &control.Account{Name: p.Name, Role: p.Role.String(), Issuer: issuer, Subject: subject, CreatedAt: now}
			added, err := control.AddAccount(ctx, tx, *is)
			if err == nil && !added {
				err = refuse("%s was added by somebody else at this moment: log in again", p.Name)
			}
			return "added: " + does(p), err
		})
		return is, err
	case is.Issuer == "":
		return nil, refuse("%s is an account that logs in here, with a password. Whoever runs Tributary can remove it, so that you get it.", p.Name)
	case is.Issuer != issuer || is.Subject != subject:
		return nil, refuse("%s is the account of somebody else, who had the name before. Whoever runs Tributary can remove it, so that you get it.", p.Name)
	case is.DisabledAt != nil:
		return nil, nil
	case is.Role == p.Role.String():
		return is, nil
	}
	err = a.change(ctx, p.Name, by, func(tx pgx.Tx, _ time.Time) (string, error) {
		now, err := locked(ctx, tx, p.Name)
		if err != nil {
			return "", err
		}
		was := now.Role
		now.Role, is = p.Role.String(), now
		return was + " → " + does(p), control.ChangeAccount(ctx, tx, *now)
	})
	return is, err
}
