//go:build synctests

package sim

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"golang.org/x/sync/errgroup"

	"tributary/internal/stage/member"
	"tributary/schemas"
)

// planes are the databases with what decides in them and projects into them:
// models in the bubble, the product's own roles on a real Postgres outside it.
type planes interface {
	// roles are those of the members, in the order in which they start.
	roles() []string
	// open gives a process its way to the databases, until release is called.
	open(p *proc) (release func(), err error)
	// work is what a process of a role does that is no Kafka-to-Kafka stage.
	work(ctx context.Context, p *proc, log *slog.Logger, metrics *member.Metrics) error
	// outstanding and hold are what download asks and tells.
	outstanding(ctx context.Context, p *proc, job string) (bool, error)
	hold(ctx context.Context, p *proc, job, server string) (context.Context, func(), error)
	// schedule opens a session, where no role does.
	schedule()
	// pending is what is not done yet, in words (L8), and drainLimit how long
	// that may take once faults have stopped.
	pending() []string
	drainLimit() time.Duration
	// settle ends a run while the broker still runs.
	settle()
	// laws checks everything once all members have ended.
	laws()
}

// models are the planes as plain Go.
type models struct{ s *sim }

func (m models) roles() []string {
	return []string{"publish", "poll", "plan", "download", "unzip", "validate", "sequence", "insert", "tracker", "history"}
}

func (m models) open(*proc) (func(), error) { return func() {}, nil }

func (m models) work(ctx context.Context, p *proc, log *slog.Logger, metrics *member.Metrics) error {
	s := m.s
	switch p.role {
	case "poll":
		return s.control.poll(ctx, p)
	case "publish":
		g, ctx := errgroup.WithContext(ctx)
		g.Go(func() error { return s.control.publish(ctx, p) })
		g.Go(func() error { return s.warehouse.publish(ctx, p) })
		return g.Wait()
	case "plan":
		return s.decider(ctx, p, &s.control.database, s.control.plan, s.control.dispatch, log, metrics,
			schemas.FileDiscoveredTopic, schemas.DownloadFinishedTopic, schemas.UnzipFinishedTopic)
	case "sequence":
		return s.decider(ctx, p, &s.control.database, s.control.sequence, s.control.release, log, metrics, schemas.DocumentValidatedTopic)
	case "insert":
		k := &feed{p: p, db: &s.warehouse.database, group: p.role, prepare: s.warehouse.prepare(p), apply: s.warehouse.apply}
		return s.applier(p, k, log, metrics, schemas.DocumentOrderedTopic).Run(ctx)
	case "tracker":
		return s.applier(p, &feed{p: p, db: &s.tracker.database, group: p.role, apply: s.tracker.apply}, log, metrics, schemas.StatusChangedTopic).Run(ctx)
	case "history":
		return s.applier(p, &feed{p: p, db: &s.history.database, group: p.role, apply: s.history.apply}, log, metrics, topicsOf()...).Run(ctx)
	}
	return fmt.Errorf("no role %s", p.role)
}

func (m models) outstanding(ctx context.Context, p *proc, job string) (bool, error) {
	return m.s.control.outstanding(ctx, p, job)
}

func (m models) hold(ctx context.Context, p *proc, job, server string) (context.Context, func(), error) {
	return m.s.control.hold(ctx, p, job, server)
}

func (m models) schedule()                 { m.s.control.schedule() }
func (m models) pending() []string         { return m.s.pending() }
func (m models) drainLimit() time.Duration { return drainLimit }
func (m models) settle()                   { m.s.checkOffsets() }
func (m models) laws()                     { m.s.laws() }
