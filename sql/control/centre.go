package control

import (
	"context"

	"github.com/jackc/pgx/v5"

	"tributary/internal/centres"
	"tributary/internal/pg"
)

// Centres returns all centres, by short name.
func Centres(ctx context.Context, q pg.Querier) ([]centres.Centre, error) {
	return pg.List(ctx, q, "read centres", pgx.RowToStructByName[centres.Centre], `SELECT short_name, full_name, email, phone, address, imits_name AS imitsname, active, defined_by FROM control.centre ORDER BY short_name COLLATE "C"`)
}

// PutCentre stores a centre and reports whether that changed. Whoever changes centres
// draws the revision first, and so waits for others who do.
func PutCentre(ctx context.Context, tx pgx.Tx, c centres.Centre, revision int64) (changed bool, err error) {
	n, err := pg.Changed(ctx, tx, "store centre "+c.ShortName, `INSERT INTO control.centre AS c (short_name, full_name, email, phone, address, imits_name, active, revision, defined_by) VALUES ($1,$2,$3,$4,$5,$6,$7,$8,$9)
		ON CONFLICT (short_name) DO UPDATE SET full_name=$2, email=$3, phone=$4, address=$5, imits_name=$6, active=$7, revision=$8, defined_by=$9
		WHERE (c.full_name, c.email, c.phone, c.address, c.imits_name, c.active, c.defined_by) IS DISTINCT FROM ($2,$3,$4,$5,$6,$7,$9)`,
		c.ShortName, c.FullName, c.Email, c.Phone, c.Address, c.IMITSName, c.Active, revision, c.By())
	return n == 1, err
}

// RemoveCentre forgets a centre, which the log still knows.
func RemoveCentre(ctx context.Context, tx pgx.Tx, shortName string) error {
	return pg.Exec(ctx, tx, "remove centre "+shortName, "DELETE FROM control.centre WHERE short_name = $1", shortName)
}

// CentreUse is what speaks of a centre.
type CentreUse struct {
	Sources []string // that it runs, or that host its files, and that are not removed
	Files   bool     // whether files of it were ever listed
}

// CentreUsed tells what speaks of a centre. It may look at all files.
func CentreUsed(ctx context.Context, tx pgx.Tx, shortName string) (use CentreUse, err error) {
	err = pg.Row(ctx, tx, "look what speaks of centre "+shortName, []any{&use.Sources, &use.Files}, `SELECT ARRAY(SELECT s.id FROM control.source s WHERE s.state <> 'removed'
			AND (s.centre = $1 OR EXISTS (SELECT FROM unnest(s.hosts) h WHERE split_part(h, '/', 1) = $1)) ORDER BY s.id),
		EXISTS (SELECT FROM control.file WHERE centre = $1)`, shortName)
	return use, err
}
