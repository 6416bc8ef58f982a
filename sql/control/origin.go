package control

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"tributary/internal/pg"
	"tributary/schemas"
)

// Bytes are those of a file of a centre, in one of its directories.
type Bytes struct {
	Centre string `json:"centre"`
	Action string `json:"action"`
	SHA256 string `json:"sha256"`
}

// Origins returns the files that show these very bytes, by action/name: of several the
// one that brought them first. Only what is on its way to the warehouse or complete there
// is an origin, and what nobody has unloaded. Whoever asks is alone with these bytes until
// the transaction ends, so that of two files that bring them at once one is the origin. The
// caller has locked its files.
func Origins(ctx context.Context, tx pgx.Tx, all []Bytes) (map[Bytes]string, error) {
	out := map[Bytes]string{}
	if len(all) == 0 {
		return out, nil
	}
	text := pg.JSON(all)
	if _, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock(k) FROM (SELECT DISTINCT hashtextextended(r.centre || '/' || r.action || '/' || r.sha256, 66) AS k
		FROM jsonb_to_recordset($1) AS r(centre text, action text, sha256 text) ORDER BY 1) s`, text); err != nil {
		return nil, fmt.Errorf("wait for who brings the same bytes: %w", err)
	}
	var b Bytes
	var subject string
	for err := range pg.Each(ctx, tx, "look for files of the same bytes", []any{&b.Centre, &b.Action, &b.SHA256, &subject}, `SELECT DISTINCT ON (r.centre, r.action, r.sha256) r.centre, r.action, r.sha256, f.action || '/' || f.name AS subject
		FROM jsonb_to_recordset($1) AS r(centre text, action text, sha256 text)
		CROSS JOIN LATERAL (SELECT id, file, sha256 FROM control.acquisition WHERE sha256 = r.sha256 COLLATE "C" AND sha256 <> ''
			AND run = $2 AND rank_ordinal IS NOT NULL AND (state IN ('received','extracted') OR result = 'complete') OFFSET 0) a
		CROSS JOIN LATERAL (SELECT action, name FROM control.file WHERE id = a.file AND centre = r.centre AND action = r.action AND current_sha256 = a.sha256 OFFSET 0) f
		WHERE NOT EXISTS (SELECT FROM control.operation o WHERE o.what = 'unload' AND o.action = f.action AND o.file = f.name AND o.archive = a.sha256)
		ORDER BY r.centre, r.action, r.sha256, a.id`, text, schemas.LiveRun) {
		if err != nil {
			return nil, err
		}
		out[b] = subject
	}
	return out, nil
}

// OriginsGone has the files looked at again that were not loaded since others showed the
// same bytes, which these don't any more.
func OriginsGone(ctx context.Context, tx pgx.Tx, gone []Bytes, now time.Time) error {
	if len(gone) == 0 {
		return nil
	}
	return pg.Exec(ctx, tx, "look again at files of the same bytes", `UPDATE control.acquisition SET retry_at = $2 WHERE id = ANY(ARRAY(SELECT id FROM control.acquisition WHERE id = ANY(ARRAY(SELECT d.id
			FROM jsonb_to_recordset($1) AS r(centre text, action text, sha256 text)
			CROSS JOIN LATERAL (SELECT id, file FROM control.acquisition WHERE sha256 = r.sha256 COLLATE "C" AND sha256 <> '' AND state = 'ended' AND result = 'duplicate' OFFSET 0) d
			WHERE EXISTS (SELECT FROM control.file f WHERE f.id = d.file AND f.centre = r.centre AND f.action = r.action AND f.acceptances = 0 OFFSET 0)
			  AND NOT EXISTS (SELECT FROM control.acquisition n WHERE n.file = d.file AND n.id > d.id OFFSET 0)))
			ORDER BY id FOR UPDATE))`, pg.JSON(gone), now)
}
