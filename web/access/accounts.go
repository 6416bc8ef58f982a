package access

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"tributary/internal/centres"
	"tributary/internal/pg"
	"tributary/sql/control"
)

// RefusedError says why nothing was done that somebody ordered.
type RefusedError struct{ why string }

func (e *RefusedError) Error() string { return e.why }

func refuse(format string, args ...any) error { return &RefusedError{fmt.Sprintf(format, args...)} }

// Refused tells whether an order was refused, so that nothing has changed.
func Refused(err error) bool {
	var refused *RefusedError
	return errors.As(err, &refused)
}

// named is what names of accounts and tokens are: one spelling each, and nothing that
// a header, a log or a page could take for something else. The schema says the same.
var named = regexp.MustCompile(`^[a-z0-9][a-z0-9._@-]{0,63}$`)

func checkName(name string) error {
	if !named.MatchString(name) {
		return refuse("%q is no name: it has 1 to 64 small letters, digits and . _ @ -, and begins with a letter or a digit", name)
	}
	return nil
}

// Accounts changes accounts. Each change is one transaction with the row that says
// who did what, and why.
type Accounts struct {
	Pool *pgxpool.Pool
	Now  func() time.Time
	// Told, if set, is told of each change once it holds.
	Told func(control.AccountChange)

	cost cost // of hashes; zero: the usual
}

// Order says who orders something, and why.
type Order struct{ By, Reason string }

// Add adds an account.
func (a Accounts) Add(ctx context.Context, p Person, password string, o Order) error {
	if err := errors.Join(checkName(p.Name), CheckPassword(password)); err != nil {
		return err
	}
	hash := cmp.Or(a.cost, usual()).stored(password)
	return a.change(ctx, p.Name, o, func(tx pgx.Tx, now time.Time) (string, error) {
		p, err := settled(ctx, tx, p)
		if err != nil {
			return "", err
		}
		added, err := control.AddAccount(ctx, tx, control.Account{Name: p.Name, Role: p.Role.String(), Centre: p.Centre, Password: hash, CreatedAt: now})
		if err == nil && !added {
			err = refuse("%s: there is such an account already: change it with tributary users edit", p.Name)
		}
		return "added: " + does(p), err
	})
}

// settled is the person with the centre as it is spelled, or says what is wrong with
// role and centre.
func settled(ctx context.Context, tx pgx.Tx, p Person) (Person, error) {
	switch {
	case p.Role != Producer && p.Centre == "":
		return p, nil
	case p.Role != Producer:
		return p, refuse("only a producer is of a centre: a %s sees all of them", p.Role)
	case p.Centre == "":
		return p, refuse("a producer is of a centre: say which (--centre)")
	}
	all, err := control.Centres(ctx, tx)
	if err != nil {
		return p, err
	}
	name, ok := centres.Known(all...).Lookup(p.Centre)
	if !ok {
		return p, refuse("there is no centre %q: tributary centres lists them", p.Centre)
	}
	p.Centre = name
	return p, nil
}

// does is what somebody may do, for people.
func does(p Person) string {
	if p.Role == Producer {
		return "producer of " + p.Centre
	}
	return p.Role.String()
}

// Edit gives an account another role, which counts from its next request on.
func (a Accounts) Edit(ctx context.Context, p Person, o Order) error {
	return a.edit(ctx, p.Name, o, func(tx pgx.Tx, is *control.Account, _ time.Time) (string, error) {
		p, err := settled(ctx, tx, p)
		if err != nil {
			return "", err
		}
		if is.Issuer != "" {
			return "", refuse("%s logs in with %s, which says what their role is at each login: change it there, or web.oidc.roles", is.Name, is.Issuer)
		}
		was, err := person(is.Name, is.Role, is.Centre)
		if err != nil {
			return "", err
		}
		is.Role, is.Centre = p.Role.String(), p.Centre
		return does(was) + " → " + does(p), nil
	})
}

