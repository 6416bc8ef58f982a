package control

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"tributary/internal/pg"
)

// Account is somebody who may log in. Package access (web/access) has the rules.
type Account struct {
	Name, Role string
	Centre     string // of a producer; empty for other roles
	Password   string // its hash, in PHC's string format; empty: they log in elsewhere
	Issuer     string // the provider with which they log in; empty: here
	Subject    string // who they are there
	CreatedAt  time.Time
	DisabledAt *time.Time // nil: it can be used
}

// Accounts returns all accounts, by name.
func Accounts(ctx context.Context, q pg.Querier) ([]Account, error) {
	return pg.List(ctx, q, "read accounts", pgx.RowToStructByName[Account], "SELECT name, role, centre, password, issuer, subject, created_at, disabled_at FROM control.account ORDER BY name COLLATE \"C\"")
}

// ReadAccount returns an account; nil if there is none of that name.
func ReadAccount(ctx context.Context, q pg.Querier, name string) (*Account, error) {
	return readAccount(ctx, q, name, "SELECT name, role, centre, password, issuer, subject, created_at, disabled_at FROM control.account WHERE name = $1")
}

// LockAccount is ReadAccount that keeps others from changing it until the transaction ends.
func LockAccount(ctx context.Context, tx pgx.Tx, name string) (*Account, error) {
	return readAccount(ctx, tx, name, "SELECT name, role, centre, password, issuer, subject, created_at, disabled_at FROM control.account WHERE name = $1 FOR UPDATE")
}

func readAccount(ctx context.Context, q pg.Querier, name, sql string) (*Account, error) {
	// The name is not said in an error, since it may be a password typed in its place.
	return pg.Maybe(ctx, q, "read an account", pgx.RowToStructByName[Account], sql, name)
}

// AddAccount stores a new account and reports false if there is one of that name.
func AddAccount(ctx context.Context, tx pgx.Tx, a Account) (added bool, err error) {
	n, err := pg.Changed(ctx, tx, "add the account "+a.Name, "INSERT INTO control.account (name, role, centre, password, issuer, subject, created_at) VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT DO NOTHING",
		a.Name, a.Role, a.Centre, a.Password, a.Issuer, a.Subject, a.CreatedAt)
	return n == 1, err
}

// ChangeAccount stores an account as it is now. The caller has locked it.
func ChangeAccount(ctx context.Context, tx pgx.Tx, a Account) error {
	return pg.Exec(ctx, tx, "change the account "+a.Name, "UPDATE control.account SET role = $2, centre = $3, password = $4, disabled_at = $5 WHERE name = $1", a.Name, a.Role, a.Centre, a.Password, a.DisabledAt)
}

// RemoveAccount forgets an account, and ends its sessions.
func RemoveAccount(ctx context.Context, tx pgx.Tx, name string) error {
	if _, err := tx.Exec(ctx, "DELETE FROM control.account WHERE name = $1", name); err != nil {
		return fmt.Errorf("remove the account %s: %w", name, err)
	}
	return forgetPerson(ctx, tx, name)
}

// AccountChange is something that became of an account, a token or a link.
type AccountChange struct {
	Number    int64 // which one it is; 0: it is to be written
	ChangedAt time.Time
	ChangedBy string
	Subject   string // the name of an account, token:NAME, link:WHO MADE IT, or centre-link:NUMBER
	What      string
	Reason    string
}

// NoteAccountChange writes down what is changed in the same transaction.
func NoteAccountChange(ctx context.Context, tx pgx.Tx, c AccountChange) error {
	return pg.Exec(ctx, tx, "write down who changed "+c.Subject, "INSERT INTO control.account_change (changed_at, changed_by, subject, what, reason) VALUES ($1, $2, $3, $4, $5)",
		c.ChangedAt, pg.Text(c.ChangedBy), pg.Text(c.Subject), pg.Text(c.What), pg.Text(c.Reason))
}
