//go:build !race

package insert

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/twmb/franz-go/pkg/kgo"

	"tributary/internal/chain"
	"tributary/schemas"
)

func TestInsertionGoesOnBehindWhatIsDecided(t *testing.T) {
	type records = []*kgo.Record
	type events = []*schemas.DocumentOrdered
	cases := []struct {
		name  string
		topic func(r *rebuilt, e events) (all records, at int) // at which of them it stops
		says  string
		how   string
		lost  []string // positions that nobody took
		state string   // of document 3
	}{
		{"foreign, far ahead", func(r *rebuilt, e events) (records, int) {
			return r.records(e[0], e[1], e[2], forged(e[0], 9, e[2].Previous), e[3], e[4], e[5], e[6]), 3
		}, "positions are missing: position 9 comes at offset 3 where 4 is next", "foreign", nil, "loaded"},
		{"foreign, of a position that was applied", func(r *rebuilt, e events) (records, int) {
			return r.records(e[0], e[1], e[2], forged(e[0], 1, chain.Start), e[3], e[4], e[5], e[6]), 3
		}, "position_taken_twice: the record of position 1 at offset 3", "foreign", nil, "loaded"},
		{"foreign, can't be read", func(r *rebuilt, e events) (records, int) {
			return append(append(r.records(e[:3]...), garbage("rubbish")), r.records(e[3:7]...)...), 3
		}, "document.ordered at offset 3: the record can't be read: value is not an Avro record", "foreign", nil, "loaded"},
		{"lost, a document", func(r *rebuilt, e events) (records, int) {
			e[2].Previous = strings.Repeat("ab", 32)
			r.rechain(e[3:], r.digest(e[2]))
			return r.records(e[:7]...), 2
		}, "chain_broken: the record of position 3 at offset 2", "lost", nil, "failed passed_over"},
		{"lost, of the position applied last", func(r *rebuilt, e events) (records, int) {
			other := forged(e[3], 4, e[3].Previous)
			r.rechain(e[4:], r.digest(other))
			return r.records(e[0], e[1], e[2], e[3], other, e[4], e[5], e[6]), 4
		}, "position_taken_twice: the record of position 4 at offset 4", "lost", nil, "loaded"},
		{"lost, can't be read", func(r *rebuilt, e events) (records, int) {
			r.rechain(e[3:], chain.Of([]byte("rubbish")).String())
			return append(append(r.records(e[:2]...), garbage("rubbish")), r.records(e[3:7]...)...), 2
		}, "document.ordered at offset 2: the record can't be read: value is not an Avro record", "lost", []string{"3"}, ""},
		{"missing", func(r *rebuilt, e events) (records, int) {
			return r.records(append(append(events{}, e[:1]...), e[3:7]...)...), 1
		}, "positions are missing: position 4 comes at offset 1 where 2 is next", "missing", []string{"2", "3"}, ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			r, p := judged(t)
			e := r.chained(r.made(0, 1), 1)
			all, at := c.topic(r, e)
			r.write(all...)
			registry, log := prometheus.NewRegistry(), &lines{}
			r.in.deps.Metrics, r.in.deps.Log = registry, slog.New(slog.NewTextHandler(log, nil))
			stop := start(t, r.inserter())
			r.eventually("the stop", func() bool {
				return gauge(t, registry, "tributary_insert_stopped") == 1 && strings.Contains(log.String(), c.says)
			})
			if way := fmt.Sprintf("tributary topics pass-over document.ordered 0 %d --dry-run", at); !strings.Contains(log.String(), way) {
				t.Errorf("the log does not say %q:\n%s", way, log)
			}
			if got := r.chainBroken(); !strings.Contains(got, c.says) {
				t.Errorf("whoever asks is told %q, not %q", got, c.says)
			}
			p.decide(all[at].Value, c.how)
			r.await(7)
			stop()
			if got := r.chainBroken(); got != "" {
				t.Errorf("it is said: %q", got)
			}
			if stopped, broken := gauge(t, registry, "tributary_insert_stopped"), gauge(t, registry, "tributary_insert_chain_broken"); stopped+broken > 0 {
				t.Errorf("stopped %v, broken %v", stopped, broken)
			}
			r.in.deps.Metrics = nil
			same(t, "positions that nobody took", r.texts("SELECT p FROM generate_series(1, 7) p EXCEPT SELECT position FROM warehouse.chain ORDER BY 1"), append([]string{}, c.lost...))
			same(t, "document 3", strings.Join(r.texts("SELECT rtrim(state || ' ' || exception) FROM warehouse.document WHERE position = 3"), ""), c.state)
			told := strings.Contains(strings.Join(r.told(), "\n"), "upload failed passed_over")
			same(t, "whether it was told", told, c.state == "failed passed_over")
			r.equal()
			next := *e[0]
			next.Position, next.Previous = 8, r.digest(e[6])
			r.write(r.records(&next)...)
			stop = start(t, r.inserter())
			r.await(8)
			stop()
		})
	}
}

