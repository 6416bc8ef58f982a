// Package sourcestate decides how sources stand: suspended after too many failed
// polls, available again once a poll shows something, in maintenance, available or
// due at once because a person says so. It makes the event that tells of a source,
// for whoever changes one.
package sourcestate

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"tributary/internal/config"
	"tributary/internal/source"
	"tributary/schemas"
	"tributary/sql/control"
	"tributary/sql/outbox"
)

// ScheduleInvalid is the exception of a source that is in maintenance since when it
// is due can't be computed.
const ScheduleInvalid = "schedule_invalid"

// Suspended is the exception of a source that is suspended.
const Suspended = "source_suspended"

const stage = "schedule"

// Limits say when a source is suspended, and how often it is probed then. It is
// suspended no sooner than it has failed for the time before the first probe, and
// the pauses grow with the time for which it has failed: so a probe never comes
// later than the source had failed before. Only where more attempts do harm, or none
// can succeed, is the number of a class enough.
type Limits struct {
	After  int            // failed polls in a row, at least; 0: never
	Probe  time.Duration  // before the first probe, at least
	Sooner map[string]int // failed polls with errors of a class after which it is suspended whatever the time
}

// maxPauses is how many times the first pause the longest one is: of six hours, two
// days.
const maxPauses = 8

// pause is how long a source that fails is left alone before the next probe: as
// long as it has failed, within bounds.
func (l Limits) pause(failing time.Duration) time.Duration {
	return min(max(l.Probe, failing), maxPauses*l.Probe)
}

// End is how a poll ended, as far as it matters here.
type End struct {
	Failed bool   // it showed nothing, and that is no fault of ours
	Class  string // it failed: that of its error; empty: none
	Why    string // it failed: exception and message
	At     time.Time
	// NotBefore is when the server wants to be asked again, at the earliest; no later
	// than At: it said nothing.
	NotBefore time.Time
}

// After returns how a source stands after a poll of it, and when it is due at
// the earliest.
func After(s control.Standing, l Limits, e End) (next control.Standing, due time.Time) {
	next = s
	if !e.Failed {
		next.FailedPolls, next.FailingSince, next.FailedClasses = 0, nil, nil
		if s.State == control.SourceSuspended {
			next.State, next.SuspendedAt, next.SuspendedWhy = control.SourceAvailable, nil, ""
		}
		return next, time.Time{}
	}
	at := e.At.UTC().Truncate(time.Microsecond)
	next.FailedPolls++
	// A member that counts no failed polls may have seen a complete one since.
	if s.Failures == 0 || s.FailedPolls == 0 || s.FailingSince == nil {
		next.FailedPolls, next.FailingSince = 1, &at
	}
	next.FailedClasses = counted(s.FailedClasses, e.Class, next.FailedPolls)
	most, has := l.Sooner[e.Class]
	switch {
	case s.State == control.SourceSuspended:
	case s.State == control.SourceAvailable && has && next.FailedClasses[e.Class] >= most:
		next.State, next.SuspendedAt = control.SourceSuspended, &at
		next.SuspendedWhy = fmt.Sprintf("%d polls failed with errors of the class %s, the last of them: %s", next.FailedClasses[e.Class], e.Class, e.Why)
		if most == 1 {
			next.SuspendedWhy = e.Why
		}
	case s.State == control.SourceAvailable && l.After > 0 && next.FailedPolls >= l.After && !at.Before(next.FailingSince.Add(l.Probe)):
		next.State, next.SuspendedAt = control.SourceSuspended, &at
		next.SuspendedWhy = fmt.Sprintf("%d polls in a row failed, the last of them: %s", next.FailedPolls, e.Why)
	default:
		return next, time.Time{}
	}
	return next, e.At.Add(l.pause(at.Sub(*next.FailingSince)))
}

// counted are the failed polls by class with one more, of so many in all. Where that is
// less than they are, another member has begun to count anew, and knows no classes.
func counted(was map[string]int, class string, all int) map[string]int {
	is := map[string]int{}
	sum := 1
	for _, n := range was {
		sum += n
	}
	if sum <= all {
		maps.Copy(is, was)
	}
	if class != "" {
		is[class]++
	}
	return is
}

