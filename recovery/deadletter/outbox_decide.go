package deadletter

import (
	"context"
	"errors"
	"fmt"

	"tributary/schemas"
	"tributary/sql/control"
	"tributary/sql/outbox"
)

// ofOutbox says what became of an event that the publisher has set aside.
func (l *Standing) ofOutbox(o *Outboxed) {
	if o.Decision == "" || o.DecidedAt == nil {
		return
	}
	l.State = o.Decision
	d := control.Decision{By: o.DecidedBy, Reason: o.Reason, At: o.DecidedAt.UTC()}
	if o.Decision == outbox.LetterDropped {
		l.Decided.Drop = d
	} else {
		l.Decided.Retry = d
	}
}

// became says what became of an event that can't be published, for people.
func (o *Outboxed) became() string {
	kept := "all of it is kept"
	if !o.Whole {
		kept = "its first bytes are kept"
	}
	words := map[string]string{
		outbox.BecameShorter: "told in fewer words, under the same id",
		outbox.BecameFailed:  "what waited for it has failed by name",
		outbox.BecameNothing: "nobody was told",
	}[o.Became]
	return fmt.Sprintf("%s; the event %s of %s for %s, %d bytes, of which %s; refused %d times", words, o.Event, o.Schema+".outbox", o.Topic, o.Size, kept, o.Refused)
}

// PutBack puts an event back into its outbox, or says why not.
func (d *Ledger) PutBack(ctx context.Context, l *Letter, o RetryOptions) (refused string, err error) {
	switch {
	case l.Outboxed.Class == outbox.LetterUnreadable:
		return "it is no event, and can't be read", nil
	case l.Outboxed.Topic == schemas.DocumentOrderedTopic:
		return "its position was given to a failed one: replay the file", nil
	case l.Outboxed.Became == outbox.BecameFailed && !o.Force:
		return "what waited for it has failed by name: replay the file", nil
	case l.Outboxed.Class == outbox.LetterTooLarge || !l.Outboxed.Whole:
		return fmt.Sprintf("it has %d bytes, and at most %d can be published", l.Outboxed.Size, schemas.MaxEvent), nil
	case o.DryRun:
		return "", nil
	}
	return d.DecideOutboxed(ctx, l, outbox.LetterRetried, o.By, o.Reason)
}

// DecideOutboxed notes a decision about an event of an outbox, or says why not.
func (d *Ledger) DecideOutboxed(ctx context.Context, l *Letter, decision, by, reason string) (refused string, err error) {
	err = outbox.DecideLetter(ctx, d.outboxes()[l.Outboxed.Schema], l.Outboxed.Schema, l.Outboxed.ID, decision, by, reason)
	if large := (*schemas.TooLargeError)(nil); errors.As(err, &large) || errors.Is(err, outbox.ErrLetterDecided) {
		return err.Error(), nil
	}
	return "", err
}
