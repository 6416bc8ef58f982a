package control

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"tributary/internal/pg"
)

// Place is a source as control knows it.
type Place struct{ ID, Server, Centre, State, Definition string }

// Places returns those of the given sources that control knows, by id.
func Places(ctx context.Context, q pg.Querier, sources []string) (map[string]Place, error) {
	all, err := pg.List(ctx, q, "read sources", pgx.RowToStructByName[Place], "SELECT id, server, centre, state, definition::text AS definition FROM control.source WHERE id = ANY($1)", sources)
	if err != nil {
		return nil, err
	}
	out := make(map[string]Place, len(all))
	for _, p := range all {
		out[p.ID] = p
	}
	return out, nil
}

// Announced fills in what is known of a file that is announced at a source. seen
// says that a look of that size and time, or of that size where no time is given,
// was settled there before: who announces it again says nothing new.
func Announced(ctx context.Context, tx pgx.Tx, source string, l *Listed) (seen bool, err error) {
	var size *int64
	err = tx.QueryRow(ctx, `SELECT f.id IS NOT NULL, coalesce(f.exception, ''), h.file IS NOT NULL, coalesce(h.look, 0), h.size, h.mtime, h.listed_at, coalesce(h.settled, false), coalesce(h.state, ''),
			EXISTS (SELECT FROM control.look WHERE source = $1 AND file = $2::text::uuid AND size = $3 AND ($4::timestamptz IS NULL OR mtime = $4)
				AND class NOT IN ('unsettled', 'rejected', 'gone'))
		FROM (SELECT) one
		LEFT JOIN LATERAL (SELECT * FROM control.file WHERE id = $2::text::uuid FOR UPDATE) f ON true
		LEFT JOIN LATERAL (SELECT * FROM control.hosting WHERE source = $1 AND file = $2::text::uuid OFFSET 0) h ON true`, source, l.File, l.Size, l.ModTime).
		Scan(&l.Known, &l.Exception, &l.Hosted, &l.Look, &size, &l.HostedModTime, &l.ListedAt, &l.Settled, &l.State, &seen)
	if err != nil {
		return false, fmt.Errorf("read what is known of an announced file: %w", err)
	}
	if size != nil {
		l.HostedSize = *size
	}
	if l.ModTime == nil && l.Hosted && l.Size == l.HostedSize {
		l.ModTime = l.HostedModTime
	}
	return seen, nil
}

// Announcement is what another program says of a file at a source.
type Announcement struct {
	ID                         string // of its event
	Source, File, Name, Action string
	Centre                     string
	Change                     string // new, changed or gone
	Size                       int64
	ModTime                    *time.Time
}

// Judgement is what became of an announcement.
type Judgement struct {
	Look     int32  // as which it was recorded, if it was taken up
	TakenUp  bool   // it is a look that plan has to class
	Repeated bool   // nothing new was said
	Refused  string // the exception; empty if it was not refused
	Event    string // the id of the event that tells its refusal; empty: none does
}
