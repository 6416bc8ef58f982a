package donewith

import (
	"context"
	"errors"
	"path"
	"time"

	"github.com/jackc/pgx/v5"

	"tributary/internal/backoff"
	"tributary/internal/config"
	"tributary/internal/pg"
	"tributary/internal/remote"
	"tributary/internal/remote/writing"
	"tributary/internal/source"
	"tributary/sql/control"
)

// visitor is at a source, with one session.
type visitor struct {
	*Worker
	at      control.DoneVisit
	rule    config.DoneWith
	acts    string // what must be ordered for anything to be done
	session remote.Session
	writer  writing.Writer
	made    map[string]bool // directories that are there
}

// visit looks at what is due at a source, and does it where that is ordered. Only
// errors of the database are returned.
func (w *Worker) visit(ctx context.Context, at control.DoneVisit) error {
	bounded, cancel := context.WithTimeout(ctx, visitTime)
	defer cancel()
	held, lost := context.WithCancelCause(bounded)
	defer lost(nil)
	go w.renew(held, lost, at)
	defer func() {
		over, done := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
		defer done()
		_ = control.EndDoneVisit(over, w.deps.Pool, at) // else its lease ends
	}()
	v := &visitor{Worker: w, at: at, made: map[string]bool{}}
	err := v.open(held)
	if err == nil {
		err = v.all(held)
		_ = v.session.Close()
	}
	var db *storeError
	switch {
	case err == nil || ctx.Err() != nil || held.Err() != nil:
		return nil
	case errors.As(err, &db):
		return db.error
	}
	w.deps.Log.Warn("nothing is done now with files that are inserted; it is tried again", "source", at.Source, "error", err, "exception", remote.Exception(err), "in", unreachable)
	return control.PostponeDone(ctx, w.deps.Pool, at.Source, w.deps.Now().Add(unreachable))
}

// unreachable is how long a source is left alone that can't be reached.
const unreachable = 5 * time.Minute

// storeError is an error of control, not of the source.
type storeError struct{ error }

func (e *storeError) Unwrap() error { return e.error }

func stored(err error) error {
	if err == nil {
		return nil
	}
	return &storeError{err}
}

func (w *Worker) renew(ctx context.Context, lost context.CancelCauseFunc, at control.DoneVisit) {
	pg.Renew(ctx, w.deps.TTL, lost, func() error { return control.RenewDoneVisit(ctx, w.deps.Pool, at, w.deps.TTL) })
}

// open connects. Only where acting is ordered is there a writer.
func (v *visitor) open(ctx context.Context) (err error) {
	if v.rule, v.acts, err = ruleOf(v.at.Standing); err != nil {
		return err
	}
	src, err := config.ParseDefinition(v.at.Standing.Definition)
	if err != nil {
		return err
	}
	cfg, err := source.Remote(src, v.cfg.ConnectTimeout, v.cfg.IdleTimeout, v.deps.Limits)
	if err != nil {
		return err
	}
	if v.deps.Gate != nil {
		cfg.Gate = v.deps.Gate(src, v.at.Standing.Server)
	}
	if v.session, err = v.deps.Dial(ctx, cfg); err != nil || !v.acting() {
		return err
	}
	if v.writer, err = remote.Writing(v.session, writing.Permitted()); err != nil {
		_ = v.session.Close()
	}
	return err
}

// acting tells whether what the source defines is ordered to be done.
func (v *visitor) acting() bool { return v.acts != "" && v.at.Standing.Acts == v.acts }

// all takes what is due one after another, at a pace.
func (v *visitor) all(ctx context.Context) error {
	due, err := control.DueAt(ctx, v.deps.Pool, v.at.Source, v.deps.Now(), chunk)
	if err != nil {
		return stored(err)
	}
	for range backoff.Every(ctx, pace) {
		if len(due) == 0 {
			break
		}
		if err := v.one(ctx, due[0]); err != nil {
			return err
		}
		due = due[1:]
	}
	return nil
}

