package poll

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"tributary/internal/backoff"
	"tributary/internal/config"
	"tributary/internal/pg"
	"tributary/internal/remote"
	"tributary/internal/source"
	"tributary/sql/control"
)

// outcome is how a poll ends.
type outcome struct {
	state, exception, message string
	after                     time.Duration // for which the server asks to be left alone
}

// polled is a poll with the source as it was defined when it was taken.
type polled struct {
	control.Poll
	source config.Source
}

// maxTaken is how often a poll is taken beyond poll.attempts before it is given
// up: members that end while they are at it, or that can't record it, must not
// keep its session open for ever.
const maxTaken = 10

// poll lists and records. Only errors of the database are returned: an error
// of the source is an outcome.
func (s *Poller) poll(ctx context.Context, p control.Poll, log *slog.Logger) error {
	conn, err := s.deps.Pool.Acquire(ctx)
	if err != nil {
		return fmt.Errorf("poll of %s: %w", p.Source, err)
	}
	defer conn.Release()
	c := counts{ignored: ignored{keep: s.cfg.MaxIgnored}, trace: &remote.Trace{}}
	if p.Attempts > s.cfg.Attempts+maxTaken {
		log.Error("the poll was taken again and again and never recorded; it is given up", "taken", p.Attempts)
		return s.end(ctx, conn, p, c, outcome{state: "failed", exception: unrecorded, message: fmt.Sprintf("the poll was taken %d times, and no member could record how it ended: what they log says why", p.Attempts)})
	}
	if err := control.CreateListing(ctx, conn); err != nil {
		return err
	}
	defer func() { _ = control.EmptyListing(ctx, conn, c.listed+c.ignored.total) }() // the next poll on this connection empties it too
	var src config.Source
	var cfg remote.Config
	if err := c.trace.Do("configuration", func() (string, error) {
		if src, err = s.are.parse(p.Source, p.Definition); err != nil {
			return "", err
		}
		if cfg, err = source.Remote(src, s.cfg.ConnectTimeout, s.cfg.IdleTimeout, s.deps.Limits); s.deps.Gate != nil {
			cfg.Gate = s.deps.Gate(src, p.Server)
		}
		return source.Describe(src).URL, err
	}); err != nil {
		return s.end(ctx, conn, p, c, outcome{state: "failed", exception: misconfigured, message: text(err)})
	}
	c.window = src.Feed != ""
	missing, listErr := s.listInTime(ctx, polled{p, src}, cfg, conn, &c)
	var dbErr *storeError
	if errors.As(listErr, &dbErr) || ctx.Err() != nil {
		return listErr
	}
	asked := remote.RetryAfter(listErr)
	if listErr != nil && p.Attempts < s.cfg.Attempts && retriable(listErr) && asked <= longestWait {
		wait := max(asked, backoff.Exponential{Base: time.Second, Max: longestWait}.After(p.Attempts))
		log.Warn("listing failed; trying again", "error", text(listErr), "attempt", p.Attempts, "in", wait)
		if err := s.leaveAlone(ctx, conn, p, asked); err != nil {
			return err
		}
		return control.PostponePoll(ctx, conn, p, s.deps.Now().Add(wait), exception(listErr), text(listErr))
	}
	if untakable(listErr) {
		log.Warn("the listing is not one from which anything may be taken", "error", text(listErr))
		return s.end(ctx, conn, p, c, outcome{state: "failed", exception: exception(listErr), message: text(listErr), after: asked})
	}
	c.brokenOff = listErr != nil
	recErr := s.recordInTime(ctx, conn, polled{p, src}, &c)
	if recErr != nil && !errors.Is(recErr, errUnrecorded) {
		return recErr
	}
	if listErr == nil {
		listErr = recErr
	}
	if listErr == nil {
		if listErr, err = s.lacking(ctx, conn, polled{p, src}, c, missing); err != nil {
			return err
		}
	}
	o := conclude(c, listErr, log)
	switch {
	case o.state == "failed" || o.state == "minimal":
	case len(c.passedOver()) > 0:
		c.kept = kept{lacks: "directories were passed over, as their times say that nothing came"}
	default:
		if c.kept = s.keep(ctx, conn, p, c.listed+c.ignored.total, log); ctx.Err() != nil {
			return ctx.Err()
		}
	}
	if err := s.end(ctx, conn, p, c, o); err != nil {
		return err
	}
	s.dropOld(ctx, p, c.kept, log)
	return nil
}

// longestWait is how long a poll waits before it lists again, within its session. A
// server that asks for more is left alone until another session.
const longestWait = time.Minute

// leaveAlone has the poll's server be left alone by all for as long as it has asked for.
// Whoever runs once waits for no server, and each that is busy is asked once more at most.
func (s *Poller) leaveAlone(ctx context.Context, q pg.Querier, p control.Poll, asked time.Duration) error {
	if asked == 0 || p.Once {
		return nil
	}
	return control.LeaveAlone(ctx, q, p.Server, s.deps.Now(), asked)
}

// untakable tells of a listing of which nothing is recorded: it does not pass the
// source's first check, or shows more than is allowed.
func untakable(err error) bool {
	unread, crowded := (*sampleError)(nil), (*crowdedError)(nil)
	return errors.As(err, &unread) || errors.As(err, &crowded)
}

