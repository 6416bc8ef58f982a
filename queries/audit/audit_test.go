//go:build !race

package audit_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"tributary/internal/pg"
	"tributary/queries/audit"
	"tributary/queries/report"
	"tributary/queries/report/reporttest"
	"tributary/schemas"
	"tributary/sql/control"
)

// told are orders of a story, a second apart, and of accounts: one at the moment of the
// last, one before all, one after.
func told(t *testing.T) (audit.Reader, *pgxpool.Pool) {
	t.Helper()
	source := func(id, what, by string) schemas.StatusChanged {
		return schemas.StatusChanged{Entity: schemas.EntitySource, Scope: schemas.Scope{Centre: "H", Source: id}, Message: what + " by " + by + ": so",
			Attributes: map[string]string{"by": by, "reason": "so", "changed": "url: a → b", "state": "available"}}
	}
	file := schemas.StatusChanged{Entity: schemas.EntityFile, FileRef: schemas.FileRef{File: schemas.FileID("add", "A%.zip"), FileName: "A%.zip", Action: "add"},
		Note: "held", Message: "held by ann", Attributes: map[string]string{"by": "ann"}}
	pool := reporttest.Told(t, []schemas.StatusChanged{source("harwell", "changed", "ann"), source("jax", "removed", "ben"), file})
	if err := control.Migrate(t.Context(), pool); err != nil {
		t.Fatal(err)
	}
	var last time.Time
	if err := pool.QueryRow(t.Context(), "SELECT max(ordered_at) FROM tracker.ordered").Scan(&last); err != nil {
		t.Fatal(err)
	}
	if err := pg.InTx(t.Context(), pool, func(tx pgx.Tx) error {
		var err error
		for i, at := range []time.Time{last.Add(-time.Hour), last, last.Add(time.Hour), last} {
			err = errors.Join(err, control.NoteAccountChange(t.Context(), tx, control.AccountChange{ChangedAt: at, ChangedBy: "ann", Subject: fmt.Sprintf("cid%d", i), What: "added", Reason: "so"}))
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return audit.Reader{Tracker: pool, Control: pool}, pool
}

func lines(orders []audit.Order) (out []string) {
	for _, o := range orders {
		out = append(out, strings.Join(o.Cells()[1:], "|"))
	}
	return out
}

// What events and accounts tell is one list, the newest first, whatever narrows it; it is
// the same in pages of any size.
func TestWhoOrderedWhat(t *testing.T) {
	r, _ := told(t)
	all := []string{"ann|account|cid2|added|so|", "ann|account|cid3|added|so|", "ann|account|cid1|added|so|", "ann|file|add/A%.zip|held||", "ben|source|jax|removed|so|url: a → b",
		"ann|source|harwell|changed|so|url: a → b", "ann|account|cid0|added|so|"}
	last := reporttest.Start().Add(2 * time.Second)
	for _, c := range []struct {
		name string
		f    audit.Filter
		want []string
	}{
		{"all", audit.Filter{}, all},
		{"by", audit.Filter{By: "ben"}, all[4:5]},
		{"a kind", audit.Filter{Kind: "source"}, all[4:6]},
		{"accounts", audit.Filter{Kind: audit.Account, By: "ann"}, append(all[:3:3], all[6])},
		{"part of a name", audit.Filter{Contains: "a%."}, all[3:4]},
		{"part of accounts'", audit.Filter{Contains: "CID"}, append(all[:3:3], all[6])},
		{"since", audit.Filter{Since: last}, all[:4]},
		{"until", audit.Filter{Until: last}, all[4:]},
		{"between", audit.Filter{Since: last, Until: last.Add(time.Second)}, all[1:4]},
		{"nobody", audit.Filter{By: "nobody"}, nil},
	} {
		p, err := r.Page(t.Context(), c.f)
		if d := cmp.Diff(c.want, lines(p.Rows), cmpopts.EquateEmpty()); d != "" || err != nil || p.Next != "" {
			t.Errorf("%s: next %q, %v (- want, + got):\n%s", c.name, p.Next, err, d)
		}
		for limit := range 3 {
			var got []audit.Order
			f := c.f
			for f.Limit = limit + 1; ; {
				p, err := r.Page(t.Context(), f)
				if err != nil || len(p.Rows) > f.Limit {
					t.Fatalf("%s: %d rows, %v", c.name, len(p.Rows), err)
				}
				got = append(got, p.Rows...)
				if f.After = p.Next; f.After == "" {
					break
				}
			}
			if d := cmp.Diff(c.want, lines(got), cmpopts.EquateEmpty()); d != "" {
				t.Errorf("%s in pages of %d (- want, + got):\n%s", c.name, limit+1, d)
			}
		}
	}
	for limit, want := range map[int]int{0: 7, 1: 1, 7: 7, 9: 7} {
		n := 0
		if err := r.Each(t.Context(), audit.Filter{Limit: limit}, func(audit.Order) error { n++; return nil }); err != nil || n != want {
			t.Errorf("%d of %d, at most %d: %v", n, want, limit, err)
		}
	}
	r.Control = nil
	if p, err := r.Page(t.Context(), audit.Filter{}); err != nil || cmp.Diff(all[3:6], lines(p.Rows)) != "" {
		t.Errorf("without accounts: %q, %v", lines(p.Rows), err)
	}
}

// What can't be asked is refused, and names what is wrong.
func TestWhatCannotBeAsked(t *testing.T) {
	now := time.Now()
	for name, f := range map[string]audit.Filter{
		"kind": {Kind: "wish"}, "by": {By: "a\x00"}, "q": {Contains: "\xff"}, "since": {Since: now, Until: now}, "after": {After: "x"},
	} {
		var bad *report.FilterError
		if _, err := (audit.Reader{}).Page(t.Context(), f); !errors.As(err, &bad) || bad.Filter != name {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, after := range []string{"MjAyNi0wMS0wMVQwMDowMDowMFogMA", "MjAyNi0wMS0wMVQwMDowMDowMFogeA", "eA", strings.Repeat("M", 300)} {
		var bad *report.FilterError
		if _, err := (audit.Reader{}).Page(t.Context(), audit.Filter{After: after}); !errors.As(err, &bad) {
			t.Errorf("after %s: %v", after, err)
		}
	}
}
