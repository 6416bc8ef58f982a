package main

import (
	"context"
	"errors"

	"github.com/prometheus/client_golang/prometheus"

	"tributary/internal/config"
	"tributary/internal/engine"
)

// logAlarm says why the embedded broker's log is too large, as this machine sees
// it; empty if it is not, or if there is no embedded broker.
func logAlarm(cfg config.Config) (string, error) {
	if len(cfg.Kafka.BootstrapServers) > 0 {
		return "", nil
	}
	l, err := engine.BrokerLog(cfg.DataDir, cfg.Kafka.LogAlarmShare)
	return l.Alarm(), err
}

// watchLog tells how large the embedded broker's log is, and whether that is
// too large: a process is ready all the same.
func (a *app) watchLog() {
	if len(a.cfg.Kafka.BootstrapServers) > 0 {
		return
	}
	size := func() float64 {
		l, err := engine.BrokerLog(a.cfg.DataDir, a.cfg.Kafka.LogAlarmShare)
		if err != nil {
			return -1
		}
		return float64(l.Bytes)
	}
	alarm := func() float64 {
		if text, err := logAlarm(a.cfg); err != nil || text == "" {
			return 0
		}
		return 1
	}
	a.registry.MustRegister(
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "tributary_broker_log_bytes", Help: "Size of the embedded broker's log, all of which is read when it opens; -1: it can't be measured."}, size),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "tributary_broker_log_alarm", Help: "1 while the embedded broker's log is larger than kafka.log_alarm_share of the memory."}, alarm),
	)
	a.health.AddWarning("broker_log", func(context.Context) error {
		text, err := logAlarm(a.cfg)
		if err != nil {
			return err
		}
		if text != "" {
			return errors.New(text)
		}
		return nil
	})
}
