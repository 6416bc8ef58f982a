package insert

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"tributary/internal/engine/enginetest"
	"tributary/internal/kafka"
	"tributary/internal/pg"
	"tributary/schemas"
	"tributary/schemas/impc"
	"tributary/sql/outbox"
	"tributary/sql/outbox/outboxtest"
	"tributary/sql/warehouse"
	"tributary/test/corpus"
)

// rebuilt is a bench whose order is in a topic, and whose warehouse is rebuilt.
type rebuilt struct {
	*bench
	o         *ordered
	profile   fs.FS
	bootstrap []string
}

// rebuildBench orders two centres' worth of versions, edits, deletions, failed
// documents and batch ends, with the small profile.
func rebuildBench(t *testing.T) *rebuilt {
	b := newBench(t)
	b.free()
	r := &rebuilt{bench: b, o: &ordered{t: t, codec: b.codec}, profile: os.DirFS("testdata/profile"), bootstrap: enginetest.Broker(t)}
	r.topic(schemas.StatusChangedTopic, 3)
	return r
}

func (r *rebuilt) topic(name string, partitions int32) {
	r.t.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(r.bootstrap...))
	if err != nil {
		r.t.Fatal(err)
	}
	defer client.Close()
	enginetest.Topics(r.t, client, partitions, nil, kafka.TopicName("t", name))
}

// batches orders some batches of the centre H, from the n-th on.
func (r *rebuilt) batches(from, to int) { r.produce(r.made(from, to)) }

// produce writes events behind those that there are.
func (r *rebuilt) produce(events []*schemas.DocumentOrdered) {
	first := int64(len(r.o.events))
	for i, ev := range events {
		ev.Position = first + int64(i) + 1
	}
	r.o.events = append(r.o.events, events...)
	r.o.produce(r.bootstrap, events...)
}

// made makes some batches: each submits what is new, edits and deletes what was
// there, and has a document that failed.
func (r *rebuilt) made(from, to int) (events []*schemas.DocumentOrdered) {
	for n := from; n < to; n++ {
		batch := fmt.Sprint("batch-", n)
		date := fmt.Sprintf("2024-02-%02d", n+1)
		add := func(d doc) {
			d.date, d.batch = date, batch
			for _, ev := range r.version(d) {
				ev.Profile = "insert-test@0"
				events = append(events, ev)
			}
		}
		add(doc{inc: 1, xml: mice("H", fmt.Sprintf("m%d=a", n), fmt.Sprintf("n%d=a", n), "all=x")})
		add(doc{inc: 2, kind: "experiment", xml: experiments(fmt.Sprintf("e%d m%d 1", n, n), fmt.Sprintf("f%d gone%d -2", n, n))})
		add(doc{inc: 3, failed: true, xml: mice("H", "bad=a")})
		if n > 0 {
			add(doc{action: schemas.Edit, inc: 4, xml: mice("H", fmt.Sprintf("m%d=b", n-1))})
			add(doc{action: schemas.Delete, inc: 5, xml: mice("H", fmt.Sprintf("n%d=a", n-1))})
		}
		events = append(events, r.batchEnd(batch))
	}
	return events
}

// live runs the live inserter until all that is ordered is applied.
func (r *rebuilt) live() {
	r.t.Helper()
	in := r.inserter()
	stop := start(r.t, in)
	r.await(int64(len(r.o.events)))
	stop()
}

func (r *rebuilt) inserter() *Inserter {
	in := r.running(r.o, r.bootstrap, r.in.deps.Log)
	if r.o.blobs == nil {
		in.deps.Blobs = r.blobs
	}
	return in
}

func (r *rebuilt) again() *Rebuild {
	in := r.inserter()
	in.deps.Holder = "rebuild"
	pool, err := pg.Open(context.Background(), r.pool.Config().ConnString(), "rebuild", 4)
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(pool.Close)
	in.deps.Pool = pool
	return &Rebuild{In: in, Profile: r.profile}
}

// publish writes the first n events of the outbox to status.changed, or all, and
// takes them out of it.
func (r *rebuilt) publish(n int) {
	r.t.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(r.bootstrap...))
	if err != nil {
		r.t.Fatal(err)
	}
	defer client.Close()
	rows, err := outbox.Read(r.t.Context(), r.pool, warehouse.Schema, 0, 1<<30)
	if err != nil {
		r.t.Fatal(err)
	}
	var records []schemas.Record
	for _, row := range rows {
		records = append(records, row.Records...)
	}
	var out []*kgo.Record
	for i, rec := range records {
		if n == 0 || i < n {
			out = append(out, kafka.ToKgo("t", rec))
		}
	}
	if err := client.ProduceSync(r.t.Context(), out...).FirstErr(); err != nil {
		r.t.Fatal(err)
	}
	if _, err := r.pool.Exec(r.t.Context(), "DELETE FROM warehouse.outbox"); err != nil {
		r.t.Fatal(err)
	}
}

func (r *rebuilt) drop() {
	r.t.Helper()
	if _, err := r.pool.Exec(r.t.Context(), "DROP SCHEMA warehouse CASCADE"); err != nil {
		r.t.Fatal(err)
	}
}

// ids are those of all events in the outbox, sorted.
func (r *rebuilt) ids() (ids []string) {
	for _, m := range outboxtest.Events(r.t, r.pool, warehouse.Schema, r.codec) {
		ids = append(ids, m.ID)
	}
	return sorted(ids)
}

// left are schemas that a rebuild has left.
func (r *rebuilt) left() []string {
	return r.texts("SELECT nspname FROM pg_namespace WHERE nspname IN ($1, $2)", warehouse.Built, warehouse.Replaced)
}

