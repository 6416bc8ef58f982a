package sequence

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"tributary/internal/config"
	"tributary/internal/engine/enginetest"
	"tributary/internal/kafka"
	"tributary/internal/pg"
	"tributary/internal/stage/sink"
	"tributary/schemas"
	"tributary/schemas/schemastest"
	"tributary/sql/control"
	"tributary/sql/outbox"
	"tributary/sql/outbox/outboxtest"
)

// Work that was lost with a topic is requested again.
var _ sink.Restarter = (*Sequencer)(nil)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// bench is control on a real Postgres, with a sequencer whose clock the test
// moves; what plan would have stored is stored by the test.
type bench struct {
	*Sequencer
	t        *testing.T
	now      time.Time
	epoch    int64
	sessions int64
	offset   int64
	applied  int64
}

func newBench(t *testing.T) *bench {
	t.Helper()
	pool, err := pg.Open(t.Context(), enginetest.Filled(t, "control", control.Migrate), "test", 10)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	b := &bench{t: t, now: noon}
	b.Sequencer = b.member(pool, "one")
	if b.epoch, err = b.deps.Lease.Acquire(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	return b
}

func (b *bench) member(pool *pgxpool.Pool, holder string) *Sequencer {
	codec := schemastest.Codec(b.t)
	return New(config.Default().Sequence, Deps{Kinds: []string{"specimen", "experiment"},
		Outbox: outbox.Outbox{Schema: control.Schema, Codec: codec}, Offsets: pg.Offsets{Schema: control.Schema, Group: "test.sequence"}, Pool: pool,
		Lease: pg.Lease{Pool: pool, Schema: control.Schema, Name: "sequence", Holder: holder, TTL: time.Hour},
		Log:   slog.New(slog.DiscardHandler), Now: func() time.Time { return b.now },
		Applied: func(context.Context) (int64, error) { return b.applied, nil }})
}

func (b *bench) exec(sql string, args ...any) {
	b.t.Helper()
	if _, err := b.Pool.Exec(b.t.Context(), sql, args...); err != nil {
		b.t.Fatalf("%s: %v", sql, err)
	}
}

func (b *bench) text(sql string, args ...any) string {
	b.t.Helper()
	var out string
	if err := b.Pool.QueryRow(b.t.Context(), "SELECT coalesce(string_agg(q::text, ' '), '') FROM ("+sql+") q", args...).Scan(&out); err != nil {
		b.t.Fatalf("%s: %v", sql, err)
	}
	return out
}

// session opens a session whose polls have ended.
func (b *bench) session() string {
	b.t.Helper()
	b.sessions++
	id := uuid.NewString()
	b.exec("INSERT INTO control.session (id, number, once, opened_at, polls_ended_at) VALUES ($1, $2, false, $3, $3)", id, b.sessions, b.now)
	return id
}

// file is a file whose archive was accepted, with its documents outstanding.
type file struct {
	id, name, action, domain, date string
	inc                            int64
	sha                            string
	acquisition                    int64
	documents                      int
}

// extracted stores a file that plan has brought to its documents: of a
// session, or of none.
func (b *bench) extracted(session, domain, action, date string, inc int64, documents int) *file {
	b.t.Helper()
	f := &file{name: fmt.Sprintf("%s.%s.%d.impc.zip", domain, date, inc), action: action, domain: domain, date: date, inc: inc, documents: documents}
	f.id = schemas.FileID(action, f.name)
	f.sha = "sha of " + action + "/" + f.name
	b.exec(`INSERT INTO control.file (id, name, action, centre, file_date, file_inc, attempts, current_attempt) VALUES ($1,$2,$3,$4,$5::text::date,$6,1,1)`, f.id, f.name, action, domain, date, inc)
	var batch, of *string
	if session != "" {
		of = &session
		err := pg.InTx(b.t.Context(), b.Pool, func(tx pgx.Tx) error {
			id, err := control.EnsureBatch(b.t.Context(), tx, session, domain, b.now)
			batch = &id
			return err
		})
		if err != nil {
			b.t.Fatal(err)
		}
	}
	err := b.Pool.QueryRow(b.t.Context(), `INSERT INTO control.acquisition (run, file, session, domain, batch, source, look, size, state, attempt, download, unzip, sha256, documents, rank_own, rank_time, rank_ordinal)
		VALUES ($1,$2,$3,$4,$5,'src',1,1,'extracted',1,$6,'done',$6,$7,true,$8,1) RETURNING id`, schemas.LiveRun, f.id, of, domain, batch, f.sha, documents, b.now).Scan(&f.acquisition)
	if err != nil {
		b.t.Fatal(err)
	}
	b.exec(`INSERT INTO control.attempt (run, file, attempt, acquisition, source, look, job, download, unzip) VALUES ($1,$2,1,$3,'src',1,$4,$5,'done')`,
		schemas.LiveRun, f.id, f.acquisition, uuid.NewString(), f.sha)
	return f
}

// verdict is a document's, with a name as the profile wants it.
func (f *file) verdict(kind, date string, inc int64, result string) *schemas.DocumentValidated {
	entry := fmt.Sprintf("%s.%s.%d.%s.impc.xml", f.domain, date, inc, kind)
	v := &schemas.DocumentValidated{Scope: schemas.Scope{Run: schemas.LiveRun, Centre: f.domain, Source: "src"}, FileRef: schemas.FileRef{File: f.id, FileName: f.name, Action: f.action},
		DocumentRef:  schemas.DocumentRef{Document: schemas.DocumentID(f.id, entry), Entry: entry, Archive: f.sha, SHA256: "doc"},
		DocumentName: schemas.DocumentName{Kind: kind, DocCentre: f.domain, DocDate: date, DocInc: inc},
		Attempt:      1, Download: f.sha, Unzip: "done", Result: result, Outcome: result, Profile: "impc@1"}
	if result != schemas.Valid {
		v.Outcome, v.Exception, v.Phase = "xsd_invalid", "xsd_invalid", "xsd"
	}
	return v
}

// badName is the verdict of a document whose name was refused.
func (f *file) badName(entry string) *schemas.DocumentValidated {
	v := f.verdict("specimen", f.date, 1, schemas.FailedEnd)
	v.Entry, v.Document, v.DocumentName, v.Phase, v.Exception = entry, schemas.DocumentID(f.id, entry), schemas.DocumentName{}, "xml_name", "document_name_pattern"
	return v
}

func (b *bench) batch(verdicts ...*schemas.DocumentValidated) sink.Range {
	b.t.Helper()
	r := sink.Range{Topic: schemas.DocumentValidatedTopic, From: b.offset}
	for _, v := range verdicts {
		rec, err := b.deps.Outbox.Codec.Encode(schemas.Message{ID: uuid.NewString(), Topic: schemas.DocumentValidatedTopic, Key: v.Document, Stage: "validate", Time: b.now, Body: v})
		if err != nil {
			b.t.Fatal(err)
		}
		r.Records = append(r.Records, kafka.ToKgo("test", rec))
	}
	b.offset += int64(len(verdicts))
	r.To = b.offset
	return r
}

func (b *bench) read(verdicts ...*schemas.DocumentValidated) {
	b.t.Helper()
	if err := b.Apply(b.t.Context(), []sink.Range{b.batch(verdicts...)}); err != nil {
		b.t.Fatal(err)
	}
}

// release does all that can be released now, and parts that could be soon.
func (b *bench) release() {
	b.t.Helper()
	b.nextParts = time.Time{}
	for {
		more, err := b.turn(b.t.Context(), b.epoch)
		if err != nil {
			b.t.Fatal(err)
		}
		if !more {
			return
		}
	}
}

// ordered takes what was published out of the outbox, in order.
func (b *bench) ordered() []*schemas.DocumentOrdered {
	b.t.Helper()
	var out []*schemas.DocumentOrdered
	for _, m := range outboxtest.Drain(b.t, b.Pool, control.Schema, b.deps.Outbox.Codec) {
		if o, ok := m.Body.(*schemas.DocumentOrdered); ok {
			out = append(out, o)
		}
	}
	return out
}

// said sums positions up.
func said(positions []*schemas.DocumentOrdered) []string {
	var out []string
	for _, o := range positions {
		switch o.What {
		case schemas.PositionDocument:
			out = append(out, fmt.Sprintf("%d %s/%s/%s", o.Position, o.Action, o.FileName, o.Entry))
		case schemas.PositionVersion:
			out = append(out, fmt.Sprintf("%d withdrawal %s/%s of %d", o.Position, o.Action, o.FileName, o.Documents))
		case schemas.PositionBatchEnd:
			late := ""
			if o.Late {
				late = " late"
			}
			out = append(out, fmt.Sprintf("%d end of %s %d of %d%s", o.Position, o.Domain, o.Number, o.Documents, late))
		case schemas.PositionUnload:
			out = append(out, fmt.Sprintf("%d unload %s/%s of %s", o.Position, o.Action, o.FileName, o.Archive))
		case schemas.PositionReference:
			out = append(out, fmt.Sprintf("%d reference %s of %s", o.Position, o.Entry, o.Archive))
		default:
			out = append(out, fmt.Sprintf("%d end of session %d", o.Position, o.Number))
		}
	}
	return out
}
