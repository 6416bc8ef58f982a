package beside

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"tributary/internal/pg"
)

// rights returns the statements that give on the schema to the rights that people
// have on the schema from: as its owner and the owners of what both have by the
// same name (tables, views, sequences, functions), by what was granted on these
// and on columns, and on what is made in it later. What stands in except has
// rights of its own already.
func rights(ctx context.Context, q pg.Querier, from, to string, except []string) ([]string, error) {
	except = append([]string{}, except...)
	out, err := texts(ctx, q, owners, from, to, except)
	if err == nil {
		var granted []string
		granted, err = texts(ctx, q, grants, from, to, except)
		out = append(out, granted...)
	}
	if err != nil {
		return nil, fmt.Errorf("read the rights to the schema %s: %w", from, err)
	}
	return out, nil
}

func texts(ctx context.Context, q pg.Querier, sql string, args ...any) ([]string, error) {
	rows, err := q.Query(ctx, sql, args...)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[string])
}

// owners makes the statements for what has another owner than in the schema $1. A
// sequence of a column goes with its table.
const owners = `SELECT format('ALTER SCHEMA %I OWNER TO %I', b.nspname, pg_get_userbyid(a.nspowner))
		FROM pg_namespace a, pg_namespace b WHERE a.nspname = $1 AND b.nspname = $2 AND a.nspowner <> b.nspowner
	UNION ALL SELECT format('ALTER %s %I.%I OWNER TO %I', CASE b.relkind WHEN 'v' THEN 'VIEW' WHEN 'S' THEN 'SEQUENCE' ELSE 'TABLE' END, $2::text, b.relname, pg_get_userbyid(a.relowner))
		FROM pg_class a JOIN pg_class b ON b.relname = a.relname AND b.relkind = a.relkind
		WHERE a.relnamespace = to_regnamespace(quote_ident($1)) AND b.relnamespace = to_regnamespace(quote_ident($2)) AND a.relkind IN ('r', 'p', 'v', 'S')
			AND a.relowner <> b.relowner AND a.relname <> ALL($3::text[])
			AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.classid = 'pg_class'::regclass AND d.objid = b.oid AND b.relkind = 'S' AND d.deptype IN ('a', 'i'))
	UNION ALL SELECT format('ALTER ROUTINE %I.%I(%s) OWNER TO %I', $2::text, b.proname, pg_get_function_identity_arguments(b.oid), pg_get_userbyid(a.proowner))
		FROM pg_proc a JOIN pg_proc b ON b.proname = a.proname AND pg_get_function_identity_arguments(b.oid) = pg_get_function_identity_arguments(a.oid)
		WHERE a.pronamespace = to_regnamespace(quote_ident($1)) AND b.pronamespace = to_regnamespace(quote_ident($2)) AND a.proowner <> b.proowner`

const (
	grantee = ` || CASE WHEN a.grantee = 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(a.grantee)) END || CASE WHEN a.is_grantable THEN ' WITH GRANT OPTION' ELSE '' END`
	both    = `c.relnamespace = to_regnamespace(quote_ident($1)) AND c.relkind IN ('r', 'p', 'v', 'S') AND a.grantee <> c.relowner AND c.relname <> ALL($3::text[])
		AND EXISTS (SELECT FROM pg_class s WHERE s.relnamespace = to_regnamespace(quote_ident($2)) AND s.relname = c.relname AND s.relkind = c.relkind`
	// grants makes the statements for what was granted.
	grants = `SELECT format('GRANT %s ON SCHEMA %I TO ', a.privilege_type, $2::text)` + grantee + `
			FROM pg_namespace n CROSS JOIN LATERAL aclexplode(n.nspacl) a WHERE n.nspname = $1 AND a.grantee <> n.nspowner
		UNION ALL SELECT format('GRANT %s ON %s %I.%I TO ', a.privilege_type, CASE c.relkind WHEN 'S' THEN 'SEQUENCE' ELSE 'TABLE' END, $2::text, c.relname)` + grantee + `
			FROM pg_class c CROSS JOIN LATERAL aclexplode(c.relacl) a WHERE ` + both + `)
		UNION ALL SELECT format('GRANT %s (%I) ON TABLE %I.%I TO ', a.privilege_type, t.attname, $2::text, c.relname)` + grantee + `
			FROM pg_class c JOIN pg_attribute t ON t.attrelid = c.oid AND t.attnum > 0 AND NOT t.attisdropped CROSS JOIN LATERAL aclexplode(t.attacl) a WHERE ` + both + `
				AND EXISTS (SELECT FROM pg_attribute n WHERE n.attrelid = s.oid AND n.attname = t.attname AND NOT n.attisdropped))
		UNION ALL SELECT format('GRANT %s ON ROUTINE %I.%I(%s) TO ', a.privilege_type, $2::text, p.proname, pg_get_function_identity_arguments(p.oid))` + grantee + `
			FROM pg_proc p CROSS JOIN LATERAL aclexplode(p.proacl) a WHERE p.pronamespace = to_regnamespace(quote_ident($1)) AND a.grantee <> p.proowner
				AND EXISTS (SELECT FROM pg_proc s WHERE s.pronamespace = to_regnamespace(quote_ident($2)) AND s.proname = p.proname
					AND pg_get_function_identity_arguments(s.oid) = pg_get_function_identity_arguments(p.oid))
		UNION ALL SELECT format('ALTER DEFAULT PRIVILEGES FOR ROLE %I IN SCHEMA %I GRANT %s ON %s TO ', pg_get_userbyid(d.defaclrole), $2::text, a.privilege_type,
				CASE d.defaclobjtype WHEN 'r' THEN 'TABLES' WHEN 'S' THEN 'SEQUENCES' WHEN 'f' THEN 'ROUTINES' ELSE 'TYPES' END)` + grantee + `
			FROM pg_default_acl d CROSS JOIN LATERAL aclexplode(d.defaclacl) a WHERE d.defaclnamespace = to_regnamespace(quote_ident($1))`
)
