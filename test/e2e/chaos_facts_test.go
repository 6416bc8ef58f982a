package e2e

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
)

// factsSQL is what control, warehouse and tracker know of a file, a line each.
var factsSQL = []string{
	"SELECT to_jsonb(x) - 'merge' FROM tracker.zip_download x WHERE za_id IN (SELECT id FROM tracker.file WHERE action || '/' || file = $1) ORDER BY created",
	"SELECT to_jsonb(x) FROM tracker.xml_file x WHERE zip_id IN (SELECT d.id FROM tracker.zip_download d JOIN tracker.file f ON f.id = d.za_id WHERE f.action || '/' || f.file = $1) ORDER BY position",
	"SELECT to_jsonb(x) - 'last_event' - 'last_headers' FROM control.acquisition x WHERE file IN (SELECT id FROM control.file WHERE action || '/' || name = $1) ORDER BY attempt",
	"SELECT to_jsonb(x) FROM control.file x WHERE action || '/' || name = $1",
	"SELECT to_jsonb(x) FROM control.look x WHERE file IN (SELECT id FROM control.file WHERE action || '/' || name = $1)",
	"SELECT to_jsonb(x) FROM control.replay_item x WHERE file IN (SELECT id FROM control.file WHERE action || '/' || name = $1)",
	"SELECT to_jsonb(x) FROM warehouse.document x WHERE action || '/' || file_name = $1 ORDER BY position",
	"SELECT to_jsonb(x) FROM warehouse.claim x WHERE position IN (SELECT position FROM warehouse.document WHERE action || '/' || file_name = $1) ORDER BY claim, position",
	"SELECT to_jsonb(x) FROM warehouse.finding x WHERE position IN (SELECT position FROM warehouse.document WHERE action || '/' || file_name = $1) ORDER BY position",
	"SELECT to_jsonb(x) FROM warehouse.data_check x WHERE position IN (SELECT position FROM warehouse.document WHERE action || '/' || file_name = $1) ORDER BY position",
	"SELECT to_jsonb(x) FROM warehouse.batch_end x, (SELECT $1::text) n",
	"SELECT to_jsonb(x) FROM warehouse.state x, (SELECT $1::text) n",
}

// facts is what is known of the first file that does not end as wanted, so that a
// run that fails once in a hundred says why.
func facts(ctx context.Context, conn *pgx.Conn, want map[string]string) string {
	got, err := endsOf(ctx, conn)
	if err != nil {
		return err.Error()
	}
	for _, name := range slices.Sorted(maps.Keys(want)) {
		if got[name] == want[name] {
			continue
		}
		action, rest, _ := strings.Cut(name, "/")
		file, _, _ := strings.Cut(rest, "/")
		var out strings.Builder
		for _, sql := range factsSQL {
			fmt.Fprintln(&out, sql)
			rows, err := conn.Query(ctx, sql, action+"/"+file)
			if err == nil {
				var line string
				_, err = pgx.ForEachRow(rows, []any{&line}, func() error { fmt.Fprintln(&out, "  "+line); return nil })
			}
			if err != nil {
				fmt.Fprintln(&out, "  "+err.Error())
			}
		}
		return out.String()
	}
	return ""
}
