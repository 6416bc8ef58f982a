//go:build !race

package poll

import (
	"context"
	"errors"
	"testing"

	"github.com/jackc/pgx/v5"

	"tributary/internal/centres"
	"tributary/internal/config"
	"tributary/internal/pg"
	"tributary/sql/control"
)

// A poll, and who announces, judge by the centres that control has by then. While these
// can't be read no name is refused for its centre.
func TestNamesAreJudgedByTheNewestCentres(t *testing.T) {
	b := newBench(t)
	b.once = true
	b.define(config.Source{ID: "src", Centre: "H", URL: "file:///nowhere", Hosts: config.Hosts{{Centre: config.AllCentres}}})
	var away error
	b.deps.Centres = centres.NewCopy(nil, func(ctx context.Context) ([]centres.Centre, error) {
		all, err := control.Centres(ctx, b.deps.Pool)
		return all, errors.Join(err, away)
	})
	b.server.show("New.2026-01-02.1.impc.zip", 10)
	b.server.show("Newer.2026-01-02.1.impc.zip", 10)
	add := func(name string) {
		t.Helper()
		if err := pg.InTx(t.Context(), b.deps.Pool, func(tx pgx.Tx) error {
			_, err := control.PutCentre(t.Context(), tx, centres.Centre{ShortName: name, Active: true}, 7)
			return err
		}); err != nil {
			t.Fatal(err)
		}
	}
	b.listing()
	b.is("the files", "SELECT name, exception FROM control.file ORDER BY 1", "New.2026-01-02.1.impc.zip zip_name_centre\nNewer.2026-01-02.1.impc.zip zip_name_centre")
	add("New")
	b.listing()
	b.is("the files", "SELECT name, exception FROM control.file ORDER BY 1", "New.2026-01-02.1.impc.zip \nNewer.2026-01-02.1.impc.zip zip_name_centre")

	n := b.announcer()
	fresh := func(a *control.Announcement) { a.Name = "Newest.2026-01-02.1.impc.zip" }
	if v, _ := b.announce(n, fresh); v.Refused != "zip_name_centre" {
		t.Errorf("it became %+v", v)
	}
	add("Newest")
	if v, _ := b.announce(n, fresh); !v.TakenUp {
		t.Errorf("it became %+v", v)
	}

	away = errors.New("away")
	b.server.show("Other.2026-01-02.1.impc.zip", 10)
	if got := b.listing(); got != "running" {
		t.Errorf("the poll is %s", got)
	}
	b.is("the files", "SELECT count(*) FROM control.file WHERE centre IS NULL AND exception = '' OR name LIKE 'Other.%'", "0")
	if err := pg.InTx(t.Context(), b.deps.Pool, func(tx pgx.Tx) error {
		_, err := n.Judge(t.Context(), tx, []control.Announcement{{ID: "1", Source: "src", Name: "Other.2026-01-02.1.impc.zip", Action: "add", Change: "new", Size: 10}})
		return err
	}); !errors.Is(err, away) {
		t.Errorf("a name that can't be judged: %v", err)
	}
}

// A poll that has nothing to judge asks for no centres.
func TestCentresAreReadWhereSomethingIsJudged(t *testing.T) {
	b := newBench(t)
	b.once = true
	reads := 0
	b.deps.Centres = centres.NewCopy(nil, func(ctx context.Context) ([]centres.Centre, error) {
		reads++
		return control.Centres(ctx, b.deps.Pool)
	})
	b.server.show(good, 10)
	b.listing()
	if reads == 0 {
		t.Error("a new name was judged by no centres")
	}
	before := reads
	b.listing()
	if reads != before {
		t.Errorf("the centres were read %d times where a listing shows nothing new", reads-before)
	}
}
