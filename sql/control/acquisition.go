package control

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"tributary/internal/pg"
	"tributary/schemas"
)

// States of an acquisition.
const (
	Queued    = "queued"    // an earlier one of the same file is under way
	Wanted    = "wanted"    // to be requested from some hosting
	Requested = "requested" // in a job
	Received  = "received"  // bytes accepted, to be unzipped
	Extracted = "extracted" // unzip accepted, documents to be validated
	Ended     = "ended"
)

// Results of an ended acquisition, beside failed and cancelled.
const (
	Complete  = "complete"  // all its documents have ended
	Duplicate = "duplicate" // it brought the file's current bytes
)

// File is a row of control.file.
type File struct {
	ID, Name, Action, Centre string
	CurrentSHA256            string
	CurrentAttempt           int32
	Attempts, Acceptances    int32

	Hold
	Urgency
}

// Hosting is where a file lies, with what decides between hostings.
type Hosting struct {
	File, Source, Server, SourceCentre string
	Look                               int32
	Size                               int64
	ModTime                            *time.Time
	ListedAt                           time.Time
	Present, Settled                   bool
	Refused                            bool       // it would be present, but its source may not show the file
	State                              string     // of the source: available, closed, maintenance, suspended or removed
	Opens                              *time.Time // when the window of a closed source opens
	Choice
}

// Available tells whether the source may be fetched from now.
func (h Hosting) Available() bool { return h.State == "available" }

// Tried is what an acquisition has met at one source.
type Tried struct {
	Attempts int    `json:"attempts"`
	NoRoom   int    `json:"no_room,omitempty"` // how often others had the room for it, which costs no attempt
	GivenUp  bool   `json:"given_up,omitempty"`
	Bad      string `json:"bad,omitempty"` // sha256 of damaged bytes it delivered
}

// Acquisition is a row of control.acquisition.
type Acquisition struct {
	ID          int64            `json:"id"`
	Run         string           `json:"run"`
	File        string           `json:"file"`
	Session     *string          `json:"session"`
	Domain      string           `json:"domain"`
	Batch       *string          `json:"batch"`
	Source      string           `json:"source"`
	Look        int32            `json:"look"`
	Size        int64            `json:"size"`
	State       string           `json:"state"`
	NotBefore   time.Time        `json:"not_before"`
	Attempt     int32            `json:"attempt"`
	Alone       bool             `json:"alone"`
	Tried       map[string]Tried `json:"tried"`
	Download    string           `json:"download"`
	Unzip       string           `json:"unzip"`
	SHA256      string           `json:"sha256"`
	Documents   int32            `json:"documents"`
	RankOwn     *bool            `json:"rank_own"`
	RankTime    *time.Time       `json:"rank_time"`
	RankOrdinal *int32           `json:"rank_ordinal"`
	LastEvent   []byte           `json:"last_event" db:"-"`   // written, and not read here
	LastHeaders []schemas.Header `json:"last_headers" db:"-"` // likewise
	Result      string           `json:"result"`
	Phase       string           `json:"phase"`
	Exception   string           `json:"exception"`
	Message     string           `json:"message"`
	EndedAt     *time.Time       `json:"ended_at"`
	RetryAt     *time.Time       `json:"retry_at"`
	Retries     int32            `json:"retries"`
	Priority    *int             `json:"priority"` // of its own; nil: its source's
	Heals       string           `json:"heals"`    // sha256 of the damaged blob whose bytes it fetches again

	New     bool `json:"-" db:"-"`
	Changed bool `json:"-" db:"-"`
}

// Attempt is a row of control.attempt.
type Attempt struct {
	Run         string `json:"run"`
	File        string `json:"file"`
	Attempt     int32  `json:"attempt"`
	Acquisition int64  `json:"acquisition"`
	Source      string `json:"source"`
	Look        int32  `json:"look"`
	Job         string `json:"job"`
	Download    string `json:"download"`
	Unzip       string `json:"unzip"`
	Early       []byte `json:"early"`

	ListedAt *time.Time `json:"-"` // when the look was first listed; not set on new ones
	Changed  bool       `json:"-" db:"-"`
}

