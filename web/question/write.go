package question

import (
	"context"
	"errors"
	"io"
	"net"
	"net/url"

	"github.com/jackc/pgx/v5/pgconn"

	"tributary/queries/columnar"
	"tributary/queries/report"
	"tributary/sql/history/recipes"
)

// Write writes all rows of a statement as they come, in a format of columnar.SQL. One that
// the store refuses, or that would write, is a RefusedError, of which a part may have been
// written.
func (a *Asker) Write(ctx context.Context, store, statement string, w io.Writer, format string) error {
	asked, ok := a.stores[store]
	if !ok {
		return ErrNoStore
	}
	return refusedBy(ctx, a.One(ctx, func() error {
		return columnar.SQL(ctx, asked(StatementTime), statement, w, format)
	}))
}

// WriteRecipe is Write of the answer to a recipe, with what a query gives for its
// parameters; the error is as those of Recipe.
func (a *Asker) WriteRecipe(ctx context.Context, r recipes.Recipe, query url.Values, w io.Writer, format string) error {
	return a.History(ctx, r, query, func(store report.ClickHouse) error {
		return columnar.SQL(ctx, store, r.Statement, w, format)
	})
}

// refusedBy makes a RefusedError of what a store says about a statement.
func refusedBy(ctx context.Context, err error) error {
	var away *pgconn.ConnectError
	var network net.Error
	if err != nil && !errors.Is(err, ErrBusy) && !errors.As(err, &away) && !errors.As(err, &network) && ctx.Err() == nil {
		return &RefusedError{err}
	}
	return err
}
