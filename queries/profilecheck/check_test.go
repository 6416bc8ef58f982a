package profilecheck

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/jackc/pgx/v5"

	"tributary/internal/engine/enginetest"
	"tributary/schemas/impc"
)

// weather is a copy of the second profile, to be damaged.
func weather(t *testing.T) fstest.MapFS {
	t.Helper()
	out := fstest.MapFS{}
	dir := os.DirFS(filepath.Join("..", "..", "test", "profiles", "weather"))
	err := fs.WalkDir(dir, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := fs.ReadFile(dir, name)
		out[name] = &fstest.MapFile{Data: data}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// replace replaces a text in a file; what is not there it adds at the end.
func replace(t *testing.T, fsys fstest.MapFS, name, from, to string) {
	t.Helper()
	f := fsys[name]
	switch {
	case f == nil:
		fsys[name] = &fstest.MapFile{Data: []byte(to)}
	case from == "":
		f.Data = append(f.Data, to...)
	case !strings.Contains(string(f.Data), from):
		t.Fatalf("%s does not contain %q", name, from)
	default:
		f.Data = []byte(strings.Replace(string(f.Data), from, to, 1))
	}
}

func TestFiles(t *testing.T) {
	tests := []struct{ name, file, from, to, want string }{
		{"as it is", "profile.yaml", "", "", ""},
		{"unknown key", "profile.yaml", "title:", "titel:", "profile.yaml: line 6: titel is not a key"},
		{"example", "profile.yaml", "Coast_05032024.zip", "Coast_05132024.zip", "profile.yaml: line 12: names.zip.example does not follow"},
		{"schema that does not compile", "xsd/report.xsd", `type="xs:time"`, `type="xs:tim"`, "xsd/report.xsd: compiling schema report.xsd"},
		{"schema that is no XML", "xsd/types.xsd", "</xs:schema>", "", "xsd/report.xsd: "},
		{"element", "profile.yaml", "report/o]", "report/oo]", "names the element report/oo, which schema xsd/report.xsd does not have"},
		{"type", "profile.yaml", "{name: quality,", "{name: quality, type: bigint,", "values.quality is of type bigint, which can't hold every string"},
		{"header", "sql/checks/sensor_missing.sql", "-- level: warn\n", "", "sql/checks/sensor_missing.sql:1: the header must say level"},
		{"record of the header", "sql/checks/sensor_missing.sql", "-- on: observation", "-- on: sensor", `sql/checks/sensor_missing.sql:1: "sensor" is no table of records`},
		{"clock", "sql/overview/01_network.sql", "", "\n  WHERE true -- not now()\n  AND now () > '1970-01-01'", ": now depends on when the statement runs"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			fsys := weather(t)
			replace(t, fsys, tt.file, tt.from, tt.to)
			r := Files(fsys)
			said(t, r, tt.want)
		})
	}
}

// said checks that the report has the one problem, or none.
func said(t *testing.T, r *Report, want string) {
	t.Helper()
	found := slices.ContainsFunc(r.Problems, func(p string) bool { return strings.Contains(p, want) })
	if want == "" && len(r.Problems) > 0 || want != "" && !found {
		t.Errorf("problems:\n%s\nwant …%s…", strings.Join(r.Problems, "\n"), want)
	}
	if (r.Err() == nil) != (len(r.Problems) == 0) {
		t.Errorf("error %v for %d problems", r.Err(), len(r.Problems))
	}
}

// Everything is told at once.
func TestFilesAll(t *testing.T) {
	fsys := weather(t)
	replace(t, fsys, "profile.yaml", "Coast_05032024.zip", "Coast.zip")
	replace(t, fsys, "xsd/stations.xsd", `type="calendarDay"`, `type="xs:dat"`)
	replace(t, fsys, "profile.yaml", "{name: quality,", "{name: quality, type: bigint,")
	replace(t, fsys, "sql/checks/sensor_missing.sql", "-- on: observation\n", "")
	replace(t, fsys, "sql/checks/other.sql", "", "SELECT 1")
	r := Files(fsys)
	for _, want := range []string{"names.zip.example", "xsd/stations.xsd: compiling", "stations.xsd:24", "values.quality", "sensor_missing.sql:1:", "other.sql:1:"} {
		said(t, r, want)
	}
}

func TestFilesNotRead(t *testing.T) {
	fsys := weather(t)
	for _, name := range []string{"mapping.yaml", "sql/check/late.sql", "sql/checks/README.md"} {
		replace(t, fsys, name, "", "x: y")
	}
	r := Files(fsys)
	for name, want := range map[string]bool{"mapping.yaml": true, "sql/check/late.sql": true, "README.md": false, "views.sql": false} {
		if got := slices.ContainsFunc(r.Remarks, func(s string) bool { return strings.Contains(s, name+": ") }); got != want {
			t.Errorf("%s is remarked: %v\n%s", name, got, strings.Join(r.Remarks, "\n"))
		}
	}
}

func TestSQL(t *testing.T) {
	dsn := enginetest.Postgres(t)
	const missing = "sql/checks/sensor_missing.sql"
	tests := []struct{ name, file, from, to, want string }{
		{"as it is", "profile.yaml", "", "", ""},
		{"tables", "sql/tables.sql", "network text NOT NULL, station", "network txt NOT NULL, station", "sql/tables.sql:3: "},
		{"views", "sql/views.sql", "", "\nCREATE OR REPLACE VIEW warehouse.x AS SELECT 1 AS a FROM warehouse.nothing;", "sql/views.sql:"},
		{"column of a check", missing, "o.station = s.code", "o.station = s.cod", missing + ":15: column s.cod does not exist"},
		{"syntax", missing, "WHERE NOT EXISTS", "WHERE NOT EXIST", missing + ":"},
		{"columns", missing, "o.ordinal, o.line", "o.line, o.ordinal", missing + ":5: the query must return position, record, ordinal, line, message"},
		{"message", missing, " AS message", "::xml AS message", missing + ":5: the query's column message is of another type"},
		{"again", missing, "SELECT o.position, o.record\n", "SELECT o.position\n", missing + ":12: the query must return position, record"},
		{"second parameter", missing, "x.centre = $1", "x.centre IN ($1, $2)", "uses $2"},
		{"parameter", missing, "x.centre = $1", "x.position = $1", "uses $1 as something else than a text"},
		{"statement", "sql/context/01_touched.sql", "DELETE FROM warehouse.climate k", "DELETE FROM warehouse.climates k", `sql/context/01_touched.sql:2: relation "warehouse.climates" does not exist`},
		{"two statements", "sql/context/01_touched.sql", "", ";\nSELECT 1;", "sql/context/01_touched.sql:1: cannot insert multiple commands"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			fsys := weather(t)
			replace(t, fsys, tt.file, tt.from, tt.to)
			r := Files(fsys)
			if len(r.Problems) > 0 {
				t.Fatal(r.Err())
			}
			if err := r.SQL(t.Context(), dsn); err != nil {
				t.Fatal(err)
			}
			said(t, r, tt.want)
		})
	}
	// Nothing is left behind.
	conn, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	var left int
	if err := conn.QueryRow(t.Context(), "SELECT count(*) FROM pg_database WHERE datname LIKE 'tributary_check_%'").Scan(&left); err != nil || left != 0 {
		t.Errorf("%d scratch databases are left, %v", left, err)
	}
}

func TestBuiltin(t *testing.T) {
	r := Files(impc.FS)
	if len(r.Remarks) > 0 {
		t.Errorf("remarks:\n%s", strings.Join(r.Remarks, "\n"))
	}
	if err := r.SQL(t.Context(), enginetest.Postgres(t)); err != nil {
		t.Fatal(err)
	}
	said(t, r, "")
	if s := r.Summary(); !strings.HasPrefix(s, "profile impc, version 1: 2 kinds of document, 17 centres, ") {
		t.Error(s)
	}
}
