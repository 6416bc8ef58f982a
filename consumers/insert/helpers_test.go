package insert

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"tributary/internal/blob"
	"tributary/internal/config"
	"tributary/internal/engine/enginetest"
	"tributary/internal/mapping"
	"tributary/internal/pg"
	"tributary/schemas"
	"tributary/schemas/schemastest"
	"tributary/sql/outbox/outboxtest"
	"tributary/sql/warehouse"
)

// memory is a blob store of archives that hold one stored entry each.
type memory map[string][]byte

func (m memory) Open(_ context.Context, name string) (blob.Blob, error) {
	b, ok := m[name]
	if !ok {
		return nil, fs.ErrNotExist
	}
	return memoryBlob{bytes.NewReader(b)}, nil
}

func (m memory) Create(context.Context) (blob.Writer, error)           { panic("not used") }
func (m memory) Stat(context.Context, string) (int64, error)           { panic("not used") }
func (m memory) Remove(context.Context, string) error                  { panic("not used") }
func (m memory) List(context.Context, func(string, int64) error) error { panic("not used") }

type memoryBlob struct{ *bytes.Reader }

func (memoryBlob) Close() error { return nil }

// bench is an inserter on a fresh warehouse.
type bench struct {
	t     testing.TB
	in    *Inserter
	pool  *pgxpool.Pool
	blobs memory

	mu       sync.Mutex
	lost     map[string]bool // blobs that no source has
	reported []string        // blobs that could not be used
	at       progress
	epoch    int64
	codec    *schemas.Codec
}

// newBench makes a bench with the small profile of the tests.
func newBench(t testing.TB) *bench {
	t.Helper()
	return newBenchOf(t, os.DirFS("testdata/profile"))
}

func newBenchOf(t testing.TB, profile fs.FS) *bench {
	t.Helper()
	ctx := t.Context()
	m, err := mapping.Load(profile)
	if err != nil {
		t.Fatal(err)
	}
	filled := enginetest.Filled(t, "warehouse of "+m.Name, func(ctx context.Context, pool *pgxpool.Pool) error {
		return errors.Join(warehouse.Migrate(ctx, pool), warehouse.Apply(ctx, pool, profile, m))
	})
	pool, err := pg.Open(ctx, filled, "insert-test", 4)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	statements, err := warehouse.Load(profile)
	if err != nil {
		t.Fatal(err)
	}
	codec := schemastest.Codec(t)
	b := &bench{t: t, pool: pool, blobs: memory{}, lost: map[string]bool{}, at: progress{position: 1}, codec: codec}
	b.in, err = New(config.Insert{}, Deps{Prefix: "t", Holder: "test", Pool: pool, Blobs: b.blobs, Damaged: b.damaged, Mapping: m, Statements: statements, Codec: codec,
		Log: slog.New(slog.NewTextHandler(io.Discard, nil))})
	if err != nil {
		t.Fatal(err)
	}
	if b.epoch, err = b.in.lease().Acquire(ctx, 0); err != nil {
		t.Fatal(err)
	}
	return b
}

// damaged is what control says of a blob that can't be used.
func (b *bench) damaged(_ context.Context, sha256 string, _ error) (string, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.reported = append(b.reported, sha256)
	if b.lost[sha256] {
		return "no source has it", nil
	}
	return "", nil
}

// doc is a document of a version of a file, as the tests say it.
type doc struct {
	action  string // add by default
	date    string
	inc     int64
	entry   string
	kind    string
	docInc  int64
	archive string
	rank    int // time of the version's look
	run     int64
	xml     string
	failed  bool
	batch   string
	centre  string // H by default
}

var epoch0 = time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)

