package insert

import (
	"context"
	"log/slog"
	"maps"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/twmb/franz-go/pkg/kgo"

	"tributary/internal/chain"
	"tributary/internal/kafka"
	"tributary/schemas"
	"tributary/sql/warehouse"
)

// persons decide about records; whoever reads knows what they did when it has
// learnt it last.
type persons struct {
	mu          sync.Mutex
	made, known map[chain.Digest]chain.Decision
}

func (p *persons) learn(context.Context) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.known = maps.Clone(p.made)
	return nil
}

func (p *persons) decided(digest chain.Digest) (chain.Decision, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	d, ok := p.known[digest]
	return d, ok
}

// decide has a person decide about a record: that it never was, that its content
// is lost, or that something before it is missing.
func (p *persons) decide(value []byte, how string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	d := chain.Decision{Missing: how == "missing", GoesOn: chain.Of([]byte("another")), By: "somebody", Reason: "a test"}
	if how == "lost" {
		d.GoesOn = chain.Of(value)
	}
	if p.made == nil {
		p.made = map[chain.Digest]chain.Decision{}
	}
	p.made[chain.Of(value)] = d
}

// judged is a bench whose readers ask persons.
func judged(t *testing.T) (*rebuilt, *persons) {
	r, p := rebuildBench(t), &persons{}
	r.in.deps.LearnDecisions, r.in.deps.Decided = p.learn, p.decided
	return r, p
}

// write writes records as they are.
func (r *rebuilt) write(records ...*kgo.Record) {
	r.t.Helper()
	r.o.produce(r.bootstrap) // makes the topic
	client, err := kgo.NewClient(append(kafka.Bootstrap(r.bootstrap), kgo.RecordPartitioner(kgo.ManualPartitioner()))...)
	if err != nil {
		r.t.Fatal(err)
	}
	defer client.Close()
	if err := client.ProduceSync(r.t.Context(), records...).FirstErr(); err != nil {
		r.t.Fatal(err)
	}
}

// rechain lets events behind one name the record before them.
func (r *rebuilt) rechain(events []*schemas.DocumentOrdered, previous string) {
	for _, ev := range events {
		ev.Previous = previous
		previous = r.digest(ev)
	}
}

// records are events as they are published.
func (r *rebuilt) records(events ...*schemas.DocumentOrdered) (out []*kgo.Record) {
	for _, ev := range events {
		out = append(out, r.o.record(ev))
	}
	return out
}

func garbage(text string) *kgo.Record {
	return &kgo.Record{Topic: kafka.TopicName("t", schemas.DocumentOrderedTopic), Value: []byte(text)}
}

// equal says that the warehouse is what its order says, before and after it was
// rebuilt.
func (r *rebuilt) equal() {
	r.t.Helper()
	verify := func() {
		r.t.Helper()
		_, err := r.again().Verify(r.t.Context(), func(c warehouse.TableComparison) error {
			if !c.Equal {
				r.t.Error(c)
			}
			return nil
		})
		if err != nil {
			r.t.Fatalf("verify: %v", err)
		}
	}
	verify()
	before := r.all()
	if _, err := r.again().Run(r.t.Context()); err != nil {
		r.t.Fatalf("rebuild: %v", err)
	}
	if diff := cmp.Diff(before, r.all()); diff != "" {
		r.t.Errorf("rows (-before the rebuild +behind it):\n%s", diff)
	}
	verify()
}

// A decision holds for the record's bytes: no other record in its place is passed
// over by it.
func TestADecisionHoldsForNoOtherBytes(t *testing.T) {
	r, p := judged(t)
	e := r.chained(r.made(0, 1), 1)
	first, second := forged(e[0], 2, "junk"), forged(e[1], 2, "junk")
	r.write(r.records(e[0], first, second, e[1])...)
	p.decide(r.o.record(first).Value, "foreign")
	log := &lines{}
	r.in.deps.Log = slog.New(slog.NewTextHandler(log, nil))
	stop := start(t, r.inserter())
	r.eventually("the stop", func() bool {
		return strings.Contains(log.String(), "chain_broken: the record of position 2 at offset 2")
	})
	p.decide(r.o.record(second).Value, "foreign")
	r.await(2)
	stop()
}