// one sees to one file. Its error is one of control, or of a session that is lost.
func (v *visitor) one(ctx context.Context, d control.DoneWith) error {
	rule, err := config.Source{DoneWith: d.Rule}.Done()
	if err != nil {
		return v.end(ctx, d, left("bad_source_configuration", err.Error()))
	}
	j := judgement{rule: rule, item: d, began: d.State == control.DoneActing}
	if v.acting() && rule == v.rule && d.Shown {
		if j.acting, err = control.BeginDone(ctx, v.deps.Pool, v.at, d, v.acts, rule.Act != config.DoneMark, v.deps.Now()); err != nil {
			return stored(err)
		}
		j.busy = !j.acting
	}
	is, lostErr := v.stat(ctx, &j)
	if lostErr != nil {
		return lostErr
	}
	o, act := j.decide(is)
	if act {
		if o, err = v.act(ctx, j); err != nil {
			return err
		}
	}
	if o.State == control.DoneDue {
		o.NotBefore = v.deps.Now().Add(backoff.Exponential{Base: time.Minute, Max: 24 * time.Hour}.After(d.Tries + 1))
	}
	return v.end(ctx, d, o)
}

// stat asks the server what lies there now.
func (v *visitor) stat(ctx context.Context, j *judgement) (is found, lost error) {
	e, err := v.session.Stat(ctx, j.path())
	if err != nil && remote.ClassOf(err) == remote.NotExist && j.began && j.rule.Act == config.DoneMove {
		moved, err := v.session.Stat(ctx, j.rule.Target(j.path()))
		if err != nil && remote.SessionLost(err) {
			return is, err
		}
		return found{absent: true, moved: err == nil && moved.Size == j.item.Size}, nil
	}
	switch {
	case err == nil:
		return found{entry: e}, nil
	case remote.ClassOf(err) == remote.NotExist:
		return found{absent: true}, nil
	case remote.SessionLost(err):
		return is, err
	}
	return found{refused: err}, nil
}

// act does it. A session that is lost meanwhile leaves it open whether it was done: the
// next visit finds out.
func (v *visitor) act(ctx context.Context, j judgement) (o control.DoneOutcome, lost error) {
	p, target := j.path(), j.rule.Target(j.path())
	var err error
	switch j.rule.Act {
	case config.DoneDelete:
		err = v.writer.Remove(ctx, p)
	case config.DoneMove:
		if err = v.directories(ctx, path.Dir(target)); err == nil {
			err = v.writer.Move(ctx, p, target)
		}
	default:
		err = v.writer.Mark(ctx, target)
	}
	switch {
	case err == nil:
		return j.done(), nil
	case remote.SessionLost(err):
		return o, err
	}
	return control.DoneOutcome{State: control.DoneDue, Exception: remote.Exception(err), Message: err.Error()}, nil
}

// directories makes those in which files are moved.
func (v *visitor) directories(ctx context.Context, dir string) error {
	if dir == "." || v.made[dir] {
		return nil
	}
	if err := v.directories(ctx, path.Dir(dir)); err != nil {
		return err
	}
	if err := v.writer.MakeDirectory(ctx, dir); err != nil {
		return err
	}
	v.made[dir] = true
	return nil
}

// end stores what became of a file, with the event that tells it.
func (v *visitor) end(ctx context.Context, d control.DoneWith, o control.DoneOutcome) error {
	now := v.deps.Now()
	// What was done is stored, though the visit's time is over.
	storing, cancel := context.WithTimeout(context.WithoutCancel(ctx), v.deps.TTL)
	defer cancel()
	return stored(pg.InTx(storing, v.deps.Pool, func(tx pgx.Tx) error {
		if err := control.EndDone(storing, tx, v.at, d, o, now); err != nil {
			return err
		}
		if o.State == control.DoneDue && o.Exception == "" {
			return nil // there is nothing to tell yet
		}
		return v.deps.Outbox.Append(storing, tx, event(v.at, d, o, now))
	}))
}
