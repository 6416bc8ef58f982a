package order

import (
	"context"

	"tributary/recovery/deadletter"
	"tributary/sql/control"
)

// MostLetters is how many dead letters may be decided about at once.
const MostLetters = 100

// Decided is what became of one dead letter of several.
type Decided struct {
	ID        string `json:"id"`
	About     string `json:"about" doc:"for people"`
	File      string `json:"file" doc:"the id of the file that it is about; empty: of none"`
	Attempt   int32  `json:"attempt,omitempty" doc:"the new one"`
	Deaths    int    `json:"deaths,omitempty" doc:"retries that had died of the same cause"`
	Documents int32  `json:"documents,omitempty" doc:"that are processed again, as far as known; those of one attempt count once"`
	Refused   string `json:"refused,omitempty" doc:"why it was not done; empty: it was"`
}

// RetryLetters requests new attempts for dead letters, as tributary dlq retry does. One
// that there isn't is a deadletter.ErrNotFound, and then nothing is done of those that are
// decided with it.
func (d *Deps) RetryLetters(ctx context.Context, ids []string, o deadletter.RetryOptions) (out []Decided, err error) {
	err = d.decideLetters(ctx, ids, func(p *deadletter.Decider, chunk []*deadletter.Standing) error {
		done, err := d.Ledger.Retry(ctx, p, chunk, o)
		for _, r := range done {
			out = append(out, RetriedLetter(r))
		}
		return err
	})
	return out, err
}

// DropLetters hides dead letters, as tributary dlq drop does.
func (d *Deps) DropLetters(ctx context.Context, ids []string, by control.Decision) (out []Decided, err error) {
	if err := CheckReason(by.Reason, true); err != nil {
		return nil, err
	}
	err = d.decideLetters(ctx, ids, func(p *deadletter.Decider, chunk []*deadletter.Standing) error {
		done, err := d.Ledger.Drop(ctx, p, chunk, by)
		for _, r := range done {
			out = append(out, DroppedLetter(r))
		}
		return err
	})
	return out, err
}

// RetriedLetter is what became of the wish to retry a letter.
func RetriedLetter(r deadletter.Retried) Decided {
	return Decided{ID: r.Letter.ID, About: r.Letter.Subject(), File: r.Letter.File, Attempt: r.Attempt, Deaths: r.Deaths, Documents: r.Documents, Refused: r.Refused}
}

// DroppedLetter is what became of the wish to hide one.
func DroppedLetter(r deadletter.Dropped) Decided {
	return Decided{ID: r.Letter.ID, About: r.Letter.Subject(), File: r.Letter.File, Refused: r.Refused}
}

func (d *Deps) decideLetters(ctx context.Context, ids []string, decide func(*deadletter.Decider, []*deadletter.Standing) error) (err error) {
	if d == nil || d.Ledger == nil {
		return ErrNotHere
	}
	if len(ids) == 0 || len(ids) > MostLetters {
		return bad("from 1 to %d dead letters are decided about at once", MostLetters)
	}
	for _, id := range ids {
		if _, _, _, err := deadletter.ParseID(id); err != nil {
			return bad("%v", err)
		}
	}
	decider, end, err := d.Decider(ctx)
	if err != nil {
		return err
	}
	defer end()
	return d.Ledger.EachChosen(ctx, ids, nil, func(chunk []*deadletter.Standing) error { return decide(decider, chunk) })
}