// What was forged first and fits is applied. Once the genuine record came, and
// somebody decided that the forged one never was, a rebuild goes without it; what
// comes behind is applied, and told, by the live insertion.
func TestARebuildGoesWithoutWhatWasForged(t *testing.T) {
	r, p := judged(t)
	e := r.chained(r.made(0, 1), 1)
	fake := forged(e[2], 3, e[2].Previous)
	r.write(r.records(e[0], e[1], fake, e[2], e[3], e[4], e[5], e[6])...)
	log := &lines{}
	r.in.deps.Log = slog.New(slog.NewTextHandler(log, nil))
	stop := start(t, r.inserter())
	says := func(text string) { r.eventually(text, func() bool { return strings.Contains(log.String(), text) }) }
	says("position_taken_twice: the record of position 3 at offset 3")
	p.decide(r.o.record(fake).Value, "foreign")
	says("run: tributary warehouse rebuild")
	_, err := r.again().Verify(t.Context(), func(warehouse.TableComparison) error { return nil })
	if err == nil || !strings.Contains(err.Error(), "holds the record of position 3 that is passed over") {
		t.Errorf("verify: %v", err)
	}
	if _, err := r.again().Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	r.await(7)
	stop()
	same(t, "document 3", r.texts("SELECT state FROM warehouse.document WHERE position = 3"), []string{"loaded"})
	if told := strings.Join(r.told(), "\n"); !strings.Contains(told, e[2].Entry+" upload done") {
		t.Errorf("the genuine document is not told of:\n%s", told)
	}
	r.equal()
	same(t, "hash", r.hash(), genuine(t).hash())
}

// genuine is the warehouse of the order in which nobody forged anything.
func genuine(t *testing.T) *rebuilt {
	r := rebuildBench(t)
	r.write(r.records(r.chained(r.made(0, 1), 1)...)...)
	stop := start(t, r.inserter())
	r.await(7)
	stop()
	return r
}

// Once the record is passed over at which insertion had stopped, nobody is told
// any more that it has, also if nothing comes behind.
func TestAStopIsNotSaidOnceItsRecordIsPassedOver(t *testing.T) {
	r, p := judged(t)
	e := r.chained(r.made(0, 1), 1)
	fake := forged(e[0], 1, chain.Start)
	r.write(r.records(e[0], e[1], fake)...)
	registry := prometheus.NewRegistry()
	r.in.deps.Metrics = registry
	stop := start(t, r.inserter())
	said := func() bool {
		return gauge(t, registry, "tributary_insert_stopped") == 1 && gauge(t, registry, "tributary_insert_chain_broken") == 1 && r.chainBroken() != ""
	}
	r.eventually("the stop", said)
	p.decide(r.o.record(fake).Value, "foreign")
	r.eventually("the end of the stop", func() bool {
		return gauge(t, registry, "tributary_insert_stopped") == 0 && gauge(t, registry, "tributary_insert_chain_broken") == 0 && r.chainBroken() == ""
	})
	stop()
}

// A reader that begins again knows what was passed over behind the record that was
// applied last, as one does that has read on.
func TestWhatIsPassedOverIsKnownAfterARestart(t *testing.T) {
	r, p := judged(t)
	e := r.made(0, 1)
	for i, ev := range e {
		ev.Position = int64(i) + 1
	}
	p.decide(r.o.record(e[1]).Value, "lost")
	p.decide([]byte("rubbish"), "lost")
	r.write(r.records(e[0], e[1])...)
	stop := start(t, r.inserter())
	r.await(2)
	stop()
	e[3].Previous = chain.Of([]byte("rubbish")).String()
	r.write(garbage("rubbish"))
	r.write(r.records(forged(e[0], 2, ""), e[3])...)
	stop = start(t, r.inserter())
	r.await(4)
	stop()
	same(t, "positions", r.texts("SELECT position FROM warehouse.chain ORDER BY 1"), []string{"1", "2", "4"})
	r.equal()
}
