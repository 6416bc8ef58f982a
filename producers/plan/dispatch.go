package plan

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"tributary/internal/pg"
	"tributary/schemas"
	"tributary/sql/control"
)

const (
	// pause is the longest time between two looks for work.
	pause = 250 * time.Millisecond
	// atOnce is how many files one turn decides about at most.
	atOnce = 4096
	// worthwhile is how many small files make a connection's cost a small
	// share of a job.
	worthwhile = 32
	// worthwhileBytes is the same for their size together.
	worthwhileBytes = 8 << 20
	// alike is how many times as large as its smallest file a job's largest may be,
	// where they differ by worthwhileBytes or more.
	alike = 100
	// requestBytes is what a job's event says of a file at most, in bytes, beside
	// its name, which it says twice.
	requestBytes = 400
)

// dispatchLoop gathers wanted files into jobs, takes up looks that waited and
// retries, and requests again what has gone silent.
func (p *Planner) dispatchLoop(ctx context.Context) error {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	lastReminder := p.deps.Now()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-p.wake:
		case <-timer.C:
		}
		if err := p.turn(ctx, &lastReminder); err != nil && ctx.Err() == nil {
			p.deps.Log.Warn("planning is held up; trying again", "error", err)
		}
		timer.Reset(pause)
	}
}

func (p *Planner) turn(ctx context.Context, lastReminder *time.Time) error {
	now := p.deps.Now()
	if err := p.decide(ctx, now); err != nil {
		return err
	}
	if now.Sub(*lastReminder) < p.cfg.SilenceBudget.D()/10 {
		return nil
	}
	*lastReminder = now
	if err := p.remind(ctx, now); err != nil {
		return err
	}
	if err := p.wantAgain(ctx, now); err != nil || p.noRetries {
		return err
	}
	return control.RetryMissed(ctx, p.Pool, now, atOnce)
}

// decide does what there is to decide about.
func (p *Planner) decide(ctx context.Context, now time.Time) error {
	is, err := control.FindToPlan(ctx, p.Pool, now)
	if err != nil {
		return err
	}
	if is.Waiting || is.Retries {
		if err := p.revisit(ctx, now); err != nil {
			return err
		}
	}
	if is.Damaged {
		if err := p.heal(ctx, now); err != nil {
			return err
		}
	}
	if is.Wanted || is.Waiting || is.Retries || is.Damaged { // of which some may be wanted by now
		return p.Dispatch(ctx, now)
	}
	return nil
}

// revisit takes up looks that need not wait any longer, and tries again what
// failed long enough ago.
func (p *Planner) revisit(ctx context.Context, now time.Time) error {
	p.revisiting.Lock()
	defer p.revisiting.Unlock()
	waiting, err := control.WaitingFiles(ctx, p.Pool, now.Add(-p.deps.Cutoff), atOnce)
	if err != nil {
		return err
	}
	retries, err := control.RetryFiles(ctx, p.Pool, now, atOnce)
	if err != nil {
		return err
	}
	if p.noRetries {
		retries = nil
	}
	ids := slices.Concat(waiting, retries)
	if len(ids) == 0 {
		return nil
	}
	return pg.InTx(ctx, p.Pool, func(tx pgx.Tx) error {
		w, err := p.load(ctx, tx, ids, now)
		if err != nil {
			return err
		}
		for _, id := range w.order() {
			f := w.files[id]
			for _, k := range f.looks {
				if k.Class == "waiting" {
					k.OwnPolling = false
					w.takeUp(f, k)
				}
			}
			w.retryFile(f)
		}
		return w.Store(ctx, tx)
	})
}

// retryFile starts a failed file's next acquisition, while a hosting shows it.
func (w *World) retryFile(f *File) {
	last := f.newest()
	if last == nil || f.active() != nil {
		return
	}
	if last.New || last.RetryAt == nil || last.RetryAt.After(w.now) {
		return
	}
	last.RetryAt, last.Changed = nil, true
	if again := w.now.Add(w.retry); f.Postponed() {
		last.RetryAt = &again
		return
	}
	if next := w.again(f, last); len(f.Candidates(next)) > 0 {
		w.begin(f, next)
	}
}

// again is the acquisition that tries again what another has not brought.
func (w *World) again(f *File, last *control.Acquisition) *control.Acquisition {
	return &control.Acquisition{
		Run: last.Run, File: f.ID, Domain: f.Centre, Source: last.Source, Look: last.Look, Size: last.Size,
		State: control.Wanted, NotBefore: w.now, Tried: map[string]control.Tried{}, Retries: last.Retries + 1, New: true,
	}
}

