// Package texts has what tests need to show that texts of others reach no store
// as they came: bodies of events with a hostile text in one field each, and a
// look at all columns of a schema that hold text.
package texts

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"tributary/internal/pg"
	"tributary/schemas"
)

// Longest is how long a text may be in a store, in bytes: that of an attribute.
const Longest = 64 << 10

// Hostile are texts that nobody should have to store or show.
func Hostile() []string {
	rng := rand.New(rand.NewPCG(1, 2))
	long := make([]byte, 900<<10) // with the rest of an event, what a topic takes; it can't be compressed
	for i := range long {
		long[i] = byte('!' + rng.IntN(90))
	}
	return []string{"a\x00b", "a\xff\xc3(b", "a\u202egnp.exe", "\x1b]0;x\x07\u009b31m\x7f\r", string(long), strings.Repeat("\x00", 900<<10)}
}

// Case is a body with a hostile text in one of its fields.
type Case struct {
	Field string // where, such as Errors[0].Message
	Body  any
}

// Spoiled returns bodies like the one that newBody makes each time, each with the
// text in another of the fields that hold texts, those of lists and maps included.
func Spoiled(newBody func() any, text string) []Case {
	var out []Case
	for n := 0; ; n++ {
		body := newBody()
		s := spoiler{left: n, text: text}
		s.spoil(reflect.ValueOf(body).Elem(), "")
		if s.at == "" {
			return out
		}
		out = append(out, Case{Field: s.at, Body: body})
	}
}

// spoiler puts a text into the field that comes after so many others.
type spoiler struct {
	left int
	text string
	at   string
}

// here tells whether this is the field.
func (s *spoiler) here(path string) bool {
	s.left--
	if s.left == -1 {
		s.at = path
	}
	return s.left == -1
}

func (s *spoiler) spoil(v reflect.Value, path string) {
	switch v.Kind() {
	case reflect.String:
		if s.here(path) {
			v.SetString(s.text)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			s.spoil(v.Field(i), strings.TrimPrefix(path+"."+v.Type().Field(i).Name, "."))
		}
	case reflect.Slice:
		for i := range v.Len() {
			s.spoil(v.Index(i), fmt.Sprintf("%s[%d]", path, i))
		}
	case reflect.Map:
		all, _ := v.Interface().(map[string]string)
		if v.Len() == 0 {
			return
		}
		if s.here(path + "{key}") {
			all[s.text] = "value"
		}
		if s.here(path + "{value}") {
			for k := range all {
				all[k] = s.text
			}
		}
	}
}

// Wrong says what is wrong with a text that a store holds; empty if nothing is.
func Wrong(text string) string {
	switch {
	case len(text) > Longest:
		return fmt.Sprintf("a text of %d bytes", len(text))
	case schemas.Clean(text) != text:
		return fmt.Sprintf("%.80q", text)
	}
	return ""
}

// Look walks all columns of a schema of Postgres that hold text, lists of texts
// or JSON, and fails the test for what should not be there. It returns the columns
// that hold any text.
func Look(t testing.TB, q pg.Querier, schema string) (filled []string) {
	t.Helper()
	ctx := t.Context()
	rows, err := q.Query(ctx, `SELECT c.table_name::text, c.column_name::text FROM information_schema.columns c JOIN information_schema.tables USING (table_schema, table_name)
		WHERE c.table_schema = $1 AND table_type = 'BASE TABLE' AND (data_type IN ('text', 'character varying', 'json', 'jsonb') OR udt_name IN ('_text', '_varchar'))
		ORDER BY 1, 2`, schema)
	if err != nil {
		t.Fatal(err)
	}
	columns, err := pgx.CollectRows(rows, pgx.RowToStructByPos[struct{ Table, Column string }])
	if err != nil || len(columns) == 0 {
		t.Fatalf("the schema %s has no columns: %v", schema, err)
	}
	for _, c := range columns {
		name := schema + "." + c.Table + "." + c.Column
		if lookAt(ctx, t, q, name, fmt.Sprintf(`SELECT to_jsonb(%s)::text FROM %s WHERE %[1]s IS NOT NULL`, pgx.Identifier{c.Column}.Sanitize(), pgx.Identifier{schema, c.Table}.Sanitize())) {
			filled = append(filled, name)
		}
	}
	return filled
}

func lookAt(ctx context.Context, t testing.TB, q pg.Querier, name, sql string) (found bool) {
	t.Helper()
	rows, err := q.Query(ctx, sql)
	if err != nil {
		t.Fatal(err)
	}
	values, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	for _, v := range values {
		for _, text := range leaves(t, v) {
			found = found || text != ""
			if wrong := Wrong(text); wrong != "" {
				t.Errorf("%s holds %s", name, wrong)
			}
		}
	}
	return found
}

// leaves are the texts of a value in JSON. A text that is JSON itself is looked
// into.
func leaves(t testing.TB, text string) (out []string) {
	t.Helper()
	var v any
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatal(err)
	}
	var walk func(any)
	walk = func(v any) {
		switch v := v.(type) {
		case string:
			var inner map[string]any
			if strings.HasPrefix(v, "{") && json.Unmarshal([]byte(v), &inner) == nil {
				walk(inner)
				return
			}
			out = append(out, v)
		case []any:
			for _, e := range v {
				walk(e)
			}
		case map[string]any:
			for k, e := range v {
				out = append(out, k)
				walk(e)
			}
		}
	}
	walk(v)
	slices.Sort(out)
	return slices.Compact(out)
}
