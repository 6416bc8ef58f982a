// Package admin is how people ask running members how they are and what they are
// configured by, change settings of theirs, and stop them. Requests and answers are
// rows of control: no member opens a port for it. What is changed is an event.
package admin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"tributary/internal/backoff"
	"tributary/internal/pg"
	"tributary/schemas"
	"tributary/sql/control"
	"tributary/sql/outbox"
)

// What may be asked of a member.
const (
	Stat = "stat" // its counters, as they are now
	Get  = "get"  // its configuration, with the origin of each value
	Set  = "set"  // change a setting of it
	Stop = "stop" // stop in order
)

const (
	// turn is how often a member looks for requests, and beat how often it says that
	// it runs.
	turn = time.Second
	beat = 4 * time.Second
	// askTime bounds one look, and one answer.
	askTime = 10 * time.Second
	// maxRows and maxAnswer bound an answer.
	maxRows   = 2000
	maxAnswer = 256 << 10
)

// Row is one line of an answer.
type Row struct {
	Name  string `json:"name"`
	Value string `json:"value"`
	From  string `json:"from,omitempty"` // of a configured value: where it is from
}

// Setting is one that may change while the member runs.
type Setting struct {
	Key string
	Now func() string
	// Set takes a value, or says why it may not be.
	Set func(value string) error
}

// Deps are what a Member works with.
type Deps struct {
	Member   control.Member // id, version and roles
	Pool     *pgxpool.Pool  // of control
	Outbox   outbox.Outbox  // of control
	Stat     func(ctx context.Context) []Row
	Get      func() []Row
	Settings []Setting
	// Stop stops the member's roles, the last first, and has Run's context end then.
	Stop func()
	Log  *slog.Logger
	Now  func() time.Time
}

// Member announces a process, and answers what is asked of it.
type Member struct {
	deps    Deps
	changed map[string]string // by whom and when, by the key of what was set
}

// New makes a Member that does nothing until Run.
func New(d Deps) *Member { return &Member{deps: d, changed: map[string]string{}} }

// Run answers until ctx ends, then says that the member has stopped. While Postgres
// is away it goes on without: nothing of the member's work depends on it.
func (m *Member) Run(ctx context.Context) error {
	known, away := false, false
	var said time.Time
	for range backoff.Every(ctx, turn) {
		err := m.serve(ctx, &known, &said)
		if err != nil && ctx.Err() == nil && !away {
			m.deps.Log.Warn("this member can't be administered while control can't be reached", "error", err)
		}
		away = err != nil
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), askTime/5)
	defer cancel()
	if err := control.LeaveMember(last, m.deps.Pool, m.deps.Member.ID); err != nil {
		m.deps.Log.Debug("nobody is told that this member has stopped", "error", err)
	}
	return nil
}

func (m *Member) serve(ctx context.Context, known *bool, said *time.Time) (err error) {
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	now := m.deps.Now()
	if *known && (now.Sub(*said) >= beat || now.Before(*said)) {
		if *known, err = control.BeatMember(ctx, m.deps.Pool, m.deps.Member.ID); err != nil {
			return err
		}
		*said = now
	}
	if !*known {
		if err := control.AnnounceMember(ctx, m.deps.Pool, m.deps.Member); err != nil {
			return err
		}
		*known, *said = true, now
	}
	requests, err := control.MemberRequests(ctx, m.deps.Pool, m.deps.Member.ID)
	for _, r := range requests {
		err = errors.Join(err, m.answer(ctx, r))
	}
	return err
}

// answer does what is asked, and says so in the same transaction.
func (m *Member) answer(ctx context.Context, r control.MemberRequest) error {
	switch r.Verb {
	case Stat:
		return m.reply(ctx, r, m.deps.Stat(ctx))
	case Get:
		return m.reply(ctx, r, m.configuration())
	case Set:
		return m.set(ctx, r)
	case Stop:
		wanted, err := m.storeAnswer(ctx, r, nil, "asked to stop", nil)
		if err == nil && wanted {
			m.deps.Log.Info("stopping in order, as was asked", "by", r.By, "reason", r.Reason)
			go m.deps.Stop() // the member goes on saying that it runs until it has
		}
		return err
	}
	_, err := control.AnswerRequest(ctx, m.deps.Pool, r.Number, nil, "this member does not know it: upgrade the member")
	return err
}

