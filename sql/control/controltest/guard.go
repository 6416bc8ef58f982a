// Package controltest lets tests hold control to the steps that its machines draw.
package controltest

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"tributary/internal/engine/enginetest"
	"tributary/internal/pg"
	"tributary/sql/control"
)

// Open makes an empty control in a database of its own, for as many connections.
func Open(t testing.TB, connections int32) *pgxpool.Pool {
	t.Helper()
	return connect(t, enginetest.Filled(t, "control", control.Migrate), connections)
}

// Guarded is like [Open], with [Guard]. In the database there is also what others
// make, if any, which goes by a name: see [enginetest.Filled].
func Guarded(t testing.TB, connections int32, name string, others ...func(context.Context, *pgxpool.Pool) error) *pgxpool.Pool {
	t.Helper()
	return connect(t, enginetest.Filled(t, "guarded control "+name, func(ctx context.Context, pool *pgxpool.Pool) error {
		for _, migrate := range append([]func(context.Context, *pgxpool.Pool) error{control.Migrate, guard}, others...) {
			if err := migrate(ctx, pool); err != nil {
				return err
			}
		}
		return nil
	}), connections)
}

func connect(t testing.TB, dsn string, connections int32) *pgxpool.Pool {
	t.Helper()
	pool, err := pg.Open(t.Context(), dsn, "test", connections)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	return pool
}

// Guard makes a database refuse every step that no machine of control draws, and
// every state that none has, so that what took it fails with its name. Rows may
// be written for the first time in any state, since fixtures begin in the middle.
func Guard(t testing.TB, pool *pgxpool.Pool) {
	t.Helper()
	if err := guard(context.Background(), pool); err != nil {
		t.Fatal(err)
	}
}

func guard(ctx context.Context, pool *pgxpool.Pool) error {
	if _, err := pool.Exec(ctx, guards()); err != nil {
		return fmt.Errorf("guard control's states: %w", err)
	}
	return nil
}

// guards are a trigger for each machine.
func guards() string {
	var b strings.Builder
	for _, m := range Machines() {
		var steps []string
		for _, s := range m.Steps {
			steps = append(steps, fmt.Sprintf("('%s', '%s')", s.Old, s.New))
		}
		for _, state := range m.States() {
			steps = append(steps, fmt.Sprintf("('', '%s')", state))
		}
		fmt.Fprintf(&b, `CREATE FUNCTION control.%[1]s_state(r control.%[1]s) RETURNS text LANGUAGE sql AS $f$ SELECT %[2]s $f$;
			CREATE FUNCTION control.%[1]s_step() RETURNS trigger LANGUAGE plpgsql AS $f$
			DECLARE was text := CASE WHEN TG_OP = 'INSERT' THEN '' ELSE control.%[1]s_state(OLD) END;
				is_now text := control.%[1]s_state(NEW);
			BEGIN
				IF was <> is_now AND (was, is_now) NOT IN (VALUES %[3]s) THEN
					RAISE EXCEPTION 'no step of a %[4]s leads from "%%" to "%%"', was, is_now USING ERRCODE = 'integrity_constraint_violation';
				END IF;
				RETURN NEW;
			END $f$;
			CREATE TRIGGER guard BEFORE INSERT OR UPDATE ON control.%[1]s FOR EACH ROW EXECUTE FUNCTION control.%[1]s_step();
		`, m.Table, m.State, strings.Join(steps, ", "), m.Name)
	}
	return b.String()
}
