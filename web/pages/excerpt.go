package pages

import (
	"context"
	"errors"
	"fmt"
	"time"

	"tributary/queries/original"
	"tributary/queries/report"
)

const (
	// mostRead is how many bytes of documents are read for one page.
	mostRead = 64 << 20
	// readings is for how many pages documents are read at once, and readingWait how long
	// another page waits for its turn.
	readings    = 2
	readingWait = 2 * time.Second
)

// errRead says that documents are read for other pages.
var errRead = errors.New("documents are read for others")

// excerpts reads the lines around errors for one page. Nobody waits long for it, and
// where it fails the page says so and has all the rest.
type excerpts struct {
	site *Site
	left int64 // bytes that may still be read
}

func (s *Site) excerpts() excerpts { return excerpts{s, mostRead} }

// add gives the cards of a document's errors the lines around them, or one of them the
// reason why they have none. The cards are of the first errors, in their order.
func (e *excerpts) add(ctx context.Context, x report.DocumentFacts, cards []errorCard) {
	var places []original.Place
	var of []*errorCard
	for i := range cards {
		if at := x.Errors[i]; at.Line != nil && *at.Line > 0 {
			p := original.Place{Line: *at.Line}
			if at.Column != nil {
				p.Column = *at.Column
			}
			places, of = append(places, p), append(of, &cards[i])
		}
	}
	if len(places) == 0 || e.site.Originals == nil {
		return
	}
	lines, err := e.read(ctx, x, places)
	if err != nil {
		of[0].Unseen = unseen(err)
		e.site.Log.Debug("the lines around errors can't be read", "document", x.Document.Document, "error", err)
	}
	for i := range lines {
		of[i].Lines = lines[i]
	}
}

func (e *excerpts) read(ctx context.Context, x report.DocumentFacts, places []original.Place) ([][]original.Line, error) {
	done, err := e.site.turn(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	lines, err := e.site.Originals.Excerpts(ctx, originalOf(x), e.left, places)
	if err == nil && x.Size != nil {
		e.left -= *x.Size
	}
	return lines, err
}

// turn waits until documents may be read; done says that they have been.
func (s *Site) turn(ctx context.Context) (done func(), err error) {
	ctx, cancel := context.WithTimeout(ctx, readingWait)
	defer cancel()
	select {
	case s.reading <- struct{}{}:
		return func() { <-s.reading }, nil
	case <-ctx.Done():
		return nil, errRead
	}
}

// unseen says to people why stored bytes are not shown.
func unseen(err error) string {
	if errors.Is(err, errRead) {
		return "Documents are read for others now; load the page again."
	}
	return original.Words(err)
}

// originalOf says where a document lies.
func originalOf(x report.DocumentFacts) original.Document {
	return original.Document{Archive: text(x.Version), Ordinal: x.Ordinal, SHA256: text(x.SHA256)}
}

// LinesSay names the lines of an error for who doesn't see them.
func (c errorCard) LinesSay() string {
	of := ""
	if c.Document != "" {
		of = " of " + c.Document
	}
	return fmt.Sprintf("Lines %d to %d%s, around %s", c.Lines[0].Number, c.Lines[len(c.Lines)-1].Number, of, c.Place)
}
