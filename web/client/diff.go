package client

import (
	"context"
	"net/url"
	"strconv"
	"time"

	"tributary/queries/asof"
)

// changes is a page of what changed.
type changes struct {
	History string
	Filled  *time.Time `json:"filled_until"`
	Behind  int64
	Counts  []asof.Count
	Rows    []asof.Change
	Next    string
}

// Diff is what changed in a scope between two moments. The server reads the past anew for
// each page of it, of which the first is asked for here and the others by Changes.
func (c *Client) Diff(ctx context.Context, from, to time.Time, s asof.Scope) (asof.Comparison, error) {
	ask := func(ctx context.Context, after string, limit int) (p changes, err error) {
		query := url.Values{"from": {moment(from)}, "to": {moment(to)}, "limit": {strconv.Itoa(limit)}}
		for name, value := range map[string]string{"file": s.Name, "centre": s.Centre, "after": after} {
			if value != "" {
				query.Set(name, value)
			}
		}
		return p, c.get(ctx, "/diff", query, &p)
	}
	first, err := ask(ctx, "", page)
	if err != nil {
		return asof.Comparison{}, err
	}
	return asof.Comparison{From: from, To: to, Said: first.History, Filled: first.Filled, Behind: first.Behind, Counts: first.Counts,
		Changes: func(ctx context.Context, limit int, each func(asof.Change) error) error {
			left := limit
			for p := first; ; {
				for _, change := range p.Rows {
					if err := each(change); err != nil {
						return err
					}
					if left--; left == 0 {
						return nil
					}
				}
				if p.Next == "" {
					return nil
				}
				var err error
				if p, err = ask(ctx, p.Next, page); err != nil {
					return err
				}
			}
		}}, nil
}
