package hostile

import (
	"context"
	"encoding/binary"
	"fmt"
	"maps"
	"math/rand/v2"
	"net"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"tributary/internal/kafka"
	"tributary/schemas"
	"tributary/test/wait"
)

// TestTopics writes to every topic what nobody wrote: records of it changed,
// cut, far too large, of another topic's schema or of none. The process lives
// and reads on, or says which topic a stage stands still at, and the log is
// whole when it is opened again. The owner's own door takes whatever a client
// may write.
func TestTopics(t *testing.T) {
	t.Parallel()
	w := setUp(t, 4, "")
	w.configure(false)
	p := w.up()
	w.must(w.goodInserted)
	client := w.client(kgo.RecordDeliveryTimeout(5 * time.Second)) // some are never taken
	valid := readAll(t, client, w.prefixed(t, client))
	rng := rand.New(rand.NewPCG(number(t, "TRIBUTARY_SEED", 1), 5))
	codec, err := schemas.NewCodec()
	if err != nil {
		t.Fatal(err)
	}
	for _, topic := range slices.Sorted(maps.Keys(valid)) {
		for range number(t, "TRIBUTARY_HOSTILE_RECORDS", 40) {
			r := changed(rng, codec, valid, topic)
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			err := client.ProduceSync(ctx, r).FirstErr()
			cancel()
			if err != nil && p.ended() {
				t.Fatalf("the process ended at a record of %d bytes for %s: %v\n%s", len(r.Value), topic, err, p.tail())
			}
		}
	}
	w.standing(client, p)
	before := ends(t, client)
	client.Close()
	if p.ended() {
		t.Fatalf("the process has ended\n%s", p.tail())
	}
	if wrong := p.stop(); wrong != "" {
		t.Error(wrong)
	}
	engines := w.start("engines")
	w.must(func() string {
		if engines.ended() {
			t.Fatal(engines.tail())
		}
		_, err := w.rows("SELECT 1")
		return said(err)
	})
	again := w.client()
	defer again.Close()
	for topic, n := range before {
		if got := ends(t, again)[topic]; got < n {
			t.Errorf("%s had %d records, and has %d after a restart", topic, n, got)
		}
	}
}

// client is one of the owner's.
func (w *world) client(extra ...kgo.Opt) *kgo.Client {
	w.t.Helper()
	at, err := w.endpoints()
	if err != nil || len(at.Kafka) == 0 {
		w.t.Fatalf("no broker: %v", err)
	}
	opts := []kgo.Opt{kgo.SeedBrokers(at.Kafka...), kgo.ProducerBatchMaxBytes(8 << 20), kgo.RecordDeliveryTimeout(wait.Patience()), kgo.RecordPartitioner(kgo.StickyKeyPartitioner(nil))}
	if socket, ok := strings.CutPrefix(at.Kafka[0], "unix:"); ok {
		opts = append(opts, kgo.SeedBrokers("127.0.0.1:9"), kgo.Dialer(func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", socket)
		}))
	}
	c, err := kgo.NewClient(append(opts, extra...)...)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(c.Close)
	return c
}

