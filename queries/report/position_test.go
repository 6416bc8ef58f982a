package report_test

import (
	"testing"

	"tributary/queries/report"
	"tributary/queries/report/reporttest"
	"tributary/schemas"
)

// The position is another one once the tracker has read on.
func TestPosition(t *testing.T) {
	pool := reporttest.Told(t, nil)
	position := func() string {
		p, err := report.Position(t.Context(), pool)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	before := position()
	reporttest.Add(t, pool, schemas.StatusChanged{Entity: schemas.EntityCentre, Scope: schemas.Scope{Centre: "H"}})
	if after := position(); before != "1" || after != "2" {
		t.Errorf("position went from %s to %s", before, after)
	}
}
