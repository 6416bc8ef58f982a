package control

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"tributary/internal/pg"
	"tributary/schemas"
)

// States of a damaged blob.
const (
	DamageFound    = "found"    // to be fetched again
	DamageFetching = "fetching" // an acquisition heals it
	DamageFetched  = "fetched"  // who waits for it is to be told
	DamageHealed   = "healed"
	DamageLost     = "lost" // no source shows these bytes any more
)

// Bounds of healing that need no setting.
const (
	// lostFor is for how long a blob that was lost is not looked for again, though
	// somebody needs it.
	lostFor = 10 * time.Minute
	// The pause before a blob is healed that was healed before, doubling each time.
	healPause, healPauseMax = "1 second", "1 hour"
)

// Damage is a row of control.blob_damage.
type Damage struct {
	SHA256  string     `json:"sha256"`
	State   string     `json:"state"`
	Problem string     `json:"problem"`
	FoundBy string     `json:"found_by"`
	FoundAt time.Time  `json:"found_at"`
	Times   int        `json:"times"`
	Message string     `json:"message,omitempty"`
	Changed time.Time  `json:"changed_at"`
	LostAt  *time.Time `json:"lost_at,omitempty"`
	Tried   []string   `json:"-"` // files of which no hosting brought these bytes
}

// ReportDamage notes that a blob was found damaged or gone, and by whom, so that
// plan has it fetched again. It returns what was known of it before, in the state
// DamageLost as long as it need not be looked for again. A report while it is
// being healed changes nothing. Again says that a person wants it looked for
// everywhere once more.
func ReportDamage(ctx context.Context, db pg.Beginner, sha256, problem, by string, again bool, now time.Time) (before Damage, err error) {
	err = pg.InTx(ctx, db, func(tx pgx.Tx) error {
		problem := pg.Text(schemas.Cut(problem, 1000))
		tag, err := tx.Exec(ctx, `INSERT INTO control.blob_damage (sha256, state, problem, found_by, found_at, not_before, changed_at)
			VALUES ($1, 'found', $2, $3, $4, $4, $4) ON CONFLICT (sha256) DO NOTHING`, sha256, problem, by, now)
		if err != nil || tag.RowsAffected() == 1 {
			return err
		}
		if before, err = pg.One(ctx, tx, "read what is known of it", pgx.RowToStructByName[Damage], "SELECT "+damageColumns+" FROM control.blob_damage WHERE sha256 = $1 FOR UPDATE", sha256); err != nil {
			return err
		}
		switch {
		case before.State == DamageHealed, again && before.State == DamageLost:
		case before.State == DamageLost:
			// Who waits for it since is to be told too, without another search.
			tag, err := tx.Exec(ctx, `UPDATE control.blob_damage SET state = 'found', not_before = $2, changed_at = $2
				WHERE sha256 = $1 AND lost_at > $3`, sha256, now, now.Add(-lostFor))
			if err != nil || tag.RowsAffected() == 1 {
				return err
			}
		case before.LostAt != nil && now.Sub(*before.LostAt) < lostFor:
			before.State = DamageLost // about to be so again
			return nil
		default:
			return nil
		}
		before.State = DamageFound
		_, err = tx.Exec(ctx, `UPDATE control.blob_damage SET state = 'found', problem = $2, found_by = $3, found_at = $4, changed_at = $4, tried = '{}', message = '', lost_at = NULL,
				times = CASE WHEN state = 'healed' AND changed_at > $4::timestamptz - interval '1 day' THEN times + 1 ELSE 1 END,
				not_before = CASE WHEN state = 'healed' AND changed_at > $4::timestamptz - interval '1 day' AND NOT $5
					THEN $4::timestamptz + least(interval '`+healPause+`' * 2 ^ least(times - 1, 20), interval '`+healPauseMax+`') ELSE $4 END
			WHERE sha256 = $1`, sha256, problem, by, now, again)
		return err
	})
	if err != nil {
		return Damage{}, fmt.Errorf("report that the blob %s is damaged: %w", sha256, err)
	}
	return before, nil
}

const damageColumns = "sha256, state, problem, found_by, found_at, times, message, changed_at AS changed, lost_at, tried::text[]"

// Damages returns the blobs that were found damaged, the newest first; all of
// them, or those that are not healed.
func Damages(ctx context.Context, q pg.Querier, all bool, limit int) ([]Damage, error) {
	return pg.List(ctx, q, "read damaged blobs", pgx.RowToStructByName[Damage], "SELECT "+damageColumns+" FROM control.blob_damage WHERE $1 OR state <> 'healed' ORDER BY found_at DESC, sha256 LIMIT $2", all, limit)
}

// damageDue is true of a damaged blob about which something is to be decided now, the
// first parameter.
const damageDue = "state IN ('found','fetched') AND not_before <= $1"

