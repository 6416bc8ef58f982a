package control

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"tributary/internal/pg"
)

// States of a replay run.
const (
	ReplayRunning = "running"
	ReplayStopped = "stopped" // nothing more is requested until somebody resumes it
	ReplayDone    = "done"    // everything chosen has ended, and the warehouse has applied what came of it
)

// ReplayRun is a row of control.replay: a run that processes again what somebody
// chose. The retry of a dead letter is none.
type ReplayRun struct {
	ID           string
	Number       int64
	Phase        string // where it begins: download, unzip, xsd, upload or data
	Predicate    string
	Since, Until *time.Time
	Offsets      string
	Rate         float64 // files requested a second at most; 0: no limit
	By, Reason   string
	At           time.Time
	State        string // one of the above
	ChangedBy    string
	ChangedAt    time.Time
	Changes      int32 // how often its state has changed
	PacedAt      time.Time

	Shadow   string          // name of the shadow that its results go to; empty: they are live
	Promotes string          // id of the shadow whose results it makes live; empty: none
	Versions json.RawMessage // of what judged and loaded documents when it was asked for; nil: not known
	Lost     int64           // items that nothing told of when control was restored: they are never requested
	Held     string          // why the last member that looked at it requested nothing of it; empty: nothing keeps it
}

// ReplayItem is a row of control.replay_item: a version of a file, or, from
// data, a centre.
type ReplayItem struct {
	Ordinal     int64
	File        string // empty for a centre
	Archive     string // sha256; empty for a file of which nothing was ever fetched
	Domain      string // the centre, from data
	NotBefore   time.Time
	Acquisition *int64
	Operation   *string
	Refusal     string // the name of why it is not replayed
	Message     string
}

// ErrLost says that nothing is left of a replay that could go on.
var ErrLost = errors.New("nothing of it waits: control was lost while it ran")

// ErrNoReplay says that a replay run is not known.
var ErrNoReplay = errors.New("there is no such replay: see tributary replay list")

// AddReplayRun stores a replay and what was gathered for it, each file's version
// or centre once, and returns how many there are. The transaction is that of
// Chosen.Begin. The number is taken last, since all who need one wait for it.
func AddReplayRun(ctx context.Context, tx pgx.Tx, r *ReplayRun) (items int64, err error) {
	_, err = tx.Exec(ctx, `INSERT INTO control.replay (id, number, phase, predicate, since, until, offsets, rate, requested_by, reason, requested_at, state, changed_by, changed_at, paced_at,
			shadow, promotes, versions)
		VALUES ($1,(1::bigint << 62) + txid_current(),$2,$3,$4,$5,$6,$7,$8,$9,$10,$11,$8,$10,$10,$12,nullif($13,'')::uuid,$14)`,
		r.ID, r.Phase, pg.Text(r.Predicate), r.Since, r.Until, r.Offsets, r.Rate, pg.Text(r.By), pg.Text(r.Reason), r.At, r.State, r.Shadow, r.Promotes, []byte(r.Versions))
	if err != nil {
		return 0, fmt.Errorf("store the replay: %w", takenBefore(err))
	}
	// Whatever chose them may name a version many times.
	tag, err := tx.Exec(ctx, `INSERT INTO control.replay_item (run, ordinal, file, archive, domain)
		SELECT $1, row_number() OVER (ORDER BY n), nullif(file, '')::uuid, archive, domain
		FROM (SELECT min(n) AS n, file, archive, domain FROM pg_temp.chosen GROUP BY file, archive, domain) c`, r.ID)
	if err != nil {
		return 0, fmt.Errorf("store what is replayed: %w", err)
	}
	if r.Number, err = NextCount(ctx, tx, "replay"); err != nil {
		return 0, err
	}
	if _, err := tx.Exec(ctx, "UPDATE control.replay SET number = $2 WHERE id = $1", r.ID, r.Number); err != nil {
		return 0, fmt.Errorf("number the replay: %w", err)
	}
	return tag.RowsAffected(), nil
}

// replayRunColumns are the columns of control.replay by the names of the fields.
const replayRunColumns = `id::text, number, phase, predicate, since, until, offsets, rate, requested_by AS by, reason, requested_at AS at, state, changed_by, changed_at,
	changes, paced_at, shadow, coalesce(promotes::text, '') AS promotes, versions, lost, held`

// ReplayRuns returns replays, the newest first, at most limit; 0: all.
func ReplayRuns(ctx context.Context, q pg.Querier, limit int) ([]ReplayRun, error) {
	return pg.List(ctx, q, "read replays", pgx.RowToStructByName[ReplayRun], "SELECT "+replayRunColumns+" FROM control.replay ORDER BY number DESC LIMIT nullif($1, 0)", limit)
}

// ReadReplayRun returns the replay with the given number, id or shadow's name.
func ReadReplayRun(ctx context.Context, q pg.Querier, name string) (ReplayRun, error) {
	if pg.Text(name) != name { // which no store takes
		return ReplayRun{}, fmt.Errorf("replay %q: %w", name, ErrNoReplay)
	}
	r, err := pg.Maybe(ctx, q, "read replay "+name, pgx.RowToStructByName[ReplayRun], "SELECT "+replayRunColumns+" FROM control.replay WHERE number::text = $1 OR id::text = lower($1) OR shadow = $1 AND $1 <> ''", name)
	switch {
	case err != nil:
		return ReplayRun{}, err
	case r == nil:
		return ReplayRun{}, fmt.Errorf("replay %s: %w", name, ErrNoReplay)
	}
	return *r, nil
}

// RunningReplays returns the ids of the replays that are running, the oldest
// first.
func RunningReplays(ctx context.Context, q pg.Querier) ([]string, error) {
	return pg.List(ctx, q, "read running replays", pgx.RowTo[string], "SELECT id::text FROM control.replay WHERE state = 'running' ORDER BY number")
}

