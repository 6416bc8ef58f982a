package pg

import (
	"errors"

	"github.com/jackc/pgx/v5/pgconn"
)

// uniqueViolation is Postgres' code of the error.
const uniqueViolation = "23505"

// Taken tells whether a statement failed since another row has its key.
func Taken(err error) bool {
	var refused *pgconn.PgError
	return errors.As(err, &refused) && refused.Code == uniqueViolation
}
