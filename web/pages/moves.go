package pages

import (
	"context"
	"slices"

	"tributary/queries/report"
	"tributary/schemas/exception"
)

// moves says on cards whose move it is after each error, in what a centre made, and how
// often files have failed with the same; of the past that is not known.
func (s *Site) moves(ctx context.Context, cards []errorCard, centre string) error {
	if len(cards) == 0 {
		return nil
	}
	var failed []report.FailedCount
	if s.then == nil {
		var err error
		if failed, err = report.FailedCounts(ctx, s.Tracker, centre); err != nil {
			return err
		}
	}
	for i := range cards {
		c := &cards[i]
		c.Move, c.MoveTo = s.moveOf(c.whose, centre)
		at := slices.IndexFunc(failed, func(f report.FailedCount) bool { return f.Exception == c.Exception })
		if at < 0 || slices.ContainsFunc(cards[:i], func(x errorCard) bool { return x.Exception == c.Exception }) {
			continue // of what is on the page several times, the first says it
		}
		c.Often, c.OftenTo = often(failed[at], centre), s.to("/files", "exception", c.Exception, "status", "failed")
	}
	return nil
}

// moveOf says whose move it is, where a centre made what is wrong, and where that goes on.
func (s *Site) moveOf(move exception.Move, centre string) (says, to string) {
	switch {
	case move == exception.Centre && centre != "":
		return centre + " corrects it and sends it again", s.centreAt(centre)
	case move == exception.Centre:
		return "Whoever made the file corrects it and sends it again", ""
	case move == exception.Nobody:
		return "Nobody's: it is tried again by itself, or has ended as it should", ""
	}
	return "Ours: nothing goes on until somebody here acts", ""
}

// often says how many files stand failed with something, and how many of them are a centre's.
func often(f report.FailedCount, centre string) string {
	text := plural(int(f.Files), "file stands failed with it", "files stand failed with it")
	switch {
	case f.Files == 1 || centre == "":
		return text
	case f.OfCentre == f.Files:
		return text + ", all of them of " + centre
	}
	return text + ", " + count(f.OfCentre) + " of them of " + centre
}
