package poll

import (
	"context"

	"github.com/jackc/pgx/v5"

	"tributary/internal/backoff"
	"tributary/internal/pg"
	"tributary/sql/control"
)

const (
	sourceRemoved = "source_removed"
	leftMessage   = "the source is no longer configured"

	sourceUnavailable  = "source_unavailable"
	maintenanceMessage = "the source is in maintenance: nobody lists it until it is resumed"
	closedMessage      = "the source is outside of its window: it is listed when that opens"
)

// leaveLoop ends what sources left that are removed, in maintenance, or outside of
// their window, until ctx ends.
func (s *Poller) leaveLoop(ctx context.Context) error {
	for range backoff.Every(ctx, leaveEvery) {
		if err := s.leave(ctx); err != nil && ctx.Err() == nil {
			s.deps.Log.Warn("what sources left can't be ended now; trying again", "error", err)
		}
	}
	return nil
}

// leave ends what sources left that are no longer configured, so that nothing
// waits for them: their polls fail, and what had not settled at them is gone.
// What is being fetched plan and download end, and what was fetched goes on. Of
// those in maintenance it ends the polls alone: their files wait. Outside of its
// window a source has no poll end that is under way, and is due when it opens.
// Any member may do it, whichever sources it is configured with.
func (s *Poller) leave(ctx context.Context) error {
	left, err := control.LeftSources(ctx, s.deps.Pool, s.deps.Now())
	if err != nil {
		return err
	}
	for _, src := range left {
		if err := s.leavePolls(ctx, src); err != nil {
			return err
		}
		switch src.State {
		case control.SourceMaintenance:
			s.deps.Log.Info("the source is in maintenance; its polls are ended", "source", src.ID)
			continue
		case control.SourceClosed:
			s.deps.Log.Info("the source is outside of its window; what had not begun is ended", "source", src.ID)
			continue
		}
		for more := true; more; {
			if more, err = s.leaveUnsettled(ctx, src); err != nil {
				return err
			}
		}
		s.deps.Log.Info("the source is removed; nothing waits for it any more", "source", src.ID)
	}
	return nil
}

func (s *Poller) leavePolls(ctx context.Context, src control.Left) error {
	now := s.deps.Now()
	return pg.InTx(ctx, s.deps.Pool, func(tx pgx.Tx) error {
		polls, err := control.TakeLeftPolls(ctx, tx, src.ID, now)
		if err != nil {
			return err
		}
		for _, p := range polls {
			o := outcome{state: "failed", exception: sourceRemoved, message: leftMessage}
			switch src.State {
			case control.SourceMaintenance:
				o.exception, o.message = sourceUnavailable, maintenanceMessage
			case control.SourceClosed:
				o.exception, o.message = sourceUnavailable, closedMessage
			}
			if err := control.EndPoll(ctx, tx, p, o.state, o.exception, o.message, now); err != nil {
				return err
			}
			if err := s.deps.Outbox.Append(ctx, tx, taskEvent(p, counts{}, o, now)); err != nil {
				return err
			}
		}
		switch src.State {
		case control.SourceMaintenance:
			return nil
		case control.SourceClosed:
			return control.SetDue(ctx, tx, src.ID, now)
		}
		return control.PutIgnored(ctx, tx, src.ID, 0, nil)
	})
}

// leaveUnsettled ends a chunk of what had not settled; more says that there may
// be more.
func (s *Poller) leaveUnsettled(ctx context.Context, src control.Left) (more bool, err error) {
	now := s.deps.Now()
	err = pg.InTx(ctx, s.deps.Pool, func(tx pgx.Tx) error {
		files, err := control.MarkLeft(ctx, tx, src.ID, chunk)
		if err != nil || len(files) == 0 {
			return err
		}
		more = len(files) == chunk
		p := control.Poll{Source: src.ID, Server: src.Server, Centre: src.Centre}
		return s.tellGone(ctx, tx, p, files, sourceRemoved, leftMessage, now)
	})
	return more, err
}
