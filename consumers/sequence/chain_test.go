//go:build !race

package sequence

import (
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"tributary/internal/chain"
	"tributary/internal/pg"
	"tributary/schemas"
	"tributary/sql/control"
	"tributary/sql/outbox"
)

// published judges what waits in the outbox, as it will be published, behind
// what it was given before.
func (b *bench) published(log *chain.Log) {
	b.t.Helper()
	rows, err := outbox.Read(b.t.Context(), b.Pool, control.Schema, 0, 1<<20)
	if err != nil {
		b.t.Fatal(err)
	}
	for _, row := range rows {
		for _, r := range row.Records {
			m, err := b.deps.Outbox.Codec.Decode(r)
			if err != nil {
				b.t.Fatal(err)
			}
			if o, ok := m.Body.(*schemas.DocumentOrdered); ok && !log.Take(chain.LinkOf(o, r.Value, o.Position+1000)) {
				b.t.Fatalf("position %d leaves others out", o.Position)
			}
		}
	}
	b.exec("DELETE FROM control.outbox")
}

// batchOf releases a batch of one document.
func (b *bench) batchOf(n int64) {
	b.t.Helper()
	f := b.extracted(b.session(), "H", "add", fmt.Sprintf("2026-02-%02d", n), n, 1)
	b.read(f.verdict("specimen", fmt.Sprintf("2026-02-%02d", n), 1, schemas.Valid))
	b.release()
}

// Each position names the digest of the one before, as it will be published: also
// of one that is too large and was replaced; and control keeps the last one.
func TestPositionsAreChained(t *testing.T) {
	b := newBench(t)
	var log chain.Log
	b.batchOf(1)
	f := b.extracted(b.session(), "H", "add", "2026-03-01", 1, 2)
	large, small := f.verdict("specimen", "2026-02-01", 1, schemas.Valid), f.verdict("specimen", "2026-02-02", 2, schemas.Valid)
	b.read(large, small)
	large.Profile = strings.Repeat("x", 2<<20) // as older programs let in
	body, err := b.deps.Outbox.Codec.EncodeBody(schemas.DocumentValidatedTopic, large)
	if err != nil {
		t.Fatal(err)
	}
	b.exec("UPDATE control.document SET body = $1 WHERE document = $2", body, large.Document)
	b.release()
	if _, err := control.RequestReference(t.Context(), b.Pool, control.Reference{Name: "parameter", File: "p.csv", Blob: "blob", By: "ann", Reason: "new"}, b.now); err != nil {
		t.Fatal(err)
	}
	b.release()
	b.published(&log)
	// What is released is short already; what is given a position need not be.
	err = pg.InTx(t.Context(), b.Pool, func(tx pgx.Tx) error {
		at, err := control.LockPosition(t.Context(), tx)
		if err != nil {
			return err
		}
		return control.AppendPositions(t.Context(), tx, b.deps.Outbox, at, positionMessage(&schemas.DocumentOrdered{
			Position: at.Next, What: schemas.PositionSession, Profile: strings.Repeat("x", 2<<20),
		}, b.now))
	})
	if err != nil {
		t.Fatal(err)
	}
	b.batchOf(2)
	b.published(&log)
	if err := log.Err(); err != nil {
		t.Error(err)
	}
	head := log.Head()
	if want := b.text("SELECT next - 1, encode(digest, 'hex') FROM control.position"); head.Begin != 1 || fmt.Sprintf("(%d,%s)", head.Last.Position, head.Last.Digest) != want {
		t.Errorf("the chain from %d ends with %d, %s; control keeps %s", head.Begin, head.Last.Position, head.Last.Digest, want)
	}
	if got := b.text("SELECT given_at = $1, given_at FROM control.position", b.now); !strings.HasPrefix(got, "(t,") {
		t.Errorf("when the last position was given: %s, not %s", got, b.now)
	}
}

// The chain begins with the first position that this program draws. From then on
// a member of an older one, which keeps no digest, draws none.
func TestAnOlderMemberDrawsNoPositionOnceTheChainHasBegun(t *testing.T) {
	b := newBench(t)
	older := func() error { // as it stores what it has drawn
		_, err := b.Pool.Exec(t.Context(), "UPDATE control.position SET next = $1", 4)
		return err
	}
	if err := older(); err != nil {
		t.Fatalf("before the chain begins: %v", err)
	}
	b.batchOf(1)
	var log chain.Log
	for p := int64(1); p < 4; p++ {
		log.Take(chain.Link{Position: p})
	}
	b.published(&log)
	if err := log.Err(); err != nil || log.Head().Begin != 4 {
		t.Errorf("the chain begins with %d: %v", log.Head().Begin, err)
	}
	if _, err := b.Pool.Exec(t.Context(), "UPDATE control.position SET next = next + 1"); err == nil || !strings.Contains(err.Error(), "position_unchained") {
		t.Errorf("once it has begun: %v", err)
	}
	b.batchOf(2)
	b.published(&log)
	if err := log.Err(); err != nil {
		t.Error(err)
	}
}

// A control database that was restored to an older state draws positions again:
// whoever reads the log sees it, though ids are the same.
func TestARestoredControlContradictsTheLog(t *testing.T) {
	b := newBench(t)
	var log chain.Log
	b.batchOf(1)
	b.published(&log)
	b.exec("CREATE TABLE control.kept AS SELECT * FROM control.position")
	b.batchOf(2)
	b.published(&log)
	b.exec("UPDATE control.position p SET next = k.next, digest = k.digest FROM control.kept k")
	b.batchOf(3)
	b.published(&log)
	if err := log.Err(); err == nil || !strings.Contains(err.Error(), chain.TakenTwice+": the record of position 5") {
		t.Errorf("it is not seen: %v", err)
	}
}
