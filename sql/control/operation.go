package control

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"tributary/internal/pg"
	"tributary/schemas"
)

// Operation is a change of the warehouse that somebody asked for. It is
// released into the order like everything else that changes the warehouse.
type Operation struct {
	ID          string
	Run         string // check: the replay that asks for it; else schemas.LiveRun
	What        string // schemas.PositionUnload, PositionReference or PositionCheck
	Domain      string // unload: the file's producing centre; check: the centre
	File        string // unload: the file's name; reference: name of the file loaded
	Action      string // unload: the file's action
	Archive     string // unload: sha256 of the version
	Name        string // reference: its name
	Blob        string // reference: sha256 of the file's blob
	RequestedBy string
	Reason      string
	RequestedAt time.Time
	// Position is its place in the order, and LastPosition that of the last
	// batch end that follows it; 0 before they are given.
	Position, LastPosition int64
}

// Unload asks for the retraction of one version of a file.
type Unload struct {
	Action string // of the file: add, edit or delete
	Name   string // the zip's name
	// Archive is the version's sha256, or how it begins; empty for the newest
	// version that was ordered and is not unloaded yet.
	Archive string
	By      string // who asks
	Reason  string
}

// ErrUnknownVersion says that a file, or a version of it, was never ordered for
// the warehouse.
var ErrUnknownVersion = errors.New("nothing of the kind was ever ordered to be loaded")

// RequestUnload stores the wish that a version be unloaded, and returns it. The
// version is one that control knows: otherwise the error is ErrUnknownVersion
// and says which versions there are. One that is unloaded stays so, whatever
// comes later: asking for it again returns the first wish.
func RequestUnload(ctx context.Context, q pg.Querier, u Unload, now time.Time) (Operation, error) {
	versions, err := versionsOf(ctx, q, u.Action, u.Name)
	if err != nil {
		return Operation{}, err
	}
	if len(versions) == 0 {
		return Operation{}, fmt.Errorf("file %s/%s: %w", u.Action, u.Name, ErrUnknownVersion)
	}
	var known []string
	var match []version
	for _, v := range versions {
		if slices.Contains(known, v.archive) {
			continue // another run of it
		}
		known = append(known, v.archive)
		if u.Archive == "" && v.unloaded == "" || u.Archive != "" && strings.HasPrefix(v.archive, u.Archive) {
			match = append(match, v)
		}
	}
	switch {
	case len(match) == 0 && u.Archive == "":
		return Operation{}, fmt.Errorf("file %s/%s: all its versions are unloaded already: %w", u.Action, u.Name, ErrUnknownVersion)
	case len(match) == 0:
		return Operation{}, fmt.Errorf("version %s of file %s/%s: %w; its versions are %s", u.Archive, u.Action, u.Name, ErrUnknownVersion, strings.Join(known, ", "))
	case len(match) > 1 && u.Archive != "":
		return Operation{}, fmt.Errorf("version %s of file %s/%s: several begin so; its versions are %s", u.Archive, u.Action, u.Name, strings.Join(known, ", "))
	case match[0].unloaded != "":
		return ReadOperation(ctx, q, match[0].unloaded)
	}
	op := Operation{ID: uuid.NewString(), Run: schemas.LiveRun, What: schemas.PositionUnload, Domain: match[0].domain, File: u.Name, Action: u.Action,
		Archive: match[0].archive, RequestedBy: u.By, Reason: u.Reason, RequestedAt: now}
	return op, insertOperation(ctx, q, op)
}

// version is a version of a file that was ordered, and the operation that
// unloads it.
type version struct{ archive, domain, unloaded string }

// versionsOf returns the versions of a file that were ordered, the greatest
// rank first.
func versionsOf(ctx context.Context, q pg.Querier, action, name string) ([]version, error) {
	return pg.List(ctx, q, fmt.Sprintf("versions of %s/%s", action, name), func(r pgx.CollectableRow) (v version, err error) {
		return v, r.Scan(&v.archive, &v.domain, &v.unloaded)
	}, `SELECT a.sha256, a.domain, coalesce((SELECT o.id::text FROM control.operation o
				WHERE o.what = $4 AND o.action = $2 AND o.file = $3 AND o.archive = a.sha256 ORDER BY o.number LIMIT 1), '')
		FROM control.acquisition a JOIN control.batch b ON b.id = a.batch AND (b.released_at IS NOT NULL OR a.ordered)
		WHERE a.file = $1 AND a.state = 'ended' AND a.result = 'complete'
		ORDER BY coalesce(a.rank_own, false) DESC, a.rank_time DESC NULLS LAST, a.rank_ordinal DESC NULLS LAST, a.sha256 COLLATE "C" DESC, a.id DESC`,
		schemas.FileID(action, name), action, name, schemas.PositionUnload)
}

