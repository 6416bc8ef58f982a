package main

import (
	"context"
	"errors"

	"tributary/consumers/insert"
)

// watchChain says when a record of document.ordered has stopped insertion, wherever
// it runs: a process is ready all the same.
func (a *app) watchChain(roles []string) {
	if !needsOf(roles).Postgres {
		return
	}
	a.health.AddWarning("positions_chain", func(ctx context.Context) error {
		text, err := insert.Stopped(ctx, a.stores.Warehouse)
		if err == nil && text != "" {
			err = errors.New("insertion has stopped for all centres: " + text)
		}
		return err
	})
}
