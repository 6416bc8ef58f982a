package pages

import (
	"context"
	"fmt"

	"tributary/queries/explained"
	"tributary/queries/report"
)

// excerpts reads the lines around errors for one page. Nobody waits long for it, and
// where it fails the page says so and has all the rest.
type excerpts struct {
	site *Site
	left int64 // bytes that may still be read
}

func (s *Site) excerpts() excerpts { return excerpts{s, explained.MostRead} }

// add gives the cards of a document's errors the lines around them, or one of them the
// reason why they have none. The cards are of the first errors, in their order.
func (e *excerpts) add(ctx context.Context, x report.DocumentFacts, cards []errorCard) {
	if e.site.Originals == nil {
		return
	}
	all := make([]explained.Error, len(cards))
	for i := range cards {
		all[i].Error = x.Errors[i]
	}
	if err := e.site.explainer.Lines(ctx, x, &e.left, all); err != nil {
		e.site.Log.Debug("the lines around errors can't be read", "document", x.Document.Document, "error", err)
	}
	for i := range cards {
		cards[i].Lines, cards[i].Unseen = all[i].Lines, all[i].Unseen
	}
}

// LinesSay names the lines of an error for who doesn't see them.
func (c errorCard) LinesSay() string {
	of := ""
	if c.Document != "" {
		of = " of " + c.Document
	}
	return fmt.Sprintf("Lines %d to %d%s, around %s", c.Lines[0].Number, c.Lines[len(c.Lines)-1].Number, of, c.Place)
}
