package corpus

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// values is the number of values of each parameter of a run: terms and places
// of a series each count, and a parameter without any counts once.
func (r *record) values() map[string]int {
	out := map[string]int{}
	r.each("measurement", func(t *tuple) {
		n := r.below("ontology_term", t) + r.below("series_value", t)
		out[t.text("parameter_id")] += max(n, 1)
	})
	return out
}

// day is when a run was done; empty if it does not say.
func (r *record) day() string {
	if d := r.own().text("date_of_experiment"); d != "" {
		return d
	}
	return r.own().text("last_updated")
}

// combinations are the distinct strain, colony, zygosity and sex of those
// specimens of a run that are known.
func (b *books) combinations(r *record) []string {
	out := map[string]bool{}
	r.each("run_specimen", func(t *tuple) {
		if s := b.known[r.centre+" "+t.text("specimen_id")]; s != nil {
			o := s.own()
			colony := o.text("colony_id")
			out[strings.Join([]string{o.text("strain_id"), colony, o.text("zygosity"), o.text("gender")}, "|")] = true
		}
	})
	if len(out) == 0 {
		out[strings.Join([]string{"", r.own().text("colony_id"), "", ""}, "|")] = true
	}
	return slices.Collect(maps.Keys(out))
}

type contextRow struct {
	runs, values int
	first, last  string
}

// context sums up what there is.
func (b *books) context(w *Warehouse) {
	rows := map[string]*contextRow{}
	for _, r := range b.records {
		procedure, has := "", false
		if r.Type == "procedure_run" {
			procedure, has = r.own().of("procedure_id")
		}
		if !r.Current || !has {
			continue
		}
		for _, combination := range b.combinations(r) {
			for parameter, n := range r.values() {
				key := strings.Join([]string{r.centre, r.own().text("pipeline"), r.own().text("project"), combination, procedure, parameter}, "|")
				x := rows[key]
				if x == nil {
					x = &contextRow{}
					rows[key] = x
				}
				x.runs++
				x.values += n
				if d := r.day(); d != "" {
					x.last = max(x.last, d)
					if x.first == "" || d < x.first {
						x.first = d
					}
				}
			}
		}
	}
	for key, x := range rows {
		w.Context = append(w.Context, fmt.Sprintf("%s|%d|%d|%s|%s", key, x.runs, x.values, x.first, x.last))
	}
}

type overviewRow struct {
	kinds  map[string]int
	values int
	change string
}

// overview counts by centre and procedure.
func (b *books) overview(w *Warehouse, levels map[string]int) {
	rows := map[string]*overviewRow{}
	row := func(key string) *overviewRow {
		if rows[key] == nil {
			rows[key] = &overviewRow{kinds: map[string]int{}}
		}
		return rows[key]
	}
	for _, r := range b.records {
		if !r.Current {
			continue
		}
		x := row(r.centre + "|" + r.subject)
		kind := r.own().text("kind")
		if r.Type == "specimen" {
			kind = "specimen"
		} else if _, has := r.own().of("procedure_id"); has {
			for _, n := range r.values() {
				x.values += n
			}
		}
		x.kinds[kind]++
		x.change = max(x.change, r.Doc.Version.FileDate)
	}
	for key := range levels {
		row(key[:strings.LastIndex(key, "|")])
	}
	for key, x := range rows {
		w.Overview = append(w.Overview, fmt.Sprintf("%s|%d|%d|%d|%d|%d|%d|%d|%d|%s", key, x.kinds["specimen"], x.kinds[experimentRun], x.kinds[lineRun], x.kinds[housingRun],
			x.values, levels[key+"|info"], levels[key+"|warn"], levels[key+"|error"], x.change))
	}
}