// Look is an announced look that plan has not taken up yet.
type Look struct {
	Source, File string
	Look         int32
	Session      *string
	Domain       string
	Centre       string // of the source
	Size         int64
	ListedAt     time.Time
	Class        string
	OwnPolling   bool // a source of the producing centre is still being polled in the session
}

// LockFiles locks the given files, in the order of their ids, until the
// transaction ends: whoever decides about a file holds its row. It returns
// those that exist.
func LockFiles(ctx context.Context, tx pgx.Tx, ids []string) (map[string]*File, error) {
	all, err := pg.List(ctx, tx, "lock files", pgx.RowToAddrOfStructByName[File], `SELECT id::text, name, action, coalesce(centre, '') AS centre, current_sha256, current_attempt, attempts, acceptances, held_at, held_by, held_why, `+urgent+`
		FROM control.file WHERE id = ANY($1::uuid[]) ORDER BY id FOR UPDATE`, ids)
	if err != nil {
		return nil, err
	}
	out := map[string]*File{}
	for _, f := range all {
		out[f.ID] = f
	}
	return out, nil
}

// StoreFiles writes the changeable columns of files back.
func StoreFiles(ctx context.Context, tx pgx.Tx, files []*File) error {
	type row struct {
		ID          string `json:"id"`
		SHA         string `json:"sha"`
		Current     int32  `json:"current"`
		Attempts    int32  `json:"attempts"`
		Acceptances int32  `json:"acceptances"`
		Priority    *int   `json:"priority"`
		By          string `json:"by"`
		Why         string `json:"why"`
	}
	rows := make([]row, len(files))
	for i, f := range files {
		rows[i] = row{f.ID, f.CurrentSHA256, f.CurrentAttempt, f.Attempts, f.Acceptances, f.Priority, pg.Text(f.PriorityBy), pg.Text(f.PriorityWhy)}
	}
	// The limit says how many they are: Postgres would expect a hundred, and read the
	// whole table for one.
	return pg.Exec(ctx, tx, "store files", `UPDATE control.file f SET current_sha256=r.sha, current_attempt=r.current, attempts=r.attempts, acceptances=r.acceptances,
			priority=r.priority, priority_by=r.by, priority_why=r.why
		FROM (SELECT * FROM jsonb_to_recordset($1) AS r(id uuid, sha text, current int, attempts int, acceptances int, priority int, by text, why text) LIMIT $2) r
		WHERE f.id = r.id AND (f.current_sha256, f.current_attempt, f.attempts, f.acceptances, f.priority, f.priority_by, f.priority_why)
			IS DISTINCT FROM (r.sha, r.current, r.attempts, r.acceptances, r.priority, r.by, r.why)`, pg.JSON(rows), len(rows))
}

// Hostings returns where the given files lie, gone hostings included.
func Hostings(ctx context.Context, q pg.Querier, files []string, now time.Time) ([]Hosting, error) {
	return pg.List(ctx, q, "read hostings", pgx.RowToStructByName[Hosting], `SELECT h.file::text, h.source, s.server, s.centre AS source_centre, h.look, h.size, h.mtime AS mod_time, h.listed_at,
			h.state='present' AND m.granted AS present, h.state='present' AND NOT m.granted AS refused, h.settled, `+choiceColumns("$2")+`,
			CASE WHEN s.state = 'available' AND NOT `+open("s", "$2")+` THEN 'closed' ELSE s.state END AS state, s.opens
		FROM control.hosting h JOIN control.source s ON s.id = h.source `+reputationJoin+` CROSS JOIN LATERAL (SELECT coalesce((
			SELECT `+granted("s.hosts", "f.centre", "h.action")+` FROM control.file f WHERE f.id = h.file), true) AS granted) m
		WHERE h.file = ANY($1::uuid[]) ORDER BY h.file, h.source`, files, now)
}

