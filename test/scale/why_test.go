package scale

import (
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"tributary/schemas"
	"tributary/sql/control"
)

// asks has everything read of a file that why tells of, and of one that nobody knows.
func asks(t *testing.T, pool *pgxpool.Pool, name string) {
	t.Helper()
	ctx := t.Context()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, file := range []string{schemas.FileID("add", name), schemas.FileID("add", "nobody's.zip")} {
		_, err := control.KnownFiles(ctx, pool, []string{file})
		must(err)
		_, err = control.LastLooks(ctx, pool, file)
		must(err)
		_, err = control.ReplaysOf(ctx, pool, file)
		must(err)
		fetches, err := control.Fetches(ctx, pool, file)
		must(err)
		for _, x := range fetches {
			_, err = control.QueueOf(ctx, pool, &x.Acquisition, ownSource, now())
			must(err)
			_, err = control.UnloadOf(ctx, pool, "add", name, x.SHA256)
			must(err)
			_, err = control.DamageOf(ctx, pool, x.SHA256)
			must(err)
			if x.Batch != nil {
				_, err = control.BatchStandingOf(ctx, pool, *x.Batch)
				must(err)
			}
		}
	}
	_, err := control.ListingsOf(ctx, pool, ownSource)
	must(err)
	_, err = control.IgnoredEntry(ctx, pool, ownSource, "add", name)
	must(err)
	_, err = control.CreditUseOf(ctx, pool, "own.example:22", now())
	must(err)
}