// Reference asks for the load of a reference table.
type Reference struct {
	Name   string // of the reference
	File   string // name of the file, for people
	Blob   string // its sha256: it must be in the blob store
	By     string // who asks
	Reason string
}

// RequestReference stores the wish that a reference table be loaded, and
// returns it. Nothing is checked here: whoever asks knows the profile.
func RequestReference(ctx context.Context, q pg.Querier, r Reference, now time.Time) (Operation, error) {
	op := Operation{ID: uuid.NewString(), Run: schemas.LiveRun, What: schemas.PositionReference, File: r.File, Name: r.Name, Blob: r.Blob, RequestedBy: r.By, Reason: r.Reason, RequestedAt: now}
	return op, insertOperation(ctx, q, op)
}

// RequestCheck stores a replay's wish that all current records of a centre be
// checked again, and returns it.
func RequestCheck(ctx context.Context, q pg.Querier, run, domain, by, reason string, now time.Time) (Operation, error) {
	op := Operation{ID: uuid.NewString(), Run: run, What: schemas.PositionCheck, Domain: domain, RequestedBy: by, Reason: reason, RequestedAt: now}
	return op, insertOperation(ctx, q, op)
}

func insertOperation(ctx context.Context, q pg.Querier, o Operation) error {
	var row pg.Rows
	row.Add("id", o.ID, "run", o.Run, "what", o.What, "domain", o.Domain, "file", pg.Text(o.File), "action", o.Action, "archive", o.Archive, "name", o.Name,
		"blob", o.Blob, "requested_by", pg.Text(o.RequestedBy), "reason", pg.Text(o.Reason), "requested_at", o.RequestedAt)
	return pg.Exec(ctx, q, "store the operation", row.Insert("control.operation"), row.Values[0]...)
}

const operationColumns = `id::text, run::text, what, domain, file, action, archive, name, blob, requested_by, reason, requested_at,
	coalesce(position, 0) AS position, coalesce(last_position, 0) AS last_position`

// ReadOperation returns an operation.
func ReadOperation(ctx context.Context, q pg.Querier, id string) (Operation, error) {
	return pg.One(ctx, q, "read operation "+id, pgx.RowToStructByName[Operation], "SELECT "+operationColumns+" FROM control.operation WHERE id = $1", id)
}

// Operations returns the newest operations, the newest first.
func Operations(ctx context.Context, q pg.Querier, limit int) ([]Operation, error) {
	return pg.List(ctx, q, "read operations", pgx.RowToStructByName[Operation], "SELECT "+operationColumns+" FROM control.operation ORDER BY number DESC LIMIT $1", limit)
}

// NextOperation returns the operation that was asked for first among those
// without a position; nil if there is none. With lock it stays locked until
// the transaction ends.
func NextOperation(ctx context.Context, q pg.Querier, lock bool) (*Operation, error) {
	sql := "SELECT " + operationColumns + " FROM control.operation WHERE position IS NULL ORDER BY number LIMIT 1"
	if lock {
		sql += " FOR UPDATE"
	}
	return pg.Maybe(ctx, q, "find operations", pgx.RowToStructByName[Operation], sql)
}

// ReleaseOperation stores that an operation is out.
func ReleaseOperation(ctx context.Context, tx pgx.Tx, id string, position, last int64) error {
	return pg.Exec(ctx, tx, "release operation", "UPDATE control.operation SET position = $2, last_position = $3 WHERE id = $1", id, position, last)
}

// DomainNumber is a domain and the number of a batch of it.
type DomainNumber struct {
	Domain string
	Number int64
}

// NumberDomains gives the domains, or, without any, all that are known, their
// next numbers, in the order of their names. The caller holds the lock of
// positions.
func NumberDomains(ctx context.Context, tx pgx.Tx, domains ...string) ([]DomainNumber, error) {
	if len(domains) > 0 {
		if _, err := tx.Exec(ctx, "INSERT INTO control.domain (name) SELECT unnest($1::text[]) ON CONFLICT DO NOTHING", domains); err != nil {
			return nil, fmt.Errorf("number batches: %w", err)
		}
	}
	return pg.List(ctx, tx, "number batches", pgx.RowToStructByName[DomainNumber], `WITH given AS (
			UPDATE control.domain SET next_number = next_number + 1 WHERE cardinality($1::text[]) = 0 OR name = ANY($1) RETURNING name, next_number - 1 AS number)
		SELECT name AS domain, number FROM given ORDER BY name COLLATE "C"`, append([]string{}, domains...))
}