// The end of a batch whose record is passed over as lost has no work; and what was
// passed over behind the last position is known after a restart, too.
func TestALostBatchEndDoesNothing(t *testing.T) {
	r, p := judged(t)
	e := r.chained(r.made(0, 1), 1)
	e[6].Previous = chain.Start
	r.write(r.records(e[:7]...)...)
	r.write(garbage("rubbish"))
	p.decide(r.o.record(e[6]).Value, "lost")
	p.decide([]byte("rubbish"), "lost")
	stop := start(t, r.inserter())
	r.await(7)
	stop()
	for _, ev := range r.events() {
		if ev.Entity == schemas.EntityBatch {
			t.Errorf("told of batch %d at position %d", ev.Number, ev.Position)
		}
	}
	next := *e[0]
	next.Position, next.Previous = 9, chain.Of([]byte("rubbish")).String()
	r.write(r.records(&next)...)
	stop = start(t, r.inserter())
	r.await(9)
	stop()
	r.equal()
}

// No digest covers headers: whatever they say, or lack, stops nothing.
func TestHeadersStopNothing(t *testing.T) {
	r, _ := judged(t)
	e := r.chained(r.made(0, 1), 1)
	all := r.records(e[:7]...)
	all[0].Headers = nil
	for i, h := range all[2].Headers {
		if h.Key == "ce_time" {
			all[2].Headers[i].Value = []byte("yesterday")
		}
	}
	r.write(all...)
	stop := start(t, r.inserter())
	r.await(7)
	stop()
	same(t, "event of position 1", r.texts("SELECT event FROM warehouse.document WHERE position = 1"), []string{schemas.EventID("sequence", schemas.LiveRun, "1", schemas.DocumentOrderedTopic)})
	r.equal()
}

// Positions were taken for lost since somebody believed a forged record; when they
// come after all, a rebuild goes without that one, and they are applied and told.
func TestARebuildBringsBackWhatWasWronglyLost(t *testing.T) {
	r, p := judged(t)
	e := r.chained(r.made(0, 1), 1)
	fake := forged(e[2], 6, "junk")
	p.decide(r.o.record(fake).Value, "missing")
	r.write(r.records(e[0], e[1], fake)...)
	log := &lines{}
	r.in.deps.Log = slog.New(slog.NewTextHandler(log, nil))
	stop := start(t, r.inserter())
	r.await(6)
	r.write(r.records(e[2:7]...)...)
	says := func(text string) { r.eventually(text, func() bool { return strings.Contains(log.String(), text) }) }
	says("position_taken_twice: the record of position 3 at offset 3")
	p.decide(r.o.record(fake).Value, "foreign")
	says("run: tributary warehouse rebuild")
	if _, err := r.again().Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	r.await(7)
	stop()
	told := strings.Join(r.told(), "\n")
	for _, at := range []int{0, 2} {
		if !strings.Contains(told, e[at].Entry+" upload done") {
			t.Errorf("document %d is not told of:\n%s", at+1, told)
		}
	}
	r.equal()
	same(t, "hash", r.hash(), genuine(t).hash())
}

// Offsets are only a hint: before positions are taken for lost they are looked for
// from the topic's beginning.
func TestNothingIsLostThatLiesElsewhere(t *testing.T) {
	r, p := judged(t)
	e := r.chained(r.made(0, 1), 1)
	r.write(r.records(e[0], e[1])...)
	stop := start(t, r.inserter())
	r.await(2)
	stop()
	r.write(r.records(e[2], e[3], e[6])...)
	r.exec("UPDATE warehouse.state SET next_offset = 5")
	p.decide(r.o.record(e[6]).Value, "missing")
	stop = start(t, r.inserter())
	r.await(7)
	stop()
	same(t, "positions", r.texts("SELECT position FROM warehouse.chain ORDER BY 1"), []string{"1", "2", "3", "4", "7"})
	r.equal()
}
