package api

import (
	"context"
	"errors"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"tributary/recovery/deadletter"
	"tributary/sql/control"
	"tributary/web/access"
	"tributary/web/order"
)

// lettersTime is how long deciding about many dead letters may take: each is read where it
// lies.
const lettersTime = 2 * time.Minute

// lettersRetried are dead letters that are to be retried.
type lettersRetried struct {
	Keyed

	Body struct {
		IDs       []string `json:"ids" minItems:"1" maxItems:"100" doc:"as the list has them"`
		Reason    string   `json:"reason,omitempty" maxLength:"500" doc:"why, for those who read it later"`
		DryRun    bool     `json:"dry_run,omitempty" doc:"only tell what would be done"`
		Fetch     bool     `json:"fetch,omitempty" doc:"fetch the bytes again instead of using those stored"`
		Force     bool     `json:"force,omitempty" doc:"also what died again too often, was dropped, or whose retry failed"`
		MaxDeaths int      `json:"max_deaths,omitempty" minimum:"1" maximum:"1000000" default:"3" doc:"refuse what was retried so often and died each time of the same cause"`
	}
}

// lettersDropped are dead letters that are to be hidden.
type lettersDropped struct {
	Keyed

	Body struct {
		IDs    []string `json:"ids" minItems:"1" maxItems:"100" doc:"as the list has them"`
		Reason string   `json:"reason" minLength:"1" maxLength:"500" doc:"why, for those who read it later"`
	}
}

// manyLetters registers how many dead letters are decided about at once.
func (a *API) manyLetters() {
	a.least = access.Wrangler
	defer func() { a.least = access.Reader }()
	register := func(operation huma.Operation) huma.Operation {
		operation.Errors = append(operation.Errors, 404)
		return operation
	}
	huma.Register(a.huma, register(changing("retryDeadLetters", "/dead-letters/retry-many", "Request new attempts for dead letters, once each")), func(ctx context.Context, in *lettersRetried) (*struct{ Body []order.Decided }, error) {
		b := in.Body
		o := deadletter.RetryOptions{By: access.From(ctx).Name, Reason: b.Reason, Fetch: b.Fetch, Force: b.Force, DryRun: b.DryRun, MaxDeaths: b.MaxDeaths}
		return a.decided(ctx, "retry", in.IdempotencyKey, b.DryRun, b, len(b.IDs), func(ctx context.Context) ([]order.Decided, error) {
			return a.deps.Definitions.RetryLetters(ctx, b.IDs, o)
		})
	})
	huma.Register(a.huma, register(changing("dropDeadLetters", "/dead-letters/drop-many", "Hide dead letters that need no retry")), func(ctx context.Context, in *lettersDropped) (*struct{ Body []order.Decided }, error) {
		b := in.Body
		by := control.Decision{By: access.From(ctx).Name, Reason: b.Reason, At: a.deps.Now()}
		return a.decided(ctx, "drop", in.IdempotencyKey, false, b, len(b.IDs), func(ctx context.Context) ([]order.Decided, error) {
			return a.deps.Definitions.DropLetters(ctx, b.IDs, by)
		})
	})
}

// decided decides about dead letters, once for each key.
func (a *API) decided(ctx context.Context, name, key string, dry bool, asked any, letters int, give func(context.Context) ([]order.Decided, error)) (*struct{ Body []order.Decided }, error) {
	ctx, cancel := context.WithTimeout(ctx, lettersTime)
	defer cancel()
	var out []order.Decided
	var err error
	if key == "" || dry {
		out, err = give(ctx)
	} else {
		out, err = once(ctx, a, key, []any{"dead-letters", name, asked}, func() ([]order.Decided, error) { return give(ctx) })
	}
	if errors.Is(err, deadletter.ErrNotFound) {
		err = notFound("dead_letter", err.Error())
	}
	if err != nil {
		return nil, a.notGiven(name+"DeadLetters", err)
	}
	if !dry {
		a.deps.Log.InfoContext(ctx, "ordered by the API", "order", name, "dead_letters", letters, "by", access.From(ctx).Name)
	}
	return &struct{ Body []order.Decided }{out}, nil
}
