package control_test

import (
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"tributary/sql/control"
)

// A damaged blob is taken by one, healed or lost, and found again: at growing
// pauses if it was healed just before, and not for a while if it was lost.
func TestTheLifeOfADamagedBlob(t *testing.T) {
	pool := database(t)
	sha, now := strings.Repeat("a", 64), time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	report := func(want string, again bool) control.Damage {
		t.Helper()
		d, err := control.ReportDamage(t.Context(), pool, sha, "it rots", "test", again, now)
		if err != nil || d.State != want {
			t.Fatalf("reported: %+v, %v, want %q", d, err, want)
		}
		return d
	}
	// take decides about the blob, if anything is to be decided.
	take := func(want, becomes string, lost bool) {
		t.Helper()
		inTx(t, pool, func(tx pgx.Tx) error {
			d, err := control.TakeDamage(t.Context(), tx, now)
			if err != nil || want == "" && d != nil || want != "" && (d == nil || d.State != want) {
				t.Fatalf("taken: %+v, %v, want %q", d, err, want)
			}
			if d == nil {
				return nil
			}
			inTx(t, pool, func(other pgx.Tx) error {
				if d, err := control.TakeDamage(t.Context(), other, now); d != nil || err != nil {
					t.Errorf("it is taken twice: %+v, %v", d, err)
				}
				return nil
			})
			if d.State = becomes; lost && d.LostAt == nil {
				d.LostAt, d.Message = &now, "nobody has it"
			}
			return control.StoreDamage(t.Context(), tx, d, now)
		})
	}
	ends := func(healed bool) {
		t.Helper()
		inTx(t, pool, func(tx pgx.Tx) error {
			return control.StoreHealings(t.Context(), tx, []control.Healing{{SHA256: sha, File: "00000000-0000-4000-8000-000000000001", Healed: healed, Message: "why not"}}, now)
		})
	}
	report("", false)
	report(control.DamageFound, false)
	take(control.DamageFound, control.DamageFetching, false)
	report(control.DamageFetching, false)
	take("", "", false)
	ends(true)
	take(control.DamageFetched, control.DamageHealed, false)
	take("", "", false)
	for pause := time.Second; pause < 10*time.Second; pause *= 2 { // it rots again and again
		report(control.DamageFound, false)
		now = now.Add(pause - time.Millisecond)
		take("", "", false)
		now = now.Add(time.Millisecond)
		take(control.DamageFound, control.DamageFetching, false)
		ends(true)
		take(control.DamageFetched, control.DamageHealed, false)
	}
	now = now.Add(25 * time.Hour)
	report(control.DamageFound, false)
	take(control.DamageFound, control.DamageFetching, false)
	ends(false)
	if got := text(t, pool, "SELECT array_length(tried, 1) || ' ' || message FROM control.blob_damage"); got != `("1 why not")` {
		t.Errorf("after a failure: %s", got)
	}
	take(control.DamageFound, control.DamageLost, true)
	for range 2 { // who needs it is told; who waits for it is, too
		now = now.Add(time.Minute)
		if d := report(control.DamageLost, false); d.Message != "nobody has it" {
			t.Errorf("who needs it is told %q", d.Message)
		}
		take(control.DamageFound, control.DamageLost, true)
	}
	now = now.Add(10 * time.Minute)
	report(control.DamageFound, false)
	if got := text(t, pool, "SELECT cardinality(tried) || ' ' || message FROM control.blob_damage"); got != `("0 ")` {
		t.Errorf("when it is looked for again: %s", got)
	}
	take(control.DamageFound, control.DamageLost, true)
	report(control.DamageFound, true) // a person wants it at once
}
