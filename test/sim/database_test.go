//go:build synctests

package sim

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"tributary/internal/kafka"
	"tributary/internal/pg"
	"tributary/internal/stage/sink"
	"tributary/schemas"
)

// database is a store whose transactions are all or nothing: one at a time,
// under its lock. It keeps consumed offsets and an outbox.
type database struct {
	s       *sim
	name    string
	mu      sync.Mutex
	offsets map[string]int64 // by group, topic and partition
	outbox  []row
	rows    int64
	holder  string // of the publisher's lease
	epoch   int64
	until   time.Time
}

type row struct {
	id  int64
	rec schemas.Record
}

func newDatabase(s *sim, name string) database {
	return database{s: s, name: name, offsets: map[string]int64{}}
}

// tx runs f as a transaction of a process, which may be cut off before it and
// after it.
func (d *database) tx(ctx context.Context, p *proc, f func() error) error {
	if err := p.step(ctx, "tx.begin"); err != nil {
		return err
	}
	d.mu.Lock()
	err := f()
	d.mu.Unlock()
	if err != nil {
		return err
	}
	return p.step(ctx, "tx.commit")
}

// advance moves the offsets of a batch, or fails with ErrMoved.
func (d *database) advance(group string, batch []sink.Range) error {
	key := func(r sink.Range) string { return fmt.Sprintf("%s %s/%d", group, r.Topic, r.Partition) }
	for _, r := range batch {
		if at := d.offsets[key(r)]; at != r.From {
			return fmt.Errorf("%s is at %d, not %d: %w", key(r), at, r.From, pg.ErrMoved)
		}
	}
	for _, r := range batch {
		d.offsets[key(r)] = r.To
	}
	return nil
}

// put appends messages to the outbox; the caller is in a transaction.
func (d *database) put(msgs ...schemas.Message) {
	for _, m := range msgs {
		rec, err := d.s.shared.codec.Encode(m)
		if err != nil {
			d.s.violate("sim", "encode %s: %v", m.Topic, err)
			continue
		}
		d.putRecord(rec)
	}
}

func (d *database) putRecord(rec schemas.Record) {
	d.rows++
	d.outbox = append(d.outbox, row{d.rows, rec})
}

// feed feeds a database through a sink.Applier.
type feed struct {
	p     *proc
	db    *database
	group string
	// prepare does what needs no transaction; apply decides, in one.
	prepare func(context.Context, []sink.Range) error
	apply   func([]sink.Range)
}

func (k *feed) Position(ctx context.Context, topic string, partition int32) (int64, error) {
	if err := k.p.step(ctx, "position"); err != nil {
		return 0, err
	}
	k.db.mu.Lock()
	defer k.db.mu.Unlock()
	return k.db.offsets[fmt.Sprintf("%s %s/%d", k.group, topic, partition)], nil
}

func (k *feed) Apply(ctx context.Context, batch []sink.Range) error {
	if k.prepare != nil {
		if err := k.prepare(ctx, batch); err != nil {
			return err
		}
	}
	return k.db.tx(ctx, k.p, func() error {
		if err := k.db.advance(k.group, batch); err != nil {
			return err
		}
		k.apply(batch)
		return nil
	})
}

// each decodes the records of a batch.
func (s *sim) each(batch []sink.Range, f func(sink.Range, *kgo.Record, schemas.Message)) {
	for _, r := range batch {
		for _, rec := range r.Records {
			m, err := s.shared.codec.Decode(kafka.FromKgo(rec))
			if err != nil {
				s.violate("sim", "a record of %s cannot be read: %v", r.Topic, err)
				continue
			}
			f(r, rec, m)
		}
	}
}

const (
	publishLease = 4 * time.Second
	publishTurn  = 100 * time.Millisecond
)

// publish is the role that empties an outbox: by lease, in order, and a row
// goes once it is acknowledged. One that wakes up late repeats.
func (d *database) publish(ctx context.Context, p *proc) error {
	client, err := p.client()
	if err != nil {
		return err
	}
	defer client.Close()
	for ctx.Err() == nil {
		if err := d.publishOnce(ctx, p, client); err != nil || d.idle() {
			if err := p.sleep(ctx, publishTurn); err != nil && p.isDead() {
				return err
			}
		}
	}
	return nil
}

func (d *database) idle() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.outbox) == 0
}

// produce waits for acknowledgements, or until ctx ends: the client itself
// does not give up a batch that may have arrived.
func produce(ctx context.Context, client *kgo.Client, records []*kgo.Record) error {
	done := make(chan error, 1)
	go func() { done <- client.ProduceSync(ctx, records...).FirstErr() }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (d *database) publishOnce(ctx context.Context, p *proc, client *kgo.Client) error {
	var rows []row
	var epoch int64
	if d.idle() {
		return p.gate(ctx)
	}
	err := d.tx(ctx, p, func() error {
		now := time.Now()
		if d.holder != p.name {
			if now.Before(d.until) {
				return nil
			}
			d.holder = p.name
			d.epoch++
		}
		d.until, epoch = now.Add(publishLease), d.epoch
		rows = append(rows, d.outbox[:min(len(d.outbox), 50)]...)
		return nil
	})
	if err != nil {
		return err
	}
	if len(rows) == 0 {
		return p.sleep(ctx, publishTurn)
	}
	records := make([]*kgo.Record, len(rows))
	for i, r := range rows {
		records[i] = kafka.ToKgo(prefix, r.rec)
	}
	if err := produce(ctx, client, records); err != nil {
		return err
	}
	return d.tx(ctx, p, func() error {
		if d.epoch != epoch || d.holder != p.name {
			return pg.ErrLeaseLost
		}
		gone := map[int64]bool{}
		for _, r := range rows {
			gone[r.id] = true
		}
		var rest []row
		for _, r := range d.outbox {
			if !gone[r.id] {
				rest = append(rest, r)
			}
		}
		d.outbox = rest
		return nil
	})
}
