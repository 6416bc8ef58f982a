package e2e

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"tributary/consumers/insert"
	"tributary/internal/archive"
	"tributary/internal/blob"
	"tributary/internal/config"
	"tributary/internal/engine/enginetest"
	"tributary/internal/kafka"
	"tributary/internal/mapping"
	"tributary/internal/profile"
	"tributary/schemas"
	"tributary/schemas/impc"
	"tributary/sql/warehouse"
	"tributary/test/corpus"
	"tributary/test/rig"
)

// wholeCorpus is that of TestWholeCorpus, both sessions.
func wholeCorpus(t testing.TB) *corpus.Corpus {
	t.Helper()
	c, err := corpus.Generate(corpus.Options{Seed: seed(t), Shape: corpus.Whole})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Again(againInWhole); err != nil {
		t.Fatal(err)
	}
	return c
}

// Law L2: the same files in ten other orders, over three to five sessions each,
// give the same warehouse: claims, rows, open findings, context and overview.
// What inserts is the real thing; the order is made here, as sequence would
// make it. TestWholeCorpusInAnotherOrder does it with the whole program.
func TestTenOtherOrders(t *testing.T) {
	orders := 10
	if testing.Short() {
		orders = 3
	}
	l := newLoader(t, wholeCorpus(t))
	hashes := make([]string, orders)
	t.Run("order", func(t *testing.T) {
		for n := range orders {
			t.Run(fmt.Sprint(n), func(t *testing.T) {
				t.Parallel()
				hashes[n] = l.load(t, fmt.Sprintf("o%d", n), rand.New(rand.NewPCG(seed(t), uint64(n))))
			})
		}
	})
	if different := slices.Compact(slices.Sorted(slices.Values(hashes))); len(different) != 1 {
		t.Errorf("warehouse hashes %v, want one", different)
	}
}

// The same with the whole program, sessions being runs of up --once. The hash
// is that of the undisturbed order, by way of the oracle.
func TestWholeCorpusInAnotherOrder(t *testing.T) {
	if testing.Short() {
		t.Skip("takes a minute: skipped with -short")
	}
	for n := range number(t, "TRIBUTARY_ORDERS", 1) {
		rng := rand.New(rand.NewPCG(seed(t), 100+n))
		s := local(t, wholeCorpus(t))
		for _, part := range corpus.Parts(s.corpus.Uploads(), 3+rng.IntN(3), rng.IntN) {
			if err := s.corpus.WriteUploads(s.sources(), part); err != nil {
				t.Fatal(err)
			}
			s.once()
		}
		s.expectWhole(false)
	}
}

// local is a system whose sources are plain directories, without those that
// misbehave, and nothing in them yet.
func local(t testing.TB, c *corpus.Corpus) *system {
	t.Helper()
	s := &system{t: t, binary: program(t), dir: openDir(t), corpus: c}
	yaml := "data_dir: ./data\nprofile: impc\nsources:\n"
	for _, source := range c.Sources {
		if source.Fault == "" {
			yaml += fmt.Sprintf("  - id: %s\n    centre: %s\n    url: file://%s\n", source.ID, source.Centre, filepath.Join(s.sources(), source.ID))
		}
	}
	s.rig = &rig.Rig{Dir: s.dir, Config: filepath.Join(s.dir, "tributary.yaml"), Corpus: c}
	if err := os.WriteFile(s.rig.Config, []byte(yaml), 0o644); err != nil {
		t.Fatal(err)
	}
	return s
}

// loader puts a corpus into warehouses in orders of its own.
type loader struct {
	corpus  *corpus.Corpus
	uploads []corpus.Upload
	members map[string]map[string]archive.Member // by hash and name
	blobs   *blob.Dir
	brokers []string
	codec   *schemas.Codec
	profile *profile.Profile
	centres profile.Centres
	log     *slog.Logger
}

