package report

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

	"tributary/internal/engine/postgres"
	"tributary/internal/pg"
)

// readerLimits are the settings that a session of the reader begins with, whoever
// opens it, in the form in which Postgres keeps them. A statement can change none
// of them for itself: each has begun with them.
func readerLimits() []string {
	return []string{"default_transaction_read_only=on", "idle_in_transaction_session_timeout=1min", "statement_timeout=20min", "lock_timeout=10s"}
}

// limitReader is the statement that sets them.
func limitReader() string {
	var b strings.Builder
	for _, l := range readerLimits() {
		name, value, _ := strings.Cut(l, "=")
		fmt.Fprintf(&b, "ALTER ROLE %s SET %s = '%s';", ReaderRole, name, value)
	}
	return b.String()
}

// reaching are the functions that everybody may call, also in a transaction that
// only reads, and whose effect others feel: locks by number, which our members
// use, records in the log of changes, snapshots that are exported, notifications,
// large objects, numbers of transactions, and the end of other sessions of the same
// role.
const reaching = `p.pronamespace = 'pg_catalog'::regnamespace AND (p.proname LIKE '%advisory%' OR p.proname LIKE 'lo\_%'
	OR p.proname IN ('pg_logical_emit_message', 'pg_export_snapshot', 'pg_notify', 'lowrite', 'loread', 'pg_cancel_backend', 'pg_terminate_backend', 'txid_current', 'pg_current_xact_id'))`

// making is whether the reader may make tables that last as long as a session, or
// run code in a language: both are everybody's at first. Rooms for what is made
// and loops that use up numbers of transactions are felt by others too.
const making = `(has_database_privilege(current_database(), 'TEMP') OR has_language_privilege('plpgsql', 'USAGE'))`

// curb sets the reader's limits, and on the embedded engine, where nobody else
// works, takes away from everybody but its owner what reaches others. On a server
// of somebody else other programs may need that: there it is left to whoever runs
// it, and docs/explanation/statements.md says how.
func (p Postgres) curb(ctx context.Context) error {
	err := pg.InTx(ctx, p.Pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, "SELECT pg_advisory_xact_lock(hashtext($1))", ReaderRole); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, limitReader()); err != nil {
			return err
		}
		var ours bool
		if err := tx.QueryRow(ctx, "SELECT current_setting('cluster_name') = $1", postgres.Name).Scan(&ours); err != nil || !ours {
			return err
		}
		if _, err := tx.Exec(ctx, "REVOKE TEMPORARY ON DATABASE "+pgx.Identifier{p.Pool.Config().ConnConfig.Database}.Sanitize()+" FROM PUBLIC; REVOKE USAGE ON LANGUAGE plpgsql FROM PUBLIC"); err != nil {
			return err
		}
		rows, err := tx.Query(ctx, "SELECT p.oid::regprocedure::text FROM pg_proc p WHERE "+reaching+" AND has_function_privilege($1, p.oid, 'EXECUTE')", ReaderRole)
		if err != nil {
			return err
		}
		functions, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if err != nil || len(functions) == 0 {
			return err
		}
		_, err = tx.Exec(ctx, "REVOKE EXECUTE ON FUNCTION "+strings.Join(functions, ", ")+" FROM PUBLIC, "+ReaderRole)
		return err
	})
	if denied(err) {
		return nil // the server keeps its own limits
	}
	if err != nil {
		return fmt.Errorf("limit the role %s: %w", ReaderRole, err)
	}
	return nil
}
