// Package shadowtest fills a control database with a shadow run, for tests of what
// compares and promotes shadows.
package shadowtest

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"tributary/internal/pg"
	"tributary/internal/profile"
	"tributary/schemas"
	"tributary/schemas/schemastest"
	"tributary/sql/control"
)

// Versions are those that the run was asked for with, as JSON.
const Versions = `{"unzip":"u","xsd":{"specimen":"x"},"upload":{},"data":""}`

// Run is a shadow run named try, from unzip, that runs.
type Run struct {
	Asked *control.ReplayRun
	Codec *schemas.Codec

	t    *testing.T
	pool *pgxpool.Pool
	n    int
}

// New stores a run in a control database, without files.
func New(t *testing.T, pool *pgxpool.Pool) *Run {
	t.Helper()
	id, err := schemas.NewShadowRun()
	if err != nil {
		t.Fatal(err)
	}
	r := &Run{t: t, pool: pool, Codec: schemastest.Codec(t), Asked: &control.ReplayRun{ID: id, Phase: schemas.FromUnzip, Shadow: "try", Versions: []byte(Versions)}}
	r.Exec(`WITH n AS (UPDATE control.counter SET value = (SELECT coalesce(max(number), 0) + 1 FROM control.replay) WHERE name = 'replay' RETURNING value)
		INSERT INTO control.replay (id, number, phase, shadow, requested_by, reason, requested_at, state, changed_by, changed_at, paced_at, versions)
		SELECT $1, value, 'unzip', 'try', '', '', now(), 'running', '', now(), now(), $2::text::jsonb FROM n`, id, Versions)
	return r
}

// Profile are the Versions.
func Profile(t *testing.T) (v profile.Versions) {
	t.Helper()
	if err := json.Unmarshal([]byte(Versions), &v); err != nil {
		t.Fatal(err)
	}
	return v
}

// Exec executes a statement.
func (r *Run) Exec(sql string, args ...any) {
	r.t.Helper()
	if _, err := r.pool.Exec(r.t.Context(), sql, args...); err != nil {
		r.t.Fatalf("%s: %v", sql, err)
	}
}

// End is how an attempt of a file ended: with documents, or failed at unzip.
type End struct {
	failed    string
	documents Documents
}

// Documents are verdicts by the name of the document.
type Documents map[string]schemas.DocumentValidated

// Judged is an end with documents.
func Judged(of Documents) End { return End{documents: of} }

// Failed is an end at unzip by an exception.
func Failed(exception string) End { return End{failed: exception} }

// Valid is the verdict of a document that is.
func Valid() schemas.DocumentValidated { return schemas.DocumentValidated{Result: schemas.Valid} }

// Refused is the verdict of a document with so many errors.
func Refused(errors int32) schemas.DocumentValidated {
	return schemas.DocumentValidated{Result: schemas.FailedEnd, Phase: "xsd", Exception: "xsd_error", ErrorsTotal: errors, XSDVersion: "x"}
}

// File stores a file, f1.zip, f2.zip and so on of the centre H, with its live attempts and,
// unless the state of its item says otherwise, that of the shadow.
func (r *Run) File(state string, shadow End, live ...End) {
	r.t.Helper()
	r.n++
	name := fmt.Sprintf("f%d.zip", r.n)
	id := schemas.FileID("add", name)
	r.Exec("INSERT INTO control.file (id, name, action, centre, file_date, file_inc) VALUES ($1, $2, 'add', 'H', '2026-01-02', 1)", id, name)
	for n, e := range live {
		r.attempt(schemas.LiveRun, id, int32(n+1), e)
	}
	var acquisition any
	if state == "requested" {
		acquisition = r.attempt(r.Asked.ID, id, int32(len(live)+1), shadow)
	}
	r.Exec("INSERT INTO control.replay_item (run, ordinal, file, archive, state, acquisition) VALUES ($1, $2, $3, 'sha', $4, $5)", r.Asked.ID, r.n, id, state, acquisition)
}

func (r *Run) attempt(run, file string, number int32, e End) (acquisition int64) {
	r.t.Helper()
	result, phase := control.Complete, ""
	if e.failed != "" {
		result, phase = string(schemas.Failed), string(schemas.Unzip)
	}
	if err := r.pool.QueryRow(r.t.Context(), `INSERT INTO control.acquisition (run, file, domain, source, look, size, state, attempt, download, unzip, sha256, documents, result, phase, exception)
		VALUES ($1, $2, 'H', 's', 1, 1, 'ended', $3, 'd', 'u', 'sha', $4, $5, $6, $7) RETURNING id`, run, file, number, len(e.documents), result, phase, e.failed).Scan(&acquisition); err != nil {
		r.t.Fatal(err)
	}
	var docs []control.Document
	for entry, v := range e.documents {
		v.Run, v.File, v.Attempt, v.Entry, v.Document, v.Kind = run, file, number, entry, schemas.DocumentID(file, entry), "specimen"
		rec, err := r.Codec.Encode(schemas.Message{ID: schemas.ID(run, file, entry), Topic: schemas.DocumentValidatedTopic, Key: v.Document, Stage: "test", Body: &v})
		if err != nil {
			r.t.Fatal(err)
		}
		docs = append(docs, control.Document{Run: run, File: file, Attempt: number, Download: "d", Unzip: "u", Document: v.Document, Entry: entry, Kind: v.Kind, Result: v.Result, Body: rec.Value})
	}
	if err := pg.InTx(r.t.Context(), r.pool, func(tx pgx.Tx) error { return control.StoreDocuments(r.t.Context(), tx, docs) }); err != nil {
		r.t.Fatal(err)
	}
	return acquisition
}