func (b *bench) event(d doc) *schemas.DocumentOrdered {
	if d.action == "" {
		d.action = schemas.Add
	}
	if d.date == "" {
		d.date = "2024-01-01"
	}
	if d.archive == "" {
		d.archive = fmt.Sprintf("archive-%s-%s-%d-%d", d.action, d.date, d.inc, d.rank)
	}
	if d.kind == "" {
		d.kind = "specimen"
	}
	if d.entry == "" {
		d.entry = fmt.Sprintf("H.%s.%d.%s.impc.xml", d.date, d.docInc, d.kind)
	}
	if d.batch == "" {
		d.batch = "batch"
	}
	if d.centre == "" {
		d.centre = "H"
	}
	name := fmt.Sprintf("H.%s.%d.impc.zip", d.date, d.inc)
	file := schemas.FileID(d.action, name)
	look := epoch0.Add(time.Duration(d.rank) * time.Minute)
	offset := int64(len(b.blobs[d.archive]))
	b.blobs[d.archive] = append(b.blobs[d.archive], d.xml...)
	ev := &schemas.DocumentOrdered{
		Scope: schemas.Scope{Run: fmt.Sprintf("run-%d", d.run), Session: "session", Centre: d.centre, Source: "harwell"}, FileRef: schemas.FileRef{File: file, FileName: name, Action: d.action},
		DocumentRef:  schemas.DocumentRef{Document: schemas.DocumentID(file, d.entry), Entry: d.entry, Archive: d.archive, Offset: offset, Size: int64(len(d.xml)), Packed: int64(len(d.xml)), CRC32: int64(crc32.ChecksumIEEE([]byte(d.xml)))},
		DocumentName: schemas.DocumentName{Kind: d.kind, DocCentre: d.centre, DocDate: d.date, DocInc: d.docInc},
		What:         schemas.PositionDocument, Batch: d.batch, Domain: d.centre, Number: 1, Attempt: 1, Download: d.archive, Unzip: "done",
		FileDate: d.date, FileInc: d.inc, RankOwn: true, RankTime: &look, RunNumber: d.run, Result: schemas.Valid, Profile: "impc 1",
	}
	if d.failed {
		ev.Result, ev.Phase, ev.Exception = schemas.FailedEnd, string(schemas.XSD), "xsd_invalid"
	}
	return ev
}

// version makes the positions of a complete version: its documents, then what
// it withdraws.
func (b *bench) version(docs ...doc) []*schemas.DocumentOrdered {
	var out []*schemas.DocumentOrdered
	for _, d := range docs {
		out = append(out, b.event(d))
	}
	end := *out[0]
	end.What, end.Documents, end.Document, end.Entry, end.Kind = schemas.PositionVersion, int32(len(docs)), "", "", ""
	return append(out, &end)
}

func (b *bench) batchEnd(batch string) *schemas.DocumentOrdered {
	return &schemas.DocumentOrdered{Scope: schemas.Scope{Centre: "H"}, What: schemas.PositionBatchEnd, Batch: batch, Domain: "H", Number: 1}
}

// apply gives events the next positions and applies them, in one transaction up
// to each batch's end.
func (b *bench) apply(events ...*schemas.DocumentOrdered) error {
	b.t.Helper()
	for len(events) > 0 {
		n := slices.IndexFunc(events, func(e *schemas.DocumentOrdered) bool { return e.What == schemas.PositionBatchEnd }) + 1
		if n == 0 {
			n = len(events)
		}
		if err := b.applyGroup(events[:n]); err != nil {
			return err
		}
		if err := b.in.finishEnds(b.t.Context(), b.pool, b.epoch); err != nil {
			return err
		}
		events = events[n:]
	}
	return nil
}

func (b *bench) applyGroup(events []*schemas.DocumentOrdered) error {
	ctx := b.t.Context()
	var group []*item
	for i, e := range events {
		ev := *e
		ev.Position = b.at.position + int64(i)
		it := newItem(schemas.Message{ID: fmt.Sprintf("event-%d", ev.Position)}, &ev, ev.Position+100)
		if it.load() && !it.large() {
			var err error
			if it.done, err = b.in.prepare(ctx, it); err != nil {
				return err
			}
		}
		group = append(group, it)
	}
	if err := b.in.guarded(ctx, b.pool, b.epoch, b.at, group); err != nil {
		return err
	}
	b.at.position += int64(len(events))
	return nil
}

// pauses has the inserter pause for no time, and notes for how long it would
// have.
func (b *bench) pauses() *[]time.Duration {
	var noted []time.Duration
	b.in.after = func(d time.Duration) <-chan time.Time {
		noted = append(noted, d)
		now := make(chan time.Time, 1)
		now <- time.Time{}
		return now
	}
	return &noted
}

func (b *bench) must(events ...*schemas.DocumentOrdered) {
	b.t.Helper()
	if err := b.apply(events...); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) hash() string {
	b.t.Helper()
	h, err := warehouse.Hash(b.t.Context(), b.pool, b.in.deps.Mapping)
	if err != nil {
		b.t.Fatal(err)
	}
	return h
}

// texts returns a query's rows, their columns joined by spaces.
func (b *bench) texts(query string, args ...any) []string {
	b.t.Helper()
	rows, err := b.pool.Query(b.t.Context(), query, args...)
	if err != nil {
		b.t.Fatal(err)
	}
	out, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (string, error) {
		values, err := row.Values()
		parts := make([]string, len(values))
		for i, v := range values {
			if parts[i] = fmt.Sprint(v); v == nil {
				parts[i] = "null"
			}
		}
		return strings.Join(parts, " "), err
	})
	if err != nil {
		b.t.Fatal(err)
	}
	if out == nil {
		out = []string{}
	}
	return out
}

