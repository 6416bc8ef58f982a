package schemas_test

import (
	"testing"

	"tributary/schemas"
)

func TestNumbered(t *testing.T) {
	for sql, want := range map[string]string{
		"phase_id >= {phase overview} AND status_id = {status done}": "phase_id >= 10 AND status_id = 3",
		"BETWEEN {phase zip_name} AND {phase qc}":                    "BETWEEN 1 AND 11",
		"status_id < {status failed}, {columns}, {since:String}":     "status_id < 5, {columns}, {since:String}",
		"{phase nowhere}": "{phase nowhere}", // the database refuses it
	} {
		if got := schemas.Numbered(sql); got != want {
			t.Errorf("Numbered(%q) = %q, want %q", sql, got, want)
		}
	}
}
