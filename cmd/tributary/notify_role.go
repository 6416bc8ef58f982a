package main

import (
	"context"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"tributary/consumers/notify"
	"tributary/internal/backoff"
	"tributary/internal/pg"
	"tributary/queries/expect"
	"tributary/queries/own"
	"tributary/sql/control"
)

// noticeWait is how long a round waits at most for targets to be told.
const noticeWait = 20 * time.Second

func (a *app) notifier(context.Context) (runnable, error) {
	n, err := notify.New(a.cfg.Notify, notify.Deps{Connect: a.stores.Kafka, Codec: a.codec, Prefix: a.cfg.Kafka.TopicPrefix,
		Log: a.log, Now: now, Registry: a.registry, Metrics: a.metrics, Isolation: a.isolation,
		Control: a.stores.Control, Outbox: a.outbox(), Late: a.late, Weeks: a.weeks, Pages: a.cfg.Web.Address(),
		Lease: func(name string) pg.Lease { return a.lease(a.stores.Control, control.Schema, name) },
	})
	if err != nil {
		return runnable{}, err
	}
	a.notify = n
	return runnable{n.Run, n.Serving}, nil
}

// awaitNotices gives targets that are told at once some time. What one hasn't taken by then it
// is told by the next run.
func (r *round) awaitNotices(ctx context.Context, client *kgo.Client) error {
	if r.a.notify == nil {
		return nil
	}
	admin := kadm.NewClient(client)
	for over := time.Now().Add(noticeWait); ; {
		behind := int64(0)
		for _, target := range r.a.notify.AtOnce() {
			n, err := notify.Behind(ctx, admin, r.a.cfg.Kafka.TopicPrefix, target)
			if err != nil {
				return err
			}
			behind += n
		}
		switch {
		case behind == 0:
			return nil
		case time.Now().After(over):
			r.a.log.Warn("not everybody could be notified of everything; the next run goes on with it")
			return nil
		}
		if err := backoff.Sleep(ctx, lookEvery); err != nil {
			return err
		}
	}
}

// late are the sources from which nothing has come for much longer than usual.
func (a *app) late(ctx context.Context) (out []notify.Overdue, err error) {
	err = expect.Sources(ctx, a.stores.Tracker, "", func(e expect.Expectation) error {
		for _, f := range e.Findings {
			if f.Finding == expect.Late && e.Last != nil {
				out = append(out, notify.Overdue{Source: e.Source, Since: *e.Last, Message: f.Message})
			}
		}
		return nil
	})
	return out, err
}

// weeks are the last weeks of the centres that have an address, as far as anything came.
func (a *app) weeks(ctx context.Context) (out []notify.Week, err error) {
	all, err := control.Centres(ctx, a.stores.Control)
	if err != nil {
		return nil, err
	}
	for _, c := range all {
		if c.Email == "" || !c.Active {
			continue
		}
		ended, err := own.View{Tracker: a.stores.Tracker, Centre: c.ShortName, Now: now()}.Ended(ctx)
		if err != nil {
			return nil, err
		}
		if len(ended) == 0 {
			continue
		}
		var text strings.Builder
		if err := ended[0].WriteText(&text); err != nil {
			return nil, err
		}
		out = append(out, notify.Week{Centre: c.ShortName, Email: c.Email, Name: own.Name(ended[0].From), Title: ended[0].Title(), Text: text.String()})
	}
	return out, nil
}