// Dispatch puts wanted files into jobs, as far as the credit of their servers
// goes.
func (p *Planner) Dispatch(ctx context.Context, now time.Time) error {
	if p.deps.Dormant != nil && p.deps.Dormant() != nil {
		return nil //nolint:nilerr // who keeps it says so, and when it is over
	}
	return pg.InTx(ctx, p.Pool, func(tx pgx.Tx) error {
		credits, err := control.Credits(ctx, tx, now)
		if err != nil {
			return err
		}
		left, err := control.LeftAlone(ctx, tx, now)
		if err != nil {
			return err
		}
		for server := range left {
			credits[server] = min(credits[server], 0)
		}
		room, some := p.room(credits), worthwhile
		if len(room) == 0 {
			some = 0 // only what ends can go on
		}
		ids, err := control.WantedFiles(ctx, tx, now, atOnce, some, room)
		if err != nil || len(ids) == 0 {
			return err
		}
		w, err := p.load(ctx, tx, ids, now)
		if err != nil {
			return err
		}
		w.left = left
		turns, err := control.Turns(ctx, tx)
		if err != nil {
			return err
		}
		jobs := p.gather(w, credits, turns)
		defined, err := definitions(ctx, tx, jobs)
		if err != nil {
			return err
		}
		given := map[string]*control.Turn{}
		for _, j := range jobs {
			if defined[j.source] == "" {
				continue // a restored source waits for its configuration
			}
			if err := p.request(ctx, tx, w, j, defined[j.source]); err != nil {
				return err
			}
			given[j.source] = turns[j.source]
		}
		if len(given) == 0 && len(w.out) == 0 {
			return nil
		}
		if err := control.StoreTurns(ctx, tx, slices.Collect(maps.Values(given))); err != nil {
			return err
		}
		return w.Store(ctx, tx)
	})
}

// definitions are those of the jobs' sources, by source, as far as they are known.
func definitions(ctx context.Context, tx pgx.Tx, jobs []job) (map[string]string, error) {
	var ids []string
	for _, j := range jobs {
		if !slices.Contains(ids, j.source) {
			ids = append(ids, j.source)
		}
	}
	if len(ids) == 0 {
		return nil, nil
	}
	places, err := control.Places(ctx, tx, ids)
	if err != nil {
		return nil, err
	}
	out := make(map[string]string, len(ids))
	for _, p := range places {
		if p.Definition != control.Undefined {
			out[p.ID] = p.Definition
		}
	}
	return out, nil
}

// room is how many files may be requested from each server that has credit, as far
// as one turn goes.
func (p *Planner) room(credits map[string]int) map[string]int {
	room := map[string]int{}
	for server, credit := range credits {
		if credit > 0 {
			room[server] = min(credit*p.cfg.JobFiles, atOnce)
		}
	}
	return room
}

// cut says how many of a source's files, in their order, make the next job:
// an equal share of them for each free session, but enough that connecting is
// a small part, within the bounds on number and size, and of like sizes.
func (p *Planner) cut(items []item, credit int) int {
	if items[0].a.Alone {
		return 1
	}
	share := (len(items) + credit - 1) / credit
	var bytes int64
	names := 0
	least, most := items[0].hosting.Size, items[0].hosting.Size
	for i, it := range items {
		names += 2*len(it.file.Name) + requestBytes
		least, most = min(least, it.hosting.Size), max(most, it.hosting.Size)
		if i > 0 && (names > schemas.MaxEvent/2 || it.a.Alone || it.a.Run != items[0].a.Run || it.priority != items[0].priority || i >= p.cfg.JobFiles || bytes+it.hosting.Size > int64(p.cfg.JobBytes)) {
			return i
		}
		if i >= share && (i >= worthwhile || bytes >= worthwhileBytes) || !like(least, most) {
			return i
		}
		bytes += it.hosting.Size
	}
	return len(items)
}

// like tells whether files of these sizes may share a job: else the small ones hold
// their session for the large one, or wait behind it.
func like(least, most int64) bool {
	return most-least < worthwhileBytes || most/alike <= least
}

// centreNotHosted is the exception of a file that only sources show which may not.
const centreNotHosted = "centre_not_hosted_here"