// Acquisitions returns all acquisitions of the given files, oldest first.
func Acquisitions(ctx context.Context, q pg.Querier, files []string) ([]*Acquisition, error) {
	return pg.List(ctx, q, "read acquisitions", pgx.RowToAddrOfStructByName[Acquisition], `SELECT id, run::text, file::text, session::text, domain, batch::text, source, look, size, state, not_before, attempt, alone, tried,
			download, unzip, sha256, documents, rank_own, rank_time, rank_ordinal, result, phase, exception, message, ended_at, retry_at, retries, priority, heals
		FROM control.acquisition WHERE file = ANY($1::uuid[]) ORDER BY id`, files)
}

const acquisitionCols = `jsonb_to_recordset($1) AS r(id bigint, run uuid, file uuid, session uuid, domain text, batch uuid, source text, look int, size bigint,
	state text, not_before timestamptz, attempt int, alone boolean, tried jsonb, download text, unzip text, sha256 text, documents int,
	rank_own boolean, rank_time timestamptz, rank_ordinal int, last_event text, last_headers jsonb,
	result text, phase text, exception text, message text, ended_at timestamptz, retry_at timestamptz, retries int, priority int, heals text)`

// StoreAcquisitions inserts the new ones, giving them ids, and updates the
// changed ones.
func StoreAcquisitions(ctx context.Context, tx pgx.Tx, all []*Acquisition) error {
	var fresh, changed []*Acquisition
	for _, a := range all {
		if a.Tried == nil {
			a.Tried = map[string]Tried{}
		}
		switch {
		case a.New:
			fresh = append(fresh, a)
		case a.Changed:
			changed = append(changed, a)
		}
	}
	if len(fresh) > 0 {
		if _, err := tx.Exec(ctx, `INSERT INTO control.acquisition (run, file, session, domain, batch, source, look, size, state, not_before, tried, retries, priority, heals, attempt, result, phase, exception, message, ended_at)
			SELECT run, file, session, domain, batch, source, look, size, state, not_before, tried, retries, priority, heals, attempt, result, phase, exception, message, ended_at FROM `+acquisitionCols, pg.JSON(fresh)); err != nil {
			return fmt.Errorf("store new acquisitions: %w", err)
		}
	}
	if len(changed) > 0 {
		if _, err := tx.Exec(ctx, `UPDATE control.acquisition a SET batch=r.batch, source=r.source, look=r.look, size=r.size, state=r.state, not_before=r.not_before,
				attempt=r.attempt, alone=r.alone, tried=r.tried, download=r.download, unzip=r.unzip, sha256=r.sha256, documents=r.documents,
				rank_own=r.rank_own, rank_time=r.rank_time, rank_ordinal=r.rank_ordinal,
				last_event=coalesce(decode(r.last_event, 'base64'), a.last_event), last_headers=coalesce(nullif(r.last_headers, 'null'), a.last_headers), news_at=clock_timestamp(),
				result=r.result, phase=r.phase, exception=r.exception, message=r.message, ended_at=r.ended_at, retry_at=r.retry_at, retries=r.retries, priority=r.priority
			FROM `+acquisitionCols+` WHERE a.id = r.id`, pg.JSON(changed)); err != nil {
			return fmt.Errorf("store acquisitions: %w", err)
		}
	}
	return nil
}

// AttemptKey names an attempt.
type AttemptKey struct {
	Run, File string
	Attempt   int32
}

// Attempts returns the attempts of the given files.
func Attempts(ctx context.Context, q pg.Querier, files []string) (map[AttemptKey]*Attempt, error) {
	all, err := pg.List(ctx, q, "read attempts", pgx.RowToAddrOfStructByName[Attempt], `SELECT t.run::text, t.file::text, t.attempt, t.acquisition, t.source, t.look, t.job::text, t.download, t.unzip, t.early, k.listed_at
		FROM control.attempt t LEFT JOIN control.look k ON k.source = t.source AND k.file = t.file AND k.look = t.look WHERE t.file = ANY($1::uuid[])`, files)
	if err != nil {
		return nil, err
	}
	out := map[AttemptKey]*Attempt{}
	for _, a := range all {
		out[AttemptKey{a.Run, a.File, a.Attempt}] = a
	}
	return out, nil
}

