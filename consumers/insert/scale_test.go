//go:build !race

package insert

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"tributary/schemas"
	"tributary/schemas/impc"
	"tributary/test/scale/plans"
)

// In a warehouse of very many documents a few more are loaded, judged and
// withdrawn by index: no statement looks at more rows and pages than they account
// for. TRIBUTARY_SCALE_DOCUMENTS is how many there are; make projections-scale
// gives it a million.
func TestInsertDecidesByIndex(t *testing.T) {
	documents := 20_000
	if text := os.Getenv("TRIBUTARY_SCALE_DOCUMENTS"); text != "" {
		var err error
		if documents, err = strconv.Atoi(text); err != nil {
			t.Fatalf("TRIBUTARY_SCALE_DOCUMENTS: %v", err)
		}
	}
	b := newBenchOf(t, impc.FS)
	round := func(n int) {
		t.Helper()
		s, e := fmt.Sprint("s-", n), fmt.Sprint("e-", n)
		day := fmt.Sprintf("2024-01-%02d", n+1)
		batch := fmt.Sprint("batch-", n)
		b.must(append(append(b.version(
			doc{date: day, batch: batch, xml: mice("H", s, s+"x", "s-1")},
			doc{date: day, batch: batch, kind: "experiment", docInc: 1, xml: experiments(e+" "+s+" 1", e+"x nobody 2", "e-1 s-1 3")}),
			b.version(doc{date: day, batch: batch, rank: 1, xml: mice("H", s)})...), b.batchEnd(batch))...)
	}
	for n := range 5 {
		round(n)
	}
	b.multiply(documents / 15)

	// The same pool again, watched.
	p := plans.Watcher{Given: []string{"candidate", "violation"}}
	b.pool = p.Pool(t, b.pool.Config().ConnString())
	b.in.deps.Pool = b.pool
	p.Watch()
	for n := 5; n < 9; n++ {
		round(n)
	}
	b.must(&schemas.DocumentOrdered{Scope: schemas.Scope{Centre: "H"}, FileRef: schemas.FileRef{File: schemas.FileID("add", "H.2024-01-06.0.impc.zip"), FileName: "H.2024-01-06.0.impc.zip", Action: "add"},
		What: schemas.PositionUnload, Domain: "H", Batch: schemas.LiveRun, DocumentRef: schemas.DocumentRef{Archive: "archive-add-2024-01-06-0-0"}}, b.batchEnd("none"))
	for _, part := range []string{"UPDATE warehouse.claim c SET is_current", "INSERT INTO warehouse.withdrawal", "INSERT INTO warehouse.finding", "UPDATE warehouse.document d SET withdrawn"} {
		if !p.Seen(part) {
			t.Errorf("a statement that the test is about was not executed: %s", part)
		}
	}
	p.Check(t, nil)
}

// multiply copies all that documents have caused, so many times, each time as if
// other files, with other keys, had been loaded at later positions.
func (b *bench) multiply(times int) {
	b.t.Helper()
	ctx := b.t.Context()
	rows, err := b.pool.Query(ctx, `SELECT c.table_name::text, array_agg(c.column_name::text ORDER BY c.ordinal_position), array_agg(c.data_type::text ORDER BY c.ordinal_position)
		FROM information_schema.columns c JOIN information_schema.tables t USING (table_schema, table_name)
		WHERE c.table_schema = 'warehouse' AND t.table_type = 'BASE TABLE' AND c.is_generated = 'NEVER'
			AND c.table_name NOT IN ('try', 'batch_end', 'reference_load', 'operation_outcome')
		GROUP BY c.table_name HAVING bool_or(c.column_name = 'position')`)
	if err != nil {
		b.t.Fatal(err)
	}
	type table struct {
		Name           string
		Columns, Types []string
	}
	tables, err := pgx.CollectRows(rows, pgx.RowToStructByPos[table])
	if err != nil {
		b.t.Fatal(err)
	}
	stride := b.at.position
	for _, t := range tables {
		from := make([]string, len(t.Columns))
		for i, c := range t.Columns {
			switch {
			case c == "position" || c == "content_position":
				from[i] = fmt.Sprintf("%s + k * %d", c, stride)
			case c == "claim":
				from[i] = "md5(claim::text || k)::uuid"
			case c == "file" || c == "document" || c == "archive" || c == "batch" || c == "event" || c == "specimen_id" || c == "experiment_id":
				from[i] = fmt.Sprintf("%s || '~' || k", c)
			case t.Types[i] == "ARRAY" && (c == "natural_key" || c == "specimen_ids"):
				from[i] = fmt.Sprintf("ARRAY(SELECT x || '~' || k FROM unnest(%s) WITH ORDINALITY u(x, n) ORDER BY n)", c)
			default:
				from[i] = c
			}
		}
		if _, err := b.pool.Exec(ctx, fmt.Sprintf("INSERT INTO warehouse.%s (%s) SELECT %s FROM warehouse.%s, generate_series(1, %d) k", t.Name, strings.Join(t.Columns, ", "), strings.Join(from, ", "), t.Name, times)); err != nil {
			b.t.Fatalf("multiply %s: %v", t.Name, err)
		}
	}
	b.at.position = stride * int64(times+1)
	if _, err := b.pool.Exec(ctx, "UPDATE warehouse.state SET next_position = $1", b.at.position); err != nil {
		b.t.Fatal(err)
	}
	if _, err := b.pool.Exec(ctx, "VACUUM (ANALYZE)"); err != nil {
		b.t.Fatal(err)
	}
}
