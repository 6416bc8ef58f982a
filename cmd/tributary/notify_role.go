package main

import (
	"context"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"tributary/consumers/notify"
	"tributary/internal/pg"
	"tributary/sql/control"
)

// noticeWait is how long a round waits at most for targets to be told.
const noticeWait = 20 * time.Second

func (a *app) notifier(context.Context) (runnable, error) {
	n, err := notify.New(a.cfg.Notify, notify.Deps{Connect: a.stores.Kafka, Codec: a.codec, Prefix: a.cfg.Kafka.TopicPrefix,
		Log: a.log, Now: now, Registry: a.registry, Metrics: a.metrics, Isolation: a.isolation,
		Lease: func(name string) pg.Lease { return a.lease(a.stores.Control, control.Schema, name) },
	})
	if err != nil {
		return runnable{}, err
	}
	a.notify = n
	return runnable{n.Run, n.Serving}, nil
}

// told gives targets that are told at once some time. What one hasn't taken by then it
// is told by the next run.
func (r *round) told(ctx context.Context, client *kgo.Client) error {
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
		if err := sleep(ctx, lookEvery); err != nil {
			return err
		}
	}
}
