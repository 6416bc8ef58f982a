package report

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
)

// Page is a part of a list.
type Page[T any] struct {
	Rows []T    `json:"rows"`
	Next string `json:"next,omitempty"` // the Filter.After of the page after this one; empty: this is the last
}

// DefaultPage and MaxPage are how many rows a page has, unless its filter's Limit says
// so, and at most.
const (
	DefaultPage = 50
	MaxPage     = 1000
)

// bounded is the filter with one row more than the page has, which tells whether
// there is a next one.
func (f Filter) bounded() Filter {
	if f.Limit <= 0 {
		f.Limit = DefaultPage
	}
	f.Limit = min(f.Limit, MaxPage) + 1
	return f
}

// page takes the rows that there are for a bounded filter.
func page[T any](f Filter, rows []T, key func(T) []string) Page[T] {
	p := Page[T]{Rows: rows}
	if len(rows) == f.Limit {
		p.Rows = rows[:f.Limit-1]
		p.Next = f.cursor(key(p.Rows[f.Limit-2]))
	}
	return p
}

// cursor is where a list in the filter's order goes on after a row with this key.
func (f Filter) cursor(key []string) string {
	text, err := json.Marshal(append([]string{f.order()}, key...))
	if err != nil {
		return "" // texts can always be written
	}
	return base64.RawURLEncoding.EncodeToString(text)
}

func (f Filter) order() string { return cmp.Or(f.Sort, ByName) }

// byChange tells whether a list is in the order of last changes.
func (f Filter) byChange() bool { return f.Sort == Newest || f.Sort == Oldest }

// changes is the order of files by their last change, and how the time and the id of what
// comes after a row compare with those of the row.
func (f Filter) changes() (order, beyond string) {
	if f.Sort == Oldest {
		return "a.last_update, a.id", ">"
	}
	return "a.last_update DESC, a.id DESC", "<"
}

// maxCursor bounds a cursor, in bytes: two names of 4 KiB, and what is around them.
const maxCursor = 20 << 10

// key is the key of the row after which the list goes on, or nil. It has as many
// parts as are wanted, or is a FilterError.
func (f Filter) key(parts int) ([]string, error) {
	if f.After == "" {
		return nil, nil
	}
	bad := &FilterError{"after", f.After[:min(len(f.After), 60)], "it is not where a page of this list ends: begin with the first one"}
	if len(f.After) > maxCursor {
		return nil, bad
	}
	text, err := base64.RawURLEncoding.DecodeString(f.After)
	if err != nil {
		return nil, bad
	}
	var key []string
	if json.Unmarshal(text, &key) != nil || len(key) != parts+1 || key[0] != f.order() {
		return nil, bad
	}
	key = key[1:]
	if strings.ContainsRune(strings.Join(key, ""), 0) {
		return nil, bad
	}
	if f.byChange() {
		if _, err := time.Parse(time.RFC3339Nano, key[0]); err != nil && key[0] != never || uuid.Validate(key[1]) != nil {
			return nil, bad
		}
	}
	if parts == documentKey {
		if _, err := strconv.ParseInt(key[parts-1], 10, 32); err != nil {
			return nil, bad
		}
	}
	return key, nil
}

// never is the last change of what has not been heard of itself.
const never = "-infinity"

// changed is the time of a last change as cursors have it.
func changed(t *time.Time) string {
	if t == nil {
		return never
	}
	return t.UTC().Format(time.RFC3339Nano)
}

// How many parts the keys have.
const fileKey, documentKey = 2, 4
