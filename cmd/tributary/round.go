package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"tributary/consumers/history"
	"tributary/consumers/insert"
	"tributary/internal/backoff"
	"tributary/internal/kafka"
	"tributary/internal/stage/sink"
	"tributary/producers/schedule"
	"tributary/schemas"
	"tributary/sql/control"
	"tributary/sql/outbox"
	"tributary/sql/warehouse"
)

// round is one session with --once: opened, and waited for.
type round struct {
	a       *app
	started time.Time
	session string
}

const (
	lookEvery = 25 * time.Millisecond
	// traceWait is how long a round waits for the collector of traces at most.
	traceWait = 10 * time.Second
)

// run announces the configuration, lets what an interrupted run left come to
// its end, opens a session with every available source, and returns when
// nothing is unfinished and the projections have read the whole log.
func (r *round) run(ctx context.Context) error {
	s := r.a.scheduler()
	if err := s.Sync(ctx); err != nil {
		return err
	}
	if err := r.until(ctx, func(u control.Unfinished) bool { return u.Polls == 0 }); err != nil {
		return stopped(ctx, err)
	}
	session, err := s.Open(ctx, true)
	if errors.Is(err, schedule.ErrNothingDue) {
		r.a.log.Warn("no source is available, so nothing is listed")
	} else if err != nil {
		return err
	}
	r.session = session
	if err := r.closed(ctx); err != nil {
		return stopped(ctx, err)
	}
	defer r.checkpoint(ctx)()
	for acted := false; ; acted = true {
		if err := r.until(ctx, func(u control.Unfinished) bool { return !u.Any() }); err != nil {
			return stopped(ctx, err)
		}
		// What becomes due to be tried again from here on would begin, and not end.
		if r.a.endRetries != nil {
			r.a.endRetries()
		}
		for _, p := range r.a.projections {
			p.Hurry()
		}
		if err := r.projected(ctx); err != nil {
			return stopped(ctx, err)
		}
		if !acted && r.a.doneWith != nil {
			// What can't be done now is for the next run.
			if err := r.a.doneWith.Round(ctx); err != nil && ctx.Err() == nil {
				r.a.log.Warn("what is done with files that are inserted is left to the next run", "error", err)
			}
		}
		// A file that has failed may have become due to be tried again before.
		if u, err := control.Pending(ctx, r.a.stores.Control); err != nil || !u.Any() {
			return stopped(ctx, err)
		}
	}
}

// checkpoint begins what the end of the engines would begin with, while the projections
// read the rest of the log. The returned function waits until it is done.
func (r *round) checkpoint(ctx context.Context) (wait func()) {
	var done sync.WaitGroup
	if engines := r.a.stores.Engines; engines != nil {
		done.Go(func() {
			if err := engines.Checkpoint(ctx); err != nil && ctx.Err() == nil {
				r.a.log.Warn("what Postgres holds is written when it stops", "error", err)
			}
		})
	}
	return done.Wait
}

// stopped turns the end of the context into no error: who stopped it knows.
func stopped(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil //nolint:nilerr // an end that was asked for is no error
	}
	return err
}

// closed waits until no session is open.
func (r *round) closed(ctx context.Context) error {
	for {
		open, err := control.SessionOpen(ctx, r.a.stores.Control)
		if err != nil || !open {
			return err
		}
		if err := r.starved(ctx); err != nil {
			return err
		}
		if err := backoff.Sleep(ctx, lookEvery); err != nil {
			return err
		}
	}
}

// until waits for control to be as wanted.
func (r *round) until(ctx context.Context, done func(control.Unfinished) bool) error {
	for {
		u, err := control.Pending(ctx, r.a.stores.Control)
		if err != nil {
			return err
		}
		if done(u) {
			return nil
		}
		if err := r.starved(ctx); err != nil {
			return err
		}
		if err := backoff.Sleep(ctx, lookEvery); err != nil {
			return err
		}
	}
}

// starved is an error if files are to be fetched and the disk is low: nobody
// may ever free it, and who waits for the round's end is told instead.
func (r *round) starved(ctx context.Context) error {
	low := r.a.space.Low()
	if low == nil {
		return nil
	}
	if fetching, err := control.Fetching(ctx, r.a.stores.Control); err != nil || !fetching {
		return err
	}
	return fmt.Errorf("files are left to be fetched, and the next run goes on with them: %w", low)
}

// projected waits until all positions are applied, the warehouse's outbox is
// empty, every stage has committed what it was given, and tracker and history
// have read up to the log's end.
func (r *round) projected(ctx context.Context) error {
	client, err := r.a.stores.Kafka()
	if err != nil {
		return err
	}
	defer client.Close()
	h := r.a.history()
	for {
		done, err := r.caughtUp(ctx, client, h)
		if err != nil {
			return err
		}
		if done {
			return errors.Join(r.traced(ctx, client), r.awaitNotices(ctx, client))
		}
		if err := backoff.Sleep(ctx, lookEvery); err != nil {
			return err
		}
	}
}

// traced gives the traces some time to be exported. What the collector has not
// taken by then is exported by the next run.
func (r *round) traced(ctx context.Context, client *kgo.Client) error {
	if r.a.traces == nil {
		return nil
	}
	ends, err := r.a.logEnds(ctx, client)
	if err != nil {
		return err
	}
	for over := time.Now().Add(traceWait); !r.a.traces.Exported(ends); {
		if time.Now().After(over) {
			r.a.log.Warn("the collector at traces.endpoint has not taken all spans; the next run goes on with them")
			return nil
		}
		if err := backoff.Sleep(ctx, lookEvery); err != nil {
			return err
		}
	}
	return nil
}

func (r *round) caughtUp(ctx context.Context, client *kgo.Client, h sink.Store) (bool, error) {
	// Late batches belong to no session that would wait for them.
	given, err := control.GivenPosition(ctx, r.a.stores.Control)
	if err != nil {
		return false, err
	}
	if applied, err := insert.AppliedPosition(ctx, r.a.stores.Warehouse); err != nil || applied < given {
		return false, err
	}
	if empty, err := outbox.Empty(ctx, r.a.stores.Warehouse, warehouse.Schema); err != nil || !empty {
		return false, err
	}
	if idle, err := r.stagesIdle(ctx, client); err != nil || !idle {
		return false, err
	}
	if read, err := r.a.trackerRead(ctx, client); err != nil || !read {
		return false, err
	}
	return r.a.readUp(ctx, client, history.Name, func(partition int32) (int64, error) {
		return h.Position(ctx, schemas.StatusChangedTopic, partition)
	})
}

// stagesIdle tells whether the Kafka-to-Kafka stages have committed all that
// their topics hold.
func (r *round) stagesIdle(ctx context.Context, client *kgo.Client) (bool, error) {
	prefix := r.a.cfg.Kafka.TopicPrefix
	admin := kadm.NewClient(client)
	for name, topic := range stageInputs() {
		spans, err := kafka.Bounds(ctx, admin, kafka.TopicName(prefix, topic))
		if err != nil {
			return false, err
		}
		committed, err := admin.FetchOffsets(ctx, kafka.GroupName(prefix, name))
		if err != nil && !errors.Is(err, kerr.GroupIDNotFound) { // a group that nobody has joined yet has committed nothing
			return false, fmt.Errorf("ask for the offsets of %s: %w", name, err)
		}
		for _, span := range spans {
			if span.From == span.To { // where all records are deleted there is nothing to commit any more
				continue
			}
			if at, ok := committed.Lookup(span.Topic, span.Partition); !ok || at.At < span.To {
				return false, nil
			}
		}
	}
	return true, nil
}
