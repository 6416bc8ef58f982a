package mapping_test

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"tributary/internal/engine/enginetest"
	"tributary/internal/mapping"
	"tributary/internal/pg"
	"tributary/schemas/impc"
	"tributary/sql/warehouse"
)

func made(t *testing.T) (*pgxpool.Pool, *mapping.Mapping) {
	t.Helper()
	pool, err := pg.Open(t.Context(), enginetest.Filled(t, "warehouse", warehouse.Migrate), "mapping-test", 2)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	m, err := mapping.Load(impc.FS)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second time there is nothing to do
		for _, sql := range append(m.DDL(), m.Views()...) {
			exec(t, pool, sql)
		}
	}
	return pool, m
}

func exec(t *testing.T, pool *pgxpool.Pool, sql string) {
	t.Helper()
	if _, err := pool.Exec(t.Context(), sql); err != nil {
		t.Fatalf("%v\n%s", err, sql)
	}
}

func texts(t *testing.T, pool *pgxpool.Pool, sql string, args ...any) []string {
	t.Helper()
	rows, err := pool.Query(t.Context(), sql, args...)
	if err != nil {
		t.Fatal(err)
	}
	out, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// Tables have the columns that rows are written with, and everything says what
// it is.
func TestDDL(t *testing.T) {
	pool, m := made(t)
	const columns = "SELECT attname FROM pg_attribute WHERE attrelid = $1::regclass AND attnum > 0 ORDER BY attnum"
	for _, table := range m.Tables {
		if diff := cmp.Diff(table.ColumnNames(), texts(t, pool, columns, "warehouse."+table.Name)); diff != "" {
			t.Errorf("%s (-written +there)\n%s", table.Name, diff)
		}
	}
	for view, want := range map[string][]string{
		"claimed_genotype":     {"position", "record", "ordinal", "line", "claim", "claim_centre", "is_current", "tombstone", "gene_symbol", "mgi_gene_id", "mgi_allele_id", "mother_zygosity", "father_zygosity"},
		"claimed_series_value": {"position", "record", "ordinal", "parent", "line", "claim", "claim_centre", "is_current", "tombstone", "increment", "increment_status", "value"},
	} {
		if diff := cmp.Diff(want, texts(t, pool, columns, "warehouse."+view)); diff != "" {
			t.Errorf("%s (-want +there)\n%s", view, diff)
		}
	}
	if got := texts(t, pool, "SELECT c.relname FROM pg_class c WHERE c.relnamespace = 'warehouse'::regnamespace AND c.relname = 'claimed_submission'"); len(got) > 0 {
		t.Error("a table without records has a view of claims")
	}
	if got := texts(t, pool, `SELECT c.relname || '.' || a.attname FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0
		WHERE c.relnamespace = 'warehouse'::regnamespace AND c.relkind IN ('r', 'v') AND c.relname <> 'schema_version' AND col_description(c.oid, a.attnum) IS NULL
		UNION ALL SELECT c.relname FROM pg_class c
		WHERE c.relnamespace = 'warehouse'::regnamespace AND c.relkind IN ('r', 'v') AND c.relname <> 'schema_version' AND obj_description(c.oid) IS NULL`); len(got) > 0 {
		t.Errorf("without a comment: %v", got)
	}
	if got := texts(t, pool, "SELECT indexdef FROM pg_indexes WHERE schemaname = 'warehouse' AND tablename = 'run_specimen' ORDER BY indexname"); len(got) != 2 {
		t.Errorf("indexes of run_specimen: %v", got)
	}
}

// A content is shown once for each claim on it, with the claim's coordinates.
func TestViews(t *testing.T) {
	pool, _ := made(t)
	ctx := t.Context()
	err := pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error { return fill(ctx, tx) })
	if err != nil {
		t.Fatal(err)
	}
	got := texts(t, pool, `SELECT concat_ws(' ', position, record, ordinal, parent, line, claim_centre, is_current, tombstone, value) FROM warehouse.claimed_series_value ORDER BY position, ordinal`)
	want := []string{"5 2 4 3 14 H f f a", "5 2 5 3 15 H f f b", "9 8 10 9 72 H t f a", "9 8 11 9 73 H t f b"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	got = texts(t, pool, `SELECT concat_ws(' ', position, record, ordinal, line, is_current, kind) FROM warehouse.claimed_procedure_run ORDER BY position`)
	if diff := cmp.Diff([]string{"5 2 2 12 f line", "9 8 8 70 t line"}, got); diff != "" {
		t.Error(diff)
	}
}

func fill(ctx context.Context, tx pgx.Tx) error {
	for _, sql := range []string{
		`INSERT INTO warehouse.procedure_run (position, ordinal, parent, line, kind, centre) VALUES (5, 2, 1, 12, 'line', 'H')`,
		`INSERT INTO warehouse.measurement (position, record, ordinal, line, kind, parameter_id) VALUES (5, 2, 3, 13, 'series', 'p')`,
		`INSERT INTO warehouse.series_value (position, record, ordinal, parent, line, increment, value) VALUES (5, 2, 4, 3, 14, '1', 'a'), (5, 2, 5, 3, 15, '2', 'b')`,
		// Of another record, and of another kind of record.
		`INSERT INTO warehouse.series_value (position, record, ordinal, parent, line, increment, value) VALUES (5, 6, 8, 7, 20, '1', 'x')`,
		`INSERT INTO warehouse.claim (position, ordinal, record_type, claim, centre, natural_key, fingerprint, content_position, content_ordinal, line, line_shift, col, byte_from, byte_to, tombstone, is_current)
			SELECT p, o, 'procedure_run', gen_random_uuid(), 'H', '{}', gen_random_uuid(), 5, 2, l, l - 12, 1, 0, 1, false, p = 9 FROM (VALUES (5, 2, 12), (9, 8, 70)) v(p, o, l)`,
		`INSERT INTO warehouse.claim (position, ordinal, record_type, claim, centre, natural_key, fingerprint, content_position, content_ordinal, line, col, byte_from, byte_to, tombstone, is_current)
			VALUES (7, 1, 'specimen', gen_random_uuid(), 'H', '{}', gen_random_uuid(), 7, 1, 1, 1, 0, 1, false, true)`,
	} {
		if _, err := tx.Exec(ctx, sql); err != nil {
			return err
		}
	}
	return nil
}
