package main

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/spf13/cobra"

	"tributary/internal/config"
	"tributary/internal/pg"
	"tributary/queries/asof"
	"tributary/recovery/deadletter"
	"tributary/schemas"
	"tributary/sql/control"
	"tributary/sql/warehouse"
)

func newDLQ(c *cli) *cobra.Command {
	return group("dlq", "Look at dead letters, retry them or drop them", newDLQList(c), newDLQShow(c), newDLQRetry(c), newDLQReplay(c), newDLQDrop(c))
}

// What a dead letter is that nobody has decided about.
const (
	letterOpen       = "open"       // it waits for somebody
	letterSplit      = "split"      // a job of several files, each of which was requested again alone
	letterUnreadable = "unreadable" // its record asks for nothing
)

// lettersAtOnce is how many letters are asked for, or decided about, at once.
const lettersAtOnce = 500

// letter is a dead letter with what became of it.
type letter struct {
	*deadletter.Letter
	decided control.DeadLetter
	state   string
	deaths  int // retries of the same file or document that died of the same cause
}

// letters reads dead letters and what became of them.
type letters struct {
	reader *deadletter.Reader
	stores *stores
}

func newLetters(s *stores, cfg config.Config) (*letters, error) {
	codec, err := schemas.NewCodec()
	if err != nil {
		return nil, err
	}
	return &letters{reader: &deadletter.Reader{Connect: s.Kafka, Codec: codec, Prefix: cfg.Kafka.TopicPrefix}, stores: s}, nil
}

// each gives the letters that a filter means, in chunks, holding no more than
// one.
func (d *letters) each(ctx context.Context, f *deadletter.Filter, meant func(*letter) bool, chunk func([]*letter) error) error {
	var held []*deadletter.Letter
	flush := func() error {
		all, err := d.join(ctx, held)
		held = nil
		if err != nil {
			return err
		}
		var out []*letter
		for _, l := range all {
			if meant(l) {
				out = append(out, l)
			}
		}
		if len(out) == 0 {
			return nil
		}
		return chunk(out)
	}
	take := func(l *deadletter.Letter) error {
		l.Trim()
		if held = append(held, l); len(held) < lettersAtOnce {
			return nil
		}
		return flush()
	}
	if err := d.reader.Scan(ctx, f, take); err != nil {
		return err
	}
	if err := deadletter.Quarantined(ctx, d.stores.Warehouse, d.reader.Prefix, f, take); err != nil {
		return err
	}
	for schema, pool := range d.outboxes() {
		if err := deadletter.Outbox(ctx, pool, schema, f, take); err != nil {
			return err
		}
	}
	return flush()
}

// outboxes are the schemas that have one, and where they are.
func (d *letters) outboxes() map[string]*pgxpool.Pool {
	return map[string]*pgxpool.Pool{control.Schema: d.stores.Control, warehouse.Schema: d.stores.Warehouse}
}

// get reads one letter.
func (d *letters) get(ctx context.Context, id string) (*letter, error) {
	stage, _, offset, err := deadletter.ParseID(id)
	if err != nil {
		return nil, usage(err)
	}
	var l *deadletter.Letter
	if schema := deadletter.OutboxOf(stage); d.outboxes()[schema] != nil {
		l, err = deadletter.GetOutbox(ctx, d.outboxes()[schema], d.reader.Prefix, d.reader.Codec, schema, offset)
	} else if stage == deadletter.Insert {
		l, err = deadletter.GetQuarantined(ctx, d.stores.Warehouse, offset)
	} else {
		l, err = d.reader.Get(ctx, id)
	}
	if err != nil {
		return nil, err
	}
	all, err := d.join(ctx, []*deadletter.Letter{l})
	if err != nil {
		return nil, err
	}
	return all[0], nil
}

