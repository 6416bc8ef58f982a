package passover

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"tributary/internal/chain"
	"tributary/internal/engine/enginetest"
	"tributary/internal/pg"
	"tributary/schemas"
	"tributary/sql/control"
	"tributary/sql/outbox"
	"tributary/sql/warehouse"
)

// court is a scene with a control and an order.
type court struct {
	*scene
	pool *pgxpool.Pool
	last chain.Digest // of the last record of the order
}

func newCourt(t *testing.T) *court {
	t.Helper()
	c := &court{scene: newScene(t, schemas.RecordPassedOverTopic, schemas.DocumentOrderedTopic, schemas.StatusChangedTopic)}
	var err error
	if c.pool, err = pg.Open(t.Context(), enginetest.Filled(t, "control", control.Migrate), "passover-test", 2); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.pool.Close)
	return c
}

// body is a position that names a record before it.
func (c *court) body(position int64, previous, entry string) []byte {
	c.t.Helper()
	value, err := c.Codec.EncodeBody(schemas.DocumentOrderedTopic, &schemas.DocumentOrdered{Position: position, Previous: previous, What: schemas.PositionDocument,
		FileRef: schemas.FileRef{FileName: "a.zip", Action: schemas.Add}, DocumentRef: schemas.DocumentRef{Entry: entry}, Domain: "H"})
	if err != nil {
		c.t.Fatal(err)
	}
	return value
}

// given writes a position that control gave, behind the last one given.
func (c *court) given(position int64) []byte {
	c.t.Helper()
	previous := c.last.String()
	if c.last == (chain.Digest{}) {
		previous = chain.Start
	}
	value := c.body(position, previous, "genuine.xml")
	c.last = chain.Of(value)
	c.put(schemas.DocumentOrderedTopic, value)
	c.keeps(c.last)
	return value
}

// keeps is the digest of the last position given, as control keeps it.
func (c *court) keeps(d chain.Digest) {
	c.t.Helper()
	if _, err := c.pool.Exec(c.t.Context(), "UPDATE control.position SET digest = $1", d[:]); err != nil {
		c.t.Fatal(err)
	}
}

func (c *court) judge(w Wish) (*Judgement, error) {
	c.t.Helper()
	c.load()
	if w.Topic == "" {
		w.Topic = schemas.DocumentOrderedTopic
	}
	return (&Judge{
		List:  c.List,
		Given: func(ctx context.Context) (string, []schemas.Record, error) { return control.LastGiven(ctx, c.pool) },
		Applied: func(ctx context.Context, position int64, digest []byte) (bool, error) {
			return warehouse.Applied(ctx, c.pool, position, digest)
		},
	}).Record(c.t.Context(), w)
}

