package control

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"tributary/internal/pg"
)

// AccountChangeFilter narrows changes of accounts. Empty fields let everything through.
type AccountChangeFilter struct {
	By           string    // who made them
	Subject      string    // part of what they are about; capitals don't matter
	Since, Until time.Time // they were made then or later; before
	// BeforeAt and BeforeNumber are the change after which the list goes on; the zero time:
	// from the newest.
	BeforeAt     time.Time
	BeforeNumber int64
	Limit        int // at most so many
}

// AccountChanges returns changes of accounts, tokens and links, the newest first.
func AccountChanges(ctx context.Context, q pg.Querier, f AccountChangeFilter) ([]AccountChange, error) {
	var w pg.Conditions
	if f.By != "" {
		w.Add("changed_by = %s", f.By)
	}
	if f.Subject != "" {
		w.Add("strpos(lower(subject), lower(%s)) > 0", f.Subject)
	}
	if !f.Since.IsZero() {
		w.Add("changed_at >= %s", f.Since)
	}
	if !f.Until.IsZero() {
		w.Add("changed_at < %s", f.Until)
	}
	if !f.BeforeAt.IsZero() {
		w.Add("(changed_at, number) < (%s::timestamptz, %s::bigint)", f.BeforeAt, f.BeforeNumber)
	}
	return pg.List(ctx, q, "read changes of accounts", pgx.RowToStructByName[AccountChange], "SELECT number, changed_at, changed_by, subject, what, reason FROM control.account_change"+w.Where()+
		" ORDER BY changed_at DESC, number DESC LIMIT "+w.Arg(f.Limit), w.Args...)
}
