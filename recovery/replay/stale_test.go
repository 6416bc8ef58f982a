//go:build !race

package replay

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5/pgxpool"

	"tributary/internal/engine/enginetest"
	"tributary/internal/pg"
	"tributary/internal/profile"
	trackersql "tributary/sql/tracker"
)

// stored is a document as the tracker has it: its kind, where it stands, and
// by what it was judged in each phase ("" is nobody knows).
type stored struct {
	kind                     string
	phase, status            int
	unzip, xsd, upload, data string
}

// filled is a tracker of files, each with its documents. A file without any was
// refused when it was unzipped.
func filled(t *testing.T, files map[string][]stored) *pgxpool.Pool {
	t.Helper()
	pool, err := pg.Open(t.Context(), enginetest.Filled(t, "tracker", trackersql.Migrate), "stale-test", 2)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	exec := func(sql string, args ...any) {
		t.Helper()
		if _, err := pool.Exec(t.Context(), sql, args...); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
	}
	exec("INSERT INTO tracker.centre (id, short_name, merge) VALUES (md5('H')::uuid, 'H', '{}')")
	for name, documents := range files {
		phase, status := 10, 3
		if len(documents) == 0 {
			phase, status = 4, 5
		}
		exec(`WITH f AS (INSERT INTO tracker.zip_file (id, file_name, centre_id, last_update, merge) VALUES (md5($1)::uuid, $1, md5('H')::uuid, now(), '{}')),
			a AS (INSERT INTO tracker.zip_action (id, zip_id, todo_id, phase_id, status_id, download_id, attempts, created, last_update, merge)
				VALUES (md5($1 || 'a')::uuid, md5($1)::uuid, 1, $2, $3, md5($1 || 'd')::uuid, 1, now(), now(), '{}'))
			INSERT INTO tracker.zip_download (id, za_id, run, attempt, phase_id, status_id, accepted, version, unzip_version, documents, documents_known, documents_open, documents_failed, created, last_update, merge)
			VALUES (md5($1 || 'd')::uuid, md5($1 || 'a')::uuid, md5('run')::uuid, 1, $2, $3, 'sha/done', 'sha', nullif(left($1, 2), 'no'), 1, 1, 0, 0, now(), now(), '{}')`, name, phase, status)
		for i, d := range documents {
			entry := fmt.Sprint(name, i)
			exec(`INSERT INTO tracker.xml_file (id, zip_id, outcome, fname, ordinal, kind, phase_id, status_id, errors_total, checked, position, unzip_version, xsd_version, upload_version, data_version, first_seen, last_update, merge)
				VALUES (md5($1)::uuid, md5($2 || 'd')::uuid, 'sha/done', $1, $3, nullif($4, ''), $5, $6, 0, 1, 5, nullif($7, ''), nullif($8, ''), nullif($9, ''), nullif($10, ''), now(), now(), '{}')`,
				entry, name, i, d.kind, d.phase, d.status, d.unzip, d.xsd, d.upload, d.data)
			// One that is not shown has no say.
			exec(`INSERT INTO tracker.xml_file (id, zip_id, outcome, fname, ordinal, kind, phase_id, status_id, errors_total, checked, first_seen, last_update, merge)
				VALUES (md5($1 || 'x')::uuid, md5($2 || 'd')::uuid, 'other/done', $1, $3, 'specimen', 10, 3, 0, 1, now(), now(), '{}')`, entry, name, i)
		}
	}
	return pool
}

