package columnar_test

import (
	"bytes"
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
	"github.com/google/go-cmp/cmp"

	"tributary/queries/columnar"
)

func formats() []string { return []string{columnar.Parquet, columnar.Arrow} }

// written is a file of one column, called c.
func written(format string, kind arrow.DataType, values ...any) ([]byte, error) {
	var b bytes.Buffer
	w, err := columnar.New(&b, format, []arrow.Field{{Name: "c", Type: kind, Nullable: true}})
	if err != nil {
		return nil, err
	}
	for _, v := range values {
		if err := w.Row([]any{v}); err != nil {
			return nil, err
		}
	}
	err = w.Close()
	return b.Bytes(), err
}

// read reads a file's column back with the readers of the library: its values as
// texts, and in how many batches they came.
func read(t *testing.T, format string, content []byte) (values []string, batches int) {
	t.Helper()
	var parts []arrow.Array
	switch format {
	case columnar.Parquet:
		f, err := file.NewParquetReader(bytes.NewReader(content))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		r, err := pqarrow.NewFileReader(f, pqarrow.ArrowReadProperties{}, memory.DefaultAllocator)
		if err != nil {
			t.Fatal(err)
		}
		table, err := r.ReadTable(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		parts, batches = table.Column(0).Data().Chunks(), f.NumRowGroups()
	case columnar.Arrow:
		r, err := ipc.NewFileReader(bytes.NewReader(content))
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		for batches = range r.NumRecords() {
			batch, err := r.RecordBatchAt(batches)
			if err != nil {
				t.Fatal(err)
			}
			parts = append(parts, batch.Column(0))
		}
		batches = r.NumRecords()
	}
	for _, part := range parts {
		for row := range part.Len() {
			// Texts are read as they are: ValueStr is for people.
			if s, ok := part.(*array.String); ok && s.IsValid(row) {
				values = append(values, s.Value(row))
			} else {
				values = append(values, part.ValueStr(row))
			}
		}
	}
	return values, batches
}

// What is written is read back: hostile texts as they are, as a file of columns is
// no terminal's, and values at the ends of what their types hold.
func TestValuesComeBack(t *testing.T) {
	const hostile = "=1+1\x00\x1b[31m\u009b\u202egnp\u2066\u2028\U000E0041\r\n\"',;"
	now := time.Date(2026, 11, 21, 23, 30, 0, 123456000, time.FixedZone("", 2*60*60))
	for about, tc := range map[string]struct {
		kind   arrow.DataType
		values []any
		want   []string
	}{
		"hostile texts":     {arrow.BinaryTypes.String, []any{hostile, "", nil, "no \xff UTF-8"}, []string{hostile, "", "(null)", "no \uFFFD UTF-8"}},
		"lists as texts":    {arrow.BinaryTypes.String, []any{[]string{"a", "\x1b"}, map[string]int{"k": 1}, now}, []string{`["a","\u001b"]`, `{"k":1}`, "2026-11-21T21:30:00.123456Z"}},
		"numbers as texts":  {arrow.PrimitiveTypes.Int64, []any{"-9223372036854775808", int64(7), nil}, []string{"-9223372036854775808", "7", "(null)"}},
		"decimals":          {&arrow.Decimal128Type{Precision: 38, Scale: 2}, []any{"-999999999999999999999999999999999999.99", "0.1", "7"}, []string{"-999999999999999999999999999999999999.99", "0.1", "7"}},
		"wide as texts":     {arrow.BinaryTypes.String, []any{new(big.Int).Lsh(big.NewInt(1), 200)}, []string{"1606938044258990275541962092341162602522202993782792835301376"}},
		"moments":           {arrow.FixedWidthTypes.Timestamp_us, []any{now, "1969-12-31 23:59:59.999999", "2026-11-21T10:00:00Z"}, []string{"2026-11-21T21:30:00.123456Z", "1969-12-31T23:59:59.999999Z", "2026-11-21T10:00:00Z"}},
		"days as they were": {arrow.FixedWidthTypes.Date32, []any{now, "1970-01-01", "0001-01-01"}, []string{"2026-11-21", "1970-01-01", "0001-01-01"}},
		"bytes":             {arrow.BinaryTypes.Binary, []any{`\x00ff`, `\x`}, []string{"AP8=", ""}},
		"arrays":            {arrow.ListOf(arrow.BinaryTypes.String), []any{`{"a,b",NULL,"NULL","\"","\x1b"}`, "{}", nil}, []string{`["a,b",null,"NULL","\"","x1b"]`, "[]", "(null)"}},
		"lists":             {arrow.ListOf(arrow.PrimitiveTypes.Int32), []any{[]*int32{nil, new(int32)}, [2]int32{1, 2}}, []string{"[null,0]", "[1,2]"}},
		"maps in order":     {arrow.MapOf(arrow.BinaryTypes.String, arrow.PrimitiveTypes.Uint8), []any{map[string]uint8{"b": 2, "a": 1}}, []string{`[{"key":"a","value":1},{"key":"b","value":2}]`}},
	} {
		for _, format := range formats() {
			content, err := written(format, tc.kind, tc.values...)
			if err != nil {
				t.Errorf("%s as %s: %v", about, format, err)
				continue
			}
			got, _ := read(t, format, content)
			if d := cmp.Diff(tc.want, got); d != "" {
				t.Errorf("%s as %s:\n%s", about, format, d)
			}
		}
	}
}

// A value that its column does not hold is refused with the column's name and what
// to do: it is never cut, rounded or left out.
func TestWhatHasNoPlaceIsRefused(t *testing.T) {
	for about, tc := range map[string]struct {
		kind  arrow.DataType
		value any
		want  string
	}{
		"a word for a number":  {arrow.PrimitiveTypes.Int32, "seven", "has no place in a column of int32"},
		"too large":            {arrow.PrimitiveTypes.Int8, "128", "has no place in a column of int8"},
		"more decimals":        {&arrow.Decimal128Type{Precision: 4, Scale: 2}, "1.234", "more decimals than decimal(4, 2)"},
		"more digits":          {&arrow.Decimal128Type{Precision: 4, Scale: 2}, "123.45", "greater than what decimal(4, 2) holds"},
		"many more digits":     {&arrow.Decimal128Type{Precision: 38, Scale: 0}, strings.Repeat("9", 60), "greater than what"},
		"no number":            {&arrow.Decimal128Type{Precision: 4, Scale: 2}, "NaN", "has no place"},
		"never":                {arrow.FixedWidthTypes.Timestamp_us, "infinity", "has no place in a column of timestamp"},
		"beyond what ns holds": {arrow.FixedWidthTypes.Timestamp_ns, time.Date(3000, 1, 1, 0, 0, 0, 0, time.UTC), "beyond what"},
		"no hexadecimal":       {arrow.BinaryTypes.Binary, `\xzz`, "no bytes in hexadecimal"},
		"a square":             {arrow.ListOf(arrow.PrimitiveTypes.Int32), "{{1},{2}}", "2 dimensions"},
		"no array":             {arrow.ListOf(arrow.PrimitiveTypes.Int32), "1,2", "is no array"},
		"no map":               {arrow.MapOf(arrow.BinaryTypes.String, arrow.BinaryTypes.String), "x", "is no map"},
		"a number for a truth": {arrow.FixedWidthTypes.Boolean, 1, "has no place in a column of bool"},
		"negative, unsigned":   {arrow.PrimitiveTypes.Uint64, int64(-1), "has no place in a column of uint64"},
	} {
		for _, format := range formats() {
			_, err := written(format, tc.kind, tc.value)
			if err == nil || !strings.Contains(err.Error(), tc.want) || !strings.HasPrefix(err.Error(), "the column c: ") || !strings.Contains(err.Error(), "make it a text") {
				t.Errorf("%s as %s: %v", about, format, err)
			}
		}
	}
	if _, err := written("csv", arrow.BinaryTypes.String); err == nil || !strings.Contains(err.Error(), "use parquet or arrow") {
		t.Errorf("another format: %v", err)
	}
}

// However many rows there are, and however long they are, batches are bounded; and
// a file without rows is a file.
func TestBatchesAreBounded(t *testing.T) {
	small, long := make([]any, 64<<10+1), strings.Repeat("x", 9<<20)
	for about, tc := range map[string]struct {
		values []any
		want   int
	}{"none": {nil, 0}, "one": {[]any{"x"}, 1}, "many": {small, 2}, "long": {[]any{long, long, long}, 2}, "lists": {[]any{[]string{long, long}, "x"}, 2}} {
		for _, format := range formats() {
			content, err := written(format, arrow.BinaryTypes.String, tc.values...)
			if err != nil {
				t.Fatal(err)
			}
			if values, batches := read(t, format, content); batches != tc.want || len(values) != len(tc.values) {
				t.Errorf("%s as %s: %d values in %d batches, want %d in %d", about, format, len(values), batches, len(tc.values), tc.want)
			}
		}
	}
}
