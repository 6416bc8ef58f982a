package warehouse

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"tributary/internal/mapping"
	"tributary/internal/pg"
)

// applyLock is the advisory lock that members take who apply a profile.
const applyLock = 0x7472_6962_7072_6f66

// applyFormat is part of the digest of what was applied: a change of what
// Apply does with a profile raises it.
const applyFormat = "1"

// Apply makes the tables and views of a profile: those of its mapping, then
// what sql/tables.sql and sql/views.sql say. Missing tables and columns are
// added. Whatever else differs from what the profile declares, such as a
// column of another type or one that is declared no longer, is an error that
// names table and column, and nothing is changed. Members that start together
// take turns; when nothing changed since the last time, one query says so.
func Apply(ctx context.Context, pool *pgxpool.Pool, fsys fs.FS, m *mapping.Mapping) error {
	p, err := readProfile(fsys, m)
	if err != nil {
		return err
	}
	applied, err := readApplied(ctx, pool)
	if err != nil {
		return err
	}
	if applied.digest == p.digest {
		return nil
	}
	return pg.InTx(ctx, pool, func(tx pgx.Tx) error { return p.apply(ctx, tx) })
}

// profile is what there is to apply.
type profile struct {
	mapping       *mapping.Mapping
	tables, views string // the SQL files
	digest        string // of all this
}

func readProfile(fsys fs.FS, m *mapping.Mapping) (*profile, error) {
	p := &profile{mapping: m}
	var err error
	if p.tables, err = optional(fsys, tablesFile); err != nil {
		return nil, err
	}
	if p.views, err = optional(fsys, viewsFile); err != nil {
		return nil, err
	}
	p.digest = p.sum()
	return p, nil
}

func optional(fsys fs.FS, name string) (string, error) {
	text, err := fs.ReadFile(fsys, name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("read %s: %w", name, err)
	}
	return string(text), nil
}

