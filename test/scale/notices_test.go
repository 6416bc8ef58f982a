package scale

import (
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"tributary/schemas"
	"tributary/sql/control"
)

// notices is what the role notify asks of control.
func notices(t *testing.T, pool *pgxpool.Pool) {
	t.Helper()
	_, ordered := control.OrderedNotices(t.Context(), pool, 10)
	_, last := control.Told(t.Context(), pool, control.ToldLate, "nobody")
	_, told := control.Tell(t.Context(), pool, control.ToldLate, "nobody", "x", now())
	_, centre := control.SourceCentre(t.Context(), pool, ownSource)
	ended := control.EndNotice(t.Context(), pool, schemas.LiveRun, "", now())
	for _, err := range []error{ordered, last, told, centre, ended} {
		if err != nil {
			t.Fatal(err)
		}
	}
}
