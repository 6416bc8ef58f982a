package deadletter

import (
	"cmp"
	"context"

	"github.com/jackc/pgx/v5/pgxpool"

	"tributary/sql/control"
	"tributary/sql/warehouse"
)

// What a dead letter is that nobody has decided about.
const (
	Open       = "open"       // it waits for somebody
	Split      = "split"      // a job of several files, each of which was requested again alone
	Unreadable = "unreadable" // its record asks for nothing
)

// AtOnce is how many letters are asked for, or decided about, at once.
const AtOnce = 500

// Standing is a dead letter with what became of it.
type Standing struct {
	*Letter
	Decided control.DeadLetter
	State   string
	Deaths  int // retries of the same file or document that died of the same cause
}

// Ledger reads dead letters, wherever they lie, and what became of them.
type Ledger struct {
	Reader             *Reader
	Control, Warehouse *pgxpool.Pool
}

// outboxes are the schemas that have one, and where they are.
func (d *Ledger) outboxes() map[string]*pgxpool.Pool {
	return map[string]*pgxpool.Pool{control.Schema: d.Control, warehouse.Schema: d.Warehouse}
}

// Each gives the letters that a filter means and that stand as wanted, in chunks,
// holding no more than one.
func (d *Ledger) Each(ctx context.Context, f *Filter, meant func(*Standing) bool, chunk func([]*Standing) error) error {
	var held []*Letter
	flush := func() error {
		all, err := d.join(ctx, held)
		held = nil
		if err != nil {
			return err
		}
		var out []*Standing
		for _, l := range all {
			if meant(l) {
				out = append(out, l)
			}
		}
		if len(out) == 0 {
			return nil
		}
		return chunk(out)
	}
	take := func(l *Letter) error {
		l.Trim()
		if held = append(held, l); len(held) < AtOnce {
			return nil
		}
		return flush()
	}
	if err := d.Reader.Scan(ctx, f, take); err != nil {
		return err
	}
	if err := Quarantined(ctx, d.Warehouse, d.Reader.Prefix, f, take); err != nil {
		return err
	}
	for schema, pool := range d.outboxes() {
		if err := Outbox(ctx, pool, schema, f, take); err != nil {
			return err
		}
	}
	return flush()
}

// EachChosen gives the letters with the given ids, or, without ids, those that a
// filter means and that are open unless it names another state.
func (d *Ledger) EachChosen(ctx context.Context, ids []string, f *Filter, chunk func([]*Standing) error) error {
	if len(ids) == 0 {
		state := cmp.Or(f.State, Open)
		return d.Each(ctx, f, func(l *Standing) bool { return l.State == state }, chunk)
	}
	for len(ids) > 0 {
		n := min(len(ids), AtOnce)
		var out []*Standing
		for _, id := range ids[:n] {
			l, err := d.Get(ctx, id)
			if err != nil {
				return err
			}
			l.Trim()
			out = append(out, l)
		}
		if err := chunk(out); err != nil {
			return err
		}
		ids = ids[n:]
	}
	return nil
}

// Get reads one letter.
func (d *Ledger) Get(ctx context.Context, id string) (*Standing, error) {
	stage, _, offset, err := ParseID(id)
	if err != nil {
		return nil, err
	}
	var l *Letter
	if schema := OutboxOf(stage); d.outboxes()[schema] != nil {
		l, err = GetOutbox(ctx, d.outboxes()[schema], d.Reader.Prefix, d.Reader.Codec, schema, offset)
	} else if stage == Insert {
		l, err = GetQuarantined(ctx, d.Warehouse, offset)
	} else {
		l, err = d.Reader.Get(ctx, id)
	}
	if err != nil {
		return nil, err
	}
	all, err := d.join(ctx, []*Letter{l})
	if err != nil {
		return nil, err
	}
	return all[0], nil
}

// join adds what control knows of letters.
func (d *Ledger) join(ctx context.Context, all []*Letter) ([]*Standing, error) {
	var keys, lineages []string
	for _, l := range all {
		keys, lineages = append(keys, l.Key), append(lineages, l.Lineage())
	}
	decided, err := control.DeadLetters(ctx, d.Control, keys)
	if err != nil {
		return nil, err
	}
	deaths, err := control.Deaths(ctx, d.Control, lineages)
	if err != nil {
		return nil, err
	}
	out := make([]*Standing, len(all))
	for i, l := range all {
		k, known := decided[l.Key]
		out[i] = &Standing{Letter: l, Decided: k, Deaths: deaths[lineages[i]], State: Open}
		switch {
		case l.Outboxed != nil:
			out[i].ofOutbox(l.Outboxed)
		case known:
			out[i].State = k.State
			if l.Stage == Insert && k.Acquisition != 0 {
				out[i].Deaths-- // control does not see how its own retry ended
			}
		case l.Problem != "":
			out[i].State = Unreadable
		case l.Job > 0:
			out[i].State = Split
		}
	}
	return out, nil
}
