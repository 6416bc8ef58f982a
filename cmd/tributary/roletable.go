package main

import (
	"context"
	"slices"
	"strings"

	"tributary/consumers/notify"
	"tributary/internal/config"
	"tributary/topics"
)

// kind is how a role works.
type kind int

const (
	loop   kind = iota // works on tables, by itself
	runner             // carries work from Kafka to Kafka, or to others (internal/stage)
	feeder             // feeds a store from Kafka (internal/stage/sink)
)

// role is what there is to know of a role outside its own folder. What it reads
// is said by topics.ReadBy, its group by kafka.GroupName.
type role struct {
	name     string
	kind     kind
	needs    need // stores that it can't do without, beside Kafka
	connects bool // to sources, whose secrets it needs
	build    func(*app, context.Context) (runnable, error)
	// configured tells whether there is anything to do for the role; nil: always.
	// One that is not configured doesn't run.
	configured func(config.Config) bool
}

// roles are all roles, in the order in which data flows through them. A Kafka-
// to-Kafka stage goes on without Postgres, and only history needs ClickHouse.
func roles() []role {
	postgres, clickhouse := need{Postgres: true}, need{ClickHouse: true}
	return []role{
		{name: "schedule", kind: loop, needs: postgres, build: func(a *app, _ context.Context) (runnable, error) { return always(a.scheduler().Run), nil }},
		{name: "poll", kind: loop, needs: postgres, connects: true, build: (*app).poller},
		{name: "plan", kind: feeder, needs: postgres, build: (*app).planner},
		{name: "publish", kind: loop, needs: postgres, build: (*app).publisher},
		{name: "download", kind: runner, connects: true, build: (*app).downloader},
		{name: "unzip", kind: runner, build: (*app).unzipper},
		{name: "validate", kind: runner, build: (*app).validator},
		{name: "sequence", kind: feeder, needs: postgres, build: (*app).sequencer},
		{name: "insert", kind: feeder, needs: postgres, build: (*app).inserter},
		{name: "tracker", kind: feeder, needs: postgres, build: (*app).tracker},
		{name: "history", kind: feeder, needs: clickhouse, build: (*app).historian},
		{name: "traces", kind: feeder, build: (*app).tracer, configured: func(c config.Config) bool { return c.Traces.Endpoint != "" }},
		{name: notify.Name, kind: runner, build: (*app).notifier, configured: func(c config.Config) bool { return c.Notify.Configured() }},
		{name: roleServe, kind: loop, needs: postgres, build: (*app).server, configured: func(c config.Config) bool { return c.Web.Listen != "" && c.Web.Listen != config.NoWeb }},
	}
}

// roleNames are the names of all roles.
func roleNames() []string {
	var names []string
	for _, r := range roles() {
		names = append(names, r.name)
	}
	return names
}

// named are the roles of some names, each once; all stands for every one.
func named(names []string) ([]role, error) {
	all := roles()
	var out []role
	for i, n := range names {
		at := slices.IndexFunc(all, func(r role) bool { return r.name == n })
		switch {
		case n == "all":
			return all, nil
		case at < 0:
			return nil, usagef("there is no role %q; the roles are %s and all", n, strings.Join(roleNames(), ", "))
		case !slices.Contains(names[:i], n):
			out = append(out, all[at])
		}
	}
	return out, nil
}

// expand turns the names given on the command line into those of roles.
func expand(names []string) ([]string, error) {
	which, err := named(names)
	var out []string
	for _, r := range which {
		out = append(out, r.name)
	}
	return out, err
}

// role wires one role. Nothing runs before the result is called.
func (a *app) role(ctx context.Context, name string) (runnable, error) {
	which, err := named([]string{name})
	if err != nil {
		return runnable{}, err
	}
	return which[0].build(a, ctx)
}

// connecting tells whether any of the roles connects to sources.
func connecting(names []string) bool {
	return slices.ContainsFunc(roles(), func(r role) bool { return r.connects && slices.Contains(names, r.name) })
}

// needsOf says which stores the given roles can't do without.
func needsOf(names []string) need {
	n := need{Kafka: true}
	for _, r := range roles() {
		if slices.Contains(names, r.name) {
			n.Postgres = n.Postgres || r.needs.Postgres
			n.ClickHouse = n.ClickHouse || r.needs.ClickHouse
		}
	}
	return n
}

// stageInputs are the topics of the stages that carry work from Kafka to Kafka, by
// stage. Nobody's work waits for a notice, and its groups are those of its targets.
func stageInputs() map[string]string {
	out := map[string]string{}
	for _, r := range roles() {
		if r.kind == runner && r.name != notify.Name {
			out[r.name] = topics.ReadBy(r.name)[0]
		}
	}
	return out
}
