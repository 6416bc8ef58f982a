package client

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"tributary/queries/report"
	"tributary/web/order"
)

// Links are the links of a centre, by number, those that are over too; of all centres where
// none is named.
func (c *Client) Links(ctx context.Context, centre string) (all []order.Link, err error) {
	of := []string{centre}
	if centre == "" {
		of = nil
		if err := c.Centres(ctx, func(s report.Centre) error {
			of = append(of, s.Centre)
			return nil
		}); err != nil {
			return nil, err
		}
	}
	for _, name := range of {
		if err := rows(ctx, c, "/centres/"+url.PathEscape(name)+"/links", nil, func(l order.Link) error {
			all = append(all, l)
			return nil
		}); err != nil {
			return nil, err
		}
	}
	slices.SortFunc(all, func(a, b order.Link) int { return int(a.Number - b.Number) })
	return all, nil
}

// MakeLink makes a link of a centre that is good for so long, and returns its path below
// the address of the pages. It is asked for once: a link whose answer was lost would stay.
func (c *Client) MakeLink(ctx context.Context, centre, life, reason string) (string, error) {
	body, err := json.Marshal(map[string]string{"expires": life, "reason": reason})
	if err != nil {
		return "", fmt.Errorf("ask %s: %w", c.server, err)
	}
	a, err := c.post(ctx, "/centres/"+url.PathEscape(centre)+"/links", body)
	if err != nil {
		return "", err
	}
	var made struct{ Path string }
	err = c.read(ctx, a, &made)
	return strings.TrimPrefix(made.Path, c.server.Path), err
}
