package control

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"tributary/internal/pg"
	"tributary/schemas"
)

// Sighting is what a poll records of one entry.
type Sighting struct {
	File      string           `json:"file"`
	Name      string           `json:"name"`
	Action    string           `json:"action"`
	Centre    *string          `json:"centre"`
	FileDate  *string          `json:"file_date"`
	FileInc   *int64           `json:"file_inc"`
	Exception string           `json:"exception"`
	Message   string           `json:"message"`
	Look      int32            `json:"look"`
	Size      int64            `json:"size"`
	ModTime   *time.Time       `json:"mtime"`
	Precision int32            `json:"precision"` // of ModTime, in milliseconds; 0: as exact as it looks
	ListedAt  time.Time        `json:"listed_at"`
	Settled   bool             `json:"settled"`
	State     string           `json:"state"` // present, as when empty; gone where what is shown can't be fetched
	Class     string           `json:"class"`
	Event     []byte           `json:"-"` // of its announcement; it and its headers are most of a sighting, and needed once
	Headers   []schemas.Header `json:"-"`
}

// sightings are rows of Sighting, without events.
const sightings = `jsonb_to_recordset($1) AS r(` + sightingColumns + `)`

const sightingColumns = `file uuid, name text, action text, centre text, file_date date, file_inc bigint, exception text, message text,
	look int, size bigint, mtime timestamptz, precision int, listed_at timestamptz, settled boolean, state text, class text`

// Record stores sightings: files, hostings and looks, as sets. It returns the
// files whose rows are new or say something else now. What is wrong with one
// source's entry of a file whose name is good says nothing of a file that another
// poll has recorded meanwhile. What no session found, since it was announced,
// belongs to none.
func Record(ctx context.Context, tx pgx.Tx, p Poll, now time.Time, seen []Sighting) (files map[string]bool, err error) {
	rows := pg.JSON(seen)
	ids, err := pg.List(ctx, tx, "record files", pgx.RowTo[string], `INSERT INTO control.file AS f (id, name, action, centre, file_date, file_inc, exception, message)
		SELECT file, name, action, centre, file_date, file_inc, exception, message FROM `+sightings+` ORDER BY file
		ON CONFLICT (id) DO UPDATE SET centre=excluded.centre, file_date=excluded.file_date, file_inc=excluded.file_inc,
			exception=excluded.exception, message=excluded.message
		WHERE f.exception <> excluded.exception AND (excluded.exception = '' OR excluded.centre IS NULL OR f.centre IS NULL)
		RETURNING id::text`, rows)
	if err != nil {
		return nil, err
	}
	files = make(map[string]bool, len(ids))
	for _, id := range ids {
		files[id] = true
	}
	if err := supersede(ctx, tx, p, seen); err != nil {
		return nil, err
	}
	return files, recordHostings(ctx, tx, p, now, seen, rows)
}

// supersede puts looks of the same files aside that were still growing. Before the
// first look of a file there is none.
func supersede(ctx context.Context, tx pgx.Tx, p Poll, seen []Sighting) error {
	var files []string
	var looks []int32
	for _, s := range seen {
		if s.Look > 1 {
			files, looks = append(files, s.File), append(looks, s.Look)
		}
	}
	if len(files) == 0 {
		return nil
	}
	return pg.Exec(ctx, tx, "record superseded looks", `UPDATE control.look k SET class='superseded' FROM (
			SELECT u.source, u.file, u.look FROM unnest($1::text[]::uuid[], $3::int[]) AS r(file, look) CROSS JOIN LATERAL (SELECT source, file, look FROM control.look
				WHERE source=$2 AND file=r.file AND look < r.look AND class='unsettled' OFFSET 0) u) s
		WHERE k.source=s.source AND k.file=s.file AND k.look=s.look`, files, p.Source, looks)
}

func recordHostings(ctx context.Context, tx pgx.Tx, p Poll, now time.Time, seen []Sighting, rows string) error {
	if err := pg.Exec(ctx, tx, "record hostings", `INSERT INTO control.hosting (source, file, action, name, look, size, mtime, mtime_precision, listed_at, settled, state, misses)
		SELECT $2, file, action, name, look, size, mtime, coalesce(precision, 0), listed_at, settled, coalesce(nullif(state, ''), 'present'), 0 FROM `+sightings+` ORDER BY file
		ON CONFLICT (source, file) DO UPDATE SET look=excluded.look, size=excluded.size, mtime=excluded.mtime, mtime_precision=excluded.mtime_precision,
			listed_at=excluded.listed_at, settled=excluded.settled, state=excluded.state, misses=0`, rows, p.Source); err != nil {
		return err
	}
	events, headers := make([][]byte, len(seen)), make([]*string, len(seen))
	for i, s := range seen {
		if events[i] = s.Event; s.Headers != nil {
			text := pg.JSON(s.Headers)
			headers[i] = &text
		}
	}
	return pg.Exec(ctx, tx, "record looks", `INSERT INTO control.look (source, file, look, session, domain, centre, size, mtime, listed_at, class, announced_at, event, headers)
		SELECT $2, file, look, nullif($3, '')::uuid, coalesce(r.centre, ''), $4, size, mtime, listed_at, class, CASE WHEN class='announced' THEN $5::timestamptz END, event, headers::jsonb
		FROM ROWS FROM (jsonb_to_recordset($1) AS (`+sightingColumns+`), unnest($6::bytea[]), unnest($7::text[]))
			AS r(file, name, action, centre, file_date, file_inc, exception, message, look, size, mtime, precision, listed_at, settled, state, class, event, headers) ORDER BY file
		ON CONFLICT (source, file, look) DO UPDATE SET session=excluded.session, domain=excluded.domain, class=excluded.class,
			announced_at=excluded.announced_at, event=excluded.event, headers=excluded.headers`, rows, p.Source, p.Session, p.Centre, now, events, headers)
}
