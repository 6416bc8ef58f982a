package control_test

import (
	"testing"

	"github.com/jackc/pgx/v5"

	"tributary/sql/control"
	"tributary/sql/control/controltest"
)

// What minimal polls go by is kept while a source is defined otherwise, which says itself
// that it is of another definition, and forgotten where the source was removed: what it
// had left ended then, and is to be found anew.
func TestARemovedSourceIsPolledCompletelyWhenItIsBack(t *testing.T) {
	t.Parallel()
	pool := database(t)
	define := func(keys string) {
		t.Helper()
		inTx(t, pool, func(tx pgx.Tx) error {
			_, err := controltest.PutSource(t.Context(), tx, control.Source{ID: "a", Centre: "H", Server: "a:22", Protocol: "sftp", State: "available", MaxSessions: 1, Definition: keys})
			return err
		})
	}
	for _, step := range []struct {
		happens func()
		want    string
	}{
		{func() { define(`{"id": "a"}`) }, "(none)"},
		{func() {
			inTx(t, pool, func(tx pgx.Tx) error {
				return control.PutDirectories(t.Context(), tx, "a", control.Directories{Minimal: 7})
			})
		}, "(7)"},
		{func() { define(`{"id": "a", "max_new": 5}`) }, "(7)"},
		{func() {
			exec(t, pool, "UPDATE control.source SET state = 'removed'")
			define(`{"id": "a", "max_new": 5}`)
		}, "(none)"},
	} {
		step.happens()
		if got := text(t, pool, "SELECT coalesce(directories->>'minimal', 'none') FROM control.source"); got != step.want {
			t.Errorf("minimal polls since: %s, want %s", got, step.want)
		}
	}
}
