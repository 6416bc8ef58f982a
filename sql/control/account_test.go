package control_test

import (
	"crypto/sha256"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"tributary/sql/control"
	"tributary/test/wait"
)

// A session that begins by a password while that is changed is none: whoever changes
// it ends the sessions that there are, and sees no other.
func TestASessionDoesNotSlipPastANewPassword(t *testing.T) {
	pool := database(t)
	ann := control.Account{Name: "ann", Role: "reader", Password: "old", CreatedAt: noon}
	inTx(t, pool, func(tx pgx.Tx) error {
		_, err := control.AddAccount(t.Context(), tx, ann)
		return err
	})
	type answer struct {
		begun bool
		err   error
	}
	answered := make(chan answer, 1)
	inTx(t, pool, func(tx pgx.Tx) error {
		now := ann
		now.Password = "new"
		if err := control.ChangeAccount(t.Context(), tx, now); err != nil {
			return err
		}
		go func() {
			secret := sha256.Sum256([]byte("secret"))
			begun, err := control.BeginAccountSession(t.Context(), pool, ann, secret[:], noon)
			answered <- answer{begun, err}
		}()
		// Either it waits for this transaction, or it has begun already, wrongly.
		over := time.After(wait.Patience())
		for {
			select {
			case a := <-answered:
				answered <- a
				return control.EndAccountSessions(t.Context(), tx, ann.Name)
			case <-over:
				t.Fatal("the session neither waits nor begins")
			case <-time.After(10 * time.Millisecond):
			}
			if text(t, pool, "SELECT count(*) FROM pg_locks WHERE NOT granted") != "(0)" {
				return control.EndAccountSessions(t.Context(), tx, ann.Name)
			}
		}
	})
	if a := <-answered; a.begun || a.err != nil {
		t.Errorf("begun: %v, %v", a.begun, a.err)
	}
}
