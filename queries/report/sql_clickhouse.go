package report

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/url"
	"reflect"
	"strings"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/google/uuid"

	"tributary/queries/columnar/columntype"
)

// ClickHouse is the history's database, asked with the setting readonly = 1.
type ClickHouse struct {
	Conn      driver.Conn
	Timeout   time.Duration // of a statement; default Timeout
	MaxMemory int64         // of a statement, in bytes; default 1 GiB
	// Parameters are the values that the database puts in for {name:Type} in
	// a statement, escaped as in tab-separated text.
	Parameters map[string]string
}

func (c ClickHouse) query(ctx context.Context, sql string, header func([]arrow.Field) error, row func([]cell) error) error {
	timeout, memory := c.Timeout, c.MaxMemory
	if timeout <= 0 {
		timeout = Timeout
	}
	if memory <= 0 {
		memory = 1 << 30
	}
	// The engine stops a statement whose client has gone; the client makes
	// max_execution_time of the deadline, with a margin.
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	// 1: nothing is written, nothing outside of the database is read, and the
	// statement can't change its settings.
	ctx = clickhouse.Context(ctx, clickhouse.WithSettings(clickhouse.Settings{
		"readonly": 1, "max_memory_usage": memory, "max_bytes_before_external_group_by": memory / 2, "max_bytes_before_external_sort": memory / 2,
	}), clickhouse.WithParameters(c.Parameters))
	if several(sql) {
		return errors.New("give one statement at a time")
	}
	if err := c.refuseOutside(ctx, sql); err != nil {
		return explainedClickHouse(err)
	}
	rows, err := c.Conn.Query(ctx, sql)
	if err != nil {
		return explainedClickHouse(err)
	}
	defer rows.Close()
	names, types := rows.Columns(), rows.ColumnTypes()
	fields := make([]arrow.Field, len(names))
	for i, t := range types {
		fields[i] = arrow.Field{Name: names[i], Type: columntype.ClickHouse(t.DatabaseTypeName()), Nullable: true}
	}
	if err := header(fields); err != nil {
		return err
	}
	cells := make([]cell, len(names))
	for rows.Next() {
		values := make([]any, len(types))
		for i, t := range types {
			values[i] = reflect.New(t.ScanType()).Interface()
		}
		if err := rows.Scan(values...); err != nil {
			return fmt.Errorf("read an answer of ClickHouse: %w", err)
		}
		for i, v := range values {
			cells[i] = clickhouseCell(reflect.ValueOf(v).Elem())
			cells[i].value = v
		}
		if err := row(cells); err != nil {
			return err
		}
	}
	return explainedClickHouse(rows.Err())
}

func clickhouseCell(v reflect.Value) cell {
	for v.Kind() == reflect.Pointer {
		if v.IsNil() {
			return cell{json: []byte("null")}
		}
		v = v.Elem()
	}
	switch x := v.Interface().(type) {
	case time.Time:
		text := x.UTC().Format(time.RFC3339Nano)
		return cell{text: text, json: quoted(text)}
	case string:
		return cell{text: x, json: quoted(x)}
	case uuid.UUID:
		return cell{text: x.String(), json: quoted(x.String())}
	case float64:
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return cell{text: fmt.Sprint(x), json: quoted(fmt.Sprint(x))}
		}
	case float32:
		if f := float64(x); math.IsNaN(f) || math.IsInf(f, 0) {
			return cell{text: fmt.Sprint(x), json: quoted(fmt.Sprint(x))}
		}
	}
	if v.Kind() == reflect.Slice && v.Type().Elem().Kind() == reflect.Uint8 {
		numbers := make([]uint16, v.Len()) // not bytes, which JSON would encode as base64
		for i := range numbers {
			numbers[i] = uint16(v.Index(i).Uint())
		}
		v = reflect.ValueOf(numbers)
	}
	text, err := json.Marshal(v.Interface())
	if err != nil {
		// Lists of what is no number, and types that JSON does not know.
		s := fmt.Sprint(v.Interface())
		return cell{text: s, json: quoted(s)}
	}
	return cell{text: string(text), json: text}
}

// several says whether a semicolon outside of quotes and comments ends a
// statement that another follows.
func several(sql string) bool {
	for i := 0; i < len(sql); i++ {
		switch c := sql[i]; {
		case c == '\'' || c == '"' || c == '`':
			for i++; i < len(sql) && sql[i] != c; i++ {
				if sql[i] == '\\' {
					i++
				}
			}
		case c == '-' && i+1 < len(sql) && sql[i+1] == '-':
			for i < len(sql) && sql[i] != '\n' {
				i++
			}
		case c == '/' && i+1 < len(sql) && sql[i+1] == '*':
			n := strings.Index(sql[i+2:], "*/")
			if n < 0 {
				return false
			}
			i += 2 + n + 1
		case c == ';':
			return true
		}
	}
	return false
}

func explainedClickHouse(err error) error {
	// The address of a request tells people nothing: it is the socket's, with
	// all settings.
	if request := (*url.Error)(nil); errors.As(err, &request) {
		err = request.Err
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("the statement took too long and was stopped: narrow it with WHERE or LIMIT: %w", err)
	}
	var x *clickhouse.Exception
	if !errors.As(err, &x) {
		return err
	}
	switch x.Code {
	case 164:
		return fmt.Errorf("this command only reads: %w", err)
	case 159:
		return fmt.Errorf("the statement took too long and was stopped: narrow it with WHERE or LIMIT: %w", err)
	case 241:
		return fmt.Errorf("the statement needed too much memory and was stopped: narrow it with WHERE or LIMIT: %w", err)
	}
	return err
}