func TestRecordsOfTheOrderAreJudged(t *testing.T) {
	is := func(value []byte) string { return chain.Of(value).String() }
	for name, tt := range map[string]struct {
		// prepare writes what comes behind position 1, and returns with what the
		// chain goes on.
		prepare func(c *court, first []byte) (goesOn string)
		wish    Wish
		stops   string
		genuine string
		lost    string
		err     string // instead of all that
	}{
		"a foreign record that does not fit": {func(c *court, first []byte) string {
			c.put(schemas.DocumentOrderedTopic, c.body(2, is([]byte("something")), "forged.xml"))
			return is(first)
		}, Wish{Offset: 1}, "chain_broken", "no", "nothing that control gave", ""},
		"garbage": {func(c *court, first []byte) string {
			c.put(schemas.DocumentOrderedTopic, []byte("garbage"))
			return is(first)
		}, Wish{Offset: 1}, "not an Avro record", "no", "nothing that control gave", ""},
		"garbage before the genuine position": {func(c *court, first []byte) string {
			c.put(schemas.DocumentOrderedTopic, []byte{0, 0, 0, 0x7f, 0xff})
			c.given(2)
			return is(first)
		}, Wish{Offset: 1}, "unknown schema id", "no", "nothing that control gave", ""},
		"the genuine position, since a forged one was applied": {func(c *court, first []byte) string {
			c.put(schemas.DocumentOrderedTopic, c.body(2, is(first), "forged.xml"))
			return is(c.given(2))
		}, Wish{Offset: 2}, "position_taken_twice", "yes", "its content, as another record was applied as this position: position 2, document of add/a.zip genuine.xml", ""},
		"the same, with what control has not published yet": {func(c *court, first []byte) string {
			c.put(schemas.DocumentOrderedTopic, c.body(2, is(first), "forged.xml"))
			genuine := c.given(2)
			third := c.body(3, is(genuine), "genuine.xml")
			record := schemas.Record{Topic: schemas.DocumentOrderedTopic, Key: "H", Value: third}
			if err := pg.InTx(c.t.Context(), c.pool, func(tx pgx.Tx) error {
				return outbox.Append(c.t.Context(), tx, control.Schema, []schemas.Record{record})
			}); err != nil {
				c.t.Fatal(err)
			}
			c.keeps(chain.Of(third))
			return is(genuine)
		}, Wish{Offset: 2}, "position_taken_twice", "yes", "its content", ""},
		"what is missing before a record": {func(c *court, _ []byte) string {
			c.last = chain.Of([]byte("lost"))
			return is(c.given(4))
		}, Wish{Offset: 1, Missing: true}, "missing: the positions 2 to 3", "yes", "the positions 2 to 3", ""},
		"a record behind what is missing": {func(c *court, _ []byte) string {
			c.last = chain.Of([]byte("lost"))
			return is(c.given(3))
		}, Wish{Offset: 1}, "missing: position 2", "yes", "position 2, and its content: position 3", ""},
		"nothing is missing": {func(c *court, first []byte) string {
			c.put(schemas.DocumentOrderedTopic, c.body(1, is(first), "forged.xml"))
			return ""
		}, Wish{Offset: 1, Missing: true}, "", "", "", "nothing is missing before it"},
		"control does not tell": {func(c *court, first []byte) string {
			c.put(schemas.DocumentOrderedTopic, c.body(2, is([]byte("something")), "forged.xml"))
			c.keeps(chain.Of([]byte("else")))
			return ""
		}, Wish{Offset: 1}, "", "", "", "say with what the chain goes on"},
		"control does not tell, and a person does": {func(c *court, first []byte) string {
			c.put(schemas.DocumentOrderedTopic, []byte("garbage"))
			c.keeps(chain.Of([]byte("else")))
			return is([]byte("garbage"))
		}, Wish{Offset: 1, GoesOn: is([]byte("garbage"))}, "not an Avro record", "unknown", "the position that it held", ""},
		"a digest of nothing": {func(c *court, first []byte) string {
			c.put(schemas.DocumentOrderedTopic, []byte("garbage"))
			return ""
		}, Wish{Offset: 1, GoesOn: is([]byte("nothing"))}, "", "", "", "but not with"},
		"another one stops before it": {func(c *court, first []byte) string {
			c.put(schemas.DocumentOrderedTopic, []byte("garbage"))
			c.put(schemas.DocumentOrderedTopic, []byte("more garbage"))
			return ""
		}, Wish{Offset: 2}, "", "", "", "at offset 1, which can't be read: decide about that first"},
		"another one was passed over before it": {func(c *court, first []byte) string {
			c.put(schemas.DocumentOrderedTopic, []byte("garbage"))
			d := about("garbage", "ann")
			d.GoesOn = is(first)
			c.decide(d)
			c.put(schemas.DocumentOrderedTopic, []byte("more garbage"))
			return is(first)
		}, Wish{Offset: 2}, "not an Avro record", "no", "nothing that control gave", ""},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCourt(t)
			goesOn := tt.prepare(c, c.given(1))
			got, err := c.judge(tt.wish)
			if tt.err != "" {
				if err == nil || !strings.Contains(err.Error(), tt.err) {
					t.Fatalf("%v, want %q", err, tt.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(got.Stops, tt.stops) || got.Genuine != tt.genuine || got.GoesOn != goesOn || !strings.Contains(got.Lost, tt.lost) || got.Missing != tt.wish.Missing {
				t.Errorf("judged %+v\nwant stops %q, genuine %q, goes on %s, lost %q", got, tt.stops, tt.genuine, goesOn, tt.lost)
			}
		})
	}
}

// Where nobody stops, nothing is passed over unless somebody insists.
func TestWhatStopsNobodyIsNotPassedOver(t *testing.T) {
	c := newCourt(t)
	c.given(1)
	if got, err := c.judge(Wish{Offset: 0}); !errors.Is(err, ErrNotStopped) || got == nil || got.Stops != "" {
		t.Errorf("a position that fits: %v, %+v", err, got)
	}
	c.put(schemas.DocumentOrderedTopic, []byte("garbage"))
	d := about("garbage", "ann")
	d.GoesOn = c.last.String()
	c.decide(d)
	if _, err := c.judge(Wish{Offset: 1}); !errors.Is(err, ErrNotStopped) || !strings.Contains(err.Error(), "ann decided so") {
		t.Errorf("what was decided about already: %v", err)
	}
	c.put(schemas.StatusChangedTopic, []byte("garbage"))
	if got, err := c.judge(Wish{Topic: schemas.StatusChangedTopic}); !errors.Is(err, ErrNotStopped) || got.Stops != "" {
		t.Errorf("garbage, behind which readers go on: %v, %+v", err, got)
	}
}

func TestRecordsOfOtherTopicsAreJudged(t *testing.T) {
	c := newCourt(t)
	at := c.put(schemas.StatusChangedTopic, []byte{0, 0, 0, 0x7f, 0xff, 1})
	got, err := c.judge(Wish{Topic: schemas.StatusChangedTopic, Offset: at, By: "ann", Reason: "noise"})
	if err != nil || !strings.Contains(got.Stops, "unknown schema id") || got.GoesOn != "" || got.Genuine != "" || !strings.Contains(got.Lost, "one event of the log") {
		t.Errorf("%v: %+v", err, got)
	}
	for name, w := range map[string]Wish{
		"the end of the topic": {Topic: schemas.StatusChangedTopic, Offset: 1},
		"another partition":    {Topic: schemas.StatusChangedTopic, Partition: 7},
	} {
		if _, err := c.judge(w); !errors.Is(err, ErrNoRecord) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := c.judge(Wish{Topic: schemas.StatusChangedTopic, Missing: true}); err == nil || !strings.Contains(err.Error(), "only records of document.ordered") {
		t.Errorf("missing: %v", err)
	}
}

// Where control was lost, or older programs gave what it gave, nothing tells who
// gave a record: a person says so.
func TestWithoutControlAPersonTells(t *testing.T) {
	c := newCourt(t)
	c.given(1)
	c.put(schemas.DocumentOrderedTopic, []byte("garbage"))
	for _, sql := range []string{"ALTER TABLE control.position DISABLE TRIGGER USER; ALTER TABLE control.position DROP COLUMN digest; UPDATE control.position SET next = 2", "DROP SCHEMA control CASCADE"} {
		if _, err := c.pool.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
		if _, err := c.judge(Wish{Offset: 1}); err == nil || !strings.Contains(err.Error(), "control does not tell") {
			t.Errorf("without a word, after %s: %v", sql, err)
		}
	}
	if got, err := c.judge(Wish{Offset: 1, GoesOn: c.last.String()}); err != nil || got.Genuine != unknown || got.Lost != "nothing that control gave" {
		t.Errorf("%v: %+v", err, got)
	}
}

// What the live warehouse has applied already stays there, and whoever passes it
// over is told.
func TestWhatWasAppliedIsSaid(t *testing.T) {
	c := newCourt(t)
	forged := c.body(1, chain.Start, "forged.xml")
	c.put(schemas.DocumentOrderedTopic, forged)
	c.given(1)
	if got, err := c.judge(Wish{Offset: 0}); !errors.Is(err, ErrNotStopped) || got.Applied || got.Genuine != foreign {
		t.Errorf("without a warehouse: %v, %+v", err, got)
	}
	if _, err := c.pool.Exec(t.Context(), "CREATE SCHEMA warehouse; CREATE TABLE warehouse.chain (position bigint, digest bytea)"); err != nil {
		t.Fatal(err)
	}
	digest := chain.Of(forged)
	if _, err := c.pool.Exec(t.Context(), "INSERT INTO warehouse.chain VALUES (1, $1)", digest[:]); err != nil {
		t.Fatal(err)
	}
	if got, err := c.judge(Wish{Offset: 0}); !errors.Is(err, ErrNotStopped) || !got.Applied {
		t.Errorf("applied: %v, %+v", err, got)
	}
	if got, err := c.judge(Wish{Offset: 1}); err != nil || got.Applied || got.Genuine != genuine {
		t.Errorf("the genuine one: %v, %+v", err, got)
	}
}
