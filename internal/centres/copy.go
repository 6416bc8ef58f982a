package centres

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"tributary/internal/backoff"
	"tributary/internal/profile"
)

// Every is how often a member reads its copy anew, though no name makes it.
const Every = 5 * time.Second

// patience bounds one reading. Work that waits for it has far more time.
const patience = 5 * time.Second

// errNone says that control has no centres to judge by.
var errNone = errors.New("control has no centres yet: a member with the role schedule stores them when it starts")

// Copy is a member's copy of the centres that control has, so that names are judged
// without asking. Until it has been read for the first time, it has the configured
// ones; after that the last that was read counts while control can't be asked. It
// implements [profile.Centres], and is safe for concurrent use.
type Copy struct {
	read  func(context.Context) ([]Centre, error)
	known atomic.Pointer[profile.CentreSet]
}

// NewCopy makes a copy that read fills: it returns all centres that control has.
func NewCopy(configured []Centre, read func(context.Context) ([]Centre, error)) *Copy {
	c := &Copy{read: read}
	set := Known(configured...)
	c.known.Store(&set)
	return c
}

// Lookup implements [profile.Centres], by what was read last.
func (c *Copy) Lookup(shortName string) (canonical string, ok bool) {
	return c.known.Load().Lookup(shortName)
}

// Renew implements [profile.Centres]. It takes five seconds at most.
func (c *Copy) Renew(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	all, err := c.read(ctx)
	if err == nil && len(all) == 0 {
		err = errNone
	}
	if err != nil {
		return fmt.Errorf("nobody can tell which centres there are: %w", err)
	}
	set := Known(all...)
	c.known.Store(&set)
	return nil
}

// Run reads the copy anew, again and again, until ctx ends. It never fails: while
// control can't be asked the copy stays as it is.
func (c *Copy) Run(ctx context.Context, log *slog.Logger) error {
	failing := false
	for range backoff.Every(ctx, Every) {
		err := c.Renew(ctx)
		if err != nil && !failing && ctx.Err() == nil {
			log.Info("names are judged by the centres that were read last, or configured", "error", err)
		}
		failing = err != nil
	}
	return nil
}

// With are the copy's centres and, beside them, those that another profile brings
// along.
func (c *Copy) With(own []profile.Centre) profile.Centres {
	var more []Centre
	for _, p := range own {
		more = append(more, Centre{ShortName: p.ShortName})
	}
	return beside{c, Known(more...)}
}

// beside adds a profile's centres to a copy.
type beside struct {
	*Copy
	own profile.CentreSet
}

func (b beside) Lookup(shortName string) (canonical string, ok bool) {
	if canonical, ok = b.Copy.Lookup(shortName); ok {
		return canonical, true
	}
	return b.own.Lookup(shortName)
}