// TakeReplayRun locks a running replay until the transaction ends; nil if it is
// not running any more, or another member has it. With wait it waits for that
// one, and takes the replay in whatever state.
func TakeReplayRun(ctx context.Context, tx pgx.Tx, id string, wait bool) (*ReplayRun, error) {
	sql := "SELECT " + replayRunColumns + " FROM control.replay WHERE id = $1 "
	if wait {
		sql += "FOR UPDATE"
	} else {
		sql += "AND state = 'running' FOR UPDATE SKIP LOCKED"
	}
	return pg.Maybe(ctx, tx, "take replay "+id, pgx.RowToStructByName[ReplayRun], sql, id)
}

// ChangeReplayRun stores the state of a replay that the caller has taken, and
// who changed it.
func ChangeReplayRun(ctx context.Context, tx pgx.Tx, r *ReplayRun) error {
	r.Changes++
	return pg.Exec(ctx, tx, fmt.Sprintf("change replay %d", r.Number), "UPDATE control.replay SET state=$2, changed_by=$3, changed_at=$4, changes=$5, paced_at=$6 WHERE id=$1",
		r.ID, r.State, pg.Text(r.ChangedBy), r.ChangedAt, r.Changes, r.PacedAt)
}

// PaceReplayRun stores up to when a replay's rate has been used. Whoever does
// so is not kept from it.
func PaceReplayRun(ctx context.Context, tx pgx.Tx, r *ReplayRun) error {
	return pg.Exec(ctx, tx, fmt.Sprintf("pace replay %d", r.Number), "UPDATE control.replay SET paced_at=$2, held='' WHERE id=$1", r.ID, r.PacedAt)
}

// HoldReplayRun stores why a member requests nothing of a replay, unless that is
// known.
func HoldReplayRun(ctx context.Context, tx pgx.Tx, r *ReplayRun, why string) error {
	if r.Held == why {
		return nil
	}
	return pg.Exec(ctx, tx, fmt.Sprintf("hold replay %d", r.Number), "UPDATE control.replay SET held=$2 WHERE id=$1", r.ID, pg.Text(why))
}

// ReplayUnderWay counts the attempts of a run, or its operations, that have
// been requested and have not ended.
func ReplayUnderWay(ctx context.Context, q pg.Querier, run string) (n int64, err error) {
	return pg.One(ctx, q, "count what a replay has under way", pgx.RowTo[int64], `SELECT (SELECT count(*) FROM control.acquisition WHERE run = $1 AND state <> 'ended' AND run <> '00000000-0000-5000-8000-000000000000')
		+ (SELECT count(*) FROM control.operation o JOIN control.replay_item i ON i.operation = o.id WHERE o.position IS NULL AND i.run = $1)`, run)
}

// WaitingItems returns the next items of a replay that may be requested, or, of
// the given ones, those that still wait. The caller has taken the replay, or
// only looks.
func WaitingItems(ctx context.Context, q pg.Querier, run string, now time.Time, limit int64, among []int64) ([]ReplayItem, error) {
	return pg.List(ctx, q, "read what a replay has still to request", pgx.RowToStructByNameLax[ReplayItem], `SELECT ordinal, coalesce(file::text, '') AS file, archive, domain, not_before FROM control.replay_item
		WHERE run = $1 AND state = 'waiting' AND not_before <= $2 AND ($4::bigint[] IS NULL OR ordinal = ANY($4)) ORDER BY not_before, ordinal LIMIT $3`, run, now, limit, among)
}

// ReplayWaits tells whether a replay has items that it has not requested, also
// those that may not be looked at yet.
func ReplayWaits(ctx context.Context, q pg.Querier, run string) (waits bool, err error) {
	return pg.One(ctx, q, "ask for what a replay has still to request", pgx.RowTo[bool], "SELECT EXISTS (SELECT FROM control.replay_item WHERE run = $1 AND state = 'waiting')", run)
}

// OtherReplay is a replay that has chosen a file, too.
type OtherReplay struct {
	File, Archive string
	Number        int64
}

// OtherReplays returns what stands between a replay and files: earlier replays that
// run and are still to request them, and later ones that have. Shadows don't count.
func OtherReplays(ctx context.Context, q pg.Querier, number int64, files []string) ([]OtherReplay, error) {
	return pg.List(ctx, q, "read which other replays have chosen files", pgx.RowToStructByName[OtherReplay], `SELECT i.file::text AS file, i.archive, r.number FROM control.replay_item i JOIN control.replay r ON r.id = i.run
		WHERE i.file = ANY($2::uuid[]) AND r.shadow = ''
			AND (r.number < $1 AND i.state = 'waiting' AND r.state = 'running' OR r.number > $1 AND i.state = 'requested')
		ORDER BY r.number`, number, files)
}

// StoreItems writes what was decided about items: requested, refused, or to be
// looked at later.
func StoreItems(ctx context.Context, tx pgx.Tx, run string, items []ReplayItem) error {
	b := &pgx.Batch{}
	for _, i := range items {
		state := "waiting"
		switch {
		case i.Refusal != "":
			state = "refused"
		case i.Acquisition != nil || i.Operation != nil:
			state = "requested"
		}
		b.Queue("UPDATE control.replay_item SET state=$3, not_before=$4, acquisition=$5, operation=$6, refusal=$7, message=$8 WHERE run=$1 AND ordinal=$2",
			run, i.Ordinal, state, i.NotBefore, i.Acquisition, i.Operation, i.Refusal, pg.Text(i.Message))
	}
	return pg.Send(ctx, tx, "store what was decided about a replay's files", b)
}
