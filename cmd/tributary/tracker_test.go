//go:build !race

package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"tributary/consumers/tracker"
	"tributary/internal/config"
	"tributary/internal/engine"
	"tributary/internal/pg"
)

// The tracker of a round that was run is what its log says; what is changed by
// hand is named; a rebuild puts it right, also where the schema is gone.
func TestTrackerVerifyAndRebuild(t *testing.T) {
	path := filledPlace(t)
	serving(t, path)
	expect := func(code int, says string, args ...string) string {
		t.Helper()
		got, stdout, stderr := at(t, path, args...)
		if got != code || !strings.Contains(stdout+stderr, says) {
			t.Errorf("tributary %s: exit code %d, want %d and %q:\n%s%s", strings.Join(args, " "), got, code, says, stdout, stderr)
		}
		return stdout
	}
	expect(exitOK, "the tracker is what the log says", "tracker", "verify")
	before := expect(exitOK, "", "files", "-o", "json")

	cfg, err := config.Load(path, nil, config.Options{})
	if err != nil {
		t.Fatal(err)
	}
	ep, running, err := engine.Attach(cfg.DataDir)
	if err != nil || !running {
		t.Fatal(running, err)
	}
	pool, err := pg.Open(t.Context(), ep.Postgres, "test", 1)
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	if _, err := pool.Exec(t.Context(), "UPDATE tracker.zip_file SET size_bytes = 1 WHERE file_name = 'H.2012-10-02.01.impc.zip'"); err != nil {
		t.Fatal(err)
	}
	expect(exitFailed, `size_bytes: tracker "1", log "`, "tracker", "verify")
	var v tracker.Verification
	if err := json.Unmarshal([]byte(expect(exitFailed, "", "tracker", "verify", "-o", "json", "--differences", "0")), &v); err != nil {
		t.Fatal(err)
	}
	if v.Differ != 1 || len(v.Differences) != 0 || v.Records == 0 {
		t.Errorf("as JSON: %+v", v)
	}
	expect(exitOK, "the tracker was built from ", "tracker", "rebuild")
	expect(exitOK, "the tracker is what the log says", "tracker", "verify")
	if _, err := pool.Exec(t.Context(), "DROP SCHEMA tracker CASCADE"); err != nil {
		t.Fatal(err)
	}
	expect(exitFailed, "tributary tracker rebuild", "tracker", "verify")
	var r tracker.Rebuilt
	if err := json.Unmarshal([]byte(expect(exitOK, "", "tracker", "rebuild", "-o", "json")), &r); err != nil {
		t.Fatal(err)
	}
	if r.Records != v.Records {
		t.Errorf("built from %d records, want %d", r.Records, v.Records)
	}
	expect(exitOK, "the tracker is what the log says", "tracker", "verify")
	if after := expect(exitOK, "", "files", "-o", "json"); after != before {
		t.Errorf("files before:\n%s\nafter:\n%s", before, after)
	}
	expect(exitUsage, "--differences", "tracker", "verify", "--differences", "-1")
}

func TestStepsTellNotTooMuch(t *testing.T) {
	var out bytes.Buffer
	now := time.Unix(0, 0)
	s := steps{w: &out, now: func() time.Time { return now }}
	for i := range 100 {
		now = now.Add(300 * time.Millisecond)
		s.step("building", int64(i), 100)
	}
	s.step("comparing", 0, 0)
	s.end()
	want := "building: 0 of 100 records (0 %)\nbuilding: 34 of 100 records (34 %), 3 a second\nbuilding: 68 of 100 records (68 %), 3 a second\ncomparing\n"
	if out.String() != want {
		t.Errorf("told %q, want %q", &out, want)
	}
}
