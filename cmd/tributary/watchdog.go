package main

import (
	"context"
	"errors"
	"os"
	"slices"

	"tributary/consumers/insert"
	"tributary/consumers/notify"
	"tributary/internal/notice"
	"tributary/producers/watchdog"
	"tributary/sql/control"
)

// watchdog is what looks after the engines beside the role notify; nil where nobody asked
// for it. It is begun before the stores are prepared, which may be away, and needs none.
func (a *app) watchdog(names []string) (func(context.Context) error, error) {
	cfg := a.cfg.Notify.Watchdog
	if a.once || !slices.Contains(names, notify.Name) || len(cfg.To) == 0 && cfg.Heartbeat == "" {
		return nil, nil
	}
	host, err := os.Hostname()
	if err != nil {
		return nil, err
	}
	d := watchdog.Deps{Targets: map[string]notice.Target{}, Host: host, Log: a.log, Now: now, Every: cfg.Interval.D()}
	for _, id := range cfg.To {
		t, _ := a.cfg.Notify.Target(id) // the check of the configuration knows that it is there
		if d.Targets[id], err = notice.Open(t, a.cfg.Notify.SMTP); err != nil {
			return nil, err
		}
	}
	if cfg.Heartbeat != "" {
		p, err := notice.NewPing(cfg.Heartbeat)
		if err != nil {
			return nil, errors.Join(errors.New("notify.watchdog.heartbeat"), err)
		}
		d.Ping = p.Send
	}
	client, err := a.stores.Kafka()
	if err != nil {
		return nil, err
	}
	reached := func(name, what string, ping func(context.Context) error) {
		d.Checks = append(d.Checks, watchdog.Check{Name: name, Look: func(ctx context.Context) string {
			if err := ping(ctx); err != nil {
				return what + " can't be reached: " + err.Error()
			}
			return ""
		}})
	}
	reached("kafka", "Kafka", client.Ping)
	reached("postgres", "Postgres", a.stores.Control.Ping)
	reached("clickhouse", "ClickHouse", func(ctx context.Context) error { return a.stores.ClickHouse.Ping(ctx) })
	d.Checks = append(d.Checks,
		watchdog.Stopped(a.positions, cfg.StoppedAfter.D(), now),
		watchdog.Check{Name: "disk", Look: func(context.Context) string { return dormant(a.cfg) }},
		watchdog.Check{Name: "data_disk", Look: func(context.Context) string { return dataDisk(a.cfg) }},
		watchdog.Check{Name: "broker_log", Look: func(context.Context) string {
			if len(a.cfg.Kafka.BootstrapServers) > 0 {
				return "" // it is not of this machine
			}
			text, err := logAlarm(a.cfg)
			if err != nil {
				return "" // there is none yet
			}
			return text
		}})
	w := watchdog.New(d)
	return func(ctx context.Context) error {
		defer client.Close()
		return w.Run(ctx)
	}, nil
}

// positions are the last that was given, and the last that was applied.
func (a *app) positions(ctx context.Context) (given, applied int64, err error) {
	if given, err = control.GivenPosition(ctx, a.stores.Control); err != nil {
		return 0, 0, err
	}
	applied, err = insert.AppliedPosition(ctx, a.stores.Warehouse)
	return given, applied, err
}
