package main

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"tributary/bench/counters"
	"tributary/bench/document"
	"tributary/consumers/insert"
	"tributary/internal/archive"
	"tributary/internal/blob"
	"tributary/internal/config"
	"tributary/internal/engine"
	"tributary/internal/kafka"
	"tributary/internal/mapping"
	"tributary/schemas"
	"tributary/schemas/impc"
	"tributary/sql/warehouse"
)

const prefix = "bench"

// setup is a warehouse with an inserter at work on it, and the peer's tables.
type setup struct {
	engines  *engine.Engines
	pool     *pgxpool.Pool
	mapping  *mapping.Mapping
	blobs    *blob.Dir
	codec    *schemas.Codec
	producer *kgo.Client
	position int64 // the last ordered
	batch    int
	before   map[string]int64
	cancel   context.CancelFunc
	ended    chan error
}

func start(ctx context.Context, dir, enginesDir string) (s *setup, err error) {
	log := slog.New(slog.DiscardHandler)
	s = &setup{ended: make(chan error, 1), cancel: func() {}}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.stop())
		}
	}()
	if s.engines, err = engine.Start(ctx, engine.Options{DataDir: filepath.Join(dir, "data"), EnginesDir: enginesDir, Broker: true, Postgres: true, Logger: log}); err != nil {
		return s, err
	}
	at := s.engines.Endpoints()
	if s.pool, err = pgxpool.New(ctx, at.Postgres); err != nil {
		return s, err
	}
	if s.mapping, err = mapping.Load(impc.FS); err != nil {
		return s, err
	}
	statements, err := warehouse.Load(impc.FS)
	if err != nil {
		return s, err
	}
	if err := errors.Join(warehouse.Migrate(ctx, s.pool), warehouse.Apply(ctx, s.pool, impc.FS, s.mapping)); err != nil {
		return s, err
	}
	if s.codec, err = schemas.NewCodec(); err != nil {
		return s, err
	}
	if s.blobs, err = blob.NewDir(filepath.Join(dir, "blobs")); err != nil {
		return s, err
	}
	if s.producer, err = kgo.NewClient(append(kafka.Bootstrap(at.Kafka), kgo.RecordPartitioner(kgo.ManualPartitioner()))...); err != nil {
		return s, err
	}
	if _, err := kadm.NewClient(s.producer).CreateTopic(ctx, 1, 1, nil, kafka.TopicName(prefix, schemas.DocumentOrderedTopic)); err != nil {
		return s, err
	}
	in, err := insert.New(config.Insert{}, insert.Deps{Prefix: prefix, Holder: "bench", Pool: s.pool, Blobs: s.blobs, Mapping: s.mapping, Statements: statements,
		Codec: s.codec, Connect: kafka.NewFactory(config.Default().Kafka, at.Kafka, log), Log: log})
	if err != nil {
		return s, err
	}
	work, cancel := context.WithCancel(ctx)
	s.cancel = cancel
	go func() { s.ended <- in.Run(work) }()
	if _, _, _, err := s.load(ctx, "specimen", document.Specimens()); err != nil {
		return s, err
	}
	return s, s.makePeer(ctx)
}

// stop ends all that was started.
func (s *setup) stop() error {
	s.cancel()
	if s.producer != nil {
		s.producer.Close()
	}
	var errs []error
	if s.position > 0 {
		errs = append(errs, <-s.ended)
	}
	if s.pool != nil {
		s.pool.Close()
	}
	if s.blobs != nil {
		errs = append(errs, s.blobs.Close())
	}
	if s.engines != nil {
		errs = append(errs, s.engines.Close())
	}
	return errors.Join(errs...)
}