// A warehouse of a corpus, verified and rebuilt, is the same in every row of
// every table; what waits in its outbox stays, and insertion goes on.
func TestRebuildEqualsLive(t *testing.T) {
	b := newBenchOf(t, impc.FS)
	b.free()
	c, err := corpus.Generate(corpus.Options{Seed: 11, Shape: corpus.Demo})
	if err != nil {
		t.Fatal(err)
	}
	r := &rebuilt{bench: b, o: order(t, c, b.codec), profile: impc.FS, bootstrap: enginetest.Broker(t)}
	rest := r.o.events[len(r.o.events)-40:]
	r.o.events = r.o.events[:len(r.o.events)-40]
	r.o.produce(r.bootstrap, r.o.events...)
	r.live()
	if _, err := b.pool.Exec(t.Context(), "INSERT INTO warehouse.known_project (name) VALUES ('of people''s own')"); err != nil {
		t.Fatal(err)
	}
	before, hash, told := r.all(), b.hash(), r.ids()

	var compared []warehouse.TableComparison
	_, err = r.again().Verify(t.Context(), func(c warehouse.TableComparison) error {
		compared = append(compared, c)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range compared {
		if !c.Equal {
			t.Error(c)
		}
	}
	if len(compared) != len(before) {
		t.Errorf("%d tables of %d were compared", len(compared), len(before))
	}

	report, err := r.again().Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if report.Position != int64(len(r.o.events)) || report.Rows == 0 || report.Lost {
		t.Errorf("reported: %+v", report)
	}
	same(t, "rows", r.all(), before)
	same(t, "hash", b.hash(), hash)
	same(t, "what waits to be told", r.ids(), told)
	same(t, "schemas left", r.left(), []string{})

	r.o.events = append(r.o.events, rest...)
	r.o.produce(r.bootstrap, rest...)
	r.live()
	undisturbed := newBenchOf(t, impc.FS)
	undisturbed.free()
	u := &rebuilt{bench: undisturbed, o: r.o, profile: impc.FS, bootstrap: r.bootstrap}
	u.live()
	same(t, "hash in the end", b.hash(), undisturbed.hash())
	same(t, "told in the end", r.ids(), u.ids())
}

// published tells whether an event is in status.changed.
func (r *rebuilt) published(id string) (found bool) {
	r.t.Helper()
	err := r.inserter().readWhole(r.t.Context(), schemas.StatusChangedTopic, func(k *kgo.Record) error {
		m, err := r.codec.Decode(kafka.FromKgo(k))
		found = found || err == nil && m.ID == id
		return err
	})
	if err != nil {
		r.t.Fatal(err)
	}
	return found
}

// While positions come and are inserted, the warehouse is rebuilt and verified
// again and again: every event is told once, and all is as undisturbed.
func TestRebuildWhileInsertGoesOn(t *testing.T) {
	r := rebuildBench(t)
	const days = 27 // as many as all months have
	var batches [][]*schemas.DocumentOrdered
	for n := range days {
		batches = append(batches, r.made(n, n+1))
	}
	in := r.inserter()
	in.cfg.Batch = 3
	stop := start(t, in)
	done, moved := make(chan error, 1), make(chan struct{}, 1)
	go func() {
		defer close(moved)
		for n := range 4 {
			var err error
			again := r.again()
			again.Report = func(RebuildProgress) {
				select {
				case moved <- struct{}{}:
				default:
				}
			}
			if n%3 == 2 {
				_, err = again.Verify(context.WithoutCancel(t.Context()), func(c warehouse.TableComparison) error {
					if !c.Equal {
						return fmt.Errorf("%s", c)
					}
					return nil
				})
			} else {
				_, err = again.Run(context.WithoutCancel(t.Context()))
			}
			if err != nil {
				done <- fmt.Errorf("rebuild %d: %w", n, err)
				return
			}
		}
		done <- nil
	}()
	for n, batch := range batches {
		r.produce(batch)
		r.await(int64(len(r.o.events)) - 20)
		if n > 2 {
			<-moved // a batch comes as a rebuild has gone one further
		}
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	r.await(int64(len(r.o.events)))
	stop()
	ids := r.ids()
	if len(slices.Compact(slices.Clone(ids))) != len(ids) {
		t.Error("an event was told twice")
	}
	undisturbed := newBench(t)
	undisturbed.free()
	u := &rebuilt{bench: undisturbed, o: r.o, profile: r.profile, bootstrap: r.bootstrap}
	undisturbed.blobs, undisturbed.in.deps.Blobs = r.blobs, r.blobs
	u.live()
	same(t, "rows", r.all(), u.all())
	same(t, "told", ids, u.ids())
}

// A rebuild may be the first thing that this program does with a warehouse: its table of
// leases is completed, and kept.
func TestRebuildOfAWarehouseThatOlderMembersMigrated(t *testing.T) {
	r := rebuildBench(t)
	r.batches(0, 1)
	r.live()
	if _, err := r.pool.Exec(t.Context(), "ALTER TABLE warehouse.lease DROP COLUMN taken_at"); err != nil {
		t.Fatal(err)
	}
	before := r.all()
	if _, err := r.again().Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	same(t, "rows", r.all(), before)
	if _, err := r.inserter().lease().Acquire(t.Context(), 0); err != nil {
		t.Errorf("the lease afterwards: %v", err)
	}
}

// Two at a time would disturb each other.
func TestOneRebuildAtATime(t *testing.T) {
	r := rebuildBench(t)
	r.batches(0, 1)
	r.live()
	var second error
	first := r.again()
	first.Report = func(RebuildProgress) {
		_, second = r.again().Run(t.Context())
	}
	if _, err := first.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if second == nil || !strings.Contains(second.Error(), "another rebuild") {
		t.Errorf("a second rebuild: %v", second)
	}
}
