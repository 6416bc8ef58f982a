package lineage

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"

	"tributary/internal/pg"
	"tributary/schemas"
)

// Find returns the document that is meant: by its position, by its UUID, or by
// FILE/ENTRY, with an action before it if files of several have that name. Of
// several versions it is the greatest that is loaded and not withdrawn, else
// the greatest that was. A document that was never loaded is ErrNotFound.
func (r *Reader) Find(ctx context.Context, what string) (*Document, error) {
	var where string
	var args []any
	parts := strings.Split(what, "/")
	position, err := strconv.ParseInt(what, 10, 64)
	switch {
	case err == nil:
		where, args = "d.position = $1", append(args, position)
	case len(parts) == 1:
		where, args = "d.document = $1", append(args, strings.ToLower(what))
	case len(parts) <= 3:
		actions := schemas.Actions()
		if len(parts) == 3 {
			actions, parts = parts[:1], parts[1:]
		}
		var files []string
		for _, a := range actions {
			files = append(files, schemas.FileID(a, parts[0]))
		}
		where, args = "d.file = ANY($1) AND d.entry = $2", append(args, files, parts[1])
	default:
		return nil, fmt.Errorf("%s: %w: name a document by its position, its UUID, or as FILE/ENTRY or ACTION/FILE/ENTRY", what, ErrNotFound)
	}
	docs, err := pg.List(ctx, r.Warehouse, "find the document", func(row pgx.CollectableRow) (d *Document, err error) {
		d = &Document{}
		return d, row.Scan(d.targets()...)
	}, `SELECT DISTINCT ON (d.action) `+documentColumns()+` FROM warehouse.document d`+withdrawal+` WHERE d.state = 'loaded' AND `+where+`
		ORDER BY d.action, d.withdrawn, d.rank DESC, d.run_number DESC, d.position DESC`, args...)
	switch {
	case err != nil:
		return nil, err
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
