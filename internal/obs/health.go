package obs

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"time"
)

// checkTimeout bounds one check.
const checkTimeout = 2 * time.Second

// Check asks how something is. The error's text is the reason it is not well,
// for people.
type Check func(ctx context.Context) error

// Health knows the named checks of a process. It is safe for concurrent use.
type Health struct {
	mu     sync.Mutex
	checks []named
}

type named struct {
	name  string
	check Check
	warns bool // failing is said, and means nothing else
}

// NewHealth returns a Health without checks: ready.
func NewHealth() *Health { return &Health{} }

// AddReady adds a check of readiness: something this process needs, which may
// be away for a while.
func (h *Health) AddReady(name string, check Check) { h.add(named{name: name, check: check}) }

// AddWarning adds a check of something that people should see to: a process that
// fails it is as ready as before.
func (h *Health) AddWarning(name string, check Check) {
	h.add(named{name: name, check: check, warns: true})
}

func (h *Health) add(n named) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.checks = append(h.checks, n)
}

// Component adds a check of readiness that the component itself reports to. It
// is not ready until told otherwise.
func (h *Health) Component(name string) *Component {
	c := &Component{reason: "starting"}
	h.AddReady(name, func(context.Context) error { return c.state() })
	return c
}

// Component is the readiness of one part of the process. It is safe for
// concurrent use.
type Component struct {
	mu      sync.Mutex
	reason  string
	serving func() error
}

// Ready says that the component runs; from now on serving tells whether it does
// its work, and why not. nil: it does.
func (c *Component) Ready(serving func() error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.reason, c.serving = "", serving
}

// NotReady says why the component does not do its work.
func (c *Component) NotReady(reason string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.reason, c.serving = reason, nil
}

func (c *Component) state() error {
	c.mu.Lock()
	reason, serving := c.reason, c.serving
	c.mu.Unlock()
	switch {
	case reason != "":
		return errors.New(reason)
	case serving != nil:
		return serving()
	}
	return nil
}

// Result is what one check found.
type Result struct {
	Name   string
	Reason string // why it is not well; empty when it is
	Warns  bool   // it is well enough all the same
}

// Ready runs every check at once and returns what they found, by name, and
// whether all are well.
func (h *Health) Ready(ctx context.Context) ([]Result, bool) {
	h.mu.Lock()
	checks := slices.Clone(h.checks)
	h.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	results := make([]Result, len(checks))
	var wg sync.WaitGroup
	for i, n := range checks {
		wg.Go(func() { results[i] = Result{n.name, reason(ctx, n.check), n.warns} })
	}
	wg.Wait()
	slices.SortFunc(results, func(a, b Result) int { return cmp.Compare(a.Name, b.Name) })
	return results, !slices.ContainsFunc(results, func(r Result) bool { return r.Reason != "" && !r.Warns })
}

func reason(ctx context.Context, check Check) string {
	if err := check(ctx); err != nil {
		return cmp.Or(err.Error(), "failed")
	}
	return ""
}
