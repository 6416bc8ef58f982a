package report

import (
	"context"
	"time"

	"tributary/internal/pg"
	"tributary/internal/screen"
)

// Suspended is a source that is only probed until a poll of it shows something, or
// a person resumes it.
type Suspended struct {
	Source string     `json:"source"`
	Since  *time.Time `json:"since"`
	Why    *string    `json:"why"`
}

// Late is a source from which nothing new has come for longer than usual.
type Late struct {
	Source string `json:"source"`
	Said   string `json:"said"` // since when, and what was usual
}

// late says which sources are late.
func (p *printer) late(all []Late) {
	for _, s := range all {
		p.printf("source %s is late: %s\n", s.Source, screen.Line(s.Said))
	}
}

// suspended lists the suspended sources by name.
func suspended(ctx context.Context, q pg.Querier) ([]Suspended, error) {
	return list[Suspended](ctx, q, "suspended sources", `SELECT s.short_name, s.suspended_at, s.suspended_why
		FROM tracker.file_source s JOIN tracker.resource_state r ON r.id = s.state_id AND r.short_name = 'suspended' ORDER BY s.short_name COLLATE "C"`)
}

// suspended says which sources rest, why, and what to do about it.
func (p *printer) suspended(all []Suspended) {
	for _, s := range all {
		p.printf("source %s is suspended since %s: %s\n", s.Source, moment(s.Since), screen.Line(text(s.Why)))
		p.printf("  it is only probed now (poll.probe_interval); once the cause is removed: tributary sources resume %s\n", s.Source)
	}
}
