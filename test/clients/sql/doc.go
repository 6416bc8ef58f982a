// Package sql attaches other people's tools to the door of the embedded Postgres
// (postgres.listen), each as its users do, and holds what they read: psql,
// Postgres' JDBC driver with the calls that DBeaver and Metabase make, Grafana's
// queries, pgx, psycopg and ODBC. docs/reference/sql-clients.md is written from
// its table. A tool that is not installed is skipped; make test-clients-sql
// installs them.
package sql
