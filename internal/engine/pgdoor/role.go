package pgdoor

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
)

// roleSettings are what a session begins with. It may change all of them but the
// first; what it may not get around is bounded elsewhere.
func roleSettings() []string {
	return []string{
		"temp_file_limit = '1GB'", // of each process
		"default_transaction_read_only = on",
		"statement_timeout = '5min'",
		"idle_in_transaction_session_timeout = '1min'",
		"lock_timeout = '10s'",
		"work_mem = '32MB'",
		"max_parallel_workers_per_gather = 0",
	}
}

// makeRole makes the role of [User], or makes one that is there what it has to be.
func makeRole(ctx context.Context, o Options) (err error) {
	conn, err := pgx.Connect(ctx, o.DSN)
	if err != nil {
		return fmt.Errorf("make the role %s: %w", User, err)
	}
	defer func() { err = errors.Join(err, conn.Close(context.WithoutCancel(ctx))) }()
	var there bool
	var others []string
	if err := conn.QueryRow(ctx, `SELECT EXISTS (SELECT FROM pg_roles WHERE rolname = $1),
		(SELECT array_agg(g.rolname::text) FROM pg_auth_members m JOIN pg_roles g ON g.oid = m.roleid JOIN pg_roles r ON r.oid = m.member WHERE r.rolname = $1 AND g.rolname <> $2)`,
		User, o.Role).Scan(&there, &others); err != nil {
		return fmt.Errorf("make the role %s: %w", User, err)
	}
	if len(others) > 0 {
		return fmt.Errorf("the role %s has the rights of %s too: take them away with REVOKE", User, strings.Join(others, ", "))
	}
	verb := "CREATE"
	if there {
		verb = "ALTER"
	}
	role := pgx.Identifier{User}.Sanitize()
	statements := []string{
		fmt.Sprintf("%s ROLE %s LOGIN INHERIT NOSUPERUSER NOCREATEDB NOCREATEROLE NOREPLICATION NOBYPASSRLS CONNECTION LIMIT %d PASSWORD '%s'",
			verb, role, sessions+4, o.Password), // some may be ending
		"ALTER ROLE " + role + " RESET ALL",
		"GRANT " + pgx.Identifier{o.Role}.Sanitize() + " TO " + role,
	}
	for _, s := range roleSettings() {
		statements = append(statements, "ALTER ROLE "+role+" SET "+s)
	}
	if _, err := conn.Exec(ctx, "SET password_encryption = 'scram-sha-256'; "+strings.Join(statements, "; ")); err != nil {
		return fmt.Errorf("make the role %s: %w", User, err)
	}
	return nil
}