// listInTime lists within the time that a poll has for it.
func (s *Poller) listInTime(ctx context.Context, p polled, cfg remote.Config, conn *pgxpool.Conn, c *counts) ([]string, error) {
	listing, cancel := context.WithTimeout(ctx, s.cfg.Timeout.D())
	defer cancel()
	missing, err := s.list(listing, ctx, p, cfg, conn, c)
	if err != nil && errors.Is(context.Cause(listing), context.DeadlineExceeded) {
		err = fmt.Errorf("%w: %w", errTimedOut, err)
	}
	return missing, err
}

// recordInTime records what the listing shows that is not known, within as much
// time again.
func (s *Poller) recordInTime(ctx context.Context, conn *pgxpool.Conn, p polled, c *counts) error {
	recording, cancel := context.WithTimeout(ctx, s.cfg.Timeout.D())
	defer cancel()
	err := s.compare(recording, conn, p, c)
	if err != nil && ctx.Err() == nil && errors.Is(context.Cause(recording), context.DeadlineExceeded) {
		return errUnrecorded
	}
	return err
}

// lacking says why a listing that went to its end is not complete all the same:
// an entry is recorded nowhere, or a directory is missing that held files. What
// is not mounted looks like that; what a partner has emptied is still there.
func (s *Poller) lacking(ctx context.Context, conn *pgxpool.Conn, p polled, c counts, missing []string) (lacks, err error) {
	if err := c.refused.err(); err != nil {
		return err, nil
	}
	if len(missing) == 0 || p.source.MayBeEmpty {
		return nil, nil
	}
	held, err := control.HeldIn(ctx, conn, p.Source, missing)
	switch {
	case err != nil || len(held) == 0:
		return nil, err
	case len(missing) == 3:
		return errBaseEmptied, nil
	}
	return fmt.Errorf("%w: %s", errDirectoryMissing, strings.Join(held, ", ")), nil
}

const wayOn = "nothing is concluded from that: have the share mounted, or the directory made again; if the files were really withdrawn, set may_be_empty: true for the source"

var (
	errBaseEmptied      = errors.New("none of the directories add, edit and delete is there any more, though files were listed in them: " + wayOn)
	errDirectoryMissing = errors.New("a directory is missing in which files were listed (" + wayOn + ")")
)

// conclude says how a poll ends.
func conclude(c counts, listErr error, log *slog.Logger) outcome {
	o := outcome{state: "broken_off", exception: exception(listErr), message: text(listErr), after: remote.RetryAfter(listErr)}
	if c.notHosted > 0 {
		log.Warn("the source shows files of centres that it may not show; they are not fetched from it: tributary show FILE says which line of the configuration would allow it", "files", c.notHosted, "exception", centreNotHosted)
	}
	switch {
	case listErr == nil:
		log.Info("source listed", "listed", c.listed, "passed_over", c.passedOver(), "new", c.fresh, "changed", c.changed, "unsettled", c.unsettled, "rejected", c.rejected, "ignored", c.ignored.total, "postponed", c.waiting.Entries, "stopped_by", c.waiting.Limit)
		if len(c.passedOver()) > 0 {
			return outcome{state: "minimal"}
		}
		return outcome{state: "complete"}
	case c.listed+c.left > 0 || errors.Is(listErr, errBaseEmptied) || errors.Is(listErr, errDirectoryMissing) || errors.Is(listErr, errRefused):
		log.Warn("listing broke off; what it showed is recorded, nothing is concluded from what it lacks", "error", o.message)
	default:
		o.state = "failed"
		log.Warn("source cannot be listed", "error", o.message)
	}
	return o
}

// text is an error's text, fit for Postgres and for an event.
func text(err error) string {
	if err == nil {
		return ""
	}
	return remote.Clean(err.Error())
}

// unrecorded is the exception of a poll whose end could not be recorded as it was.
const unrecorded = "poll_unrecorded"

// misconfigured is the exception of a poll that its member can't do.
const misconfigured = "misconfigured"

// directoryShrunk is the exception of a poll whose listing lacks too much.
const directoryShrunk = "directory_shrunk"

func exception(err error) string {
	crowded := (*crowdedError)(nil)
	switch {
	case errors.As(err, &crowded):
		return tooManyEntries
	case errors.Is(err, errTooMany), errors.Is(err, errTooLong):
		return "listing_too_long"
	case errors.Is(err, errTimedOut), errors.Is(err, errUnrecorded):
		return "poll_timed_out"
	case errors.Is(err, errBaseMissing):
		return "base_missing"
	case errors.Is(err, errBaseEmptied):
		return "base_emptied"
	case errors.Is(err, errDirectoryMissing):
		return "directory_missing"
	case errors.Is(err, errRefused):
		return entryRefused
	}
	return remote.Exception(err)
}

// retriable tells whether listing again at once may help.
func retriable(err error) bool {
	if untakable(err) {
		return false
	}
	for _, own := range []error{errTooMany, errTooLong, errTimedOut, errBaseMissing} {
		if errors.Is(err, own) {
			return false
		}
	}
	switch remote.ClassOf(err) {
	case remote.Auth, remote.HostKey, remote.Misconfigured, remote.Permission, remote.Protocol:
		return false
	}
	return true
}
