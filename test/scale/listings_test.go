package scale

import (
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"tributary/internal/listing"
	"tributary/internal/pg"
	"tributary/sql/control"
)

// listings does what only polls need that show the same again, show what is no file
// of ours, or are kept as differences, however many listings are kept.
func listings(t *testing.T, pool *pgxpool.Pool) {
	t.Helper()
	conn, err := pool.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Release()
	if err := control.CreateListing(t.Context(), conn); err != nil {
		t.Fatal(err)
	}
	if err := control.StorePassedOver(t.Context(), conn, []listing.Entry{{Directory: "add", Name: "readme", Note: "not_zip"}}); err != nil {
		t.Fatal(err)
	}
	if few, err := control.FewShown(t.Context(), conn); err != nil || len(few) != 1 {
		t.Fatalf("the listing shows %v: %v", few, err)
	}
	if err := control.EmptyListing(t.Context(), conn, 1); err != nil {
		t.Fatal(err)
	}
	if few, err := control.FewShown(t.Context(), conn); err != nil || len(few) != 0 {
		t.Fatalf("an empty listing shows %v: %v", few, err)
	}
	last, _, err := control.LastListing(t.Context(), pool, ownSource)
	if err != nil || last == nil {
		t.Fatalf("the last listing: %v, %v", last, err)
	}
	err = pg.InTx(t.Context(), pool, func(tx pgx.Tx) error {
		if _, err := control.TouchListing(t.Context(), tx, *last, now()); err != nil {
			return err
		}
		last.SHA256, last.Base = "a difference", last.SHA256
		if _, err := control.PutListing(t.Context(), tx, *last, now()); err != nil {
			return err
		}
		if _, err := control.ForgetListing(t.Context(), tx, last.Base); err != nil {
			return err
		}
		return control.PutIgnored(t.Context(), tx, ownSource, 1, []control.Ignored{{Directory: "add", Name: "readme", Reason: "not_zip"}})
	})
	if err != nil {
		t.Fatal(err)
	}
}