// Conclude stores what a poll that ends means for its source, in the transaction
// that ends it, and tells if the source's state has changed.
func Conclude(ctx context.Context, tx pgx.Tx, out outbox.Outbox, id string, l Limits, e End) (changed bool, err error) {
	all, err := control.Standings(ctx, tx, id)
	if err != nil || len(all) == 0 {
		return false, err
	}
	was := all[0]
	next, due := After(was, l, e)
	if e.NotBefore.After(e.At) && e.NotBefore.After(due) {
		due = e.NotBefore
	}
	if next.State == was.State {
		if next.FailedPolls == was.FailedPolls && due.IsZero() {
			return false, nil
		}
		_, err = control.PutStanding(ctx, tx, next, was.State, due, 0)
		return false, err
	}
	return put(ctx, tx, out, next, was.State, due, Cause{}, e.At)
}

// put stores a change of state and its event. What failed for want of a source that
// becomes available is tried again at once. The revision is drawn before the
// source's row is locked, as everybody does who changes one.
func put(ctx context.Context, tx pgx.Tx, out outbox.Outbox, s control.Standing, was string, due time.Time, cause Cause, now time.Time) (bool, error) {
	revision, err := control.NextCount(ctx, tx, "revision")
	if err != nil {
		return false, err
	}
	stored, err := control.PutStanding(ctx, tx, s, was, due, revision)
	if err != nil || !stored {
		return false, err
	}
	if s.State == control.SourceAvailable && was != s.State {
		if err := control.RetryUnavailable(ctx, tx, s.ID, now); err != nil {
			return false, err
		}
	}
	return true, out.Append(ctx, tx, Event(s, revision, cause, now))
}

// Event tells how a source stands, since it has changed.
func Event(s control.Standing, revision int64, cause Cause, now time.Time) schemas.Message {
	return event(s, revision, now, body(s, revision, cause))
}

// Overrun tells that a poll of the source has not ended when the next is due, which
// changes neither its definition nor its state.
func Overrun(s control.Standing, revision int64, message string, now time.Time) schemas.Message {
	b := body(s, revision, Cause{Done: message})
	b.Note = schemas.NoteOverrun
	return event(s, revision, now, b)
}

func body(s control.Standing, revision int64, cause Cause) *schemas.StatusChanged {
	p := source.Describe(config.Source{URL: s.URL})
	body := &schemas.StatusChanged{
		Scope: schemas.Scope{Run: schemas.LiveRun, Centre: s.Centre, Source: s.ID}, Entity: schemas.EntitySource, Revision: revision, Server: s.Server,
		Message: cause.Message(),
		Attributes: map[string]string{"protocol": s.Protocol, "hostname": cmp.Or(s.Address, s.Server), "username": p.Username, "base_path": p.BasePath,
			"accesskey": s.AccessKey, "state": s.State, "hosts": shown(s.Hosts)},
	}
	cause.Tell(body.Attributes)
	if s.State == control.SourceSuspended {
		body.Exception = Suspended
		body.Attributes["suspended_why"] = s.SuspendedWhy
		if s.SuspendedAt != nil {
			body.Attributes["suspended_at"] = s.SuspendedAt.UTC().Format(time.RFC3339Nano)
		}
	}
	if s.State == control.SourceMaintenance && s.MaintainedUntil != nil {
		body.Attributes["maintained_until"] = s.MaintainedUntil.UTC().Format(time.RFC3339Nano)
	}
	if s.DeclaredState != "" && s.DeclaredState != Declared(s.State) {
		body.Attributes["declared_state"] = s.DeclaredState
	}
	if s.Definition != control.Undefined {
		body.Attributes["definition"] = s.Definition
	}
	if !s.Declared {
		body.Attributes["declared"] = "false"
	}
	if s.Acts != "" {
		body.Attributes["acts"] = s.Acts
	}
	if s.Overruns > 0 {
		body.Attributes["overruns"] = strconv.FormatInt(s.Overruns, 10)
	}
	return body
}

func event(s control.Standing, revision int64, now time.Time, body *schemas.StatusChanged) schemas.Message {
	return schemas.Message{
		ID: schemas.EventID(stage, schemas.LiveRun, s.ID, "source", strconv.FormatInt(revision, 10)), Topic: schemas.StatusChangedTopic,
		Key: s.ID, Stage: stage, Subject: "source " + s.ID, Time: now, Body: body,
	}
}

// Declared is the state that the configuration gives a source in the given state,
// where nothing else is told: people and polls have changed nothing.
func Declared(state string) string {
	if state == control.SourceMaintenance {
		return control.SourceMaintenance
	}
	return control.SourceAvailable
}

// shown tells what a source may show.
func shown(hosts []string) string {
	if hosts == nil {
		return config.AllCentres
	}
	return strings.Join(hosts, " ")
}
