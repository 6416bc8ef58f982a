package e2e

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"tributary/consumers/insert"
	"tributary/internal/archive"
	"tributary/internal/blob"
	"tributary/internal/config"
	"tributary/internal/engine/enginetest"
	"tributary/internal/kafka"
	"tributary/internal/mapping"
	"tributary/internal/pg"
	"tributary/internal/profile"
	"tributary/schemas"
	"tributary/schemas/impc"
	"tributary/sql/warehouse"
	"tributary/test/corpus"
	"tributary/test/wait"
)

// loader puts a corpus into warehouses in orders of its own.
type loader struct {
	corpus  *corpus.Corpus
	uploads []corpus.Upload
	gone    []corpus.Upload
	lists   map[string]string                    // hashes by name
	members map[string]map[string]archive.Member // by hash and name
	blobs   *blob.Dir
	brokers []string
	codec   *schemas.Codec
	profile *profile.Profile
	centres profile.Centres
	log     *slog.Logger
}

func newLoader(t *testing.T, c *corpus.Corpus, gone []corpus.Upload) *loader {
	t.Helper()
	l := &loader{corpus: c, uploads: c.Uploads(), gone: gone, lists: map[string]string{}, members: map[string]map[string]archive.Member{}, brokers: enginetest.Broker(t),
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
			l.storeUpload(t, u)
		}
	}
	for name, text := range c.Lists() {
		l.lists[name] = l.store(t, []byte(text))
	}
	return l
}

// store keeps bytes among the blobs and returns their name.
func (l *loader) store(t testing.TB, b []byte) string {
	t.Helper()
	w, err := l.blobs.Create(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer w.Abort()
	if _, err := w.Write(b); err != nil {
		t.Fatal(err)
	}
	ref, err := w.Commit()
	if err != nil {
		t.Fatal(err)
	}
	return ref.SHA256
}

func (l *loader) storeUpload(t testing.TB, u corpus.Upload) {
	t.Helper()
	b, err := u.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	l.store(t, b)
	stored, err := l.blobs.Open(t.Context(), u.SHA256)
	if err != nil {
		t.Fatal(err)
	}
	defer stored.Close()
	a, err := archive.Open(stored, stored.Size(), archive.DefaultLimits())
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Verify(t.Context()); err != nil {
		t.Fatal(err)
	}
	members := map[string]archive.Member{}
	for _, m := range a.Members() {
		if m.Document {
			members[m.Name] = m
		}
	}
	l.members[u.SHA256] = members
}

// load orders the corpus by chance, inserts it into a warehouse of its own,
// compares that with the oracle and returns its hash. Of the first order, every
// document is also written back.
func (l *loader) load(t *testing.T, n int, rng *rand.Rand) string {
	ctx, prefix := t.Context(), fmt.Sprintf("o%d", n)
	events := l.order(t, rng)
	l.produce(t, prefix, events)
	pool, err := pg.Open(ctx, enginetest.Postgres(t), "orders", 4)
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
	in, err := insert.New(config.Insert{}, insert.Deps{Prefix: prefix, Holder: "test", Pool: pool, Blobs: l.blobs, Mapping: m, Statements: statements, Codec: l.codec,
		Connect: kafka.NewFactory(config.Default().Kafka, l.brokers, l.log), Log: l.log})
	if err != nil {
		t.Fatal(err)
	}
	run, cancel := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() { done <- in.Run(run) }()
	eventually(t, wait.Patience(), func() string {
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
	if n == 0 {
		l.writtenBack(t, pool, m)
	}
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
	operations := l.operations(rng)
	// Operations come between batches, each with the ends of those concerned.
	operate := func(most int) {
		for range most {
			if len(operations) == 0 {
				return
			}
			op := operations[0]
			operations = operations[1:]
			out = append(out, op)
			for _, name := range slices.Sorted(maps.Keys(numbers)) {
				if op.Domain == "" || op.Domain == name {
					numbers[name]++
					out = append(out, &schemas.DocumentOrdered{Scope: schemas.Scope{Run: schemas.LiveRun, Centre: name}, What: schemas.PositionBatchEnd, Batch: op.Batch, Domain: name, Number: numbers[name]})
				}
			}
		}
	}
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
			operate(rng.IntN(2))
		}
		out = append(out, &schemas.DocumentOrdered{Scope: schemas.Scope{Session: session}, What: schemas.PositionSession})
	}
	operate(len(operations))
	for i, ev := range out {
		ev.Position = int64(i) + 1
	}
	return out
}

// operations are the loads of reference lists, and the unloads, in any order.
func (l *loader) operations(rng *rand.Rand) []*schemas.DocumentOrdered {
	var out []*schemas.DocumentOrdered
	for _, name := range slices.Sorted(maps.Keys(l.lists)) {
		out = append(out, &schemas.DocumentOrdered{Scope: schemas.Scope{Run: schemas.LiveRun}, What: schemas.PositionReference, Batch: schemas.ID("list", name),
			FileRef: schemas.FileRef{FileName: name + ".csv"}, DocumentRef: schemas.DocumentRef{Entry: name, Archive: l.lists[name]}})
	}
	for _, u := range l.gone {
		out = append(out, &schemas.DocumentOrdered{Scope: schemas.Scope{Run: schemas.LiveRun, Centre: u.Centre}, What: schemas.PositionUnload, Batch: schemas.ID("unload", u.SHA256),
			Domain: u.Centre, FileRef: schemas.FileRef{File: schemas.FileID(u.Action, u.File), FileName: u.File, Action: u.Action}, DocumentRef: schemas.DocumentRef{Archive: u.SHA256}})
	}
	rng.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
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
