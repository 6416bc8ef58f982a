package beside

import (
	"bytes"
	"errors"
	"testing"

	"github.com/jackc/pgx/v5"
)

// count counts both sides, which are seen by two transactions.
func (s *system) count(p Pair) (live, built Counted, err error) {
	err = pgx.BeginTxFunc(s.Context(), s.pool, pgx.TxOptions{IsoLevel: pgx.RepeatableRead}, func(tx pgx.Tx) error {
		return Look(s.Context(), s.pool, tx, func(by Sight) error {
			live, built, err = p.Count(s.Context(), by)
			return err
		})
	})
	return live, built, err
}

// What is written meanwhile is seen on neither side, but for what the transaction of the
// built side has written itself.
func TestLookSeesOneMoment(t *testing.T) {
	s := newSystem(t)
	s.exec("CREATE SCHEMA a; CREATE SCHEMA b; CREATE TABLE a.t (n int); CREATE TABLE b.t (n int)")
	p := Pair{Live: "a", Built: "b", Table: "t", Shape: Shape{Columns: []string{"n"}}}
	err := pgx.BeginTxFunc(t.Context(), s.pool, pgx.TxOptions{IsoLevel: pgx.RepeatableRead}, func(tx pgx.Tx) error {
		if _, err := tx.Exec(t.Context(), "INSERT INTO b.t VALUES (1)"); err != nil {
			return err
		}
		s.exec("INSERT INTO a.t VALUES (2), (3); INSERT INTO b.t VALUES (4)")
		return Look(t.Context(), s.pool, tx, func(by Sight) error {
			s.exec("INSERT INTO a.t VALUES (5)")
			live, built, err := p.Count(t.Context(), by)
			if err == nil && (live.Rows != 0 || built.Rows != 1) {
				t.Errorf("%+v and %+v", live, built)
			}
			return err
		})
	})
	if err != nil {
		t.Error(err)
	}
}

// Each difference of one value is one of the hashes, whatever its type holds for equal;
// the order of rows is none.
func TestCountTellsRowsApart(t *testing.T) {
	s := newSystem(t)
	s.exec(`CREATE SCHEMA a; CREATE SCHEMA b`)
	for _, c := range []struct {
		name, columns, live, built string
		equal                      bool
	}{
		{"another order", "a int, b text", "(1, 'x'), (2, NULL)", "(2, NULL), (1, 'x')", true},
		{"values exchanged between rows", "a int, b text", "(1, 'x'), (2, 'y')", "(1, 'y'), (2, 'x')", false},
		{"values exchanged between columns", "a text, b text", "('x', 'y')", "('y', 'x')", false},
		{"a border between texts", "a text, b text", "('xy', 'z')", "('x', 'yz')", false},
		{"nothing and an empty text", "a text, b text", "(NULL, 'x')", "('', 'x')", false},
		{"nothing in another column", "a text, b text", "(NULL, 'x')", "('x', NULL)", false},
		{"a row twice", "a int", "(1), (2)", "(1), (1), (2)", false},
		{"other rows twice", "a int", "(1), (1), (2), (2)", "(1), (1), (1), (1)", false},
		{"no row", "a int", "(1)", "(2) EXCEPT SELECT 2", false},
		{"no rows", "a int", "(2) EXCEPT SELECT 2", "(2) EXCEPT SELECT 2", true},
		{"a microsecond", "a timestamptz", "('2026-11-27 10:00:00.000001+00')", "('2026-11-27 10:00:00.000002+00')", false},
		{"numbers whose halves have one sum", "a bigint", "(5)", "(4294967300)", false},
		{"numbers with other decimals", "a numeric", "(1.0)", "(1.00)", false},
		{"zero and its negative", "a float8", "(0)", "('-0')", false},
		{"a day and its hours", "a interval", "('1 day')", "('24 hours')", false},
		{"arrays of other bounds", "a int[]", "('{1,2}')", "('{{1},{2}}')", false},
		{"texts that are equal to some", "a text COLLATE b.loose", "('a')", "('A')", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			s.exec("CREATE COLLATION IF NOT EXISTS b.loose (provider = icu, locale = 'und-u-ks-level2', deterministic = false)")
			s.exec("CREATE TABLE a.t (" + c.columns + "); CREATE TABLE b.t (" + c.columns + "); INSERT INTO a.t VALUES " + c.live + "; INSERT INTO b.t VALUES " + c.built)
			defer s.exec("DROP TABLE a.t, b.t")
			shapes, err := Shapes(t.Context(), s.pool, "a")
			if err != nil {
				t.Fatal(err)
			}
			live, built, err := s.count(Pair{Live: "a", Built: "b", Table: "t", Shape: shapes["t"]})
			if err != nil || (live == built) != c.equal {
				t.Errorf("%+v and %+v, %v", live, built, err)
			}
		})
	}
}

// A copy is the same however its parts are cut, and one that is cut short is none.
func TestRowSumsTakeAnyParts(t *testing.T) {
	row := func(fields ...string) (b []byte) {
		b = append(b, 0, byte(len(fields)+1))
		for _, f := range fields {
			b = append(append(b, 0, 0, 0, byte(len(f))), f...)
		}
		return append(b, 0xff, 0xff, 0xff, 0xff) // null
	}
	head := append([]byte(copySignature), make([]byte, 8)...)
	whole := bytes.Join([][]byte{head, row("x", ""), row(), row("a", "bc", "\xff\xff"), {0xff, 0xff}}, nil)
	sum := func(b []byte, part int) (Counted, error) {
		var s rowSums
		for len(b) > 0 {
			n := min(part, len(b))
			if _, err := s.Write(b[:n]); err != nil {
				return Counted{}, err
			}
			b = b[n:]
		}
		return s.counted(), s.end()
	}
	want, err := sum(whole, len(whole))
	if err != nil || want.Rows != 3 {
		t.Fatalf("%+v, %v", want, err)
	}
	for part := 1; part < len(whole); part++ {
		if got, err := sum(whole, part); err != nil || got != want {
			t.Errorf("parts of %d: %+v, %v", part, got, err)
		}
		if _, err := sum(whole[:part], part); !errors.Is(err, errCutCopy) {
			t.Errorf("cut after %d: %v", part, err)
		}
	}
	for _, b := range [][]byte{[]byte("PGCOPX" + string(whole[6:])), append(whole, 0)} {
		if _, err := sum(b, len(b)); !errors.Is(err, errNotACopy) {
			t.Errorf("%q: %v", b, err)
		}
	}
}
