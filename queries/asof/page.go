package asof

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"slices"
	"strings"

	"tributary/queries/report"
)

// Narrowed says which changes are listed. Empty fields let everything through.
type Narrowed struct {
	Kind   string // file or document
	Change string // New, Moved, Replaced or Gone
	After  string // only what comes after: the next of the page before
	Limit  int    // 0: no limit
}

// Kinds are what changes.
func Kinds() []string { return []string{"file", "document"} }

// Ways are how something changes.
func Ways() []string { return []string{New, Moved, Replaced, Gone} }

// maxCursor bounds a cursor, in bytes: two names of 4 KiB, and what is around them.
const maxCursor = 20 << 10

// Check returns a report.FilterError for what can't be.
func (n Narrowed) Check() error {
	for _, x := range []struct {
		filter, value string
		known         []string
	}{{"kind", n.Kind, Kinds()}, {"change", n.Change, Ways()}} {
		if x.value != "" && !slices.Contains(x.known, x.value) {
			return &report.FilterError{Filter: x.filter, Value: x.value, Want: "there is none of that name: there are " + strings.Join(x.known, ", ")}
		}
	}
	_, err := n.key()
	return err
}

// Page returns changes as Changes does, and where the page after these begins; empty:
// these are the last. What can't be is a report.FilterError.
func (d *Difference) Page(ctx context.Context, n Narrowed) (page []Change, next string, err error) {
	if err := n.Check(); err != nil {
		return nil, "", err
	}
	key, err := n.key()
	if err != nil {
		return nil, "", err
	}
	limit := n.Limit
	if limit > 0 {
		limit++ // which tells whether there are more
	}
	page = []Change{}
	if err := d.list(ctx, n, key, limit, func(c Change) error {
		page = append(page, c)
		return nil
	}); err != nil {
		return nil, "", err
	}
	if n.Limit > 0 && len(page) > n.Limit {
		page = page[:n.Limit]
		next = cursor(page[n.Limit-1])
	}
	return page, next, nil
}

// cursor is where a page ends that ends with a change.
func cursor(c Change) string {
	key := []string{c.Kind, c.File, c.Action, ""}
	if c.Document != nil {
		key[3] = *c.Document
	}
	text, err := json.Marshal(key)
	if err != nil {
		return "" // texts can always be written
	}
	return base64.RawURLEncoding.EncodeToString(text)
}

// key is the kind, file, action and document of the change after which the page begins;
// nil: it is the first one.
func (n Narrowed) key() ([]string, error) {
	if n.After == "" {
		return nil, nil
	}
	bad := &report.FilterError{Filter: "after", Value: n.After[:min(len(n.After), 60)], Want: "it is not where a page of this list ends: begin with the first one"}
	if len(n.After) > maxCursor {
		return nil, bad
	}
	text, err := base64.RawURLEncoding.DecodeString(n.After)
	var key []string
	if err != nil || json.Unmarshal(text, &key) != nil || len(key) != 4 || strings.ContainsRune(strings.Join(key, ""), 0) {
		return nil, bad
	}
	return key, nil
}
