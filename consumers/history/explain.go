package history

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/twmb/franz-go/pkg/kgo"
)

// explain names the columns in which a row differs from its record.
func (v *verification) explain(ctx context.Context, p int32, offset int64) ([]Column, error) {
	at := interval{offset, offset + 1}
	var row []any
	if err := readLog(ctx, v.h.deps.Connect, v.topic, map[int32]interval{p: at}, func(_ int32, records []*kgo.Record) (err error) {
		row, err = v.h.row("", records[0])
		return err
	}); err != nil {
		return nil, err
	}
	if row == nil {
		return nil, fmt.Errorf("the record at offset %d of partition %d can't be read again", offset, p)
	}
	row[0] = v.args(p, at)[0]
	var hashes []uint64
	if err := v.conn.QueryRow(ctx, "SELECT "+columnHashes()+inRange, v.args(p, at)...).Scan(&hashes); err != nil {
		return nil, fmt.Errorf("look at a row of the history: %w", err)
	}
	var out []Column
	var texts []string
	for i, name := range columns() {
		hash, buf, err := hashRow(v.buf, row[i:i+1])
		if v.buf = buf; err != nil {
			return nil, err
		}
		if i < len(hashes) && hashes[i] != hash {
			out = append(out, Column{Name: name, Log: shown(row[i])})
			texts = append(texts, "ifNull(toString("+canonical(name)+"), 'NULL')")
		}
	}
	if len(out) == 0 {
		return nil, nil
	}
	var values []string
	if err := v.conn.QueryRow(ctx, "SELECT ["+strings.Join(texts, ", ")+"]"+inRange, v.args(p, at)...).Scan(&values); err != nil {
		return nil, fmt.Errorf("look at a row of the history: %w", err)
	}
	for i := range out {
		out[i].History = values[i]
	}
	return out, nil
}

// shown is a value as ClickHouse shows it, or nearly so.
func shown(v any) string {
	const layout = "2006-01-02 15:04:05.000000"
	switch x := v.(type) {
	case time.Time:
		return x.Format(layout)
	case *time.Time:
		if x == nil {
			return "NULL"
		}
		return x.Format(layout)
	case *uuid.UUID:
		if x == nil {
			return "NULL"
		}
		return x.String()
	}
	return fmt.Sprint(v)
}
