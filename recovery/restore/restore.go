// Package restore makes control anew from the topics, after its schema was
// lost: from file.discovered, status.changed and document.ordered, which are
// kept for ever, and download.finished as far as it is kept.
// docs/decisions/0013-control-is-restored-from-the-topics.md says for each table
// where its rows come from.
package restore

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"tributary/internal/chain"
	"tributary/internal/kafka"
	"tributary/internal/pg"
	"tributary/schemas"
	"tributary/sql/control"
)

// Restorer makes control anew.
type Restorer struct {
	Pool    *pgxpool.Pool // of control's database
	Connect kafka.Factory
	Prefix  string // of the topics' names
	Codec   *schemas.Codec
	Decided chain.Decided // what was decided about records of document.ordered; nil: nothing was
	Retry   time.Duration // after which what failed is fetched again
	Log     *slog.Logger
	Now     func() time.Time
	Members []string // the names by which members are known to Postgres
	// Force overwrites a control that is not empty, beside what looks like members,
	// for the reason that Reason gives.
	Force  bool
	Reason string
}

// Report is what was restored.
type Report struct {
	Sources     int   `json:"sources"`
	Sessions    int   `json:"sessions"`
	Files       int   `json:"files"`
	Looks       int   `json:"looks"`
	Versions    int   `json:"versions"`     // that have been ordered
	Outstanding int   `json:"outstanding"`  // fetches that go on, or are done again
	Announced   int   `json:"announced"`    // looks that plan has not taken up
	Reopened    int   `json:"reopened"`     // batches of open sessions of which a part was ordered: they go on
	Closed      int   `json:"closed"`       // others whose end was lost, and is ordered now
	Position    int64 `json:"position"`     // ordered last
	Replays     int   `json:"replays"`      // done or not
	Letters     int   `json:"letters"`      // dead letters that somebody decided about
	LettersLost int   `json:"letters_lost"` // decisions about letters that are not found any more

	Open []OpenReplay `json:"open_replays,omitempty"` // replays that were not done
}

// ErrNotEmpty says that control holds something.
var ErrNotEmpty = errors.New("control is not empty")

// Run restores control, in one transaction: a crash leaves nothing behind, and it
// is run again. It refuses where control is not empty or members are at work. A
// member of the roles plan and sequence that slips through does no harm: what it
// believes to have read counts for nothing: with its next record it begins from
// the start.
func (r *Restorer) Run(ctx context.Context) (report Report, err error) {
	if r.Force && strings.TrimSpace(r.Reason) == "" {
		return report, errors.New("what control holds is overwritten only with a reason: give one with --reason")
	}
	// First, since members would begin with an empty control as soon as there is one.
	if err := r.requireNoMembers(ctx); err != nil {
		return report, err
	}
	if err := control.Migrate(ctx, r.Pool); err != nil {
		return report, err
	}
	if err := r.refuse(ctx, r.Pool); err != nil {
		return report, err
	}
	s, err := r.read(ctx)
	if err != nil {
		return report, err
	}
	err = pg.InTx(ctx, r.Pool, func(tx pgx.Tx) error {
		// Whoever decides or reads anything needs one of these.
		if _, err := tx.Exec(ctx, "LOCK TABLE control.consumed, control.consumed_topic, control.counter, control.position, control.lease IN ACCESS EXCLUSIVE MODE"); err != nil {
			return fmt.Errorf("lock control: %w", err)
		}
		if err := r.refuse(ctx, tx); err != nil {
			return err
		}
		// What was read into an empty control was passed over, and is read again.
		if _, err := tx.Exec(ctx, "TRUNCATE control.consumed, control.consumed_topic"); err != nil {
			return fmt.Errorf("forget what was read into the control before: %w", err)
		}
		w := &writer{r: r, s: s, tx: tx, now: r.Now(), report: &report}
		return w.write(ctx)
	})
	if err == nil && r.Force {
		r.Log.Warn("control was overwritten by what the topics tell", "reason", r.Reason)
	}
	return report, err
}

