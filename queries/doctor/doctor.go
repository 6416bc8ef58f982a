// Package doctor examines an installation: it looks at everything that a
// configuration names, changes nothing, and says line by line what is well, what is
// not and what to do about it. A part that is broken keeps no other from being
// examined.
package doctor

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"tributary/internal/config"
	"tributary/internal/engine"
)

// State is how what was examined is.
type State string

// The states.
const (
	OK      State = "ok"
	Warning State = "warning" // things go on, and somebody should see to it
	Failed  State = "failed"
	Skipped State = "skipped" // it could not be examined since something else has failed
)

// Line is one thing that was examined.
type Line struct {
	Check   string  `json:"check"`   // which examination: postgres, kafka, …
	About   string  `json:"about"`   // what of it: a key, a topic, a directory
	State   State   `json:"state"`   //
	Problem Problem `json:"problem"` // empty: none
	Detail  string  `json:"detail"`  // for people
	Remedy  string  `json:"remedy"`  // what to do; empty where there is nothing to do
}

// Deps are what an examination works with.
type Deps struct {
	Config config.Config
	// Attach tells where the embedded engines are that run in data_dir, and starts
	// none. It is called once, if any engine has no configured address.
	Attach func(ctx context.Context) (engine.Endpoints, error)
	// Timeout bounds each check.
	Timeout time.Duration
	Now     func() time.Time
	Log     *slog.Logger
}

// atOnce is how many checks are made at once.
const atOnce = 12

// maxLines is how many lines one check may bring: what a broker or a database lists
// may be of others.
const maxLines = 200

// check is one examination, within its time.
type check struct {
	name string
	run  func(ctx context.Context, r *report)
}

// Examine makes all checks and returns what they found, in the order of the checks,
// with no secret in it. It takes at most a few times the time of one check.
func Examine(ctx context.Context, d Deps) []Line {
	s := places(ctx, d)
	checks := slices.Concat(here(d), []check{
		{"engines", s.engines}, {"postgres", s.postgres}, {"kafka", s.kafka}, {"clickhouse", s.clickhouse},
		{"blobs", s.blobs}, {"registry", d.registry}, {"traces", d.traces}, {"oidc", d.oidc},
	}, d.sources())
	reports := make([]*report, len(checks))
	slots := make(chan struct{}, atOnce)
	var wg sync.WaitGroup
	for i, c := range checks {
		reports[i] = &report{check: c.name}
		wg.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			within(ctx, d.Timeout, c, reports[i])
		})
	}
	wg.Wait()
	hide := d.hider()
	var out []Line
	for _, r := range reports {
		for _, l := range r.all() {
			l.About, l.Detail, l.Remedy = hide(l.About), hide(l.Detail), hide(l.Remedy)
			out = append(out, l)
		}
	}
	return out
}

// Well tells whether nothing has failed.
func Well(lines []Line) bool {
	return !slices.ContainsFunc(lines, func(l Line) bool { return l.State == Failed })
}

// within makes a check, and leaves it behind when its time is over: a driver may not
// heed the end of its context.
func within(ctx context.Context, timeout time.Duration, c check, r *report) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	done := make(chan struct{})
	go func() {
		defer close(done)
		c.run(ctx, r)
	}()
	select {
	case <-done:
	case <-ctx.Done():
		// It may just be saying that its time was over.
		grace := time.NewTimer(timeout/10 + 100*time.Millisecond)
		defer grace.Stop()
		select {
		case <-done:
		case <-grace.C:
			r.close(Line{Check: c.name, About: c.name, State: Failed, Problem: ServerSlow, Detail: fmt.Sprintf("not done within %s", timeout),
				Remedy: "see whether the server and the network are overloaded, or give it more time with --timeout"})
		}
	}
}

// report gathers the lines of one check. It is safe for concurrent use.
type report struct {
	check string

	mu     sync.Mutex
	lines  []Line
	closed bool
}

func (r *report) add(l Line) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.closed:
	case len(r.lines) == maxLines:
		r.closed = true
		r.lines = append(r.lines, Line{Check: r.check, About: r.check, State: Warning, Problem: CheckFailed, Detail: "there is more, which is left out", Remedy: "see to what is listed first"})
	default:
		r.lines = append(r.lines, l)
	}
}

// close adds a last line: what comes later is left out.
func (r *report) close(l Line) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lines, r.closed = append(r.lines, l), true
}

func (r *report) all() []Line {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.lines)
}

func (r *report) ok(about, format string, args ...any) {
	r.add(Line{Check: r.check, About: about, State: OK, Detail: fmt.Sprintf(format, args...)})
}

func (r *report) skip(about, why string) {
	r.add(Line{Check: r.check, About: about, State: Skipped, Detail: why})
}

// found says what is wrong and what to do about it.
func (r *report) found(p Problem, about, remedy, format string, args ...any) {
	state := Failed
	if p.warns() {
		state = Warning
	}
	r.add(Line{Check: r.check, About: about, State: state, Problem: p, Detail: fmt.Sprintf(format, args...), Remedy: remedy})
}

// failed says that something could not be asked.
func (r *report) failed(about string, err error) {
	if errors.Is(err, context.DeadlineExceeded) {
		r.found(ServerSlow, about, "see whether the server and the network are overloaded, or give it more time with --timeout", "%s", err)
		return
	}
	r.found(CheckFailed, about, "see the message; the server's log may say more", "%s", err)
}

// Invalid are the lines of a configuration that can't be used, so that nothing else
// can be examined.
func Invalid(err error) []Line {
	line := Line{Check: "config", About: "configuration", State: Failed, Problem: ConfigInvalid, Remedy: "correct it; tributary config check says what is left"}
	var problems config.Problems
	if !errors.As(err, &problems) {
		line.Detail = err.Error()
		return []Line{line}
	}
	var out []Line
	for _, p := range problems[:min(len(problems), maxLines)] {
		line.Detail = p.String()
		if p.Path != "" {
			line.About = p.Path
		}
		out = append(out, line)
	}
	return out
}

// hider takes secrets out of texts: what a driver says of an address may hold its
// password. Those of fewer than four bytes are found in too many words.
func (d Deps) hider() func(string) string {
	var pairs []string
	for _, s := range d.Config.Secrets() {
		value, err := s.Secret.Resolve()
		if err != nil {
			continue
		}
		for _, hidden := range secretsIn(value) {
			if len(hidden) >= 4 {
				pairs = append(pairs, hidden, "…")
			}
		}
	}
	return strings.NewReplacer(pairs...).Replace
}
