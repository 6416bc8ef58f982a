package doctor

import (
	"fmt"
	"slices"
	"strings"
)

// compareMigrations says how the migrations that a store has had stand to those that
// this program has, both in order.
func (r *report) compareMigrations(about string, has, had []int64) {
	newest := has[len(has)-1]
	unknown := slices.DeleteFunc(slices.Clone(had), func(n int64) bool { return n <= newest })
	last := int64(0)
	if len(had) > 0 {
		last = had[len(had)-1]
	}
	var skipped, lacking []int64
	for _, n := range has {
		switch {
		case slices.Contains(had, n):
		case n < last:
			skipped = append(skipped, n)
		default:
			lacking = append(lacking, n)
		}
	}
	good := true
	if len(skipped) > 0 {
		good = false
		r.found(MigrationsSkipped, about, "restore it from a backup, or make it anew: the tracker, the history and the warehouse by tributary … rebuild, control by tributary control restore", "it lacks %s, and has had later ones", numbers(skipped))
	}
	switch {
	case len(unknown) > 0:
		r.found(MigrationsAhead, about, "upgrade this program: a newer one has made these", "it has had %s, and this program knows %d", numbers(unknown), newest)
	case len(had) == 0:
		r.found(MigrationsBehind, about, "start a member of this version (tributary up, or run): it makes what is missing", "it is not there yet")
	case len(lacking) > 0:
		r.found(MigrationsBehind, about, "start a member of this version (tributary up, or run): it makes what is missing", "it is at %d, and lacks %s", last, numbers(lacking))
	case good:
		r.ok(about, "it is at %d, as this program needs it", newest)
	}
}

// numbers are some numbers of migrations, for people.
func numbers(all []int64) string {
	const most = 5
	var texts []string
	for _, n := range all[:min(len(all), most)] {
		texts = append(texts, fmt.Sprint(n))
	}
	if len(all) > most {
		texts = append(texts, fmt.Sprintf("%d more", len(all)-most))
	}
	return strings.Join(texts, ", ")
}
