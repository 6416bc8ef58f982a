package pg

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// Grants returns the statements that give on the schema to the rights that were
// granted on the schema from: on itself, on what both have by the same name
// (tables, views, their columns, sequences, functions), and on what is made in it
// later. What stands in except has rights of its own already.
func Grants(ctx context.Context, q Querier, from, to string, except ...string) ([]string, error) {
	const grant = ` || CASE WHEN a.grantee = 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(a.grantee)) END || CASE WHEN a.is_grantable THEN ' WITH GRANT OPTION' ELSE '' END`
	const both = `c.relnamespace = to_regnamespace(quote_ident($1)) AND c.relkind IN ('r', 'p', 'v', 'S') AND a.grantee <> c.relowner AND c.relname <> ALL($3::text[])
		AND EXISTS (SELECT FROM pg_class s WHERE s.relnamespace = to_regnamespace(quote_ident($2)) AND s.relname = c.relname AND s.relkind = c.relkind`
	rows, err := q.Query(ctx, `SELECT format('GRANT %s ON SCHEMA %I TO ', a.privilege_type, $2::text)`+grant+`
			FROM pg_namespace n CROSS JOIN LATERAL aclexplode(n.nspacl) a WHERE n.nspname = $1 AND a.grantee <> n.nspowner
		UNION ALL SELECT format('GRANT %s ON %s %I.%I TO ', a.privilege_type, CASE c.relkind WHEN 'S' THEN 'SEQUENCE' ELSE 'TABLE' END, $2::text, c.relname)`+grant+`
			FROM pg_class c CROSS JOIN LATERAL aclexplode(c.relacl) a WHERE `+both+`)
		UNION ALL SELECT format('GRANT %s (%I) ON TABLE %I.%I TO ', a.privilege_type, t.attname, $2::text, c.relname)`+grant+`
			FROM pg_class c JOIN pg_attribute t ON t.attrelid = c.oid AND t.attnum > 0 AND NOT t.attisdropped CROSS JOIN LATERAL aclexplode(t.attacl) a WHERE `+both+`
				AND EXISTS (SELECT FROM pg_attribute n WHERE n.attrelid = s.oid AND n.attname = t.attname AND NOT n.attisdropped))
		UNION ALL SELECT format('GRANT %s ON ROUTINE %I.%I(%s) TO ', a.privilege_type, $2::text, p.proname, pg_get_function_identity_arguments(p.oid))`+grant+`
			FROM pg_proc p CROSS JOIN LATERAL aclexplode(p.proacl) a WHERE p.pronamespace = to_regnamespace(quote_ident($1)) AND a.grantee <> p.proowner
				AND EXISTS (SELECT FROM pg_proc s WHERE s.pronamespace = to_regnamespace(quote_ident($2)) AND s.proname = p.proname
					AND pg_get_function_identity_arguments(s.oid) = pg_get_function_identity_arguments(p.oid))
		UNION ALL SELECT format('ALTER DEFAULT PRIVILEGES FOR ROLE %I IN SCHEMA %I GRANT %s ON %s TO ', pg_get_userbyid(d.defaclrole), $2::text, a.privilege_type,
				CASE d.defaclobjtype WHEN 'r' THEN 'TABLES' WHEN 'S' THEN 'SEQUENCES' WHEN 'f' THEN 'ROUTINES' ELSE 'TYPES' END)`+grant+`
			FROM pg_default_acl d CROSS JOIN LATERAL aclexplode(d.defaclacl) a WHERE d.defaclnamespace = to_regnamespace(quote_ident($1))`, from, to, append([]string{}, except...))
	if err != nil {
		return nil, fmt.Errorf("read the rights to the schema %s: %w", from, err)
	}
	out, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return nil, fmt.Errorf("read the rights to the schema %s: %w", from, err)
	}
	return out, nil
}