func newLoader(t *testing.T, c *corpus.Corpus) *loader {
	t.Helper()
	l := &loader{corpus: c, uploads: c.Uploads(), members: map[string]map[string]archive.Member{}, brokers: enginetest.Broker(t),
		log: slog.New(slog.NewTextHandler(io.Discard, nil))}
	var err error
	if l.blobs, err = blob.NewDir(t.TempDir()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.blobs.Close() })
	if l.codec, err = schemas.NewCodec(); err != nil {
		t.Fatal(err)
	}
	if l.profile, err = profile.Load(impc.FS); err != nil {
		t.Fatal(err)
	}
	if l.centres, err = profile.NewCentreSet(l.profile.Centres...); err != nil {
		t.Fatal(err)
	}
	for _, u := range l.uploads {
		if !u.Refused {
			l.store(t, u)
		}
	}
	return l
}

func (l *loader) store(t testing.TB, u corpus.Upload) {
	t.Helper()
	b, err := u.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	w, err := l.blobs.Create(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer w.Abort()
	if _, err := w.Write(b); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Commit(); err != nil {
		t.Fatal(err)
	}
	stored, err := l.blobs.Open(t.Context(), u.SHA256)
	if err != nil {
		t.Fatal(err)
	}
	defer stored.Close()
	a, err := archive.Open(stored, stored.Size(), archive.DefaultLimits())
	if err != nil {
		t.Fatal(err)
	}
	members := map[string]archive.Member{}
	if err := a.Verify(t.Context(), func(m archive.Member) error {
		members[m.Name] = m
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	l.members[u.SHA256] = members
}

// load orders the corpus by chance, inserts it into a warehouse of its own,
// compares that with the oracle and returns its hash.
func (l *loader) load(t *testing.T, prefix string, rng *rand.Rand) string {
	ctx := t.Context()
	events := l.order(t, rng)
	l.produce(t, prefix, events)
	pool, err := pgxpool.New(ctx, enginetest.Postgres(t))
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	m, err := mapping.Load(impc.FS)
	if err != nil {
		t.Fatal(err)
	}
	statements, err := warehouse.Load(impc.FS)
	if err != nil {
		t.Fatal(err)
	}
	if err := warehouse.Migrate(ctx, pool); err != nil {
		t.Fatal(err)
	}
	if err := warehouse.Apply(ctx, pool, impc.FS, m); err != nil {
		t.Fatal(err)
	}
	in, err := insert.New(insert.Config{Prefix: prefix, Holder: "test"}, insert.Deps{Pool: pool, Blobs: l.blobs, Mapping: m, Statements: statements, Codec: l.codec,
		Connect: kafka.NewFactory(config.Default().Kafka, l.brokers, l.log), Log: l.log})
	if err != nil {
		t.Fatal(err)
	}
	run, cancel := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() { done <- in.Run(run) }()
	eventually(t, 2*time.Minute, func() string {
		at, err := insert.AppliedPosition(ctx, pool)
		if err != nil {
			t.Fatal(err)
		}
		if at < int64(len(events)) {
			return fmt.Sprintf("%d of %d positions are applied", at, len(events))
		}
		return ""
	})
	cancel()
	if err := <-done; err != nil {
		t.Errorf("insert: %v", err)
	}
	compareWarehouse(t, pool, l.corpus.Oracle.Warehouse)
	hash, err := warehouse.Hash(ctx, pool, m)
	if err != nil {
		t.Fatal(err)
	}
	return hash
}

// order makes the positions of a few sessions: in each, the batches of its
// centres, one after another.
func (l *loader) order(t testing.TB, rng *rand.Rand) []*schemas.DocumentOrdered {
	t.Helper()
	var out []*schemas.DocumentOrdered
	numbers := map[string]int64{}
	parts := corpus.Parts(l.uploads, 3+rng.IntN(3), rng.IntN)
	for i, part := range parts {
		session := fmt.Sprintf("session-%d", i)
		domains := map[string][]corpus.Upload{}
		var names []string
		for _, u := range part {
			if u.Refused {
				continue
			}
			if domains[u.Centre] == nil {
				names = append(names, u.Centre)
			}
			domains[u.Centre] = append(domains[u.Centre], u)
		}
		rng.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
		for _, name := range names {
			numbers[name]++
			out = append(out, l.batch(t, session, name, numbers[name], domains[name])...)
		}
		out = append(out, &schemas.DocumentOrdered{Scope: schemas.Scope{Session: session}, What: schemas.PositionSession})
	}
	for i, ev := range out {
		ev.Position = int64(i) + 1
	}
	return out
}

// batch is the documents of a batch in their order, what each version
// completes, and the end.
func (l *loader) batch(t testing.TB, session, centre string, number int64, uploads []corpus.Upload) []*schemas.DocumentOrdered {
	t.Helper()
	type placed struct {
		corpus.UploadDocument
		ev *schemas.DocumentOrdered
	}
	var docs []placed
	var versions []*schemas.DocumentOrdered
	scope := schemas.Scope{Run: schemas.LiveRun, Session: session, Centre: centre}
	batch := fmt.Sprintf("%s-%d", centre, number)
	for _, u := range uploads {
		z, bad := l.profile.ParseZip(u.File, l.centres)
		if bad != nil {
			t.Fatal(bad)
		}
		file := schemas.FileID(u.Action, u.File)
		look := time.Date(2024, 1, 1, 0, u.Times, 0, 0, time.UTC)
		base := schemas.DocumentOrdered{Scope: scope, FileRef: schemas.FileRef{File: file, FileName: u.File, Action: u.Action}, Batch: batch, Domain: centre, Number: number,
			Attempt: int32(u.Times + 1), Download: u.SHA256, Unzip: "done", FileDate: z.Date.Format(time.DateOnly), FileInc: z.Increment, RankOwn: true, RankTime: &look, RankOrdinal: 1}
		for _, d := range u.Documents {
			m, there := l.members[u.SHA256][d.Name]
			if !there {
				t.Fatalf("%s has no %s", u.File, d.Name)
			}
			ev := base
			ev.What, ev.Result = schemas.PositionDocument, schemas.Valid
			ev.DocumentRef = schemas.DocumentRef{Document: schemas.DocumentID(file, d.Name), Entry: d.Name, Ordinal: int32(m.Ordinal), Archive: u.SHA256,
				Offset: m.Offset, Packed: m.CompressedSize, Size: m.Size, Method: int32(m.Method), CRC32: int64(m.CRC32), SHA256: m.SHA256, MD5: m.MD5}
			if name, bad := l.profile.ParseDocument(d.Name, l.centres); bad == nil {
				ev.DocumentName = schemas.DocumentName{Kind: name.Kind, DocCentre: name.Centre, DocDate: name.Date.Format(time.DateOnly), DocInc: name.Increment}
			}
			if d.Phase != "" {
				ev.Result, ev.Phase, ev.Exception = schemas.FailedEnd, d.Phase, d.Exception
			}
			docs = append(docs, placed{d, &ev})
		}
		end := base
		end.What, end.Documents, end.DocumentRef = schemas.PositionVersion, int32(len(u.Documents)), schemas.DocumentRef{Archive: u.SHA256}
		versions = append(versions, &end)
	}
	slices.SortFunc(docs, func(a, b placed) int { return a.Compare(b.UploadDocument) })
	var out []*schemas.DocumentOrdered
	for _, d := range docs {
		out = append(out, d.ev)
	}
	out = append(out, versions...)
	return append(out, &schemas.DocumentOrdered{Scope: scope, What: schemas.PositionBatchEnd, Batch: batch, Domain: centre, Number: number})
}

// produce writes an order to a topic of its own.
func (l *loader) produce(t testing.TB, prefix string, events []*schemas.DocumentOrdered) {
	t.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(l.brokers...), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	if _, err := kadm.NewClient(client).CreateTopic(t.Context(), 1, 1, nil, kafka.TopicName(prefix, schemas.DocumentOrderedTopic)); err != nil {
		t.Fatal(err)
	}
	var records []*kgo.Record
	for _, ev := range events {
		r, err := l.codec.Encode(schemas.Message{ID: fmt.Sprint("ordered-", ev.Position), Topic: schemas.DocumentOrderedTopic, Key: ev.Domain, Stage: "sequence",
			Time: time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC), Body: ev})
		if err != nil {
			t.Fatal(err)
		}
		records = append(records, kafka.ToKgo(prefix, r))
	}
	if err := client.ProduceSync(t.Context(), records...).FirstErr(); err != nil {
		t.Fatal(err)
	}
}
