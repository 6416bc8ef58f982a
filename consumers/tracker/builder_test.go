package tracker

import (
	"cmp"
	"context"
	"log/slog"
	"strings"
	"sync"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"pgregory.net/rapid"

	"tributary/internal/config"
	"tributary/internal/engine/enginetest"
	"tributary/internal/kafka"
	"tributary/internal/stage/member"
	"tributary/schemas"
	"tributary/schemas/exception"
	"tributary/schemas/schemastest"
)

// system is a tracker beside the log that it reads.
type system struct {
	t       *testing.T
	pool    *pgxpool.Pool
	connect kafka.Factory
	prefix  string
	client  *kgo.Client
	topic   string
	builder *Builder
}

const testPartitions = 3

func newSystem(t *testing.T) *system {
	t.Helper()
	settings := config.Default().Kafka
	s := &system{t: t, pool: database(t), prefix: settings.TopicPrefix, topic: kafka.TopicName(settings.TopicPrefix, schemas.StatusChangedTopic),
		connect: kafka.NewFactory(settings, enginetest.Broker(t), slog.New(slog.DiscardHandler))}
	var err error
	if s.client, err = s.connect(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.client.Close)
	s.makeTopic()
	s.builder = s.build(s.pool)
	return s
}

func (s *system) build(pool *pgxpool.Pool) *Builder {
	return &Builder{Pool: pool, Connect: s.connect, Prefix: s.prefix, Codec: schemastest.Codec(s.t), Window: 20, Meanings: exception.Texts()}
}

func (s *system) makeTopic() {
	s.t.Helper()
	enginetest.Topics(s.t, s.client, testPartitions, nil, s.topic)
}

// produce appends events to the log, each file's to one partition, and
// something that is no event.
func (s *system) produce(events ...event) {
	s.t.Helper()
	tr := newTracker(s.t, s.pool)
	var records []*kgo.Record
	for i, e := range events {
		r := record(s.t, tr, e, int64(i))
		r.Topic = s.topic
		r.Key = []byte(cmp.Or(e.File, e.Source+e.Session+e.Centre))
		records = append(records, r)
	}
	records = append(records, &kgo.Record{Topic: s.topic, Key: []byte("x"), Value: []byte("no event")})
	if err := s.client.ProduceSync(s.t.Context(), records...).FirstErr(); err != nil {
		s.t.Fatal(err)
	}
}

// logs are some random logs, one after another.
func logs(from, to int) []event {
	var out []event
	for seed := from; seed < to; seed++ {
		out = append(out, rapid.Custom(eventLog).Example(seed)...)
	}
	return out
}

// run runs the tracker until the function returned is called.
func (s *system) run() (stop func()) {
	s.t.Helper()
	a := New(config.Tracker{Batch: 70}, Deps{Pool: s.pool, Codec: newTracker(s.t, s.pool).deps.Codec, Prefix: s.prefix, Connect: s.connect, Log: slog.New(slog.DiscardHandler), Meanings: exception.Texts()}).
		Applier(member.NewMetrics(prometheus.NewRegistry()))
	ctx, cancel := context.WithCancel(s.t.Context())
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := a.Run(ctx); err != nil && ctx.Err() == nil {
			s.t.Error(err)
		}
	})
	return func() { cancel(); wg.Wait() }
}

func (s *system) ends() (n int64) {
	s.t.Helper()
	listed, err := kadm.NewClient(s.client).ListEndOffsets(s.t.Context(), s.topic)
	if err != nil {
		s.t.Fatal(err)
	}
	listed.Each(func(o kadm.ListedOffset) { n += o.Offset })
	return n
}

// caughtUp waits until the tracker has read all there is.
func (s *system) caughtUp() {
	s.t.Helper()
	end := s.ends()
	await(s.t, "the tracker to read the log", func() (bool, error) {
		var applied int64
		err := s.pool.QueryRow(s.t.Context(), "SELECT coalesce(sum(next_offset), 0) FROM tracker.consumed").Scan(&applied)
		return applied >= end, err
	})
}

// track lets the tracker read all there is.
func (s *system) track() {
	s.t.Helper()
	stop := s.run()
	s.caughtUp()
	stop()
}

