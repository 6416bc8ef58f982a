package sources

import (
	"context"

	"tributary/internal/config"
	"tributary/internal/pg"
	"tributary/sql/control"
)

// Filtered says what one filter of a source does to what its last listings showed.
type Filtered struct {
	Filter  string `json:"filter"`  // as the configuration writes it; empty: what no filter fits, which is taken
	Taken   bool   `json:"taken"`   // whether entries are taken for which it decides
	Entries int64  `json:"entries"` // of the last listings
	First   string `json:"first"`   // the first of them, by name; empty: none
}

// TestFilters tells for which entries of a source's last listings each filter would
// decide, in their order, and then what none fits. Of entries that the source's own
// filters exclude only the names that control keeps are known.
func TestFilters(ctx context.Context, q pg.Querier, source string, filters config.Filters) ([]Filtered, error) {
	out := make([]Filtered, 0, len(filters)+1)
	for _, f := range filters {
		out = append(out, Filtered{Filter: f.String(), Taken: f.Include != ""})
	}
	out = append(out, Filtered{Taken: true})
	err := control.EachShown(ctx, q, source, func(directory, name string) {
		i := filters.First(directory, name)
		if i < 0 {
			i = len(filters)
		}
		if out[i].Entries++; out[i].First == "" {
			out[i].First = directory + "/" + name
		}
	})
	return out, err
}
