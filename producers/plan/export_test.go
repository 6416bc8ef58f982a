package plan

import (
	"context"
	"time"
)

// What a turn of the dispatcher does, one by one.

func (p *Planner) Revisit(ctx context.Context, now time.Time) error   { return p.revisit(ctx, now) }
func (p *Planner) Remind(ctx context.Context, now time.Time) error    { return p.remind(ctx, now) }
func (p *Planner) WantAgain(ctx context.Context, now time.Time) error { return p.wantAgain(ctx, now) }

// Turn is a turn of the dispatcher in which all is looked after that is now and then.
func (p *Planner) Turn(ctx context.Context) error { return p.turn(ctx, new(time.Time)) }
