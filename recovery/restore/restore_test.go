package restore

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"tributary/internal/config"
	"tributary/internal/engine/enginetest"
	"tributary/internal/kafka"
	"tributary/internal/pg"
	"tributary/schemas"
	"tributary/schemas/schemastest"
	"tributary/sql/control"
	"tributary/sql/outbox/outboxtest"
	"tributary/test/wait"
)

// scene is a lost control beside topics that hold what the tests put there.
type scene struct {
	*Restorer
	t      *testing.T
	client *kgo.Client
	addrs  []string // of the broker
}

// newScene has the control that a member made that began without it: an empty one.
func newScene(t *testing.T) *scene {
	t.Helper()
	return sceneOn(t, enginetest.Filled(t, "control", control.Migrate))
}

// sceneOn has the control that is in a database, or none.
func sceneOn(t *testing.T, database string) *scene {
	t.Helper()
	pool, err := pg.Open(t.Context(), database, "restore-test", 4)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	codec := schemastest.Codec(t)
	addrs := enginetest.Broker(t)
	connect := kafka.NewFactory(config.Default().Kafka, addrs, slog.New(slog.DiscardHandler))
	s := &scene{t: t, addrs: addrs, Restorer: &Restorer{Pool: pool, Connect: connect, Prefix: "t", Codec: codec, Retry: time.Hour, Log: slog.New(slog.DiscardHandler),
		Now: func() time.Time { return time.Now().UTC().Truncate(time.Microsecond) }}}
	if s.client, err = connect(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.client.Close)
	for _, topic := range []string{schemas.StatusChangedTopic, schemas.FileDiscoveredTopic, schemas.DocumentOrderedTopic, schemas.DownloadFinishedTopic} {
		if _, err := kadm.NewClient(s.client).CreateTopic(t.Context(), 1, 1, nil, kafka.TopicName("t", topic)); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

func (s *scene) tell(topic, stage string, body any) {
	s.t.Helper()
	record, err := s.Codec.Encode(schemas.Message{ID: schemas.ID("test", fmt.Sprint(time.Now().UnixNano())), Topic: topic, Key: "k", Stage: stage, Time: s.Now(), Body: body})
	if err == nil {
		err = s.client.ProduceSync(s.t.Context(), kafka.ToKgo("t", record)).FirstErr()
	}
	if err != nil {
		s.t.Fatal(err)
	}
}

const zipName = "H.2024-01-01.1.impc.zip"

// fetched tells of a session in which a file of two documents was found, fetched
// and extracted.
func (s *scene) fetched() (file string, session string) {
	now := s.Now()
	session, file = schemas.ID("session", "1"), schemas.FileID(schemas.Add, zipName)
	scope := schemas.Scope{Run: schemas.LiveRun, Session: session, Centre: "H", Source: "h"}
	say := func(stage string, e schemas.StatusChanged) {
		if e.Scope == (schemas.Scope{}) {
			e.Scope = scope
		}
		s.tell(schemas.StatusChangedTopic, stage, &e)
	}
	say("schedule", schemas.StatusChanged{Entity: schemas.EntityCentre, Revision: 3, Attributes: map[string]string{"active": "true"}})
	say("schedule", schemas.StatusChanged{Entity: schemas.EntitySource, Revision: 4, Server: "both", Attributes: map[string]string{"state": "suspended", "protocol": "sftp", "hostname": "s:22",
		"suspended_at": "2026-03-01T12:00:00.5Z", "suspended_why": "10 polls in a row failed", "overruns": "3", "declared_state": "maintenance",
		"declared": "false", "definition": `{"url": "sftp://u@s/", "id": "h", "host_key": "SHA256:x"}`}})
	say("schedule", schemas.StatusChanged{Scope: schemas.Scope{Run: schemas.LiveRun, Centre: "H", Source: "odd"}, Entity: schemas.EntitySource, Revision: 4, Server: "s:22", Attributes: map[string]string{"state": "removed", "hostname": "s:22", "definition": `{"id": "odd", "url": "\u0000"}`}})
	say("schedule", schemas.StatusChanged{Scope: schemas.Scope{Run: schemas.LiveRun, Centre: "H", Source: "rests"}, Entity: schemas.EntitySource, Revision: 4, Server: "s:22", Attributes: map[string]string{"state": "maintenance",
		"maintained_until": "2026-03-02T12:00:00Z", "definition": `{"id": "rests", "windows": [{"cron": "0 22 * * *", "for": "2h"}]}`}})
	say("schedule", schemas.StatusChanged{Entity: schemas.EntitySession, Number: 7, StartedAt: &now, Status: string(schemas.Running)})
	s.fetchedToo(session, zipName)
	return file, session
}

// fetchedToo tells that a file of two documents was found, fetched and extracted in a
// session.
func (s *scene) fetchedToo(session, name string) {
	now := s.Now()
	ref := schemas.FileRef{File: schemas.FileID(schemas.Add, name), FileName: name, Action: schemas.Add}
	scope := schemas.Scope{Run: schemas.LiveRun, Session: session, Centre: "H", Source: "h"}
	say := func(stage string, e schemas.StatusChanged) {
		e.Scope = scope
		s.tell(schemas.StatusChangedTopic, stage, &e)
	}
	say("poll", schemas.StatusChanged{FileRef: ref, Entity: schemas.EntityFile, Phase: string(schemas.ZipName), FileDate: "2024-01-01", FileInc: 1})
	say("poll", schemas.StatusChanged{FileRef: ref, Entity: schemas.EntityHosting, Look: 1, FileSize: 9, ListedAt: &now, Revision: 1, Attributes: map[string]string{"state": "present"}})
	s.tell(schemas.FileDiscoveredTopic, "poll", &schemas.FileDiscovered{Scope: scope, FileRef: ref, Change: "new", Look: 1, Size: 9, ListedAt: &now})
	say("plan", schemas.StatusChanged{FileRef: ref, Entity: schemas.EntityDownload, Attempt: 1, Look: 1, FileSize: 9, Phase: string(schemas.Download), Status: string(schemas.Pending), RequestedAt: &now})
	s.tell(schemas.DownloadFinishedTopic, "download", &schemas.DownloadFinished{Scope: scope, FileRef: ref, Attempt: 1, Look: 1, Result: schemas.Fetched, Outcome: sha, SHA256: sha})
	say("plan", schemas.StatusChanged{FileRef: ref, Entity: schemas.EntityDownload, Attempt: 1, Look: 1, FileSize: 9, Phase: string(schemas.Unzip), Status: string(schemas.Done),
		Outcome: sha + "/done", Accepted: sha + "/done", Rows: 2})
}

// order tells of positions: so many documents of the file's two, and what else
// is named.
func (s *scene) order(file, session string, first int64, what ...string) {
	now := s.Now()
	for i, w := range what {
		s.tell(schemas.DocumentOrderedTopic, "sequence", &schemas.DocumentOrdered{
			Scope: schemas.Scope{Run: schemas.LiveRun, Session: session, Centre: "H", Source: "h"}, FileRef: schemas.FileRef{File: file, FileName: zipName, Action: schemas.Add},
			DocumentRef: schemas.DocumentRef{Document: schemas.DocumentID(file, fmt.Sprint(i)), Entry: fmt.Sprint(i), Archive: sha},
			Position:    first + int64(i), What: w, Batch: schemas.ID("batch", session, "H"), Domain: "H", Number: 5, Attempt: 1, Download: sha, Unzip: "done",
			RankOwn: true, RankTime: &now, RankOrdinal: 1, Documents: 2})
	}
}

// ask returns the rows of a query of one column.
func (s *scene) ask(query string) []string {
	s.t.Helper()
	return ask(s.t, s.Pool, query)
}

func ask(t *testing.T, pool *pgxpool.Pool, query string) (out []string) {
	t.Helper()
	rows, err := pool.Query(t.Context(), query)
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	defer rows.Close()
	for rows.Next() {
		var text string
		if err := rows.Scan(&text); err != nil {
			t.Fatal(err)
		}
		out = append(out, text)
	}
	return out
}

func (s *scene) same(what, query string, want ...string) {
	s.t.Helper()
	if diff := cmp.Diff(want, s.ask(query)); diff != "" {
		s.t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// outbox is what restore orders: the kind and the position of each.
func (s *scene) outbox() (out []string) {
	for _, m := range outboxtest.Events(s.t, s.Pool, control.Schema, s.Codec) {
		o := m.Body.(*schemas.DocumentOrdered)
		out = append(out, fmt.Sprint(o.Position, " ", o.What, " of ", o.Documents, " in ", o.Number))
	}
	return out
}

const (
	acquisitionsSQL = "SELECT concat_ws(' ', state, result, attempt, rank_ordinal, batch IS NOT NULL) FROM control.acquisition ORDER BY id"
	batchesSQL      = "SELECT concat_ws(' ', domain, coalesce(number, 0), coalesce(last_position, 0), released_at IS NOT NULL) FROM control.batch"
	nextSQL         = "SELECT concat_ws(' ', (SELECT next FROM control.position), (SELECT next_number FROM control.domain), string_agg(name || ' ' || value, ' ' ORDER BY name)) FROM control.counter"
)

// How far the batch had come when control was lost decides what is ordered, and
// what is driven again.
func TestABatchIsFinishedWhereverItWasCutOff(t *testing.T) {
	for _, c := range []struct {
		name         string
		what         []string
		closing      []string
		acquisitions string
		batch, next  string
	}{
		{"before", nil, nil, "requested  1 t", "H 0 0 f", "1 replay 0 revision 4 session 7"},
		{"one document is missing", []string{"document"}, nil, "requested  1 t", "H 5 0 f", "2 6 replay 0 revision 4 session 7"},
		{"all documents are out", []string{"document", "document"}, []string{"3 withdrawal of 2 in 5"}, "ended complete 1 1 t", "H 5 0 f", "4 6 replay 0 revision 4 session 7"},
		{"the end is missing", []string{"document", "document", "withdrawal"}, nil, "ended complete 1 1 t", "H 5 0 f", "4 6 replay 0 revision 4 session 7"},
		{"whole", []string{"document", "document", "withdrawal", "batch_end"}, nil, "ended complete 1 1 t", "H 5 4 t", "5 6 replay 0 revision 4 session 7"},
		{"the session has ended", []string{"document", "document", "withdrawal", "batch_end", "session_end"}, nil, "ended complete 1 1 t", "H 5 4 t", "6 6 replay 0 revision 4 session 7"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := sceneOn(t, enginetest.Postgres(t)) // with no control at all
			file, session := s.fetched()
			s.order(file, session, 1, c.what...)
			report, err := s.Run(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.closing, s.outbox()); diff != "" {
				t.Errorf("ordered (-want +got):\n%s", diff)
			}
			s.same("acquisitions", acquisitionsSQL, c.acquisitions)
			s.same("batches", batchesSQL, c.batch)
			s.same("what is given next", nextSQL, c.next)
			s.same("looks", "SELECT class FROM control.look", "taken")
			s.same("sources", "SELECT concat_ws(' ', id, centre, server, address, state, revision, suspended_at = '2026-03-01T12:00:00.5Z', suspended_why, overruns, declared_state, declared, definition) FROM control.source ORDER BY id",
				`h H both s:22 suspended 4 t 10 polls in a row failed 3 maintenance f {"id": "h", "url": "sftp://u@s/", "host_key": ["SHA256:x"]}`, "odd H s:22  removed 4  0 available t {}",
				`rests H s:22  maintenance 4  0 maintenance t {"id": "rests", "windows": [{"for": "2h", "cron": "0 22 * * *"}]}`)
			s.same("when sources rest", "SELECT concat_ws(' ', id, maintained_until AT TIME ZONE 'UTC', (closes AT TIME ZONE 'UTC')::time) FROM control.source ORDER BY id", "h", "odd", "rests 2026-03-02 12:00:00 00:00:00")
			if report.Files != 1 || report.Sessions != 1 || report.Looks != 1 {
				t.Errorf("reported: %+v", report)
			}
		})
	}
}

// A shadow is known again, by its name, and what it had is not: no attempt of it
// is taken for one of the file's.
func TestShadowsAreNotRestored(t *testing.T) {
	s := newScene(t)
	file, session := s.fetched()
	s.order(file, session, 1, "document", "document", "withdrawal", "batch_end")
	run, err := schemas.NewShadowRun()
	if err != nil {
		t.Fatal(err)
	}
	now := s.Now()
	s.tell(schemas.StatusChangedTopic, "plan", &schemas.StatusChanged{Scope: schemas.Scope{Run: run}, Entity: schemas.EntityReplay, Status: string(schemas.Running), Note: schemas.ReplayRequested,
		Number: 3, Attributes: map[string]string{"from": schemas.FromUnzip, "shadow": "try", "versions": "{}", "by": "somebody"}})
	s.tell(schemas.StatusChangedTopic, "plan", &schemas.StatusChanged{Scope: schemas.Scope{Run: run, Centre: "H", Source: "h"}, FileRef: schemas.FileRef{File: file, FileName: zipName, Action: schemas.Add},
		Entity: schemas.EntityDownload, Attempt: 2, Look: 1, FileSize: 9, Phase: string(schemas.Unzip), Status: string(schemas.Done), Outcome: sha + "/done", Accepted: sha + "/done", Rows: 2, RequestedAt: &now})
	if _, err := s.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.same("acquisitions", acquisitionsSQL, "ended complete 1 1 t")
	s.same("files", "SELECT concat_ws(' ', current_attempt, attempts) FROM control.file", "1 2")
	s.same("replays", "SELECT concat_ws(' ', number, shadow, state, versions, promotes) FROM control.replay", "3 try stopped {}")
}

func TestRestoreRefuses(t *testing.T) {
	s := newScene(t)
	file, session := s.fetched()
	exec := func(sql string) {
		t.Helper()
		if _, err := s.Pool.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	exec("INSERT INTO control.lease VALUES ('schedule', 'somebody', 1, 'infinity')")
	if _, err := s.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "stop all members") {
		t.Errorf("beside a member at work: %v", err)
	}
	exec("UPDATE control.lease SET expires_at = '-infinity'; INSERT INTO control.file (id, name, action) VALUES ('" + schemas.ID("x") + "', 'other', 'add')")
	if _, err := s.Run(t.Context()); !errors.Is(err, ErrNotEmpty) {
		t.Errorf("over something: %v", err)
	}
	s.Force = true
	if _, err := s.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "reason") {
		t.Errorf("by force, without a reason: %v", err)
	}
	s.same("files", "SELECT name FROM control.file", "other")
	s.Reason = "a test"
	for range 2 { // by force it may be done again
		if _, err := s.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		s.same("files", "SELECT name FROM control.file", zipName)
	}
	s.order(file, session, 3, "document")
	if _, err := s.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "lacks the positions 1 to 2") {
		t.Errorf("with a gap: %v", err)
	}
	s.same("files", "SELECT name FROM control.file", zipName)
}

// What others announce in transactions leaves their markers behind it, and
// restoring ends all the same.
func TestRestoreOfALogThatEndsInAMarker(t *testing.T) {
	s := newScene(t)
	s.fetched()
	record, err := s.Codec.Encode(schemas.Message{ID: schemas.ID("announced"), Topic: schemas.FileDiscoveredTopic, Key: "k", Stage: "test", Time: s.Now(),
		Body: &schemas.FileDiscovered{Change: "new"}})
	if err != nil {
		t.Fatal(err)
	}
	enginetest.Transact(t, s.addrs, kafka.ToKgo("t", record))
	ctx, cancel := context.WithTimeout(t.Context(), wait.Patience())
	defer cancel()
	if _, err := s.Run(ctx); err != nil {
		t.Fatal(err)
	}
}
