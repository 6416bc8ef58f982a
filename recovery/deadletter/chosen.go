package deadletter

import (
	"context"

	"tributary/sql/control"
	"tributary/sql/outbox"
)

// Retry requests new attempts for letters, wherever they lie: p for those of topics and
// of insert, and an event that an outbox could not publish is put back into it.
func (d *Ledger) Retry(ctx context.Context, p *Decider, chunk []*Standing, o RetryOptions) ([]Retried, error) {
	chunk, done, err := d.tellAgain(ctx, chunk, o, p.Now())
	if err != nil {
		return nil, err
	}
	records, outboxed := apart(chunk)
	retried, err := p.Retry(ctx, records, o)
	if err != nil {
		return nil, err
	}
	done = append(done, retried...)
	for _, l := range outboxed {
		why, err := d.PutBack(ctx, l, o)
		if err != nil {
			return nil, err
		}
		done = append(done, Retried{Letter: l, Refused: why})
	}
	return done, nil
}

// Drop hides letters, wherever they lie, with a reason.
func (d *Ledger) Drop(ctx context.Context, p *Decider, chunk []*Standing, by control.Decision) ([]Dropped, error) {
	records, outboxed := apart(chunk)
	done, err := p.Drop(ctx, records, by.By, by.Reason)
	if err != nil {
		return nil, err
	}
	for _, l := range outboxed {
		why, err := d.DecideOutboxed(ctx, l, outbox.LetterDropped, by.By, by.Reason)
		if err != nil {
			return nil, err
		}
		done = append(done, Dropped{Letter: l, Refused: why})
	}
	return done, nil
}

// apart tells letters of topics and of insert from those of outboxes.
func apart(all []*Standing) (records, outboxed []*Letter) {
	for _, l := range all {
		if l.Outboxed != nil {
			outboxed = append(outboxed, l.Letter)
		} else {
			records = append(records, l.Letter)
		}
	}
	return records, outboxed
}
