package report

import (
	"context"
	"fmt"
	"time"

	"tributary/internal/pg"
)

// Session is a round of polling, and what followed from it.
type Session struct {
	ID              string     `json:"id"`
	Number          *int64     `json:"number"`
	Opened          *time.Time `json:"opened"`
	Closed          *time.Time `json:"closed"` // nil while it is open
	State           string     `json:"state"`  // open, done or failed
	FailedPhase     *string    `json:"failed_phase"`
	Note            *string    `json:"note"`
	Polls           int64      `json:"polls"`
	PollsFailed     int64      `json:"polls_failed"`
	Files           int64      `json:"files"` // attempts to fetch one
	FilesFailed     int64      `json:"files_failed"`
	Bytes           int64      `json:"bytes"` // received
	Documents       int64      `json:"documents"`
	DocumentsFailed int64      `json:"documents_failed"`
	DocumentsOpen   int64      `json:"documents_open"`
	Batches         int64      `json:"batches"`
	BatchesOpen     int64      `json:"batches_open"`
}

// SessionTask is what a session did in one phase.
type SessionTask struct {
	Phase   string     `json:"phase"`
	Comment string     `json:"comment"` // how many, how many failed, how many are open
	Started *time.Time `json:"started"`
	Ended   *time.Time `json:"ended"`  // nil while it is open
	Status  *int16     `json:"status"` // nil while it is open, 0 if all went well, 1 if something failed
}

// Failed tells whether something failed in that phase.
func (t SessionTask) Failed() bool { return t.Status != nil && *t.Status != 0 }

const sessionSQL = `SELECT s.id::text, s.number, s.start_time, s.finish_time, s.state, s.failed_phase, s.note, s.polls, s.polls_failed, s.files, s.files_failed, s.bytes,
	s.documents, s.documents_failed, s.documents_open, s.batches, s.batches_open FROM tracker.session s`

// Sessions lists sessions that were opened before a moment, or all for the zero time,
// at most limit of them, the newest first. What each did is counted for these alone.
func Sessions(ctx context.Context, q pg.Querier, before time.Time, limit int) ([]Session, error) {
	var until *time.Time
	if !before.IsZero() {
		until = &before
	}
	return list[Session](ctx, q, "sessions", sessionSQL+` WHERE s.start_time < coalesce($1::timestamptz, 'infinity') ORDER BY s.start_time DESC, s.id LIMIT $2`, until, limit)
}

// SessionStory is a session, what it did in each phase, and how its polls ended.
type SessionStory struct {
	Session
	Tasks    []SessionTask `json:"tasks"` // by phase
	PollList []Poll        `json:"poll_list"`
}

// noSession says that there is no session of that number.
type noSession int64

func (n noSession) Error() string        { return fmt.Sprintf("the tracker knows no session %d", int64(n)) }
func (n noSession) Is(target error) bool { return target == ErrNotFound }

// TellSession tells of the session with a number. One that the tracker doesn't know is
// an ErrNotFound.
func TellSession(ctx context.Context, q pg.Querier, number int64) (SessionStory, error) {
	found, err := list[Session](ctx, q, "a session", sessionSQL+` WHERE s.number = $1 ORDER BY s.start_time DESC NULLS LAST, s.id LIMIT 1`, number)
	if err == nil && len(found) == 0 {
		err = noSession(number)
	}
	if err != nil {
		return SessionStory{}, err
	}
	story := SessionStory{Session: found[0]}
	if story.Tasks, err = list[SessionTask](ctx, q, "tasks of a session", `SELECT phase, comment, start_time, finish_time, status FROM tracker.session_task WHERE session_id = $1::uuid ORDER BY phase_id`, story.ID); err != nil {
		return story, err
	}
	story.PollList, err = list[Poll](ctx, q, "polls of a session", `SELECT coalesce(s.short_name, ''), coalesce(n.number, 0), k.start_time, k.finish_time, st.short_name, x.short_name, k.message, k.counts
		FROM tracker.poll_task k LEFT JOIN tracker.file_source s ON s.id = k.file_source_id`+pollNames+`
		WHERE k.session_id = $1::uuid ORDER BY k.status_id DESC, s.short_name COLLATE "C"`, story.ID)
	return story, err
}