func TestStale(t *testing.T) {
	now := profile.Versions{Unzip: "u1", XSD: map[string]string{"specimen": "xs1", "experiment": "xe1"}, Upload: map[string]string{"specimen": "ls1", "experiment": "le1"}, Data: "d1"}
	specimen := stored{"specimen", 10, 3, "u1", "xs1", "ls1", "d1"}
	experiment := stored{"experiment", 10, 3, "u1", "xe1", "le1", "d1"}
	with := func(d stored, change func(*stored)) stored { change(&d); return d }
	pool := filled(t, map[string][]stored{
		"u1.refused": {}, // by the rules of now
		"both":       {specimen, experiment},
		"specimens":  {specimen},
		"old schema": {experiment, with(specimen, func(d *stored) { d.xsd = "xs0" })},
		"invalid":    {{"specimen", 6, 5, "u1", "xs1", "", ""}}, // and loaded by nobody
		"misnamed":   {{"", 5, 5, "u1", "", "", ""}},
		"loading":    {{"experiment", 7, 1, "u1", "xe1", "", ""}},
		"unknown":    {with(experiment, func(d *stored) { d.upload = "" })},
		"unchecked":  {with(specimen, func(d *stored) { d.data = "d0" }), {"line", 10, 3, "u1", "x", "l", "d1"}}, // a kind that is gone
	})
	for _, c := range []struct {
		name   string
		change func(*profile.Versions)
		where  string
		from   string
		want   string // phase: files, each with the groups; the files chosen from the first
	}{
		{"what the files were judged by", func(*profile.Versions) {}, "", "", "xsd: specimen xs0 1/1; upload: experiment  1/1 other 1; data: specimen d0 1/1 other 1 | old schema"},
		{"from upload", func(*profile.Versions) {}, "", "upload", "upload: experiment  1/1; data: specimen d0 1/1 other 1 | unknown"},
		{"from a phase in which nothing is", func(*profile.Versions) {}, "f.file = 'unchecked'", "upload", "data: specimen d0 1/1 other 1 | unchecked"},
		{"nothing", func(*profile.Versions) {}, "f.file IN ('both', 'invalid', 'misnamed', 'loading', 'u1.refused')", "", ""},
		{"a schema", func(v *profile.Versions) { v.XSD["experiment"] = "xe2" }, "f.file <> 'old schema'", "", "xsd: experiment xe1 3/3; upload: experiment  1/1; data: specimen d0 1/1 other 1 | both,loading,unknown"},
		{"a mapping", func(v *profile.Versions) { v.Upload["specimen"] = "ls2" }, "", "upload", "upload: experiment  1/1, specimen ls1 4/4; data: specimen d0 1/1 | both,old schema,specimens,unchecked,unknown"},
		{"checks", func(v *profile.Versions) { v.Data = "d0" }, "", "data", "data: experiment d1 3/3, line d1 1/1, specimen d1 3/3 | both,old schema,specimens,unchecked,unknown"},
		{"names", func(v *profile.Versions) { v.Unzip = "u2" }, "f.file IN ('misnamed', 'invalid', 'u1.refused')", "", "unzip:  u1 2/1, specimen u1 1/1 | invalid,misnamed,u1.refused"},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := profile.Versions{Unzip: now.Unzip, XSD: map[string]string{}, Upload: map[string]string{}, Data: now.Data}
			for kind := range now.XSD {
				v.XSD[kind], v.Upload[kind] = now.XSD[kind], now.Upload[kind]
			}
			c.change(&v)
			choice := Choice{Predicate: strings.ReplaceAll(c.where, "f.file", "file")}
			phases, err := FindStale(t.Context(), pool, choice, c.from, v)
			if err != nil {
				t.Fatal(err)
			}
			got := told(phases)
			if len(phases) > 0 {
				choice.Stale = &Stale{phases[0].Phase, v}
				var files []string
				for f, err := range Choose(t.Context(), pool, choice) {
					if err != nil {
						t.Fatal(err)
					}
					files = append(files, f.File)
				}
				if int64(len(files)) != phases[0].Files {
					t.Errorf("%d files are chosen, %d are stale", len(files), phases[0].Files)
				}
				got += " | " + strings.Join(names(t, pool, files), ",")
			}
			if d := cmp.Diff(c.want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

func told(phases []StalePhase) string {
	var all []string
	for _, p := range phases {
		var groups []string
		for _, g := range p.Groups {
			groups = append(groups, fmt.Sprintf("%s %s %d/%d", g.Kind, g.Version, g.Files, g.Documents))
		}
		text := p.Phase + ": " + strings.Join(groups, ", ")
		if p.Other > 0 {
			text += fmt.Sprint(" other ", p.Other)
		}
		all = append(all, text)
	}
	return strings.Join(all, "; ")
}

func names(t *testing.T, pool *pgxpool.Pool, ids []string) (out []string) {
	t.Helper()
	for _, id := range ids {
		var name string
		if err := pool.QueryRow(t.Context(), "SELECT file FROM tracker.file WHERE id = $1", id).Scan(&name); err != nil {
			t.Fatal(err)
		}
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}
