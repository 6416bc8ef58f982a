package scale

import (
	"crypto/sha256"
	"errors"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"tributary/internal/pg"
	"tributary/sql/control"
)

// accounts log in and out, and are changed.
func accounts(t *testing.T, pool *pgxpool.Pool) {
	t.Helper()
	ctx, at := t.Context(), now()
	digest := func(text string) []byte { sum := sha256.Sum256([]byte(text)); return sum[:] }
	ann := control.Account{Name: "ann", Role: "reader", Password: "x", CreatedAt: at}
	changed := pg.InTx(ctx, pool, func(tx pgx.Tx) error {
		_, added := control.AddAccount(ctx, tx, ann)
		_, locked := control.LockAccount(ctx, tx, ann.Name)
		_, token := control.AddToken(ctx, tx, control.AccountToken{Name: "ann", Role: "reader", CreatedAt: at, ExpiresAt: at.Add(time.Hour)}, digest("token"), at)
		_, revoked := control.RevokeToken(ctx, tx, "nobody", at)
		return errors.Join(added, locked, token, revoked, control.ChangeAccount(ctx, tx, ann), control.NoteAccountChange(ctx, tx, control.AccountChange{ChangedAt: at}),
			control.AddLink(ctx, tx, digest("link"), "reader", "ann", at, at.Add(time.Hour)))
	})
	_, begun := control.BeginAccountSession(ctx, pool, ann, digest("session"), at)
	_, used := control.UseLink(ctx, pool, digest("link"), digest("by link"), at)
	_, session := control.ReadAccountSession(ctx, pool, digest("session"))
	_, account := control.ReadAccount(ctx, pool, ann.Name)
	_, token := control.ReadToken(ctx, pool, digest("token"))
	_, all := control.Accounts(ctx, pool)
	_, tokens := control.Tokens(ctx, pool)
	_, changes := control.AccountChanges(ctx, pool, control.AccountChangeFilter{Limit: 10, BeforeAt: at, BeforeNumber: 7})
	_, mine := control.AccountChanges(ctx, pool, control.AccountChangeFilter{By: "ann", Since: at.Add(-time.Hour), Limit: 10})
	seen := errors.Join(control.SeeAccountSession(ctx, pool, digest("session"), at.Add(time.Minute)), control.SeeToken(ctx, pool, digest("token"), at),
		control.ForgetAccountSessions(ctx, pool, at.Add(-time.Hour), ann.Name, 1), control.EndAccountSession(ctx, pool, digest("session")))
	_, first := control.Visited(ctx, pool, ann.Name, at)
	_, back := control.Visited(ctx, pool, ann.Name, at.Add(time.Hour))
	number, asked := control.KeepQuestion(ctx, pool, ann.Name, control.KeptQuestion{Name: "q", Kind: "files", KeptAt: at})
	_, read := control.ReadKeptQuestion(ctx, pool, ann.Name, number)
	_, named := control.RenameQuestion(ctx, pool, ann.Name, number, "p")
	_, deleted := control.DeleteQuestion(ctx, pool, ann.Name, number)
	_, listed := control.KeptQuestions(ctx, pool, ann.Name)
	kept := errors.Join(first, back, asked, read, named, deleted, listed)
	removed := pg.InTx(ctx, pool, func(tx pgx.Tx) error {
		_, _, ended := control.EndLinks(ctx, tx)
		return errors.Join(ended, control.EndAccountSessions(ctx, tx, ann.Name), control.RemoveAccount(ctx, tx, ann.Name))
	})
	_, requested := control.BeginAPIRequest(ctx, pool, control.APIRequest{Person: "ann", Key: "k", Digest: digest("request"), At: at}, at)
	_, again := control.BeginAPIRequest(ctx, pool, control.APIRequest{Person: "ann", Key: "k", Digest: digest("request"), At: at}, at.Add(-time.Hour))
	answered := errors.Join(control.EndAPIRequest(ctx, pool, "ann", "k", []byte("{}")), control.EndAPIRequest(ctx, pool, "ann", "k", nil))
	linked := pg.InTx(ctx, pool, func(tx pgx.Tx) error {
		n, added := control.AddCentreLink(ctx, tx, control.CentreLink{Centre: "Ics", CreatedAt: at, ExpiresAt: at.Add(time.Hour)}, digest("centre link"), at)
		_, revoked := control.RevokeCentreLink(ctx, tx, n, at)
		_, all := control.CentreLinks(ctx, tx, "")
		_, read := control.ReadCentreLink(ctx, tx, digest("centre link"))
		return errors.Join(added, revoked, all, read, control.SeeCentreLink(ctx, tx, n, at))
	})
	for _, err := range []error{kept, requested, again, answered, linked, changed, begun, used, session, account, token, all, tokens, changes, mine, seen, removed} {
		if err != nil {
			t.Fatal(err)
		}
	}
}
