package beside

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"golang.org/x/sync/errgroup"
)

// Counted is how many rows a table has, and a hash of all of them in any order.
type Counted struct {
	Rows int64
	Hash string
}

// Count counts the rows of both, side by side. They are equal if their hashes are.
func (p Pair) Count(ctx context.Context, s Sight) (live, built Counted, err error) {
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() (err error) { live, err = p.count(ctx, s.Live, p.Live); return err })
	g.Go(func() (err error) { built, err = p.count(ctx, s.Built, p.Built); return err })
	err = g.Wait()
	return live, built, err
}

func (p Pair) count(ctx context.Context, tx pgx.Tx, schema string) (Counted, error) {
	// The database sends rows as it holds them: to write them as text, or to hash them
	// there, takes it several times as long.
	var sums rowSums
	table := pgx.Identifier{schema, p.Table}.Sanitize()
	_, err := tx.Conn().PgConn().CopyTo(ctx, &sums, fmt.Sprintf("COPY (SELECT %s FROM %s) TO STDOUT (FORMAT binary)", p.Shape.List(), table))
	if err == nil {
		err = sums.end()
	}
	if err != nil {
		return Counted{}, fmt.Errorf("count the rows of %s: %w", table, err)
	}
	return sums.counted(), nil
}

// Sight is how two schemas are seen at one moment: by two transactions of one snapshot, so
// that both can be read at a time.
type Sight struct{ Live, Built pgx.Tx }

// Look calls fn with a second transaction, which sees of the live schema what tx, a
// repeatable read that has not changed it, sees.
func Look(ctx context.Context, pool *pgxpool.Pool, tx pgx.Tx, fn func(Sight) error) error {
	var snapshot string
	if err := tx.QueryRow(ctx, "SELECT pg_export_snapshot()").Scan(&snapshot); err != nil {
		return fmt.Errorf("share what is seen: %w", err)
	}
	// Each is idle while the other reads more rows.
	const patient = "SET LOCAL idle_in_transaction_session_timeout = 0"
	if _, err := tx.Exec(ctx, patient); err != nil {
		return fmt.Errorf("settings: %w", err)
	}
	return pgx.BeginTxFunc(ctx, pool, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}, func(live pgx.Tx) error {
		if _, err := live.Exec(ctx, "SET TRANSACTION SNAPSHOT '"+snapshot+"'; "+patient, pgx.QueryExecModeSimpleProtocol); err != nil {
			return fmt.Errorf("see the same: %w", err)
		}
		return fn(Sight{Live: live, Built: tx})
	})
}

// rowSums adds up digests of the rows of a COPY in Postgres's binary format: equal rows
// give an equal sum, in whatever order. It is a writer to which the parts may come cut
// anywhere.
type rowSums struct {
	rows  int64
	sums  [sha256.Size / 8]uint64
	begun bool
	ended bool
	rest  []byte // of a row that is not whole yet
}

var (
	errCutCopy  = errors.New("the rows end in the middle of one")
	errNotACopy = errors.New("the rows are not in the binary format of COPY")
)

// The binary format begins with a signature, flags and the length of what may follow
// them; each row begins with its number of fields, each field with its length, which is
// negative for null; a row of -1 fields ends it.
const (
	copySignature = "PGCOPY\n\xff\r\n\x00"
	copyHead      = len(copySignature) + 4 + 4
)

// Write takes the next part.
func (s *rowSums) Write(p []byte) (int, error) {
	part := p
	if len(s.rest) > 0 {
		s.rest = append(s.rest, p...)
		part = s.rest
	}
	left, err := s.take(part)
	s.rest = append(s.rest[:0], left...)
	return len(p), err
}

// take takes all whole rows, and returns what is left.
func (s *rowSums) take(b []byte) ([]byte, error) {
	if !s.begun {
		if len(b) < copyHead {
			return b, nil
		}
		more := int(binary.BigEndian.Uint32(b[copyHead-4:]))
		if string(b[:len(copySignature)]) != copySignature || more != 0 {
			return nil, errNotACopy
		}
		s.begun, b = true, b[copyHead:]
	}
	for len(b) >= 2 && !s.ended {
		if int16(binary.BigEndian.Uint16(b)) == -1 {
			s.ended, b = true, b[2:]
			break
		}
		n := rowLength(b)
		if n > len(b) {
			return b, nil
		}
		s.add(b[:n])
		b = b[n:]
	}
	if s.ended && len(b) > 0 {
		return nil, errNotACopy
	}
	return b, nil
}

// rowLength is the length of the row that begins here; more than there is if it is not
// whole.
func rowLength(b []byte) int {
	at := 2
	for range binary.BigEndian.Uint16(b) {
		if len(b) < at+4 {
			return at + 4
		}
		n := int32(binary.BigEndian.Uint32(b[at:]))
		if at += 4; n > 0 {
			at += int(n)
		}
	}
	return at
}

func (s *rowSums) add(row []byte) {
	digest := sha256.Sum256(row)
	for i := range s.sums {
		s.sums[i] += binary.LittleEndian.Uint64(digest[8*i:])
	}
	s.rows++
}

// end says whether the rows have come to their end.
func (s *rowSums) end() error {
	if !s.ended {
		return errCutCopy
	}
	return nil
}

func (s *rowSums) counted() Counted {
	text := fmt.Appendf(nil, "%d/%x", s.rows, s.sums)
	sum := sha256.Sum256(text)
	return Counted{Rows: s.rows, Hash: hex.EncodeToString(sum[:])}
}
