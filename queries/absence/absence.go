// Package absence says to people what a schema or a database that is not there
// means, and how it comes, or comes back.
package absence

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"tributary/internal/pg"
)

// LostFile is ClickHouse's code for a file of a table's that is not there.
const LostFile = 107

// unknownDatabase is ClickHouse's code for a database that is not there.
const unknownDatabase = 81

// Explainer explains errors of the stores.
type Explainer struct {
	Postgres pg.Querier // asked which schemas there are
	Database string     // the configured database of the history
	Asked    string     // the schema in which a statement of people looks names up; empty: none
}

// Explain says what is missing, if that is why there is an error. What else is
// wrong is returned as it is.
func (e Explainer) Explain(ctx context.Context, err error) error {
	var pgErr *pgconn.PgError
	if errors.As(err, &pgErr) && (pgErr.Code == "42P01" || pgErr.Code == "3F000") {
		if schema := missingSchema(pgErr.Message, e.Asked); schema != "" {
			return e.schema(ctx, schema, err)
		}
	}
	var chErr *clickhouse.Exception
	if errors.As(err, &chErr) && chErr.Code == unknownDatabase && strings.Contains(plainNames(chErr.Message), "Database "+e.Database+" ") {
		return fmt.Errorf("there is no history yet: run tributary up; where there was one, tributary history rebuild brings it back: %w", err)
	}
	if errors.As(err, &chErr) && chErr.Code == LostFile {
		return fmt.Errorf("ClickHouse lacks files of its own, as where its data directory was deleted while it ran: stop and start it (the embedded one begins anew by itself within seconds), then run tributary history rebuild: %w", err)
	}
	return err
}

// plainNames is a message of ClickHouse without the quotes around names, which
// it writes in some messages only.
func plainNames(message string) string { return strings.NewReplacer("`", "", "'", "").Replace(message) }

// missingSchema is the schema in which a message of Postgres misses something:
// the one that it names, or else the one in which names are looked up; empty if
// it is none of Tributary's.
func missingSchema(message, asked string) string {
	name := regexp.MustCompile(`"(?:(\w+)\.)?(\w+)"`).FindStringSubmatch(message)
	if name == nil {
		return ""
	}
	schema := name[1]
	switch {
	case schema == "" && strings.HasPrefix(message, "schema "):
		schema = name[2]
	case schema == "":
		schema = asked
	}
	if wayBack(schema) == "" {
		return ""
	}
	return schema
}

// schema says why something in a schema is missing, if that is because
// the schema is: nothing ever ran, or it was dropped, which the other schemas
// show.
func (e Explainer) schema(ctx context.Context, schema string, err error) error {
	rows, asking := e.Postgres.Query(ctx, "SELECT nspname FROM pg_namespace WHERE nspname IN ('control', 'tracker', 'warehouse') ORDER BY 1")
	if asking != nil {
		return err
	}
	there, asking := pgx.CollectRows(rows, pgx.RowTo[string])
	switch {
	case asking != nil || slices.Contains(there, schema):
		return err
	case len(there) == 0:
		return fmt.Errorf("nothing is there yet: run tributary up: %w", err)
	}
	return fmt.Errorf("the schema %s is not there, though Tributary has run here (found: %s): %s: %w", schema, strings.Join(there, ", "), wayBack(schema), err)
}

// wayBack is how a schema that was dropped comes back; empty if it is none of
// Tributary's.
func wayBack(schema string) string {
	switch schema {
	case "tracker":
		return "tributary tracker rebuild makes it anew from the log"
	case "warehouse":
		return "tributary warehouse rebuild makes it anew"
	case "control":
		return "stop all members, and tributary control restore makes it anew from the topics"
	}
	return ""
}
