package main

import (
	"context"
	"errors"
	"fmt"

	"tributary/internal/pg"
	"tributary/recovery/deadletter"
	"tributary/schemas"
	"tributary/sql/control"
)

// ofOutbox says what became of an event that the publisher has set aside.
func (l *letter) ofOutbox(o *deadletter.Outboxed) {
	if o.Decision == "" || o.DecidedAt == nil {
		return
	}
	l.state = o.Decision
	d := control.Decision{By: o.DecidedBy, Reason: o.Reason, At: o.DecidedAt.UTC()}
	if o.Decision == pg.LetterDropped {
		l.decided.Drop = d
	} else {
		l.decided.Retry = d
	}
}

// told says what became of an event that can't be published, for people.
func told(o *deadletter.Outboxed) string {
	kept := "all of it is kept"
	if !o.Whole {
		kept = "its first bytes are kept"
	}
	became := map[string]string{
		pg.BecameShorter: "told in fewer words, under the same id",
		pg.BecameFailed:  "what waited for it has failed by name",
		pg.BecameNothing: "nobody was told",
	}[o.Became]
	return fmt.Sprintf("%s; the event %s of %s for %s, %d bytes, of which %s; refused %d times", became, o.Event, o.Schema+".outbox", o.Topic, o.Size, kept, o.Refused)
}

// apart tells letters of outboxes from others.
func apart(all []*letter) (others, ours []*letter) {
	for _, l := range all {
		if l.Outboxed != nil {
			ours = append(ours, l)
		} else {
			others = append(others, l)
		}
	}
	return others, ours
}

// retry puts an event back into its outbox, or says why not.
func (d *letters) retry(ctx context.Context, l *letter, o deadletter.RetryOptions) (refused string, err error) {
	switch {
	case l.Outboxed.Class == pg.LetterUnreadable:
		return "it is no event, and can't be read", nil
	case l.Outboxed.Topic == schemas.DocumentOrderedTopic:
		return "its position was given to a failed one: replay the file", nil
	case l.Outboxed.Became == pg.BecameFailed && !o.Force:
		return "what waited for it has failed by name: replay the file", nil
	case l.Outboxed.Class == pg.LetterTooLarge || !l.Outboxed.Whole:
		return fmt.Sprintf("it has %d bytes, and at most %d can be published", l.Outboxed.Size, schemas.MaxEvent), nil
	case o.DryRun:
		return "", nil
	}
	return d.decide(ctx, l, pg.LetterRetried, o.By, o.Reason)
}

// decide notes a decision about an event of an outbox, or says why not.
func (d *letters) decide(ctx context.Context, l *letter, decision, by, reason string) (refused string, err error) {
	err = pg.DecideLetter(ctx, d.outboxes()[l.Outboxed.Schema], l.Outboxed.Schema, l.Outboxed.ID, decision, by, reason)
	if large := (*schemas.TooLargeError)(nil); errors.As(err, &large) || errors.Is(err, pg.ErrLetterDecided) {
		return err.Error(), nil
	}
	return "", err
}
