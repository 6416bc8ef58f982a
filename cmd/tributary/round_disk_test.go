package main

import (
	"context"
	"errors"
	"log/slog"
	"testing"

	"tributary/internal/blob"
	"tributary/internal/engine/enginetest"
	"tributary/internal/pg"
	"tributary/sql/control"
	"tributary/test/wait"
)

// A round whose files wait for a disk that is low ends with an error that says
// so; one that has nothing to fetch goes on.
func TestARoundDoesNotWaitForALowDisk(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), wait.Patience())
	defer cancel()
	pool, err := pg.Open(ctx, enginetest.Filled(t, "control", control.Migrate), "test", 4)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	full := func() (blob.Usage, error) { return blob.Usage{Free: 1, Total: 1000}, nil }
	r := &round{a: &app{stores: &stores{Control: pool}, space: blob.NewSpace(full, 100, 1, "/blobs", slog.New(slog.DiscardHandler))}}
	if err := r.starved(ctx); err != nil {
		t.Errorf("with nothing to fetch: %v", err)
	}
	for _, sql := range []string{
		`INSERT INTO control.source (id, centre, server, protocol, url, max_sessions, poll_interval, state, revision) VALUES ('s', 's', 's', 'sftp', '', 1, '1 hour', 'available', 1)`,
		`INSERT INTO control.file (id, name, action) VALUES (md5('1')::uuid, '1', 'add')`,
		`INSERT INTO control.acquisition (run, file, domain, source, look, size, state, not_before) VALUES (md5('run')::uuid, md5('1')::uuid, 'H', 's', 1, 1, 'wanted', now())`,
	} {
		if _, err := pool.Exec(ctx, sql); err != nil {
			t.Fatal(err)
		}
	}
	err = r.until(ctx, func(u control.Unfinished) bool { return !u.Any() })
	if !errors.Is(err, blob.ErrLow) {
		t.Errorf("with a file to fetch the round ends with %v", err)
	}
}
