package control

import (
	"context"
	"slices"

	"github.com/jackc/pgx/v5"

	"tributary/internal/pg"
)

// Twins are the names that a source's last listing of each directory showed and that
// some file systems take for one. Directories that showed none are left out.
type Twins map[string]TwinNames

// TwinNames are those of a directory.
type TwinNames struct {
	Names int        `json:"names"` // how many there are
	First [][]string `json:"first"` // the first of them, those together that are twins
}

// Of are the twins that a name in a directory has, or in any where none is given, as far
// as they are kept, with the directory.
func (t Twins) Of(directory, name string) (in string, others []string) {
	for at, names := range t {
		for _, together := range names.First {
			if (directory == "" || directory == at) && slices.Contains(together, name) {
				return at, slices.DeleteFunc(slices.Clone(together), func(n string) bool { return n == name })
			}
		}
	}
	return "", nil
}

// EachListed calls each with the directory and the name of every file of the
// connection's listing.
func EachListed(ctx context.Context, c pg.Querier, each func(directory, name string)) error {
	var directory, name string
	for err := range pg.Each(ctx, c, "read the names of a listing", []any{&directory, &name}, "SELECT action, name FROM pg_temp.listed") {
		if err != nil {
			return err
		}
		each(directory, name)
	}
	return nil
}

// PutTwins replaces what is kept of a source's twins.
func PutTwins(ctx context.Context, tx pgx.Tx, source string, t Twins) error {
	return pg.Exec(ctx, tx, "source "+source+": keep which names differ only in case or accents", "UPDATE control.source SET twins = $2 WHERE id = $1", source, t)
}
