package notify

import (
	"context"
	"errors"
	"fmt"
	"time"

	"tributary/internal/crashpoint"
	"tributary/internal/notice"
	"tributary/schemas"
	"tributary/sql/control"
)

// lookForWeeks is how often it is asked whether a week has ended whose summary was not sent.
const lookForWeeks = time.Hour

// Week is the summary of a centre's week that has ended.
type Week struct {
	Centre string
	Email  string
	Name   string // as 2026-W48
	Title  string
	Text   string
}

// weekly sends each centre the summary of its last week, once. One that can't be sent
// comes again, and keeps no other from being sent.
func (n *Notify) weekly(ctx context.Context) error {
	all, err := n.deps.Weeks(ctx)
	var failed error
	for _, w := range all {
		if err := n.sendWeek(ctx, w); err != nil {
			failed = errors.Join(failed, fmt.Errorf("the weekly summary of %s: %w", w.Centre, err))
		}
	}
	return errors.Join(err, failed)
}

func (n *Notify) sendWeek(ctx context.Context, w Week) error {
	last, err := control.Told(ctx, n.deps.Control, control.ToldWeek, w.Centre)
	if err != nil || last >= w.Name { // names of weeks are in their order
		return err
	}
	mail, err := notice.NewMail([]string{w.Email}, n.cfg.SMTP)
	if err != nil {
		return err
	}
	if err := mail.Send(ctx, schemas.ID("centre-week", w.Centre, w.Name), w.Centre+", "+w.Name+": "+w.Title, w.Text); err != nil {
		return err
	}
	crashpoint.At(Name, "weekly", "sent")
	_, err = control.Tell(ctx, n.deps.Control, control.ToldWeek, w.Centre, w.Name, n.deps.Now())
	return err
}