// makePeer copies the definitions of all mapped tables: columns, storage,
// constraints and indexes.
func (s *setup) makePeer(ctx context.Context) error {
	var names []string
	statements := []string{"CREATE SCHEMA peer"}
	for _, t := range s.mapping.Tables {
		names = append(names, t.Name)
		statements = append(statements, fmt.Sprintf("CREATE TABLE peer.%[1]s (LIKE warehouse.%[1]s INCLUDING ALL)", t.Name))
	}
	if _, err := s.pool.Exec(ctx, strings.Join(statements, ";")); err != nil {
		return fmt.Errorf("make the peer's tables: %w", err)
	}
	// LIKE takes no parameters of storage, such as fillfactor, along.
	if _, err := s.pool.Exec(ctx, `DO $$ DECLARE r record; BEGIN
		FOR r IN SELECT c.relname, array_to_string(c.reloptions, ', ') AS o FROM pg_class c WHERE c.relnamespace = 'warehouse'::regnamespace AND c.relkind = 'r'
			AND c.reloptions IS NOT NULL AND to_regclass('peer.' || c.relname) IS NOT NULL
		LOOP EXECUTE format('ALTER TABLE peer.%I SET (%s)', r.relname, r.o); END LOOP; END $$`); err != nil {
		return fmt.Errorf("make the peer's tables alike: %w", err)
	}
	var err error
	s.before, err = counts(ctx, s.pool, names)
	return err
}

// rows are a document's rows as COPY takes them.
type rows struct {
	n      int
	tables []tableRows
}

type tableRows struct {
	name, columns string
	lines         bytes.Buffer
}

// Row implements mapping.Sink.
func (r *rows) Row(row *mapping.Row) error {
	r.n++
	_, err := r.tables[row.Table.Index].lines.Write(row.Line)
	return err
}

// Record implements mapping.Sink.
func (r *rows) Record(*mapping.Record) error { return nil }

func (s *setup) rowsOf(doc []byte, position int64) (*rows, error) {
	r := &rows{tables: make([]tableRows, len(s.mapping.Tables))}
	for i, t := range s.mapping.Tables {
		r.tables[i].name, r.tables[i].columns = t.Name, strings.Join(t.ColumnNames(), ", ")
	}
	return r, s.mapping.Read(bytes.NewReader(doc), mapping.Document{Kind: "experiment", Centre: "H", Position: position}, r)
}

// timePeer copies the rows, in one transaction.
func (s *setup) timePeer(ctx context.Context, r *rows) (took time.Duration, used counters.Used, err error) {
	conn, err := s.pool.Acquire(ctx)
	if err != nil {
		return 0, used, err
	}
	defer conn.Release()
	used, err = using(func() error {
		began := time.Now()
		defer func() { took = time.Since(began) }()
		return s.copy(ctx, conn, r)
	})
	return took, used, err
}

// copy copies the rows.
func (s *setup) copy(ctx context.Context, conn *pgxpool.Conn, r *rows) error {
	tx, err := conn.Begin(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback(ctx) }() // done already unless something failed
	for i := range r.tables {
		t := &r.tables[i]
		if t.lines.Len() == 0 {
			continue
		}
		if _, err := conn.Conn().PgConn().CopyFrom(ctx, bytes.NewReader(t.lines.Bytes()), fmt.Sprintf("COPY peer.%s (%s) FROM STDIN", t.name, t.columns)); err != nil {
			return fmt.Errorf("COPY of %s: %w", t.name, err)
		}
	}
	return tx.Commit(ctx)
}

// load orders a document and then a batch's end, and times each until it is
// applied. What it used is until the first of these.
func (s *setup) load(ctx context.Context, kind string, doc []byte) (load, end time.Duration, used counters.Used, err error) {
	ev, err := s.store(ctx, kind, doc)
	if err != nil {
		return 0, 0, used, err
	}
	if used, err = using(func() (err error) {
		load, err = s.apply(ctx, ev)
		return err
	}); err != nil {
		return 0, 0, used, err
	}
	var state, exception string
	if err := s.pool.QueryRow(ctx, "SELECT state, exception FROM warehouse.document WHERE position = $1", s.position).Scan(&state, &exception); err != nil {
		return 0, 0, used, err
	}
	if state != "loaded" {
		return 0, 0, used, fmt.Errorf("the document failed: %s", exception)
	}
	end, err = s.apply(ctx, &schemas.DocumentOrdered{Scope: ev.Scope, What: schemas.PositionBatchEnd, Batch: ev.Batch, Domain: ev.Domain, Number: ev.Number})
	return load, end, used, err
}