// join adds what control knows of letters.
func (d *letters) join(ctx context.Context, all []*deadletter.Letter) ([]*letter, error) {
	var keys, lineages []string
	for _, l := range all {
		keys, lineages = append(keys, l.Key), append(lineages, l.Lineage())
	}
	decided, err := control.DeadLetters(ctx, d.stores.Control, keys)
	if err != nil {
		return nil, err
	}
	deaths, err := control.Deaths(ctx, d.stores.Control, lineages)
	if err != nil {
		return nil, err
	}
	out := make([]*letter, len(all))
	for i, l := range all {
		k, known := decided[l.Key]
		out[i] = &letter{Letter: l, decided: k, deaths: deaths[lineages[i]], state: letterOpen}
		switch {
		case l.Outboxed != nil:
			out[i].ofOutbox(l.Outboxed)
		case known:
			out[i].state = k.State
			if l.Stage == deadletter.Insert && k.Acquisition != 0 {
				out[i].deaths-- // control does not see how its own retry ended
			}
		case l.Problem != "":
			out[i].state = letterUnreadable
		case l.Job > 0:
			out[i].state = letterSplit
		}
	}
	return out, nil
}

// whereFlags are the flags that say which letters are meant.
type whereFlags struct {
	where        []string
	topic, group string
}

func (w *whereFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringArrayVar(&w.where, "where", nil, "a condition as key=value, all of which must hold: exception, error (a part of it), stage, topic, centre, source, file, document (both with * and ?), state, since, until (what insert gave up tells no time and is not meant by these two)")
	cmd.Flags().StringVar(&w.topic, "topic", "", "only those of records of this topic, such as document.extracted")
	cmd.Flags().StringVar(&w.group, "group", "", "only those given up by this stage or group, such as validate")
}

// given tells whether any condition is.
func (w *whereFlags) given() bool { return len(w.where) > 0 || w.topic != "" || w.group != "" }

// filter reads the flags.
func (w *whereFlags) filter(now time.Time) (*deadletter.Filter, error) {
	f := &deadletter.Filter{Topic: w.topic, Stage: w.group}
	if err := f.Where(w.where, func(s string) (time.Time, error) { return asof.ParseMoment(s, now) }); err != nil {
		return nil, usage(err)
	}
	return f, nil
}

// withLetters opens what dead letters are read from.
func (c *cli) withLetters(ctx context.Context, fn func(d *letters) error) error {
	return c.withStores(ctx, need{Kafka: true, Postgres: true}, func(cfg config.Config, s *stores) error {
		d, err := newLetters(s, cfg)
		if err != nil {
			return err
		}
		return fn(d)
	})
}

// withDecider opens what dead letters are decided about with, as it is: what a
// running system may still use is migrated by that system, and a dry run changes
// nothing at all.
func (c *cli) withDecider(ctx context.Context, fn func(p *deadletter.Decider, d *letters) error) error {
	return c.withStores(ctx, need{Kafka: true, Postgres: true}, func(cfg config.Config, s *stores) error {
		d, err := newLetters(s, cfg)
		if err != nil {
			return err
		}
		blobs, err := openBlobs(ctx, cfg, s.Control)
		if err != nil {
			return err
		}
		return fn(&deadletter.Decider{Pool: s.Control, Outbox: pg.Outbox{Schema: control.Schema, Codec: d.reader.Codec}, Blobs: blobs, Now: now}, d)
	})
}

// eachChosen gives the letters named by ids, or those that the conditions mean
// and that are open unless a condition says otherwise.
func (d *letters) eachChosen(ctx context.Context, ids []string, w *whereFlags, chunk func([]*letter) error) error {
	if len(ids) > 0 {
		for len(ids) > 0 {
			n := min(len(ids), lettersAtOnce)
			var out []*letter
			for _, id := range ids[:n] {
				l, err := d.get(ctx, id)
				if err != nil {
					return err
				}
				l.Trim()
				out = append(out, l)
			}
			if err := chunk(out); err != nil {
				return err
			}
			ids = ids[n:]
		}
		return nil
	}
	f, err := w.filter(time.Now())
	if err != nil {
		return err
	}
	return d.each(ctx, f, func(l *letter) bool {
		if f.State == "" {
			return l.state == letterOpen
		}
		return l.state == f.State
	}, chunk)
}

// chooses refuses a command line that names no letters, or names them twice.
func chooses(args []string, w *whereFlags) error {
	switch {
	case len(args) == 0 && !w.given():
		return usagef("which dead letters? name their ids, or say --where; --where state=open means all that wait for somebody")
	case len(args) > 0 && w.given():
		return usagef("name dead letters by id, or say --where, not both")
	}
	return nil
}
