package control

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"tributary/internal/pg"
)

const (
	// memberSilence is after how many seconds without a word a member is gone: it says
	// something every few seconds.
	memberSilence = 15
	// openRequests is how many requests may wait for one member.
	openRequests = 50
	// membersListed bounds a list of members.
	membersListed = 500
)

// ErrMemberBusy says that too many requests wait for a member.
var ErrMemberBusy = errors.New("too many requests wait for it already")

// Member is a process that runs roles.
type Member struct {
	ID, Version       string
	Roles             []string // in the order in which they start
	StartedAt, SeenAt time.Time
	StoppedAt         *time.Time // nil: it did not stop in order
	Gone              bool       // it has neither stopped nor said anything for a while
}

// MemberRequest is what somebody asks of a member.
type MemberRequest struct {
	Number     int64
	Member     string
	Verb       string // stat, get, set or stop
	Key, Value string // of set
	By         string // who asks
	Reason     string
	AskedAt    time.Time
	Answer     []byte // JSON; nil: none
	Refused    string
	Answered   bool
	WaitsFor   time.Duration // of a new one: how long somebody waits for the answer
}

// AnnounceMember says that a member runs, and forgets those that are over since a week.
func AnnounceMember(ctx context.Context, q pg.Querier, m Member) error {
	if err := pg.Exec(ctx, q, "forget members", "DELETE FROM control.member WHERE seen_at < clock_timestamp() - interval '7 days'"); err != nil {
		return err
	}
	return pg.Exec(ctx, q, "announce the member", "INSERT INTO control.member (id, roles, version) VALUES ($1, $2, $3) ON CONFLICT (id) DO UPDATE SET seen_at = clock_timestamp(), stopped_at = NULL", m.ID, m.Roles, m.Version)
}

// BeatMember says that a member still runs. Known is false where control has
// forgotten it.
func BeatMember(ctx context.Context, q pg.Querier, id string) (known bool, err error) {
	n, err := pg.Changed(ctx, q, "say that the member runs", "UPDATE control.member SET seen_at = clock_timestamp() WHERE id = $1", id)
	return n == 1, err
}

// LeaveMember says that a member has stopped in order.
func LeaveMember(ctx context.Context, q pg.Querier, id string) error {
	return pg.Exec(ctx, q, "say that the member has stopped", "UPDATE control.member SET seen_at = clock_timestamp(), stopped_at = clock_timestamp() WHERE id = $1", id)
}

// Members are those that run, and those that were there within a day, in the order of
// their start; 500 at most.
func Members(ctx context.Context, q pg.Querier) ([]Member, error) {
	return pg.List(ctx, q, "list members", pgx.RowToStructByNameLax[Member], `SELECT id, version, roles, started_at, seen_at, stopped_at, stopped_at IS NULL AND seen_at < clock_timestamp() - make_interval(secs => $1) AS gone
		FROM control.member WHERE seen_at > clock_timestamp() - interval '1 day' ORDER BY started_at, id LIMIT $2`, memberSilence, membersListed)
}

// AskMember stores a request, and forgets those of before yesterday. The error matches
// ErrMemberBusy where too many wait.
func AskMember(ctx context.Context, q pg.Querier, r MemberRequest) (number int64, err error) {
	if err := pg.Exec(ctx, q, "forget requests", "DELETE FROM control.member_request WHERE member = $1 AND asked_at < clock_timestamp() - interval '1 day'", r.Member); err != nil {
		return 0, err
	}
	number, err = pg.One(ctx, q, "ask "+r.Member, pgx.RowTo[int64], `INSERT INTO control.member_request (member, verb, key, value, asked_by, reason, expires_at)
		SELECT $1, $2, $3, $4, $5, $6, clock_timestamp() + $7::interval
		WHERE (SELECT count(*) FROM control.member_request WHERE member = $1 AND answered_at IS NULL AND expires_at > clock_timestamp()) < $8 RETURNING number`,
		r.Member, r.Verb, pg.Text(r.Key), pg.Text(r.Value), pg.Text(r.By), pg.Text(r.Reason), interval(r.WaitsFor), openRequests)
	if errors.Is(err, pgx.ErrNoRows) {
		return 0, fmt.Errorf("ask %s: %w", r.Member, ErrMemberBusy)
	}
	return number, err
}

// MemberRequests are the requests that wait for a member, the oldest first.
func MemberRequests(ctx context.Context, q pg.Querier, member string) ([]MemberRequest, error) {
	return pg.List(ctx, q, "read requests", pgx.RowToStructByNameLax[MemberRequest], `SELECT number, member, verb, key, value, asked_by AS by, reason, asked_at FROM control.member_request
		WHERE member = $1 AND answered_at IS NULL AND expires_at > clock_timestamp() ORDER BY number LIMIT $2`, member, openRequests)
}

// AnswerRequest stores the answer to a request, or why it is refused. Wanted is false
// where nobody waits for it any more: then nothing may come of it.
func AnswerRequest(ctx context.Context, q pg.Querier, number int64, answer []byte, refused string) (wanted bool, err error) {
	n, err := pg.Changed(ctx, q, "answer a request", "UPDATE control.member_request SET answered_at = clock_timestamp(), answer = $2, refused = $3 WHERE number = $1 AND answered_at IS NULL AND expires_at > clock_timestamp()", number, answer, pg.Text(refused))
	return n == 1, err
}

// ReadRequest returns a request with its answer, if there is one.
func ReadRequest(ctx context.Context, q pg.Querier, number int64) (r MemberRequest, err error) {
	err = pg.Row(ctx, q, "read an answer", []any{&r.Number, &r.Member, &r.Verb, &r.Answer, &r.Refused, &r.Answered}, "SELECT number, member, verb, answer, refused, answered_at IS NOT NULL FROM control.member_request WHERE number = $1", number)
	return r, err
}