// vanished ends a wanted file that no hosting offers any more.
func (w *World) vanished(f *File, a *control.Acquisition) {
	status, exception, message := schemas.Failed, "gone", "no source shows the file any more"
	var opens *time.Time // of the first window that will
	for _, h := range f.hostings {
		if h.Refused && exception == "gone" {
			exception, message = centreNotHosted, "the source "+h.Source+" shows the file, but may not show files of the centre "+f.Centre+" (any more): see hosts in the configuration"
		}
		if !h.Present || a.Tried[h.Source].GivenUp {
			continue
		}
		switch h.State {
		case "available": // it changes just now: its new look will settle
			if a.Heals != "" { // its new bytes are hardly the old ones
				continue
			}
			a.NotBefore, a.Changed = w.now.Add(10*time.Second), true
			return
		case "removed":
			if exception == "gone" {
				status, exception, message = schemas.Cancelled, "source_removed", "the source "+h.Source+" is no longer configured"
			}
		case control.SourceClosed:
			status, exception, message = schemas.Failed, "source_unavailable", "the source "+h.Source+" is outside of its window; the file is tried again when that opens"
			if h.Opens.After(w.now) && (opens == nil || h.Opens.Before(*opens)) {
				opens = h.Opens
			}
		default:
			status, exception, message = schemas.Failed, "source_unavailable", "the source "+h.Source+" is in "+h.State+"; the file is tried again later"
		}
	}
	phase := string(schemas.Download)
	if a.Exception != "" && exception == "gone" {
		exception, message, phase = a.Exception, a.Message, a.Phase
	}
	a.Attempt = w.nextAttempt(f, a)
	t := &control.Attempt{Run: a.Run, File: f.ID, Attempt: a.Attempt, Acquisition: a.ID, Source: a.Source, Look: a.Look, Job: uuid.Nil.String(), Download: exception, Changed: true}
	w.attempts[control.AttemptKey{Run: t.Run, File: t.File, Attempt: t.Attempt}] = t
	w.endAs(status, f, a, t, phase, exception, message, exception)
	if a.RetryAt != nil && opens != nil {
		a.RetryAt = opens
	}
}

// request stores a job with its attempts and events.
func (p *Planner) request(ctx context.Context, tx pgx.Tx, w *World, j job, definition string) error {
	id := uuid.NewString()
	body := &schemas.DownloadRequested{Scope: schemas.Scope{Run: j.run(), Source: j.source}, Job: id, Server: j.server, Definition: definition}
	for _, it := range j.items {
		f, a, h := it.file, it.a, it.hosting
		a.State, a.Attempt, a.Changed = control.Requested, w.nextAttempt(f, a), true
		t := &control.Attempt{Run: a.Run, File: f.ID, Attempt: a.Attempt, Acquisition: a.ID, Source: h.Source, Look: h.Look, Job: id, Changed: true}
		w.attempts[control.AttemptKey{Run: t.Run, File: t.File, Attempt: t.Attempt}] = t
		body.Files = append(body.Files, schemas.RequestFile{
			FileRef: f.Ref(), Session: session(a.Session), Centre: f.Centre, Attempt: t.Attempt, Look: h.Look,
			Path: f.Action + "/" + f.Name, Size: h.Size, ModTime: h.ModTime, RequestedAt: &w.now,
		})
		w.out = append(w.out, pendingEvent(f, a, t, "requested", j.server, h.ModTime, &w.now, w.now))
	}
	m := schemas.Message{
		ID: schemas.EventID(Stage, j.run(), id, schemas.DownloadRequestedTopic), Topic: schemas.DownloadRequestedTopic,
		Key: id, Stage: Stage, Subject: j.source, Time: w.now, Body: body,
	}
	r, err := p.deps.Outbox.Codec.Encode(m)
	if large := (*schemas.TooLargeError)(nil); err != nil && !errors.As(err, &large) {
		return err
	}
	w.out = append(w.out, m) // one that is too large is told as the end of its files
	return control.AddJob(ctx, tx, id, j.server, j.source, len(j.items), w.now, r)
}

// remind publishes again, with the same ids, the last event of whatever has
// had no news for longer than its budget.
func (p *Planner) remind(ctx context.Context, now time.Time) error {
	var records []schemas.Record
	err := pg.InTx(ctx, p.Pool, func(tx pgx.Tx) (err error) {
		records, err = control.Silent(ctx, tx, now.Add(-p.cfg.SilenceBudget.D()), 1000)
		if err != nil || len(records) == 0 {
			return err
		}
		p.deps.Log.Warn("requesting again what has gone silent", "events", len(records), "budget", p.cfg.SilenceBudget.D())
		return p.deps.Outbox.Repeat(ctx, tx, records)
	})
	if err == nil {
		p.metrics.rerequested(records)
	}
	return err
}

// wantAgain requests under a new number what no job holds and nobody has
// answered: what was restored as requested, if its outcome is not kept any more.
func (p *Planner) wantAgain(ctx context.Context, now time.Time) error {
	since := now.Add(-p.cfg.SilenceBudget.D())
	files, err := control.Abandoned(ctx, p.Pool, since, atOnce)
	if err != nil || len(files) == 0 {
		return err
	}
	return pg.InTx(ctx, p.Pool, func(tx pgx.Tx) error {
		if _, err := control.LockFiles(ctx, tx, files); err != nil {
			return err
		}
		n, err := control.WantAgain(ctx, tx, files, since, now)
		if n > 0 {
			p.deps.Log.Warn("requests that no job holds are made again", "files", n, "budget", p.cfg.SilenceBudget.D())
		}
		return err
	})
}