func (s *system) exec(sql string) {
	s.t.Helper()
	if _, err := s.pool.Exec(s.t.Context(), sql); err != nil {
		s.t.Fatalf("%s: %v", sql, err)
	}
}

func (s *system) verify(limit int) Verification {
	s.t.Helper()
	v, err := s.builder.Verify(s.t.Context(), limit)
	if err != nil {
		s.t.Fatal(err)
	}
	return v
}

// schemas left in the database, but for the tracker's.
func (s *system) leftovers() string {
	s.t.Helper()
	names, err := column(s.pool, "SELECT nspname FROM pg_namespace WHERE nspname LIKE 'tracker_%'")
	if err != nil {
		s.t.Fatal(err)
	}
	return strings.Join(names, ", ")
}

// A rebuild after the schema was dropped gives the same rows, and the tracker
// goes on from there; so does one beside a tracker that is there.
func TestRebuildGivesTheSameRows(t *testing.T) {
	for name, dropped := range map[string]bool{"dropped": true, "there": false} {
		t.Run(name, func(t *testing.T) {
			s := newSystem(t)
			s.produce(logs(1, 12)...)
			s.track()
			want := dump(t, s.pool)
			if len(want["xml_log"]) == 0 || len(want["zip_log"]) == 0 || len(want["unreadable"]) == 0 {
				t.Fatal("the log leaves tables empty: the test shows nothing")
			}
			track := s.track
			if dropped {
				// A member that runs meanwhile goes on by itself.
				stop := s.run()
				s.caughtUp()
				s.exec("DROP SCHEMA tracker CASCADE")
				track = func() { s.caughtUp(); stop() }
			}
			r, err := s.builder.Rebuild(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if r.Records != s.ends() {
				t.Errorf("built from %d records of %d", r.Records, s.ends())
			}
			if d := gocmp.Diff(want, dump(t, s.pool)); d != "" {
				t.Errorf("the rows differ:\n%s", d)
			}
			if left := s.leftovers(); left != "" {
				t.Errorf("schemas are left: %s", left)
			}
			s.produce(logs(12, 14)...)
			track()
			if v := s.verify(10); v.Differ != 0 || v.Records != s.ends() {
				t.Errorf("after the tracker went on: %+v", v)
			}
		})
	}
}

// A build's objects are those of the tracker, indexes and constraints
// included, though it is filled without them.
func TestRebuildMakesEveryObject(t *testing.T) {
	s := newSystem(t)
	s.produce(logs(1, 3)...)
	objects := func() []string {
		out, err := column(s.pool, `SELECT indexdef FROM pg_indexes WHERE schemaname = 'tracker'
			UNION ALL SELECT conrelid::regclass || ' ' || conname || ' ' || pg_get_constraintdef(oid) || ' ' || convalidated FROM pg_constraint WHERE connamespace = 'tracker'::regnamespace
			UNION ALL SELECT pg_get_triggerdef(t.oid) FROM pg_trigger t JOIN pg_class c ON c.oid = tgrelid WHERE c.relnamespace = 'tracker'::regnamespace AND NOT tgisinternal
			UNION ALL SELECT relname || ' ' || relkind::text || ' ' || relpersistence::text || ' ' || coalesce(obj_description(oid, 'pg_class'), '') FROM pg_class WHERE relnamespace = 'tracker'::regnamespace
			ORDER BY 1`)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	want := objects()
	if _, err := s.builder.Rebuild(t.Context()); err != nil {
		t.Fatal(err)
	}
	if d := gocmp.Diff(want, objects()); d != "" {
		t.Errorf("the objects differ:\n%s", d)
	}
	// What is asked while rows are merged is kept by name.
	for _, index := range []string{"xml_file_zip_id_outcome_idx", "xml_log_xml_id_idx"} {
		if found, err := column(s.pool, "SELECT to_regclass('tracker."+index+"')::text WHERE to_regclass('tracker."+index+"') IS NOT NULL"); err != nil || len(found) != 1 {
			t.Errorf("there is no index %s: %v", index, err)
		}
	}
	if len(want) < 80 {
		t.Errorf("only %d objects: the test shows nothing", len(want))
	}
}
