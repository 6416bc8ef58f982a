package pages

import (
	"context"

	"tributary/producers/donewith"
	"tributary/sql/control"
	"tributary/web/access"
	"tributary/web/order"
)

// doneWith is what becomes at a source of files that are inserted, with a row for each
// way in which they stand.
type doneWith struct {
	*donewith.Stand

	Rows []doneRow
}

type doneRow struct {
	Words string
	Files int64
	More  bool // they are not all counted
}

// doneWith reads what becomes at a source of files that are inserted; nil where it
// defines nothing, or that isn't known here.
func (s *Site) doneWith(ctx context.Context, id string) (*doneWith, error) {
	if s.Control == nil || s.then != nil {
		return nil, nil //nolint:nilnil // there is nothing to tell
	}
	all, err := control.Standings(ctx, s.Control, id)
	if err != nil || len(all) == 0 || all[0].State == control.SourceRemoved {
		return nil, err
	}
	stand, err := donewith.StandOf(ctx, s.Control, all[0])
	if err != nil || stand == nil {
		return nil, err
	}
	d := &doneWith{Stand: stand}
	for _, n := range stand.Files {
		d.Rows = append(d.Rows, doneRow{donewith.Words(n), n.Files, n.More})
	}
	return d, nil
}

// actOffers are the orders about what is done at a source that who asks may give: to act
// where it is only shown, to stop where it is done.
func (s *Site) actOffers(ctx context.Context, id string, d *doneWith) []offer {
	if d == nil {
		return nil
	}
	name := order.Act
	if d.Acting {
		name = order.StopActing
	}
	o := s.Orders.Find(order.Sources, name)
	if o == nil || access.From(ctx).Role < o.Least {
		return nil
	}
	return []offer{s.offer(o, id)}
}