// refuse fails if there is anything to lose, or somebody at work.
func (r *Restorer) refuse(ctx context.Context, q pg.Querier) error {
	var holders, read, files, sessions, position int64
	err := q.QueryRow(ctx, `SELECT (SELECT count(*) FROM control.lease WHERE expires_at > clock_timestamp()), 
		(SELECT count(*) FROM control.consumed) + (SELECT count(*) FROM control.consumed_topic), (SELECT count(*) FROM control.file),
		(SELECT count(*) FROM control.session), (SELECT next - 1 FROM control.position)`).Scan(&holders, &read, &files, &sessions, &position)
	switch {
	case err != nil:
		return fmt.Errorf("look at control: %w", err)
	case holders > 0:
		return errors.New("members with the roles schedule, publish or sequence are running: stop all members, wait until their leases have expired, and restore again")
	case files+sessions+position == 0 && read > 0 && !r.Force:
		return fmt.Errorf("%w: topics were read into it, so a member with the role plan or sequence was started, and may be running yet: stop all members, and restore again with --force and a --reason; nothing is lost by it", ErrNotEmpty)
	case files+sessions+position > 0 && !r.Force:
		return fmt.Errorf("%w: it has %d files, %d sessions and %d positions. Restore where the schema control was lost; or give --force and a --reason, and what control knows and has not told is lost", ErrNotEmpty, files, sessions, position)
	}
	return nil
}

// read gathers what the topics tell.
func (r *Restorer) read(ctx context.Context) (*state, error) {
	s := newState()
	err := r.each(ctx, schemas.StatusChangedTopic, func(m schemas.Message, _ schemas.Record) error {
		if e, ok := m.Body.(*schemas.StatusChanged); ok {
			s.status(m, e)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	err = r.each(ctx, schemas.FileDiscoveredTopic, func(m schemas.Message, record schemas.Record) error {
		if e, ok := m.Body.(*schemas.FileDiscovered); ok {
			s.discovered(m, record, e)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	log := chain.Log{Decided: r.Decided}
	err = r.order(ctx, &log, func(m schemas.Message, o *schemas.DocumentOrdered, outcome chain.Outcome) {
		switch outcome {
		case chain.Taken:
			s.ordered(m, o)
		case chain.Hollow:
			s.hollow(o)
		}
	})
	if err != nil {
		return nil, err
	}
	if err := log.Err(); err != nil {
		return nil, fmt.Errorf("the order contradicts itself, and nothing tells by itself which record is genuine: control was not restored. %w", err)
	}
	if n := log.Unproven(); n > 0 {
		r.Log.Warn("positions come again with another content before the chain begins; the first one counts", "records", n)
	}
	s.head = log.Head()
	next, _ := s.head.GoesOn()
	s.last = next - 1 // also behind one that can't be read, and is lost
	if err := r.readLetters(ctx, s); err != nil {
		return nil, err
	}
	err = r.each(ctx, schemas.DownloadFinishedTopic, func(m schemas.Message, _ schemas.Record) error {
		if e, ok := m.Body.(*schemas.DownloadFinished); ok && s.files[e.File] != nil {
			if t := s.files[e.File].attempts[attemptKey{e.Run, e.Attempt}]; t != nil {
				t.finished = true
			}
		}
		return nil
	})
	return s, err
}

// position is the message of a position, as sequence makes it.
func position(o *schemas.DocumentOrdered, now time.Time) schemas.Message {
	const stage = "sequence"
	return schemas.Message{
		ID:    schemas.EventID(stage, schemas.LiveRun, strconv.FormatInt(o.Position, 10), schemas.DocumentOrderedTopic),
		Topic: schemas.DocumentOrderedTopic, Key: o.Domain, Stage: stage, Subject: o.What + " " + o.Domain, Time: now, Body: o,
	}
}
