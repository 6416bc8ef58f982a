package client

import (
	"context"
	"errors"
	"net/url"
	"strconv"

	"tributary/recovery/replay"
	"tributary/recovery/shadow"
	"tributary/web/compared"
	"tributary/web/order"
)

// CompareShadow counts what a shadow would change, part by part.
func (c *Client) CompareShadow(ctx context.Context, name string) (*shadow.Counter, []string, error) {
	counter, skipped := shadow.NewCounter(), shadow.Skipped{}
	for after := int64(0); ; {
		var p compared.Part
		if err := c.get(ctx, "/replays/"+url.PathEscape(name)+"/compare", url.Values{"limit": {"0"}, "after": {strconv.FormatInt(after, 10)}}, &p); err != nil {
			return nil, nil, err
		}
		counter.AddGroups(p.Groups)
		skipped.Add(p.Skipped)
		if p.Next == 0 {
			return counter, p.NotesOf(skipped), nil
		}
		if p.Next <= after {
			return nil, nil, errors.New("the server gives the same part of a comparison twice")
		}
		after = p.Next
	}
}

// ShadowChanges calls each with the documents that a shadow would change, part by part, and
// returns what is to be said beside them.
func (c *Client) ShadowChanges(ctx context.Context, name string, each func(*shadow.Document) error) ([]string, error) {
	skipped := shadow.Skipped{}
	for after := int64(0); ; {
		var p compared.Documents
		if err := c.get(ctx, "/replays/"+url.PathEscape(name)+"/compare/documents", url.Values{"after": {strconv.FormatInt(after, 10)}}, &p); err != nil {
			return nil, err
		}
		for i := range p.Rows {
			if err := each(&p.Rows[i]); err != nil {
				return nil, err
			}
		}
		skipped.Add(p.Skipped)
		if p.Next == 0 {
			return p.NotesOf(skipped), nil
		}
		if p.Next <= after {
			return nil, errors.New("the server gives the same part of a comparison twice")
		}
		after = p.Next
	}
}

// RequestReplay asks for a replay, or with dry for what it would be.
func (c *Client) RequestReplay(ctx context.Context, w order.Wanted, reason string, dry bool) (r replay.Requested, err error) {
	asked := map[string]any{"where": w.Where, "since": w.Since, "until": w.Until, "shadow": w.Shadow, "reason": reason, "dry_run": dry}
	if w.From != "" {
		asked["from"] = w.From
	}
	if w.Stale {
		asked["stale"] = true
	}
	return r, c.send(ctx, "/replays", asked, &r)
}
