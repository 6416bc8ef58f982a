package sources

import (
	"context"
	"time"

	"tributary/internal/config"
	"tributary/internal/pg"
	"tributary/sql/control"
)

// Filtered says what one filter or bound of a source does to what its last listings
// showed.
type Filtered struct {
	Filter  string `json:"filter"`  // as the configuration writes it, of a bound with its key; empty: what nothing fits, which is taken
	Taken   bool   `json:"taken"`   // whether entries are taken for which it decides
	Entries int64  `json:"entries"` // of the last listings
	First   string `json:"first"`   // the first of them, by name; empty: none
}

// bound is a bound of size or age, and what is not within it.
type bound struct {
	says  string
	leave func(control.Seen) bool
}

// TestFilters tells for which entries of a source's last listings each of its filters and
// bounds would decide if they were new, in the order in which a poll asks: filters, sizes,
// ages, and then what nothing leaves or names. Of entries that the source leaves by now
// only the names that control keeps are known; what isn't known excludes nothing.
func TestFilters(ctx context.Context, q pg.Querier, src config.Source, now time.Time) ([]Filtered, error) {
	standing, err := control.Standings(ctx, q, src.ID)
	if err != nil {
		return nil, err
	}
	if len(standing) == 1 {
		now = now.Add(standing[0].Clock.Guess())
	}
	bounds := boundsOf(src, now)
	out := make([]Filtered, 0, len(src.Filters)+len(bounds)+1)
	for _, f := range src.Filters {
		out = append(out, Filtered{Filter: f.String(), Taken: f.Include != ""})
	}
	for _, b := range bounds {
		out = append(out, Filtered{Filter: b.says})
	}
	out = append(out, Filtered{Taken: true})
	err = control.EachShown(ctx, q, src.ID, func(e control.ShownFile) {
		i := decides(src, bounds, e)
		if out[i].Entries++; out[i].First == "" {
			out[i].First = e.Directory + "/" + e.Name
		}
	})
	return out, err
}

// decides is which filter, or which bound behind them, decides about a file; as many as
// there are: none.
func decides(src config.Source, bounds []bound, e control.ShownFile) int {
	filter := src.Filters.First(e.Directory, e.Name)
	if filter >= 0 && src.Filters[filter].Include == "" {
		return filter
	}
	for i, b := range bounds {
		if b.leave(e.Seen) {
			return len(src.Filters) + i
		}
	}
	if filter >= 0 {
		return filter
	}
	return len(src.Filters) + len(bounds)
}

// boundsOf are the bounds that a source has, at a moment by its server's clock.
func boundsOf(src config.Source, now time.Time) (out []bound) {
	add := func(has bool, says string, leave func(control.Seen) bool) {
		if has {
			out = append(out, bound{says, leave})
		}
	}
	add(src.MinSize > 0, "min_size: "+src.MinSize.String(), func(l control.Seen) bool { return l.Size >= 0 && l.Size < int64(src.MinSize) })
	add(src.MaxSize > 0, "max_size: "+src.MaxSize.String(), func(l control.Seen) bool { return l.Size > int64(src.MaxSize) })
	add(src.MaxAge > 0, "max_age: "+src.MaxAge.String(), func(l control.Seen) bool { return l.ChangedBy != nil && l.ChangedBy.Before(now.Add(-src.MaxAge.D())) })
	add(src.MinAge > 0, "min_age: "+src.MinAge.String(), func(l control.Seen) bool { return l.ChangedBy != nil && l.ChangedBy.After(now.Add(-src.MinAge.D())) })
	return out
}
