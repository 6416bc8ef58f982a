//go:build !race

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tributary/internal/engine/enginetest"
	"tributary/internal/pg"
	"tributary/queries/standing"
	"tributary/schemas"
	"tributary/sql/tracker"
)

// A source that is late makes the command end with exit code 1 where that was asked
// for, and no other source does.
func TestSourcesExpectEndsWithWhatItFinds(t *testing.T) {
	url := enginetest.Postgres(t)
	secret := filepath.Join(t.TempDir(), "url")
	if err := os.WriteFile(secret, []byte(url), 0o600); err != nil {
		t.Fatal(err)
	}
	pool, err := pg.Open(t.Context(), url, "test", 1)
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	if err := tracker.Migrate(t.Context(), pool); err != nil {
		t.Fatal(err)
	}
	// One source has shown something each day, the other has stopped after nine days.
	if _, err := pool.Exec(t.Context(), schemas.Numbered(`WITH s AS (INSERT INTO tracker.crawling_session (id, merge) VALUES (gen_random_uuid(), '{}') RETURNING id),
		f AS (INSERT INTO tracker.file_source (id, short_name, state_id, merge) VALUES (gen_random_uuid(), 'stopped', 1, '{}'), (gen_random_uuid(), 'works', 1, '{}') RETURNING id, short_name)
		INSERT INTO tracker.poll_task (id, session_id, file_source_id, phase_id, status_id, finish_time, counts, created, last_update, merge)
		SELECT gen_random_uuid(), s.id, f.id, {phase zip_name}, {status done}, at, jsonb_build_object('new', CASE WHEN f.short_name = 'works' OR day < 10 THEN '1' ELSE '0' END), at, at, '{}'
		FROM s, f, generate_series(1, 12) day, LATERAL (SELECT '2026-03-01Z'::timestamptz + day * interval '1 day' AS at) a`)); err != nil {
		t.Fatal(err)
	}
	for args, want := range map[string]struct {
		code  int
		shown string
	}{
		"":                   {exitOK, `"finding":"late"`},
		" stopped":           {exitOK, `"finding":"late"`},
		" --strict":          {exitFailed, `"finding":"late"`},
		" stopped --strict":  {exitFailed, `"finding":"late"`},
		" works --strict":    {exitOK, `"findings":[]`},
		" nosuch --strict":   {exitUsage, ""},
		" stopped works":     {exitUsage, ""},
		" works --strict -h": {exitOK, "Usage"},
	} {
		code, out, errs := tributary(t, "postgres: {url: 'file:"+secret+"'}\n"+local, strings.Fields("sources expect -o json"+args)...)
		if code != want.code || !strings.Contains(out, want.shown) {
			t.Errorf("tributary sources expect%s ends with exit code %d, not %d:\n%s%s", args, code, want.code, out, errs)
		}
	}
	for source, want := range map[string]string{
		"works":   "new files are expected at 2026-03-14 00:00:00Z, and late after 2026-03-14 12:00:00Z\n",
		"stopped": "new files are expected at 2026-03-11 00:00:00Z, and late after 2026-03-11 12:00:00Z\nlate: nothing new since 2026-03-10 00:00:00Z; ",
		"nosuch":  "", // as one that was added just now
	} {
		if got := standing.Expected(t.Context(), pool, source); !strings.HasPrefix(got, want) || want == "" && got != "" {
			t.Errorf("of %s is said:\n%s", source, got)
		}
	}
}
