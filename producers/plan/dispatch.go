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
	pause = 500 * time.Millisecond
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
			FileRef: f.Ref(), Session: pg.Value(a.Session), Centre: f.Centre, Attempt: t.Attempt, Look: h.Look,
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