// using tells what this process and Postgres use of the processor for some work.
func using(work func() error) (counters.Used, error) {
	before, err := counters.Of(os.Getpid())
	if err != nil {
		return before, err
	}
	if err := work(); err != nil {
		return before, err
	}
	after, err := counters.Of(os.Getpid())
	return after.Minus(before), err
}

// store zips a document into the blob store.
func (s *setup) store(ctx context.Context, kind string, doc []byte) (*schemas.DocumentOrdered, error) {
	s.batch++
	date := time.Date(2024, 1, s.batch, 0, 0, 0, 0, time.UTC).Format(time.DateOnly)
	entry := fmt.Sprintf("H.%s.1.%s.impc.xml", date, kind)
	w, err := s.blobs.Create(ctx)
	if err != nil {
		return nil, err
	}
	defer w.Abort()
	z := zip.NewWriter(w)
	e, err := z.CreateHeader(&zip.FileHeader{Name: entry, Method: zip.Deflate})
	if err != nil {
		return nil, err
	}
	if _, err := e.Write(doc); err != nil {
		return nil, err
	}
	if err := z.Close(); err != nil {
		return nil, err
	}
	ref, err := w.Commit()
	if err != nil {
		return nil, err
	}
	stored, err := s.blobs.Open(ctx, ref.SHA256)
	if err != nil {
		return nil, err
	}
	defer stored.Close()
	a, err := archive.Open(stored, stored.Size(), archive.DefaultLimits())
	if err != nil {
		return nil, err
	}
	m := a.Members()[0]
	name := fmt.Sprintf("H.%s.1.impc.zip", date)
	file, look := schemas.FileID(schemas.Add, name), time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)
	return &schemas.DocumentOrdered{
		Scope: schemas.Scope{Run: schemas.LiveRun, Session: "bench", Centre: "H"}, FileRef: schemas.FileRef{File: file, FileName: name, Action: schemas.Add},
		DocumentRef: schemas.DocumentRef{Document: schemas.DocumentID(file, entry), Entry: entry, Archive: ref.SHA256, Offset: m.Offset, Packed: m.CompressedSize,
			Size: m.Size, Method: int32(m.Method), CRC32: int64(m.CRC32)},
		DocumentName: schemas.DocumentName{Kind: kind, DocCentre: "H", DocDate: date, DocInc: 1},
		What:         schemas.PositionDocument, Batch: fmt.Sprint("batch-", s.batch), Domain: "H", Number: int64(s.batch), Attempt: 1, Download: ref.SHA256, Unzip: "done",
		FileDate: date, FileInc: 1, RankOwn: true, RankTime: &look, RankOrdinal: 1, Result: schemas.Valid,
	}, nil
}

// apply orders a position and waits until the warehouse holds it.
func (s *setup) apply(ctx context.Context, ev *schemas.DocumentOrdered) (time.Duration, error) {
	s.position++
	ev.Position = s.position
	r, err := s.codec.Encode(schemas.Message{ID: fmt.Sprint("ordered-", ev.Position), Topic: schemas.DocumentOrderedTopic, Key: ev.Domain, Stage: "sequence", Time: time.Now(), Body: ev})
	if err != nil {
		return 0, err
	}
	began := time.Now()
	if err := s.producer.ProduceSync(ctx, kafka.ToKgo(prefix, r)).FirstErr(); err != nil {
		return 0, err
	}
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for {
		at, err := insert.AppliedPosition(ctx, s.pool)
		if err != nil {
			return 0, err
		}
		if at >= ev.Position {
			return time.Since(began), nil
		}
		select {
		case <-ctx.Done():
			return 0, ctx.Err()
		case err := <-s.ended:
			s.ended <- err
			return 0, fmt.Errorf("insertion has ended: %w", err)
		case <-tick.C:
		}
	}
}
