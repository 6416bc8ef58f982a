package lineage

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"tributary/internal/mapping"
	"tributary/schemas"
)

// Find returns the document that is meant: by its position, by its UUID, or by
// FILE/ENTRY, with an action before it if files of several have that name. Of
// several versions it is the greatest that is loaded and not withdrawn, else
// the greatest that was. A document that was never loaded is ErrNotFound.
func (r *Reader) Find(ctx context.Context, what string) (*Document, error) {
	where, args := "", []any{}
	parts := strings.Split(what, "/")
	if position, err := strconv.ParseInt(what, 10, 64); err == nil {
		where, args = "d.position = $1", append(args, position)
	} else if len(parts) == 1 {
		where, args = "d.document = $1", append(args, strings.ToLower(what))
	} else if len(parts) <= 3 {
		actions := schemas.Actions()
		if len(parts) == 3 {
			actions, parts = parts[:1], parts[1:]
		}
		var files []string
		for _, a := range actions {
			files = append(files, schemas.FileID(a, parts[0]))
		}
		where, args = "d.file = ANY($1) AND d.entry = $2", append(args, files, parts[1])
	} else {
		return nil, fmt.Errorf("%s: %w: name a document by its position, its UUID, or as FILE/ENTRY or ACTION/FILE/ENTRY", what, ErrNotFound)
	}
	rows, err := r.Warehouse.Query(ctx, `SELECT DISTINCT ON (d.action) `+documentColumns+` FROM warehouse.document d`+withdrawal+` WHERE d.state = 'loaded' AND `+where+`
		ORDER BY d.action, d.withdrawn, d.rank DESC, d.run_number DESC, d.position DESC`, args...)
	if err != nil {
		return nil, fmt.Errorf("find the document: %w", err)
	}
	docs, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (d *Document, err error) {
		d = &Document{}
		return d, row.Scan(d.targets()...)
	})
	switch {
	case err != nil:
		return nil, fmt.Errorf("find the document: %w", err)
	case len(docs) == 0:
		return nil, fmt.Errorf("%s: %w: no such document was loaded", what, ErrNotFound)
	case len(docs) > 1:
		var actions []string
		for _, d := range docs {
			actions = append(actions, d.Action+"/"+what)
		}
		return nil, fmt.Errorf("several files have this name: say %s", strings.Join(actions, " or "))
	}
	docs[0].Why = docs[0].reason()
	return docs[0], nil
}

// fetchRows is how many rows of each table are read at a time.
const fetchRows = 500

// Export writes a loaded document back from the rows of the warehouse, as one
// snapshot shows them: what it had said, in canonical form. It needs memory for
// some rows of each table only.
func Export(ctx context.Context, pool *pgxpool.Pool, m *mapping.Mapping, d *Document, w io.Writer) error {
	return pgx.BeginTxFunc(ctx, pool, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, "SET LOCAL datestyle = 'ISO, YMD'; SET LOCAL extra_float_digits = 1"); err != nil {
			return err
		}
		s := &source{ctx: ctx, tx: tx}
		for _, t := range m.Tables {
			if err := s.open(t, d.Position); err != nil {
				return fmt.Errorf("read %s: %w", t.Name, err)
			}
		}
		return m.Write(w, d.Kind, s)
	})
}

// source gives the rows of a document in the order of their ordinals, from a
// cursor for each table.
type source struct {
	ctx     context.Context
	tx      pgx.Tx
	cursors []*cursor // of which each has a next row
}

type cursor struct {
	table  *mapping.Table
	parent bool // the second column is the parent
	rows   []*mapping.Stored
	ended  bool
}

func (s *source) open(t *mapping.Table, position int64) error {
	c := &cursor{table: t}
	columns := []string{"t.ordinal"}
	from := pgx.Identifier{"warehouse", "claimed_" + t.Name}.Sanitize()
	switch {
	case t.Under == nil && !t.Record:
		from = pgx.Identifier{"warehouse", t.Name}.Sanitize()
		if c.parent = t.HasParentColumn; c.parent {
			columns = append(columns, "t.parent")
		}
	case t.Under != nil && t.HasParentColumn:
		c.parent, columns = true, append(columns, "t.parent")
	case t.Under != nil:
		c.parent, columns = true, append(columns, "t.record")
	}
	for _, column := range t.Columns {
		columns = append(columns, "t."+pgx.Identifier{column.Name}.Sanitize())
	}
	sql := fmt.Sprintf("DECLARE %s NO SCROLL CURSOR FOR SELECT %s FROM %s t WHERE t.position = %d ORDER BY t.ordinal", c.name(), strings.Join(columns, ", "), from, position)
	if _, err := s.tx.Exec(s.ctx, sql); err != nil {
		return err
	}
	if err := s.fill(c); err != nil {
		return err
	}
	if len(c.rows) > 0 {
		s.cursors = append(s.cursors, c)
	}
	return nil
}

func (c *cursor) name() string { return pgx.Identifier{"export_" + c.table.Name}.Sanitize() }

// fill reads the cursor's next rows, in Postgres's text format.
func (s *source) fill(c *cursor) error {
	rows, err := s.tx.Query(s.ctx, fmt.Sprintf("FETCH %d FROM %s", fetchRows, c.name()), pgx.QueryExecModeSimpleProtocol)
	if err != nil {
		return err
	}
	defer rows.Close()
	c.rows = c.rows[:0]
	for rows.Next() {
		values := rows.RawValues()
		row := &mapping.Stored{Table: c.table}
		numbers := []*int32{&row.Ordinal}
		if c.parent {
			numbers = append(numbers, &row.Parent)
		}
		for i, n := range numbers {
			v, err := strconv.ParseInt(string(values[i]), 10, 32)
			if err != nil {
				return fmt.Errorf("place of a row: %w", err)
			}
			*n = int32(v)
		}
		row.Values = make([]*string, len(c.table.Columns))
		for i, raw := range values[len(numbers):] {
			if raw != nil {
				text := string(raw)
				row.Values[i] = &text
			}
		}
		c.rows = append(c.rows, row)
	}
	c.ended = len(c.rows) < fetchRows
	return rows.Err()
}

// Next implements mapping.Source.
func (s *source) Next() (*mapping.Stored, error) {
	if len(s.cursors) == 0 {
		return nil, nil
	}
	least := 0
	for i, c := range s.cursors {
		if c.rows[0].Ordinal < s.cursors[least].rows[0].Ordinal {
			least = i
		}
	}
	c := s.cursors[least]
	row := c.rows[0]
	c.rows = c.rows[1:]
	if len(c.rows) == 0 && !c.ended {
		if err := s.fill(c); err != nil {
			return nil, fmt.Errorf("read %s: %w", c.table.Name, err)
		}
	}
	if len(c.rows) == 0 {
		s.cursors = append(s.cursors[:least], s.cursors[least+1:]...)
	}
	return row, nil
}
