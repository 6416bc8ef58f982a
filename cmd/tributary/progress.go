package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"tributary/sql/control"
)

// showProgress shows what is under way once a second, on one line of a
// terminal; elsewhere nothing, since the log tells what happens.
func (a *app) showProgress(w io.Writer) func(context.Context) error {
	return func(ctx context.Context) error {
		if !isTerminal(w) {
			return nil
		}
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				fmt.Fprint(w, "\r\x1b[K")
				return nil
			case <-tick.C:
				line, err := progress(ctx, a)
				if err == nil {
					fmt.Fprint(w, "\r\x1b[K"+line)
				}
			}
		}
	}
}

// progress is one line: how many files and documents stand where.
func progress(ctx context.Context, a *app) (string, error) {
	p, err := control.Progressed(ctx, a.stores.Control)
	if err != nil {
		return "", err
	}
	return p.String(), nil
}

// summary prints how the round ended and tells whether every source was
// listed and every file has reached an end.
func (c *cli) summary(ctx context.Context, a *app, session string) (bool, error) {
	pending, err := control.Pending(ctx, a.stores.Control)
	if err != nil {
		return false, err
	}
	ok := !pending.Any()
	if !ok {
		fmt.Fprintln(c.stdout, "unfinished:", pending)
	}
	if session != "" {
		unlisted, err := control.Unlisted(ctx, a.stores.Control, session)
		if err != nil {
			return false, err
		}
		for _, l := range unlisted {
			ok = false
			fmt.Fprintf(c.stdout, "source %s was not listed completely: %s %s %s\n", l.Source, l.State, l.Exception, l.Message)
		}
	}
	return ok, nil
}
