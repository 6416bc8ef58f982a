package order

import (
	"context"
	"log/slog"
	"slices"

	"github.com/jackc/pgx/v5/pgxpool"

	"tributary/producers/sources"
	"tributary/recovery/deadletter"
	"tributary/sql/control"
	"tributary/sql/outbox"
	"tributary/web/compared"
	"tributary/web/filter"
)

// Deps are what orders are given by.
type Deps struct {
	Control *pgxpool.Pool
	Tracker *pgxpool.Pool // of which replays choose, and which knows documents
	// Run makes a replay of the profile for what is live, or for shadows.
	Run    func(shadow bool) (*control.ReplayRun, error)
	Outbox outbox.Outbox // of control
	// Shadows compares shadows; nil: none is promoted here.
	Shadows *compared.Reader
	// Registry defines sources and centres; nil: nobody does here.
	Registry *sources.Registry
	// Checking is held while a source is looked at, by as many as fit into it.
	Checking chan struct{}
	Log      *slog.Logger
	// Ledger finds dead letters; nil: nothing is ordered about them.
	Ledger *deadletter.Ledger
	// Decider opens what decides about dead letters, and the function that closes it.
	Decider func(context.Context) (*deadletter.Decider, func(), error)
}

// New makes the table.
func New(d Deps) Table {
	return slices.Concat(files(d), documents(d), standings(d), actions(d), removals(d), links(d), letters(d), replays(d))
}

// quoted is a word of a command line as a shell takes it.
func quoted(word string) string { return filter.Quoted(word) }

func or(value, name string) string {
	if value == "" {
		return name
	}
	return quoted(value)
}
