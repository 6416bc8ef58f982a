// Package donewith does at sources what they define as done_with: once all of a file is
// inserted, it deletes it there, moves it, or marks it. It is the only package that may
// change anything at a source. A source begins with being shown what would be done; that
// it is done is a person's order. Before anything is done, the intent is stored, so that
// no listing's lack of the file is taken for the centre's withdrawal of it, and a member
// that dies in between is followed by one that finds out what has become of it.
package donewith

import (
	"context"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"tributary/internal/backoff"
	"tributary/internal/config"
	"tributary/internal/remote"
	"tributary/internal/throttle"
	"tributary/sql/control"
	"tributary/sql/outbox"
)

const stage = "donewith"

// Deps are what a Worker works with.
type Deps struct {
	Pool    *pgxpool.Pool // of control
	Outbox  outbox.Outbox
	Applied func(ctx context.Context) (int64, error) // the last position that the warehouse has applied
	// Loaded tells how many documents of each file's version the warehouse holds, by
	// file.
	Loaded func(ctx context.Context, files, archives []string) (map[string]int, error)
	Dial   func(context.Context, remote.Config) (remote.Session, error)
	// Gate keeps to the pace at which a source, as it is defined, and its server may be
	// asked. Nil: any.
	Gate   func(src config.Source, server string) *throttle.Gate
	Holder string // host, process and role
	TTL    time.Duration
	Limits config.Limits
	Log    *slog.Logger
	Now    func() time.Time
}

// Worker looks for what is to be done, and does it. Any number may run: one at a time
// is at a source.
type Worker struct {
	cfg  config.Poll
	deps Deps

	searched int64 // the position up to which it was looked
	again    time.Time
}

// New makes a Worker, which waits for servers as polls do.
func New(cfg config.Poll, d Deps) *Worker { return &Worker{cfg: cfg, deps: d, searched: -1} }

const (
	// every is how often a worker looks whether anything is due.
	every = 2 * time.Second
	// searchEvery is how often it looks for what is inserted though nothing was, since
	// sources may be defined otherwise.
	searchEvery = time.Minute
	// chunk is how many files are looked for, or done in one visit.
	chunk = 200
	// visitTime is how long a visit may take: others wait for its session.
	visitTime = time.Minute
	// pace is the time between two files of a visit.
	pace = 100 * time.Millisecond
)

// Run works until ctx ends. What goes wrong is logged, and tried again.
func (w *Worker) Run(ctx context.Context) error {
	for pause := time.Duration(0); backoff.Sleep(ctx, pause) == nil; {
		pause = every
		if err := w.Round(ctx); err != nil && ctx.Err() == nil {
			w.deps.Log.Warn("what is done with files that are inserted is held up; trying again", "error", err)
			pause = searchEvery
		}
	}
	return nil
}

// Round looks for what is inserted, and visits the sources where something is due.
func (w *Worker) Round(ctx context.Context) error {
	if err := w.search(ctx); err != nil {
		return err
	}
	for ctx.Err() == nil {
		v, ok, err := control.TakeDoneVisit(ctx, w.deps.Pool, w.deps.Holder, w.deps.Now(), w.deps.TTL)
		if err != nil || !ok {
			return err
		}
		if err := w.visit(ctx, v); err != nil {
			return err
		}
	}
	return nil
}

// search finds the files of sources with done_with that are inserted: control says
// which, by the position that the warehouse has applied, and the warehouse that it holds
// every document of them.
func (w *Worker) search(ctx context.Context) error {
	sources, err := control.DoneSources(ctx, w.deps.Pool)
	if err != nil || len(sources) == 0 {
		return err
	}
	applied, err := w.deps.Applied(ctx)
	if err != nil || applied == w.searched && w.deps.Now().Before(w.again) {
		return err
	}
	for _, s := range sources {
		rule, _, err := ruleOf(s)
		if err != nil || rule.Act == "" {
			continue // a newer program has defined it
		}
		if err := w.searchAt(ctx, s.ID, rule.String(), applied); err != nil {
			return err
		}
	}
	w.searched, w.again = applied, w.deps.Now().Add(searchEvery)
	return nil
}

func (w *Worker) searchAt(ctx context.Context, source, rule string, applied int64) error {
	for after := "00000000-0000-0000-0000-000000000000"; ; {
		found, err := control.InsertedAt(ctx, w.deps.Pool, source, rule, applied, after, chunk)
		if err != nil || len(found) == 0 {
			return err
		}
		after = found[len(found)-1].File
		var files, archives []string
		for _, f := range found {
			files, archives = append(files, f.File), append(archives, f.SHA256)
		}
		loaded, err := w.deps.Loaded(ctx, files, archives)
		if err != nil {
			return err
		}
		whole := found[:0]
		for _, f := range found {
			if loaded[f.File] == f.Documents {
				whole = append(whole, f)
			}
		}
		if err := control.PutDue(ctx, w.deps.Pool, source, rule, whole, w.deps.Now()); err != nil {
			return err
		}
	}
}

// ruleOf is what a source defines as done_with, and what an order to act there names.
func ruleOf(s control.Standing) (rule config.DoneWith, acts string, err error) {
	src, err := config.ParseDefinition(s.Definition)
	if err != nil {
		return rule, "", err
	}
	if rule, err = src.Done(); err != nil || rule.Act == "" {
		return rule, "", err
	}
	return rule, namedAt(rule.String(), s.URL), nil
}

// namedAt is what an order to act by a rule names.
func namedAt(rule, url string) string { return rule + " at " + url }

// Acting tells whether a person has ordered that what the source defines is done, and
// what that is; empty: nothing.
func Acting(s control.Standing) (rule string, acting bool) {
	is, acts, err := ruleOf(s)
	return is.String(), err == nil && acts != "" && s.Acts == acts
}
