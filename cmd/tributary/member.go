package main

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"strings"

	dto "github.com/prometheus/client_model/go"

	"tributary/internal/obs"
	"tributary/internal/stage"
	"tributary/recovery/admin"
	"tributary/sql/control"
)

// mostParallel bounds how many records a stage may be told to work on at once: each
// may hold as much memory as its limits say.
const mostParallel = 64

// roleStop stops one role.
type roleStop struct {
	name   string
	cancel context.CancelFunc
	ended  chan struct{}
}

// stoppable is a context by which one role can be stopped alone; ended says that it
// has.
func (a *app) stoppable(ctx context.Context, name string) (_ context.Context, ended func()) {
	ctx, cancel := context.WithCancel(ctx)
	s := roleStop{name, cancel, make(chan struct{})}
	a.stops = append(a.stops, s)
	return ctx, func() {
		cancel()
		close(s.ended)
	}
}

// stopInOrder stops the roles, the last stage first, so that none works for another
// that has gone, and ends the process then.
func (a *app) stopInOrder() {
	for _, s := range slices.Backward(a.stops) {
		a.log.Info("stopping", "role", s.name)
		s.cancel()
		<-s.ended
	}
	a.halt()
}

// member is this process as people administer it.
func (a *app) member(names []string) *admin.Member {
	return admin.New(admin.Deps{
		Member: control.Member{ID: a.holder, Version: version(), Roles: names}, Pool: a.stores.Control, Outbox: a.outbox(),
		Stat: a.stat, Get: a.effective, Settings: a.settings(), Stop: a.stopInOrder, Log: a.log, Now: now,
	})
}

// stat is how this process is: its roles, its size, and what its metrics say.
func (a *app) stat(ctx context.Context) []admin.Row {
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	rows := []admin.Row{
		{Name: "version", Value: version() + " " + obs.Revision()},
		{Name: "goroutines", Value: strconv.Itoa(runtime.NumGoroutine())},
		{Name: "heap_bytes", Value: strconv.FormatUint(memory.HeapAlloc, 10)},
	}
	results, _ := a.health.Ready(ctx)
	for _, r := range results {
		state := "ready"
		if r.Reason != "" {
			state = r.Reason
		}
		rows = append(rows, admin.Row{Name: "ready " + r.Name, Value: state})
	}
	families, err := a.registry.Gather()
	if err != nil {
		rows = append(rows, admin.Row{Name: "metrics", Value: "some can't be read: " + err.Error()})
	}
	for _, f := range families {
		if !strings.HasPrefix(f.GetName(), "go_") {
			for _, m := range f.GetMetric() {
				rows = append(rows, admin.Row{Name: f.GetName() + labels(m), Value: number(m)})
			}
		}
	}
	return rows
}

func labels(m *dto.Metric) string {
	var pairs []string
	for _, l := range m.GetLabel() {
		pairs = append(pairs, l.GetName()+"="+strconv.Quote(l.GetValue()))
	}
	if pairs == nil {
		return ""
	}
	return "{" + strings.Join(pairs, ",") + "}"
}

// number is the value of a counter or gauge, or how often and how much together a
// histogram has seen.
func number(m *dto.Metric) string {
	text := func(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }
	switch {
	case m.GetCounter() != nil:
		return text(m.GetCounter().GetValue())
	case m.GetGauge() != nil:
		return text(m.GetGauge().GetValue())
	case m.GetHistogram() != nil:
		return fmt.Sprintf("%d, together %s", m.GetHistogram().GetSampleCount(), text(m.GetHistogram().GetSampleSum()))
	}
	return text(m.GetUntyped().GetValue())
}

// effective is the configuration that this process goes by.
func (a *app) effective() []admin.Row {
	var rows []admin.Row
	for _, v := range a.cfg.Values() {
		from := "default"
		if o := a.origins[v.Key]; o != "" {
			from = o
		}
		rows = append(rows, admin.Row{Name: v.Key, Value: v.Value, From: from})
	}
	return rows
}

// settings are what may change while this process runs. There are few on purpose:
// what is set here counts until the process ends, and the configuration has the rest.
func (a *app) settings() []admin.Setting {
	all := []admin.Setting{{
		Key: "log.level", Now: func() string { return strings.ToLower(a.level.Level().String()) },
		Set: func(value string) error { return obs.SetLevel(a.level, value) },
	}}
	for _, name := range roleNames() {
		if r := a.stages[name]; r != nil {
			all = append(all, parallelism(name+".parallelism", r))
		}
	}
	return all
}

// parallelism is how many records a stage works on at once.
func parallelism(key string, r *stage.Runner) admin.Setting {
	return admin.Setting{Key: key, Now: func() string { return strconv.Itoa(r.Parallelism()) }, Set: func(value string) error {
		n, err := strconv.Atoi(value)
		if err != nil || n < 1 || n > mostParallel {
			return fmt.Errorf("%s %q: write a whole number from 1 to %d", key, value, mostParallel)
		}
		r.SetParallelism(n)
		return nil
	}}
}
