package insert

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"tributary/internal/config"
	"tributary/internal/engine/enginetest"
	"tributary/internal/kafka"
	"tributary/schemas"
	"tributary/schemas/impc"
	"tributary/schemas/schemastest"
	"tributary/test/corpus"
	"tributary/test/wait"
)

// running makes an inserter on the bench's warehouse that reads from a broker.
func (b *bench) running(o *ordered, bootstrap []string, log *slog.Logger) *Inserter {
	b.t.Helper()
	d := b.in.deps
	d.Blobs, d.Connect, d.Log = o.blobs, kafka.NewFactory(config.Default().Kafka, bootstrap, log), log
	d.Prefix, d.Holder = "t", b.t.Name()
	in, err := New(config.Insert{}, d)
	if err != nil {
		b.t.Fatal(err)
	}
	return in
}

// start runs an inserter until the test stops it.
func start(t testing.TB, in *Inserter) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- in.Run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("run: %v", err)
		}
	})
	t.Cleanup(stop)
	return stop
}

// await waits until a position is applied.
func (b *bench) await(position int64) {
	b.t.Helper()
	b.eventually(fmt.Sprint("position ", position), func() bool {
		got, err := AppliedPosition(b.t.Context(), b.pool)
		if err != nil {
			b.t.Fatal(err)
		}
		return got >= position
	})
}

func (b *bench) eventually(what string, ok func() bool) {
	b.t.Helper()
	deadline := time.NewTimer(wait.Patience())
	defer deadline.Stop()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-deadline.C:
			b.t.Fatalf("%s does not come", what)
		case <-tick.C:
		}
	}
}

// free gives up the lease that newBench took.
func (b *bench) free() {
	b.t.Helper()
	if err := b.in.lease().Release(b.t.Context(), b.epoch); err != nil {
		b.t.Fatal(err)
	}
}

// TestCorpus loads a corpus from a real topic and compares rows and ends with
// an oracle that knows nothing of this code.
func TestCorpus(t *testing.T) {
	b := newBenchOf(t, impc.FS)
	b.free()
	c, err := corpus.Generate(corpus.Options{Seed: 11, Shape: corpus.Demo})
	if err != nil {
		t.Fatal(err)
	}
	o := order(t, c, b.codec)
	bootstrap := enginetest.Broker(t)
	o.produce(bootstrap, o.events...)
	stop := start(t, b.running(o, bootstrap, b.in.deps.Log))
	b.await(int64(len(o.events)))
	stop()

	var want []string
	for _, s := range c.Oracle.Specimens {
		want = append(want, fmt.Sprint(s.Centre, " ", s.SpecimenID, " ", s.Kind))
	}
	same(t, "specimens", sorted(b.texts("SELECT centre, specimen_id, kind FROM warehouse.current_specimen")), sorted(want))
	want = nil
	for _, r := range c.Oracle.Runs {
		want = append(want, runText(r))
	}
	const run = "centre, %s, pipeline, project, experiment_id, procedure_id, %s, colony_id, from_lims, last_updated::text, array_to_string(specimen_ids, ',')"
	same(t, "runs", sorted(b.texts("SELECT "+fmt.Sprintf(run, "kind", "sequence_id")+" FROM warehouse.current_procedure_run")), sorted(want))
	want = nil
	for _, m := range c.Oracle.Measurements {
		want = append(want, fmt.Sprintf("%s %s %s %s %s %s %s %s", runText(m.Run), m.Kind, m.ParameterID, or(m.SequenceID), or(m.Increment), or(m.Unit), or(m.Value), or(m.Status)))
	}
	same(t, "measurements", sorted(b.texts("SELECT "+fmt.Sprintf(run, "run_kind", "run_sequence_id")+", kind, parameter_id, sequence_id, increment, unit, value, status FROM warehouse.current_measurement")), sorted(want))

	ends := map[string]string{}
	for _, e := range b.events() {
		if e.Entity == schemas.EntityDocument {
			ends[e.Action+"/"+e.FileName+"/"+e.Entry] = fmt.Sprint(e.Phase, " ", e.Status, " ", e.Exception)
		}
	}
	got, expected := map[string]string{}, map[string]string{}
	for _, d := range c.Oracle.Documents {
		id := d.Action + "/" + d.File + "/" + d.Document
		if end, ok := ends[id]; ok {
			exception := ""
			if len(d.Errors) > 0 {
				exception = d.Errors[0].Exception
			}
			got[id], expected[id] = end, fmt.Sprint(d.Phase, " ", d.Status, " ", exception)
		}
	}
	same(t, "ends", got, expected)
	if len(got) < 50 {
		t.Errorf("only %d documents were told of", len(got))
	}
}

