package control

import (
	"context"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"tributary/internal/pg"
)

// RejectLook classes an announced look as rejected, whose announcement can't be
// published: nobody waits for it any more. What is no such look is left alone.
func RejectLook(ctx context.Context, tx pgx.Tx, source, file string, look int32) error {
	if len(file) != 36 || uuid.Validate(file) != nil {
		return nil //nolint:nilerr // it is no such look, and a statement would refuse it
	}
	return pg.Exec(ctx, tx, "reject a look of "+file+" at "+source, "UPDATE control.look SET class = 'rejected', event = NULL, headers = NULL WHERE source = $1 AND file = $2 AND look = $3 AND class = 'announced'", source, file, look)
}