// StoreAttempts writes what control accepted, and what came too early.
func StoreAttempts(ctx context.Context, tx pgx.Tx, changed []*Attempt) error {
	if len(changed) == 0 {
		return nil
	}
	return pg.Exec(ctx, tx, "store attempts", `INSERT INTO control.attempt (run, file, attempt, acquisition, source, look, job, download, unzip, early)
		SELECT run, file, attempt, acquisition, source, look, job, download, unzip, decode(early, 'base64')
		FROM jsonb_to_recordset($1) AS r(run uuid, file uuid, attempt int, acquisition bigint, source text, look int, job uuid, download text, unzip text, early text)
		ON CONFLICT (run, file, attempt) DO UPDATE SET download=excluded.download, unzip=excluded.unzip, early=excluded.early`, pg.JSON(changed))
}

// Looks returns the announced and waiting looks of the given files.
func Looks(ctx context.Context, q pg.Querier, files []string) ([]*Look, error) {
	return pg.List(ctx, q, "read looks", pgx.RowToAddrOfStructByName[Look], lookSQL+" AND k.file = ANY($1::uuid[])", files)
}

const lookSQL = `SELECT k.source, k.file::text, k.look, k.session::text, k.domain, k.centre, k.size, k.listed_at, k.class,
	EXISTS (SELECT FROM control.poll p WHERE p.session = k.session AND p.centre = k.domain AND p.state IN ('due','running')) AS own_polling
	FROM control.look k WHERE k.class IN ('announced','waiting')`

// ClassLooks stores how looks were classed. Their announcements are no longer
// needed.
func ClassLooks(ctx context.Context, tx pgx.Tx, looks []*Look) error {
	type row struct {
		Source string `json:"source"`
		File   string `json:"file"`
		Look   int32  `json:"look"`
		Class  string `json:"class"`
	}
	rows := make([]row, len(looks))
	for i, k := range looks {
		rows[i] = row{k.Source, k.File, k.Look, k.Class}
	}
	return pg.Exec(ctx, tx, "class looks", `UPDATE control.look k SET class=r.class, event=CASE WHEN r.class='waiting' THEN k.event END, headers=CASE WHEN r.class='waiting' THEN k.headers END
		FROM jsonb_to_recordset($1) AS r(source text, file uuid, look int, class text)
		WHERE k.source=r.source AND k.file=r.file AND k.look=r.look`, pg.JSON(rows))
}

// WaitingFiles returns files with looks that waited for the producing centre's
// own sources and need wait no longer: their polls have ended, or the session
// is older than the cut-off.
func WaitingFiles(ctx context.Context, q pg.Querier, cutoff time.Time, limit int) ([]string, error) {
	// It is asked several times a second, and very many looks may wait: so the
	// sessions and domains that they wait for are found first, one step through
	// the index each.
	return pg.List(ctx, q, "read waiting looks", pgx.RowTo[string], `WITH RECURSIVE g AS (
			(SELECT session, domain FROM control.look WHERE class = 'waiting' ORDER BY session, domain LIMIT 1)
			UNION ALL
			SELECT n.session, n.domain FROM g CROSS JOIN LATERAL (SELECT k.session, k.domain FROM control.look k
				WHERE k.class = 'waiting' AND (k.session, k.domain) > (g.session, g.domain) ORDER BY k.session, k.domain LIMIT 1) n)
		SELECT DISTINCT w.file FROM g CROSS JOIN LATERAL (SELECT opened_at FROM control.session WHERE id = g.session OFFSET 0) s
		CROSS JOIN LATERAL (SELECT k.file::text FROM control.look k WHERE k.class = 'waiting' AND k.session = g.session AND k.domain = g.domain LIMIT $2) w
		WHERE s.opened_at < $1 OR NOT EXISTS (SELECT FROM control.poll p
			WHERE p.session = g.session AND p.centre = g.domain AND p.state IN ('due','running')) LIMIT $2`, cutoff, limit)
}
