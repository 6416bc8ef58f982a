package pages

import (
	"context"
	"net/url"
	"strconv"

	"tributary/sql/control"
)

// ignoredShown is how many entries that nobody takes up a source's page lists.
const ignoredShown = 50

// ignored is what a source's last complete listing showed and nobody takes up.
type ignored struct {
	Total  int64 // also those of which the names are not kept
	Rows   []control.Ignored
	Behind int    // how many stand before these
	Next   string // the page of those behind these; empty: no other name is kept
}

// ignored reads that from the place on that an address gives.
func (s *Site) ignored(ctx context.Context, id, behind string) (*ignored, error) {
	d := &ignored{}
	if n, err := strconv.ParseUint(behind, 10, 31); err == nil {
		d.Behind = int(n)
	} else if behind != "" {
		return nil, errBadFilter
	}
	total, rows, err := control.IgnoredOf(ctx, s.Control, id, d.Behind, ignoredShown+1)
	if err != nil || total == 0 {
		return nil, err
	}
	if d.Total, d.Rows = total, rows; len(rows) > ignoredShown {
		d.Rows = rows[:ignoredShown]
		d.Next = s.to("/sources/"+url.PathEscape(id), "ignored", strconv.Itoa(d.Behind+ignoredShown)) + "#ignored"
	}
	return d, nil
}