func (p *profile) sum() string {
	sum := sha256.New()
	parts := slices.Concat([]string{applyFormat, p.mapping.Name, p.mapping.Version, p.tables, p.views}, p.mapping.DDL(), []string{""}, p.mapping.Views())
	for _, part := range parts {
		fmt.Fprintf(sum, "%d:%s", len(part), part)
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// applied is what the warehouse remembers of the last time.
type applied struct {
	name, digest  string
	tables, views []string
}

func readApplied(ctx context.Context, q pg.Querier) (a applied, err error) {
	err = q.QueryRow(ctx, "SELECT name, digest, tables, views FROM warehouse.profile").Scan(&a.name, &a.digest, &a.tables, &a.views)
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return a, fmt.Errorf("read what the profile has made: %w", err)
	}
	return a, nil
}

func (p *profile) apply(ctx context.Context, tx pgx.Tx) error {
	if err := pg.Exec(ctx, tx, "lock the profile's tables", "SELECT pg_advisory_xact_lock($1)", int64(applyLock)); err != nil {
		return err
	}
	before, err := readApplied(ctx, tx)
	if err != nil {
		return err
	}
	if before.digest == p.digest {
		return nil
	}
	if before.name != "" && before.name != p.mapping.Name {
		return fmt.Errorf("the warehouse holds what the profile %s declares, not %s: use another database, or drop the schema %s and load again", before.name, p.mapping.Name, Schema)
	}
	if err := dropViews(ctx, tx, before.views); err != nil {
		return err
	}
	core, err := shapeOf(ctx, tx, before.tables)
	if err != nil {
		return err
	}
	for _, name := range p.declared() {
		if core.table(name) != nil {
			return fmt.Errorf("the profile declares the table %s.%s, which is there already and not the profile's: choose another name", Schema, name)
		}
	}
	if before.name != "" { // otherwise there is nothing to differ
		if err := p.bring(ctx, tx, before, core); err != nil {
			return err
		}
	}
	if err := p.create(ctx, tx); err != nil {
		return err
	}
	made, err := shapeOf(ctx, tx, core.names())
	if err != nil {
		return err
	}
	others, err := viewNames(ctx, tx)
	if err != nil {
		return err
	}
	if err := p.createViews(ctx, tx); err != nil {
		return err
	}
	views, err := viewNames(ctx, tx)
	if err != nil {
		return err
	}
	views = slices.DeleteFunc(views, func(name string) bool { return slices.Contains(others, name) })
	return pg.Exec(ctx, tx, "note what the profile has made", `INSERT INTO warehouse.profile (name, version, digest, tables, views) VALUES ($1, $2, $3, $4, $5)
		ON CONFLICT (one) DO UPDATE SET name = $1, version = $2, digest = $3, tables = $4, views = $5`,
		p.mapping.Name, p.mapping.Version, p.digest, made.names(), orEmpty(views))
}

// bring gives the tables that are there what the profile has newly declared.
func (p *profile) bring(ctx context.Context, tx pgx.Tx, before applied, core shape) error {
	want, err := p.wanted(ctx, tx, core)
	if err != nil {
		return err
	}
	live, err := shapeOf(ctx, tx, nil)
	if err != nil {
		return err
	}
	return p.alter(ctx, tx, before, want, live)
}

func orEmpty(names []string) []string {
	if names == nil {
		return []string{}
	}
	return names
}

// create makes tables, indexes and comments. All of it may be there already.
func (p *profile) create(ctx context.Context, tx pgx.Tx) error {
	if err := runAll(ctx, tx, "tables", p.mapping.DDL()); err != nil {
		return err
	}
	return runFile(ctx, tx, tablesFile, p.tables)
}

func (p *profile) createViews(ctx context.Context, tx pgx.Tx) error {
	if err := runAll(ctx, tx, "views", p.mapping.Views()); err != nil {
		return err
	}
	return runFile(ctx, tx, viewsFile, p.views)
}

// runAll runs statements in one go, since there are hundreds.
func runAll(ctx context.Context, tx pgx.Tx, what string, statements []string) error {
	return pg.Exec(ctx, tx, "make the "+what+" of the mapping", strings.Join(statements, ";\n"))
}

// runFile runs all statements of a file; its errors name the line.
func runFile(ctx context.Context, tx pgx.Tx, name, text string) error {
	if bare(text) == "" {
		return nil
	}
	_, err := tx.Exec(ctx, text)
	var pe *pgconn.PgError
	if errors.As(err, &pe) && pe.Position > 0 {
		runes := []rune(text)
		line := 1 + strings.Count(string(runes[:min(int(pe.Position)-1, len(runes))]), "\n")
		return fmt.Errorf("%s:%d: %w", name, line, err)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

func dropViews(ctx context.Context, tx pgx.Tx, names []string) error {
	if len(names) == 0 {
		return nil
	}
	quoted := make([]string, len(names))
	for i, name := range names {
		quoted[i] = pgx.Identifier{Schema, name}.Sanitize()
	}
	_, err := tx.Exec(ctx, "DROP VIEW IF EXISTS "+strings.Join(quoted, ", "))
	var pe *pgconn.PgError
	if errors.As(err, &pe) && pe.Detail != "" {
		return fmt.Errorf("make the profile's views anew: %w: drop what depends on them, and make it again afterwards: %s", err, pe.Detail)
	}
	if err != nil {
		return fmt.Errorf("make the profile's views anew: %w", err)
	}
	return nil
}

func viewNames(ctx context.Context, tx pgx.Tx) ([]string, error) {
	return pg.List(ctx, tx, "list views", pgx.RowTo[string], "SELECT relname FROM pg_class WHERE relnamespace = 'warehouse'::regnamespace AND relkind = 'v' ORDER BY 1")
}

// alter adds the columns that tables lack, and refuses all other differences.
func (p *profile) alter(ctx context.Context, tx pgx.Tx, before applied, want, live shape) error {
	var errs []error
	for _, name := range before.tables {
		if want.table(name) == nil && live.table(name) != nil {
			errs = append(errs, fmt.Errorf("the table %s.%s is there, but the profile declares it no longer: declare it, or drop it", Schema, name))
		}
	}
	var add []string
	for _, w := range want {
		l := live.table(w.name)
		if l == nil {
			continue
		}
		changes, err := w.changes(l)
		add, errs = append(add, changes...), append(errs, err)
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("the tables of the profile %s differ from what it declares: %w", p.mapping.Name, err)
	}
	for _, sql := range add {
		if _, err := tx.Exec(ctx, sql); err != nil {
			return fmt.Errorf("add what the profile declares anew: %w (in: %s)", err, sql)
		}
	}
	return nil
}

// declared are the names of the mapping's tables.
func (p *profile) declared() []string {
	var names []string
	for _, t := range p.mapping.Tables {
		names = append(names, t.Name)
	}
	for _, r := range p.mapping.References {
		names = append(names, "reference_"+r.Name)
	}
	slices.SortFunc(names, cmp.Compare[string])
	return names
}