// SetPassword gives an account another password, and ends its sessions.
func (a Accounts) SetPassword(ctx context.Context, name, password string, o Order) error {
	if err := CheckPassword(password); err != nil {
		return err
	}
	hash := cmp.Or(a.cost, usual()).stored(password)
	return a.edit(ctx, name, o, func(tx pgx.Tx, is *control.Account, _ time.Time) (string, error) {
		if is.Issuer != "" {
			return "", refuse("%s logs in with %s, which has their password", name, is.Issuer)
		}
		is.Password = hash
		return "password set", control.EndAccountSessions(ctx, tx, name)
	})
}

// Disable lets nobody log in with an account any more, and ends its sessions.
func (a Accounts) Disable(ctx context.Context, name string, o Order) error {
	return a.edit(ctx, name, o, func(tx pgx.Tx, is *control.Account, now time.Time) (string, error) {
		is.DisabledAt = &now
		return "disabled", control.EndAccountSessions(ctx, tx, name)
	})
}

// Enable lets people log in with an account again.
func (a Accounts) Enable(ctx context.Context, name string, o Order) error {
	return a.edit(ctx, name, o, func(_ pgx.Tx, is *control.Account, _ time.Time) (string, error) {
		is.DisabledAt = nil
		return "enabled", nil
	})
}

// Remove forgets an account, and ends its sessions.
func (a Accounts) Remove(ctx context.Context, name string, o Order) error {
	return a.change(ctx, name, o, func(tx pgx.Tx, _ time.Time) (string, error) {
		if _, err := locked(ctx, tx, name); err != nil {
			return "", err
		}
		return "removed", control.RemoveAccount(ctx, tx, name)
	})
}

func locked(ctx context.Context, tx pgx.Tx, name string) (*control.Account, error) {
	if err := checkName(name); err != nil {
		return nil, err
	}
	is, err := control.LockAccount(ctx, tx, name)
	if err == nil && is == nil {
		err = refuse("%s: there is no such account: tributary users list has them", name)
	}
	return is, err
}

// edit changes an account that there is.
func (a Accounts) edit(ctx context.Context, name string, o Order, edit func(pgx.Tx, *control.Account, time.Time) (string, error)) error {
	return a.change(ctx, name, o, func(tx pgx.Tx, now time.Time) (string, error) {
		is, err := locked(ctx, tx, name)
		if err != nil {
			return "", err
		}
		what, err := edit(tx, is, now)
		if err != nil {
			return "", err
		}
		return what, control.ChangeAccount(ctx, tx, *is)
	})
}

// change makes a change and writes down what it says that it was.
func (a Accounts) change(ctx context.Context, subject string, o Order, change func(pgx.Tx, time.Time) (string, error)) error {
	return a.changeOf(ctx, o, func(tx pgx.Tx, now time.Time) (string, string, error) {
		what, err := change(tx, now)
		return subject, what, err
	})
}

// changeOf is change of what has its name only once it is made.
func (a Accounts) changeOf(ctx context.Context, o Order, change func(pgx.Tx, time.Time) (subject, what string, err error)) error {
	if err := control.CheckReason(o.Reason); err != nil {
		return refuse("%v", err)
	}
	done := control.AccountChange{ChangedAt: a.Now(), ChangedBy: short(o.By), Reason: o.Reason}
	err := pg.InTx(ctx, a.Pool, func(tx pgx.Tx) (err error) {
		if done.Subject, done.What, err = change(tx, done.ChangedAt); err != nil {
			return err
		}
		return control.NoteAccountChange(ctx, tx, done)
	})
	if err == nil && a.Told != nil {
		a.Told(done)
	}
	return err
}

// mostBy is how many bytes are kept of who ordered something.
const mostBy = 1000

// short is a text that is no longer than is kept, without half of a character.
func short(text string) string {
	if len(text) <= mostBy {
		return text
	}
	return strings.ToValidUTF8(text[:mostBy], "")
}