// all is every row of every table, but for the state of members.
func (b *bench) all() map[string][]string {
	b.t.Helper()
	out := map[string][]string{}
	for _, table := range b.texts(`SELECT relname FROM pg_class WHERE relnamespace = 'warehouse'::regnamespace AND relkind = 'r'
			AND relname NOT IN ('state', 'chain', 'try', 'lease', 'outbox', 'outbox_letter', 'profile', 'schema_version')`) {
		out[table] = b.texts("SELECT t::text FROM warehouse." + table + " t ORDER BY 1")
	}
	return out
}

// told returns the events in the outbox as "entry phase status exception
// check", the phases that were passed on the way before the event's own, and
// empties it.
func (b *bench) told() []string {
	b.t.Helper()
	out := []string{}
	for _, e := range b.events() {
		text := e.Entity
		if e.Entity == schemas.EntityDocument {
			for _, p := range e.Passed {
				out = append(out, fmt.Sprintf("%s %s done  %d", e.Entry, p.Phase, e.Check))
			}
			text = fmt.Sprintf("%s %s %s %s %d", e.Entry, e.Phase, e.Status, e.Exception, e.Check)
		}
		if e.Entity == schemas.EntityFile {
			text = fmt.Sprintf("file %s %s retracted %s restored %s", e.Note, e.Archive, e.Attributes["retracted"], e.Attributes["restored"])
		}
		out = append(out, text)
	}
	if _, err := b.pool.Exec(b.t.Context(), "DELETE FROM warehouse.outbox"); err != nil {
		b.t.Fatal(err)
	}
	return out
}

const (
	specimenSpace  = "http://www.mousephenotype.org/dcc/exportlibrary/datastructure/core/specimen"
	procedureSpace = "http://www.mousephenotype.org/dcc/exportlibrary/datastructure/core/procedure"
)

// mice is a specimen document. Each is "id" or "id=litter".
func mice(centre string, list ...string) string {
	var s strings.Builder
	fmt.Fprintf(&s, "<?xml version=\"1.0\"?>\n<centreSpecimenSet xmlns=%q>\n<centre centreID=%q>\n", specimenSpace, centre)
	for _, m := range list {
		id, litter, _ := strings.Cut(m, "=")
		fmt.Fprintf(&s, `<mouse specimenID="%s" litterId="%s" DOB="2023-05-01" isBaseline="true" gender="male" zygosity="wild type" pipeline="P" project="X" phenotypingCentre="H"/>`+"\n", id, litter)
	}
	s.WriteString("</centre>\n</centreSpecimenSet>\n")
	return s.String()
}

// experiments is an experiment document. Each is "id specimen value".
func experiments(list ...string) string {
	var s strings.Builder
	fmt.Fprintf(&s, "<centreProcedureSet xmlns=%q>\n<centre centreID=\"H\" pipeline=\"P\" project=\"X\">\n", procedureSpace)
	for i, e := range list {
		p := strings.Fields(e)
		fmt.Fprintf(&s, `<experiment experimentID="%s" dateOfExperiment="2023-06-%02d"><specimenID>%s</specimenID><procedure procedureID="PROC"><simpleParameter parameterID="PAR"><value>%s</value></simpleParameter></procedure></experiment>`+"\n", p[0], i+1, p[1], p[2])
	}
	s.WriteString("</centre>\n</centreProcedureSet>\n")
	return s.String()
}

// events returns the events in the outbox.
func (b *bench) events() (out []*schemas.StatusChanged) {
	b.t.Helper()
	for _, m := range outboxtest.Events(b.t, b.pool, warehouse.Schema, b.codec) {
		out = append(out, m.Body.(*schemas.StatusChanged))
	}
	return out
}

// lines keeps a log.
type lines struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func copyFile(w io.Writer, path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = io.Copy(w, f)
	return err
}

func same(t *testing.T, what string, got, want any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

const specimens = "SELECT specimen_id, litter_id FROM warehouse.current_specimen ORDER BY 1"

const counts = "SELECT record_type, subject, test, level, findings FROM warehouse.finding_count ORDER BY 1, 2, 3"

const rawClaims = `SELECT position, ordinal, record_type, claim::text, natural_key::text, subject, fingerprint::text, content_position, content_ordinal, line, col, tombstone, is_current
	FROM warehouse.claim ORDER BY 1, 2`
