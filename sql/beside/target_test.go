package beside

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"tributary/internal/pg"
)

// warehouse is a target as a rebuild of the warehouse has it.
func warehouse() Target { return Target{From: "warehouse", To: "warehouse_rebuild"} }

func TestSQLForTheTarget(t *testing.T) {
	for _, c := range []struct{ name, sql, want string }{
		{"a name", "SELECT * FROM warehouse.claim", "SELECT * FROM warehouse_rebuild.claim"},
		{"several", "SELECT warehouse.f(warehouse.a.b) FROM Warehouse.a", "SELECT warehouse_rebuild.f(warehouse_rebuild.a.b) FROM warehouse_rebuild.a"},
		{"quoted", `DROP VIEW "warehouse"."x", warehouse."y"`, `DROP VIEW "warehouse_rebuild"."x", warehouse_rebuild."y"`},
		{"room", "FROM warehouse . claim", "FROM warehouse_rebuild . claim"},
		{"another name", "SELECT a.warehouse.x, my_warehouse.y, warehouse_live.z, warehouse FROM w", "SELECT a.warehouse.x, my_warehouse.y, warehouse_live.z, warehouse FROM w"},
		{"a text", "SELECT 'add it to warehouse.known', 'it''s warehouse.x' FROM warehouse.y", "SELECT 'add it to warehouse.known', 'it''s warehouse.x' FROM warehouse_rebuild.y"},
		{"a text with escapes", `SELECT E'\' warehouse.x', '\' FROM warehouse.y`, `SELECT E'\' warehouse.x', '\' FROM warehouse_rebuild.y`},
		{"a comment", "-- warehouse.x isn't\nSELECT /* warehouse.x */ 1 FROM warehouse.y", "-- warehouse.x isn't\nSELECT /* warehouse.x */ 1 FROM warehouse_rebuild.y"},
		{"an identity", "WHERE n = 'warehouse'::regnamespace AND c = 'warehouse.x'::regclass", "WHERE n = 'warehouse_rebuild'::regnamespace AND c = 'warehouse_rebuild.x'::regclass"},
		{"a body", "AS $$ SELECT count(*) FROM warehouse.x $$", "AS $$ SELECT count(*) FROM warehouse_rebuild.x $$"},
		{"an open text", "SELECT 'warehouse.x", "SELECT 'warehouse.x"},
		{"nothing", "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, warehouse().SQL(c.sql)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// Tables that are made are unlogged where the target says so, and nothing else is.
func TestUnloggedTarget(t *testing.T) {
	target := warehouse()
	target.Unlogged = true
	sql := "CREATE TABLE warehouse.a (t text DEFAULT 'CREATE TABLE warehouse.x'); create table IF NOT EXISTS b (); CREATE TEMP TABLE c (); -- CREATE TABLE d"
	want := "CREATE UNLOGGED TABLE warehouse_rebuild.a (t text DEFAULT 'CREATE TABLE warehouse.x'); CREATE UNLOGGED TABLE IF NOT EXISTS b (); CREATE TEMP TABLE c (); -- CREATE TABLE d"
	if diff := cmp.Diff(want, target.SQL(sql)); diff != "" {
		t.Error(diff)
	}
}

// A statement that finds its way to the live schema after all changes nothing.
func TestTheLiveSchemaIsNotTouched(t *testing.T) {
	pool := database(t)
	if _, err := pool.Exec(t.Context(), `CREATE SCHEMA warehouse; CREATE TABLE warehouse.t (n int);
		CREATE SCHEMA warehouse_rebuild; CREATE TABLE warehouse_rebuild.t (n int)`); err != nil {
		t.Fatal(err)
	}
	put := func(sql string) error {
		return pg.InTx(t.Context(), DB{pool, warehouse()}, func(tx pgx.Tx) error {
			_, err := tx.Exec(t.Context(), sql)
			return err
		})
	}
	if err := put("INSERT INTO warehouse.t VALUES (1)"); err != nil {
		t.Fatal(err)
	}
	if err := put("DO $$ BEGIN EXECUTE 'INSERT INTO warehouse.t VALUES (2)'; END $$"); !errors.Is(err, ErrTouchesLive) {
		t.Errorf("the live schema was reached: %v", err)
	}
	var live, built int
	err := pool.QueryRow(t.Context(), "SELECT (SELECT count(*) FROM warehouse.t), (SELECT count(*) FROM warehouse_rebuild.t)").Scan(&live, &built)
	if err != nil || live != 0 || built != 1 {
		t.Errorf("%d rows live, %d in the target (%v)", live, built, err)
	}
}
