package warehouse

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"

	"tributary/internal/mapping"
	"tributary/internal/pg"
)

// Reference is a reference table of the profile and what it holds.
type Reference struct {
	Name     string   `json:"name"`
	Comment  string   `json:"comment"`
	Key      []string `json:"key"`
	Columns  []string `json:"columns"`
	Checks   []string `json:"checks"` // that are off until it is loaded
	Rows     *int64   `json:"rows"`   // nil if it is not loaded
	File     *string  `json:"file"`
	SHA256   *string  `json:"sha256"`
	Position *int64   `json:"position"`
}

// ReferenceHeader names the columns of a list of reference tables.
func ReferenceHeader() []string {
	return []string{"name", "rows", "file", "checks", "columns", "comment"}
}

// Cells are the columns of a list of reference tables, as ReferenceHeader names them.
func (r Reference) Cells() []string {
	loaded, file, checks := "not loaded", "", "on"
	if r.Rows == nil {
		checks = "off"
	}
	if r.Rows != nil {
		loaded, file = strconv.FormatInt(*r.Rows, 10), *r.File
	}
	return []string{r.Name, loaded, file, fmt.Sprintf("%d %s", len(r.Checks), checks), strings.Join(r.Columns, ","), r.Comment}
}

// Reference reads what a reference table holds, and which checks need it.
func (s *Statements) Reference(ctx context.Context, q pg.Querier, ref *mapping.Reference) (Reference, error) {
	r := Reference{Name: ref.Name, Comment: ref.Comment, Key: ref.Key, Columns: columnsOf(ref), Checks: append([]string{}, s.Needed(ref.Name)...)}
	err := q.QueryRow(ctx, "SELECT rows, loaded_file, blob, position FROM warehouse.reference_load WHERE name = $1", ref.Name).Scan(&r.Rows, &r.File, &r.SHA256, &r.Position)
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return r, fmt.Errorf("read what is loaded of %s: %w", ref.Name, err)
	}
	return r, nil
}

func columnsOf(ref *mapping.Reference) []string {
	names := make([]string, len(ref.Columns))
	for i, c := range ref.Columns {
		names[i] = c.Name
	}
	return names
}
