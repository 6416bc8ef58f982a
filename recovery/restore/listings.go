package restore

import (
	"context"
	"maps"
	"slices"
	"time"

	"tributary/internal/blob"
	"tributary/internal/pg"
)

// keptListing is a listing in the blob store, as the polls tell of it that showed it.
type keptListing struct {
	source, base string
	at           time.Time // when the last of them ended
}

// listings writes which listings are kept, so that they are deleted once they are old.
// What they hold is not told, so the next one is kept whole.
func (w *writer) listings(ctx context.Context) error {
	kept := map[string]*keptListing{}
	for _, p := range w.s.polls {
		name := p.Attributes["listing"]
		if !blob.Valid(name) || p.FinishedAt == nil {
			continue
		}
		if kept[name] == nil {
			kept[name] = &keptListing{source: p.Source, base: p.Attributes["listing_base"]}
		}
		if k := kept[name]; k.at.Before(*p.FinishedAt) {
			k.at = *p.FinishedAt
		}
	}
	var whole, differing pg.Rows
	for _, name := range slices.Sorted(maps.Keys(kept)) {
		k := kept[name]
		rows := &whole
		var base any
		if k.base != "" {
			if b := kept[k.base]; b == nil || b.base != "" {
				continue
			}
			rows, base = &differing, k.base
		}
		rows.Add("sha256", name, "source", k.source, "base", base, "digest", "", "entries", 0, "bytes", 0, "listed_at", k.at)
	}
	return w.copyAll(ctx, table{"listing", whole}, table{"listing", differing})
}