func runText(r corpus.Run) string {
	specimens := "null"
	if r.Kind == "experiment" {
		specimens = strings.Join(r.Specimens, ",")
	}
	return fmt.Sprintf("%s %s %s %s %s %s %s %s %s %s %s", r.Centre, r.Kind, r.Pipeline, r.Project, or(r.ExperimentID), or(r.ProcedureID), or(r.SequenceID), or(r.ColonyID), or(r.FromLIMS), or(r.LastUpdated), specimens)
}

func or[T any](p *T) string {
	if p == nil {
		return "null"
	}
	return fmt.Sprint(*p)
}

func sorted(list []string) []string {
	slices.Sort(list)
	return list
}

// TestRedeliveryAndGap: lower positions are ignored, wherever they come from; a
// higher one stops insertion, by name.
func TestRedeliveryAndGap(t *testing.T) {
	b := newBench(t)
	b.free()
	o := &ordered{t: t, codec: b.codec}
	events := append(b.version(doc{inc: 1, xml: mice("H", "m1=a")}), b.batchEnd("batch"))
	events = append(events, b.version(doc{inc: 2, xml: mice("H", "m2=a")})...)
	for i, e := range events {
		e.Position = int64(i) + 1
	}
	bootstrap := enginetest.Broker(t)
	o.produce(bootstrap, events[0], events[1], events[0], events[1], events[2], events[4])
	log := &lines{}
	registry := prometheus.NewRegistry()
	b.in.deps.Metrics = registry
	in := b.running(o, bootstrap, slog.New(slog.NewTextHandler(log, nil)))
	b.in.deps.Metrics = nil
	in.deps.Blobs = b.blobs
	stop := start(t, in)
	b.await(3)
	b.eventually("the gap", func() bool {
		return strings.Contains(log.String(), "position 5 comes at offset 5 where 4 is next")
	})
	b.eventually("the metric", func() bool { return gauge(t, registry, "tributary_insert_stopped") == 1 })
	stop()
	same(t, "before the gap", b.texts(specimens), []string{"m1 a"})
	same(t, "documents", b.texts("SELECT count(*) FROM warehouse.document"), []string{"1"})

	// Where the order is whole again, as after a restored topic, it goes on; that
	// it is another topic, which ends before what was read of the old one, is
	// named.
	bootstrap = enginetest.Broker(t)
	o.produce(bootstrap, events[3:]...)
	log = &lines{}
	in = b.running(o, bootstrap, slog.New(slog.NewTextHandler(log, nil)))
	in.deps.Blobs = b.blobs
	stop = start(t, in)
	b.await(5)
	stop()
	if !strings.Contains(log.String(), "was it deleted and made anew") {
		t.Errorf("the topic made anew is not named:\n%s", log)
	}
	same(t, "in the end", b.texts(specimens), []string{"m1 a", "m2 a"})
}

func gauge(t *testing.T, r *prometheus.Registry, name string) float64 {
	t.Helper()
	families, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == name {
			return f.GetMetric()[0].GetGauge().GetValue()
		}
	}
	t.Fatalf("there is no metric %s", name)
	return 0
}

// BenchmarkCorpus loads zips of three small documents each, from the topic to
// the last batch end, and reports zips per second.
func BenchmarkCorpus(t *testing.B) {
	c, err := corpus.Generate(corpus.Options{Seed: 1, Shape: corpus.Bench, Zips: 2000})
	if err != nil {
		t.Fatal(err)
	}
	codec := schemastest.Codec(t)
	o := order(t, c, codec)
	bootstrap := enginetest.Broker(t)
	o.produce(bootstrap, o.events...)
	for t.Loop() {
		t.StopTimer()
		b := newBenchOf(t, impc.FS)
		b.free()
		t.StartTimer()
		stop := start(t, b.running(o, bootstrap, b.in.deps.Log))
		b.await(int64(len(o.events)))
		stop()
	}
	t.ReportMetric(2000*float64(t.N)/t.Elapsed().Seconds(), "zips/s")
}