// TakeDamage locks and returns a damaged blob about which something is to be
// decided; nil if there is none, or others decide about them.
func TakeDamage(ctx context.Context, tx pgx.Tx, now time.Time) (*Damage, error) {
	return pg.Maybe(ctx, tx, "find damaged blobs", pgx.RowToStructByName[Damage], "SELECT "+damageColumns+` FROM control.blob_damage
		WHERE `+damageDue+` ORDER BY not_before LIMIT 1 FOR UPDATE SKIP LOCKED`, now)
}

// StoreDamage writes what was decided about a blob that the caller has taken.
func StoreDamage(ctx context.Context, tx pgx.Tx, d *Damage, now time.Time) error {
	return pg.Exec(ctx, tx, "store what became of the blob "+d.SHA256, "UPDATE control.blob_damage SET state = $2, message = $3, changed_at = $4, lost_at = $5, tried = $6::text[]::uuid[] WHERE sha256 = $1",
		d.SHA256, d.State, pg.Text(d.Message), now, d.LostAt, d.Tried)
}

// Healing is how the acquisition ended that was to heal a blob.
type Healing struct {
	SHA256, File string
	Healed       bool
	Message      string // why not
}

// StoreHealings notes how acquisitions that heal blobs ended.
func StoreHealings(ctx context.Context, tx pgx.Tx, all []Healing, now time.Time) error {
	for _, h := range all {
		_, err := tx.Exec(ctx, `UPDATE control.blob_damage SET changed_at = $5, not_before = $5, message = $4, state = CASE WHEN $3 THEN 'fetched' ELSE 'found' END,
				tried = CASE WHEN $3 THEN tried ELSE tried || $2::uuid END WHERE sha256 = $1 AND state = 'fetching'`, h.SHA256, h.File, h.Healed, pg.Text(h.Message), now)
		if err != nil {
			return fmt.Errorf("note how the blob %s was fetched: %w", h.SHA256, err)
		}
	}
	return nil
}

// FilesOf returns the files that may show a blob's bytes, or wait for them: those
// that wait first, and none that was tried and doesn't wait.
func FilesOf(ctx context.Context, q pg.Querier, d *Damage, limit int) ([]string, error) {
	return pg.List(ctx, q, fmt.Sprintf("find the files of the blob %s", d.SHA256), pgx.RowTo[string], `SELECT file::text FROM control.acquisition WHERE sha256 COLLATE "C" = $1 AND sha256 <> '' GROUP BY file
		HAVING NOT file = ANY($2::text[]::uuid[]) OR bool_or(state IN ('received','extracted'))
		ORDER BY bool_or(state IN ('received','extracted')) DESC, file LIMIT $3`, d.SHA256, d.Tried, limit)
}

// RepeatFor returns the events that ask for work on a blob's bytes, for all
// that waits for it: they are to be published again.
func RepeatFor(ctx context.Context, tx pgx.Tx, sha256 string) ([]schemas.Record, error) {
	return pg.List(ctx, tx, "repeat what waits for the blob "+sha256, func(row pgx.CollectableRow) (schemas.Record, error) {
		r := schemas.Record{Topic: schemas.DownloadFinishedTopic}
		var headers []byte
		if err := row.Scan(&r.Key, &r.Value, &headers); err != nil {
			return r, err
		}
		return r, json.Unmarshal(headers, &r.Headers)
	}, `UPDATE control.acquisition SET news_at = clock_timestamp(), repeats = repeats + 1
		WHERE sha256 COLLATE "C" = $1 AND sha256 <> '' AND state IN ('received','extracted') AND last_event IS NOT NULL RETURNING file::text, last_event, last_headers`, sha256)
}

// NewestBlobs returns some of the blobs that were stored last.
func NewestBlobs(ctx context.Context, q pg.Querier) ([]string, error) {
	return pg.List(ctx, q, "ask which blobs there are", pgx.RowTo[string], "SELECT sha256 FROM control.acquisition WHERE sha256 <> '' ORDER BY id DESC LIMIT 100")
}

// KnownBlobs returns the least names, in order, of at most a thousand blobs after
// the given one that were ever stored: archives of files, reference tables, and
// listings that are kept.
func KnownBlobs(ctx context.Context, q pg.Querier, after string) ([]string, error) {
	return pg.List(ctx, q, "ask which blobs there are", pgx.RowTo[string], `(SELECT DISTINCT sha256 COLLATE "C" AS name FROM control.acquisition WHERE sha256 <> '' AND sha256 COLLATE "C" > $1 ORDER BY name LIMIT 1000)
		UNION (SELECT DISTINCT blob COLLATE "C" FROM control.operation WHERE blob <> '' AND blob COLLATE "C" > $1 ORDER BY 1 LIMIT 1000)
		UNION (SELECT sha256 COLLATE "C" FROM control.listing WHERE sha256 COLLATE "C" > $1 ORDER BY 1 LIMIT 1000) ORDER BY 1 LIMIT 1000`, after)
}
