package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"

	"tributary/queries/lineage"
	"tributary/queries/report"
	"tributary/queries/why"
	"tributary/recovery/deadletter"
	"tributary/sql/control"
)

// SourceErrors is report.SourceErrorList; of all sources it is asked source by source.
func (c *Client) SourceErrors(ctx context.Context, source string, each func(report.SourceErrors) error) error {
	if source != "" {
		return rows(ctx, c, "/sources/"+url.PathEscape(source)+"/errors", nil, each)
	}
	return c.Sources(ctx, func(s report.Source) error { return c.SourceErrors(ctx, s.Source, each) })
}

// Ignored is control.IgnoredOf of all that is kept.
func (c *Client) Ignored(ctx context.Context, source string) (total int64, kept []control.Ignored, err error) {
	for after := 0; ; {
		var part struct {
			Total int64
			Rows  []control.Ignored
			Next  int
		}
		if err := c.get(ctx, "/sources/"+url.PathEscape(source)+"/ignored", url.Values{"limit": {"1000"}, "after": {strconv.Itoa(after)}}, &part); err != nil {
			return 0, nil, err
		}
		total, kept = part.Total, append(kept, part.Rows...)
		if part.Next <= after {
			return total, kept, nil
		}
		after = part.Next
	}
}

// Letter is the story of a dead letter: for programs, and for people.
type Letter struct {
	deadletter.Story

	Event json.RawMessage `json:"event,omitempty"`
}

// Letter tells of one dead letter.
func (c *Client) Letter(ctx context.Context, id string) (l Letter, text string, err error) {
	var told struct {
		Letter

		Text string `json:"text"`
	}
	err = c.get(ctx, "/dead-letters/"+url.PathEscape(id), nil, &told)
	return told.Letter, told.Text, err
}

// Why is (*why.Asker).Ask.
func (c *Client) Why(ctx context.Context, source, path string) (answers []why.Answer, more int, err error) {
	query := url.Values{"path": {path}}
	if source != "" {
		query.Set("source", source)
	}
	var told struct {
		Answers []why.Answer
		More    int
	}
	err = c.get(ctx, "/why", query, &told)
	return told.Answers, told.More, err
}

// Lineage is (*lineage.Reader).Trace, with as many claims as a server tells.
func (c *Client) Lineage(ctx context.Context, args []string) (*lineage.Lineage, error) {
	l := &lineage.Lineage{}
	return l, c.get(ctx, "/lineage", url.Values{"of": slices.Clone(args)}, l)
}

// FileLineage is (*lineage.Reader).File with at most so many keys of each document.
func (c *Client) FileLineage(ctx context.Context, name, action string, keys int, each func(*lineage.Brought) error) error {
	found := false
	for _, a := range []string{"add", "delete", "edit"} { // in File's order
		if action != "" && action != a {
			continue
		}
		err := c.fileLineage(ctx, a, name, func(b *lineage.Brought) error {
			found = true
			if left := len(b.Keys) - keys; left > 0 {
				b.Keys, b.KeysLeft = b.Keys[:keys], b.KeysLeft+int64(left)
			}
			return each(b)
		})
		if err != nil && !is(err, "no_such_row") {
			return err
		}
	}
	if !found {
		return fmt.Errorf("%s: %w: no document of this file was ordered to be loaded; `tributary show` tells where it stands", name, lineage.ErrNotFound)
	}
	return nil
}

func (c *Client) fileLineage(ctx context.Context, action, name string, each func(*lineage.Brought) error) error {
	const most = 100
	query := url.Values{"limit": {strconv.Itoa(most)}}
	for {
		var p struct {
			Rows []*lineage.Brought
			Next string
		}
		if err := c.get(ctx, "/files/"+action+"/"+url.PathEscape(name)+"/lineage", query, &p); err != nil {
			return err
		}
		for _, b := range p.Rows {
			if err := each(b); err != nil {
				return err
			}
		}
		if p.Next == "" {
			return nil
		}
		if p.Next == query.Get("after") {
			return errors.New("the server gives the same part of a list twice")
		}
		query.Set("after", p.Next)
	}
}