func (w *world) prefixed(t *testing.T, c *kgo.Client) []string {
	t.Helper()
	topics, err := kadm.NewClient(c).ListTopics(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(topics.Names(), func(name string) bool {
		return !strings.HasPrefix(name, "tributary.") || strings.HasSuffix(name, ".dlq")
	})
}

// ends are the numbers of records by topic.
func ends(t *testing.T, c *kgo.Client) map[string]int64 {
	t.Helper()
	offsets, err := kadm.NewClient(c).ListEndOffsets(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]int64{}
	offsets.Each(func(o kadm.ListedOffset) { out[o.Topic] += o.Offset })
	return out
}

// readAll reads the records of topics, up to where they end now.
func readAll(t *testing.T, c *kgo.Client, topics []string) map[string][]*kgo.Record {
	t.Helper()
	left := int64(0)
	for topic, n := range ends(t, c) {
		if slices.Contains(topics, topic) {
			left += n
		}
	}
	c.AddConsumeTopics(topics...)
	out := map[string][]*kgo.Record{}
	ctx, cancel := context.WithTimeout(t.Context(), wait.Patience())
	defer cancel()
	for left > 0 && ctx.Err() == nil {
		c.PollFetches(ctx).EachRecord(func(r *kgo.Record) {
			out[r.Topic] = append(out[r.Topic], r)
			left--
		})
	}
	return out
}

// changed is a record for a topic, in one of the ways that the seed draws.
func changed(rng *rand.Rand, codec *schemas.Codec, valid map[string][]*kgo.Record, topic string) *kgo.Record {
	of := valid[topic]
	from := of[rng.IntN(len(of))]
	r := &kgo.Record{Topic: topic, Key: slices.Clone(from.Key), Value: slices.Clone(from.Value), Headers: slices.Clone(from.Headers)}
	switch rng.IntN(14) {
	case 0: // again, as it was
	case 1: // bytes changed
		for range 1 + rng.IntN(8) {
			r.Value[rng.IntN(len(r.Value))] = byte(rng.Uint32())
		}
	case 2:
		r.Value = r.Value[:rng.IntN(len(r.Value))]
	case 3: // more than any batch of ours
		r.Value = append(r.Value, garbage(rng, 1_000_000)...)
	case 4:
		r.Value = append(r.Value, garbage(rng, 300_000)...)
	case 5: // another topic's
		others := slices.Sorted(maps.Keys(valid))
		other := valid[others[rng.IntN(len(others))]]
		r.Value = slices.Clone(other[rng.IntN(len(other))].Value)
	case 6: // a schema that nobody knows
		binary.BigEndian.PutUint32(r.Value[1:5], rng.Uint32())
	case 7:
		r.Value = nil
	case 8:
		r.Key, r.Headers = nil, nil
	case 9:
		r.Headers = append(r.Headers, kgo.RecordHeader{Key: strings.Repeat("\x00", 1000), Value: garbage(rng, 100_000)})
	case 10:
		for i := range r.Headers {
			r.Headers[i].Value = []byte(nasty)
		}
	case 11:
		r.Key = garbage(rng, 50_000)
	default: // a body that is well encoded and means nothing
		m, err := codec.Decode(kafka.FromKgo(from))
		if err != nil {
			break
		}
		spoil(rng, reflect.ValueOf(m.Body).Elem())
		if enc, err := codec.Encode(m); err == nil {
			r = kafka.ToKgo("tributary", enc)
			r.Topic = topic
		}
	}
	return r
}

// spoil puts nonsense into some of the fields of a body.
func spoil(rng *rand.Rand, v reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Field(i).CanSet() && rng.IntN(3) == 0 {
				spoil(rng, v.Field(i))
			}
		}
	case reflect.Slice:
		for i := range v.Len() {
			spoil(rng, v.Index(i))
		}
	case reflect.String:
		v.SetString([]string{"\x00", nasty, "", "'; --", strings.Repeat("x", 100_000), "../../../etc/passwd", "00000000-0000-0000-0000-000000000000"}[rng.IntN(7)])
	case reflect.Int64, reflect.Int32:
		v.SetInt([]int64{-1, 0, 1<<31 - 1, -1 << 31}[rng.IntN(4)])
	}
}

// standing expects that every group reads on to the end, or that the log says at
// which topic it stands still. Those that keep their offsets in Postgres
// (control.consumed) are looked at alike.
func (w *world) standing(c *kgo.Client, p *process) {
	w.t.Helper()
	behind := func() []string {
		var out []string
		lags, err := kadm.NewClient(c).Lag(w.t.Context())
		if err != nil {
			return []string{err.Error()}
		}
		for _, g := range lags {
			for topic, ps := range g.Lag {
				for id, l := range ps {
					if strings.HasPrefix(g.Group, "tributary.") && l.Commit.At >= 0 && l.Lag > 0 {
						out = append(out, fmt.Sprintf("%s %s %d", g.Group, topic, id))
					}
				}
			}
		}
		stored, err := w.rows(`SELECT consumer_group, topic, partition, next_offset FROM control.consumed`)
		if err != nil {
			return append(out, err.Error())
		}
		end, err := kadm.NewClient(c).ListEndOffsets(w.t.Context())
		if err != nil {
			return append(out, err.Error())
		}
		for _, row := range stored {
			var group, topic string
			var id int32
			var next int64
			_, _ = fmt.Sscan(row, &group, &topic, &id, &next)
			if o, ok := end.Lookup(topic, id); ok && next < o.Offset {
				out = append(out, fmt.Sprintf("%s %s %d", group, topic, id))
			}
		}
		return out
	}
	w.must(func() string {
		last := behind()
		if len(last) == 0 || p.ended() {
			return ""
		}
		// A role that stops at one topic reads none of its others.
		named := map[string]bool{}
		for _, at := range last {
			if group, topic, ok := strings.Cut(at, " "); ok && p.warned(strings.Fields(topic)[0]) {
				named[group] = true
			}
		}
		for _, at := range last {
			if group, _, _ := strings.Cut(at, " "); !named[group] {
				return at + " stands still, and the log names none of its group's topics"
			}
		}
		return ""
	})
}
