package main

import (
	"context"

	"tributary/internal/storewait"
)

// runnable is a role, ready to run until its context ends.
type runnable struct {
	Run func(ctx context.Context) error
	// Serving says, while it runs, why the role does not do its work, if so; nil:
	// it does from the moment on that it runs.
	Serving func() error
}

// always is a role that serves as soon as it runs.
func always(run func(ctx context.Context) error) runnable { return runnable{Run: run} }

// stand adds roles to what readyz tells of.
func (a *app) stand(names []string) {
	for _, name := range names {
		a.roles[name] = a.health.Component(name)
	}
}

// waiter waits for stores, and tells what it waits for. A single round is for
// who waits for its end, and does not begin without its stores.
func (a *app) waiter(say func(reason string)) storewait.Waiter {
	return storewait.Waiter{Log: a.log, Say: say, Give: a.once}
}