func (m *Member) reply(ctx context.Context, r control.MemberRequest, rows []Row) error {
	text, err := encode(rows)
	if err != nil {
		return err
	}
	_, err = control.AnswerRequest(ctx, m.deps.Pool, r.Number, text, "")
	return err
}

// encode writes as many rows as an answer may have, and says so where there are more.
func encode(rows []Row) ([]byte, error) {
	for n := min(len(rows), maxRows); ; n /= 2 {
		some := rows[:n:n]
		if n < len(rows) {
			some = append(some, Row{Name: "…", Value: fmt.Sprintf("%d more", len(rows)-n)})
		}
		text, err := json.Marshal(some)
		if err != nil || len(text) <= maxAnswer || n == 0 {
			return text, err
		}
	}
}

// configuration is the configuration, with what was set since the start.
func (m *Member) configuration() []Row {
	rows := m.deps.Get()
	for i, row := range rows {
		for _, s := range m.deps.Settings {
			if s.Key == row.Name && m.changed[s.Key] != "" {
				rows[i].Value, rows[i].From = s.Now(), m.changed[s.Key]
			}
		}
	}
	return rows
}

// set changes a setting. What can't be told of is not changed.
func (m *Member) set(ctx context.Context, r control.MemberRequest) error {
	var keys []string
	for _, s := range m.deps.Settings {
		keys = append(keys, s.Key)
		if s.Key != r.Key {
			continue
		}
		before := s.Now()
		if err := s.Set(r.Value); err != nil {
			_, err = control.AnswerRequest(ctx, m.deps.Pool, r.Number, nil, err.Error())
			return err
		}
		after := s.Now()
		text, err := encode([]Row{{Name: s.Key, Value: after, From: "was " + before}})
		if err != nil {
			return err
		}
		wanted, err := m.storeAnswer(ctx, r, text, fmt.Sprintf("%s set from %s to %s", s.Key, before, after), map[string]string{"key": s.Key, "from": before, "to": after})
		if err != nil || !wanted {
			return errors.Join(err, s.Set(before))
		}
		m.changed[s.Key] = fmt.Sprintf("set by %s at %s", r.By, m.deps.Now().UTC().Format(time.RFC3339))
		m.deps.Log.Info("a setting was changed", "key", s.Key, "from", before, "to", after, "by", r.By, "reason", r.Reason)
		return nil
	}
	_, err := control.AnswerRequest(ctx, m.deps.Pool, r.Number, nil, fmt.Sprintf("%q can't be set while this member runs, only %s", r.Key, strings.Join(keys, ", ")))
	return err
}

// storeAnswer stores the answer with the event that tells who has ordered what of whom.
func (m *Member) storeAnswer(ctx context.Context, r control.MemberRequest, answer []byte, what string, more map[string]string) (wanted bool, err error) {
	err = pg.InTx(ctx, m.deps.Pool, func(tx pgx.Tx) error {
		if wanted, err = control.AnswerRequest(ctx, tx, r.Number, answer, ""); err != nil || !wanted {
			return err
		}
		return m.deps.Outbox.Append(ctx, tx, m.event(r, what, more))
	})
	return wanted, err
}

// event tells of what was done, in the form in which orders about sources are told.
func (m *Member) event(r control.MemberRequest, what string, more map[string]string) schemas.Message {
	const stage = "admin"
	id := m.deps.Member.ID
	attributes := map[string]string{"member": id, "roles": strings.Join(m.deps.Member.Roles, ","), "verb": r.Verb, "by": r.By, "reason": r.Reason, "asked_at": r.AskedAt.UTC().Format(time.RFC3339Nano)}
	for k, v := range more {
		attributes[k] = v
	}
	return schemas.Message{
		ID: schemas.EventID(stage, schemas.LiveRun, id, r.Verb, strconv.FormatInt(r.Number, 10)), Topic: schemas.StatusChangedTopic, Key: id, Stage: stage, Subject: id, Time: m.deps.Now(),
		Body: &schemas.StatusChanged{Scope: schemas.Scope{Run: schemas.LiveRun}, Entity: schemas.EntityMember, Message: control.Decision{By: r.By, Reason: r.Reason}.Said(what), Attributes: attributes},
	}
}
