package sources

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"tributary/internal/centres"
	"tributary/internal/config"
	"tributary/internal/pg"
	"tributary/internal/profile"
	"tributary/schemas"
	"tributary/sql/control"
)

// Filtered says what one filter of a source, or another key that leaves files, does to what
// its last listings showed.
type Filtered struct {
	Filter  string `json:"filter"`            // as the configuration writes it, of another key with it; empty: what nothing fits, which is taken
	Taken   bool   `json:"taken"`             // whether entries are taken for which it decides
	Entries int64  `json:"entries"`           // of the last listings
	First   string `json:"first"`             // the first of them, by directory and name; empty: none
	Beside  string `json:"beside,omitempty"`  // the later file for which the first is left, or the done-file for which it waits
	Unknown bool   `json:"unknown,omitempty"` // more is shown beside files than is kept: nobody knows which have a done-file, so none is left for that
}

// note counts entries, the first of which by name is a file.
func (f *Filtered) note(directory, name, beside string, entries int64) {
	f.Entries += entries
	if path := directory + "/" + name; f.First == "" || path < f.First {
		f.First, f.Beside = path, beside
	}
}

// many entries leave room behind, which the connection gives back at once.
const many = 1 << 20

// TestFilters tells for which entries of a source's last listings each of its filters, and
// each other key that leaves files, would decide if they were new, in the order in which a
// poll asks: filters, sizes and the greatest age, the latest, done-files and the least age,
// and then what nothing leaves or names. It asks as a poll does, of a listing of what
// control knows. Of entries that the source leaves by now only the names that control keeps
// are known; what isn't known excludes nothing.
func (r Registry) TestFilters(ctx context.Context, pool *pgxpool.Pool, src config.Source) (out []Filtered, err error) {
	standing, err := control.Standings(ctx, pool, src.ID)
	if err != nil {
		return nil, err
	}
	now := r.Now()
	if len(standing) == 1 {
		now = now.Add(standing[0].Clock.Guess())
	}
	conn, err := pool.Acquire(ctx)
	if err != nil {
		return nil, fmt.Errorf("try the filters of %s: %w", src.ID, err)
	}
	defer conn.Release()
	if err := control.CreateListing(ctx, conn); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, control.EmptyListing(ctx, conn, many)) }()
	known, err := r.listShown(ctx, conn, src.ID)
	if err != nil {
		return nil, err
	}
	t := newTrial(src, known)
	if len(src.Filters) > 0 {
		if err := t.exclude(ctx, conn); err != nil {
			return nil, err
		}
	}
	left, err := Leave(ctx, conn, t.src, control.Leaving{Source: src.ID, AsNew: true}, now, true)
	if err != nil {
		return nil, err
	}
	t.leave(left)
	return t.rows, t.take(ctx, conn)
}

// listShown makes the connection's listing what a source shows as far as is known, and tells
// whether all is known that it shows beside files.
func (r Registry) listShown(ctx context.Context, conn *pgxpool.Conn, source string) (all bool, err error) {
	var known profile.Centres
	if err := pg.InTx(ctx, conn, func(tx pgx.Tx) error {
		list, err := r.Known(ctx, tx)
		known = centres.Known(list...)
		return err
	}); err != nil {
		return false, err
	}
	left, err := control.LeftShown(ctx, conn, source)
	if err != nil {
		return false, err
	}
	entries := make([]control.Entry, 0, len(left))
	for _, l := range left {
		e := control.Entry{File: schemas.FileID(l.Directory, l.Name), Action: l.Directory, Name: l.Name, Size: l.Size, ModTime: l.ChangedBy}
		ReadName(&e, r.Profile, known)
		entries = append(entries, e)
	}
	if _, err := control.StoreListing(ctx, conn, entries); err != nil {
		return false, err
	}
	return control.ListShown(ctx, conn, source)
}

// trial counts what is done to the entries of a listing.
type trial struct {
	src    config.Source
	rows   []Filtered     // of filters, reasons, and what nothing fits
	reason map[string]int // the row of each
}

// newTrial is that of a source. Where it isn't known what is shown beside files, nothing
// waits for its done-file.
func newTrial(src config.Source, known bool) *trial {
	t := &trial{src: src, reason: map[string]int{}}
	for _, f := range src.Filters {
		t.rows = append(t.rows, Filtered{Filter: f.String(), Taken: f.Include != ""})
	}
	for _, reason := range leavingReasons() {
		if key := keyOf(src, reason); key != "" {
			t.reason[reason] = len(t.rows)
			t.rows = append(t.rows, Filtered{Filter: key, Unknown: reason == control.NoDoneFile && !known})
		}
	}
	t.rows = append(t.rows, Filtered{Taken: true})
	if !known {
		t.src.DoneFile = ""
	}
	return t
}

// exclude takes out of the listing what a filter excludes.
func (t *trial) exclude(ctx context.Context, conn pg.Querier) error {
	var out []string
	err := control.EachListed(ctx, conn, func(directory, name string) {
		if i := t.src.Filters.First(directory, name); i >= 0 && t.src.Filters[i].Include == "" {
			t.rows[i].note(directory, name, "", 1)
			out = append(out, schemas.FileID(directory, name))
		}
	})
	if err != nil || len(out) == 0 {
		return err
	}
	return control.Unlist(ctx, conn, out)
}

// leave counts what is left: of a directory and a reason all is counted with each.
func (t *trial) leave(left []control.LeftOut) {
	counted := map[[2]string]bool{}
	for _, l := range left {
		kind, beside := [2]string{l.Reason, l.Action}, Rule(t.src, l)
		if keyOf(t.src, l.Reason) == beside {
			beside = "" // the bound, which the row has
		}
		n := l.All
		if counted[kind] {
			n = 0
		}
		counted[kind] = true
		t.rows[t.reason[l.Reason]].note(l.Action, l.Name, beside, n)
	}
}

// take counts what is still listed, by the filters that include it.
func (t *trial) take(ctx context.Context, conn pg.Querier) error {
	return control.EachListed(ctx, conn, func(directory, name string) {
		i := t.src.Filters.First(directory, name)
		if i < 0 {
			i = len(t.rows) - 1
		}
		t.rows[i].note(directory, name, "", 1)
	})
}
