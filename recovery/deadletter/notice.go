package deadletter

import (
	"context"
	"fmt"
	"time"

	"tributary/sql/control"
)

// tellAgain orders that notices among some letters are told again, and returns the other
// letters and what became of these. The role notify tells them, one after the other.
func (d *Ledger) tellAgain(ctx context.Context, chunk []*Standing, o RetryOptions, now time.Time) (others []*Standing, done []Retried, err error) {
	for _, l := range chunk {
		if l.Stage != control.NoticeStage || l.Outboxed != nil {
			others = append(others, l)
			continue
		}
		why := l.refusesNotice(o)
		if why == "" && !o.DryRun {
			order := decided(l.Letter)
			order.Forced, order.Retry = o.Force, control.Decision{By: o.By, Reason: o.Reason, At: now}
			if err := control.OrderNotice(ctx, d.Control, order); err != nil {
				return nil, nil, err
			}
		}
		done = append(done, Retried{Letter: l.Letter, Refused: why})
	}
	return others, done, nil
}

// refusesNotice says why a notice is not told again.
func (l *Standing) refusesNotice(o RetryOptions) string {
	said := fmt.Sprintf("by %s at %s", l.Decided.Retry.By, l.Decided.Retry.At.Format(time.RFC3339))
	switch {
	case l.Problem != "":
		return "its record cannot be read, so it tells nothing"
	case l.State == control.LetterUnderWay:
		return "it was retried already, " + said + ", and is being told"
	case l.State == control.LetterCompleted && !o.Force:
		return "it was retried already, " + said + ", and was told; --force tells it once more"
	case l.State == control.LetterFailed && !o.Force:
		return "it was retried already, " + said + ": " + l.Decided.Failed + "; --force tries once more"
	case l.State == control.LetterDropped && !o.Force:
		return fmt.Sprintf("it was dropped by %s: %s; --force tells it all the same", l.Decided.Drop.By, l.Decided.Drop.Reason)
	}
	return ""
}
