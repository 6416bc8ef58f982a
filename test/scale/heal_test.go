package scale

import (
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"tributary/sql/control"
	"tributary/test/wait"
)

// heals reports blobs as damaged, one that a source still shows and one that
// nobody has, and waits until control has decided about both.
func heals(t *testing.T, pool *pgxpool.Pool) {
	t.Helper()
	newest, err := control.NewestBlobs(t.Context(), pool)
	if err != nil || len(newest) == 0 {
		t.Fatalf("no blobs are known: %v", err)
	}
	known, err := control.KnownBlobs(t.Context(), pool, "")
	if err != nil || len(known) == 0 {
		t.Fatalf("no blobs are known: %v", err)
	}
	nobodys := strings.Repeat("0", 64)
	want := map[string]string{newest[0]: control.DamageHealed, nobodys: control.DamageLost}
	for range 2 {
		for sha := range want {
			if _, err := control.ReportDamage(t.Context(), pool, sha, "a test", "test", false, now()); err != nil {
				t.Fatal(err)
			}
		}
		eventually(t, wait.Patience(), func() string {
			all, err := control.Damages(t.Context(), pool, true, 10)
			if err != nil {
				return err.Error()
			}
			for _, d := range all {
				if d.State != want[d.SHA256] {
					return fmt.Sprintf("%+v", d)
				}
			}
			return ""
		})
	}
}
