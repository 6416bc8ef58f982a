package plan

import (
	"cmp"
	"slices"

	"tributary/sql/control"
)

// aged is every how manyeth job of a source goes to the files that wait longest,
// whatever lane they are in, so that none waits for ever behind those that come.
const aged = 10

// item is a wanted file with the hosting chosen for it.
type item struct {
	file     *File
	a        *control.Acquisition
	hosting  control.Hosting
	priority int // its own, or that of the source
}

// newItem is a file that is fetched from a source which stands at turn t; nil: one
// that is not known.
func newItem(f *File, a *control.Acquisition, from control.Hosting, t *control.Turn) item {
	it := item{file: f, a: a, hosting: from}
	switch {
	case a.Priority != nil:
		it.priority = *a.Priority
	case t != nil:
		it.priority = t.Priority
	}
	return it
}

// job is one connection's worth of files of one source, all of one run and one priority.
type job struct {
	server, source string
	items          []item
}

func (j job) run() string { return j.items[0].a.Run }

// gather chooses the best hosting for every wanted file and makes jobs of
// them: small files go together, large ones alone. It notes in turns who was given
// one.
func (p *Planner) gather(w *World, credits map[string]int, turns map[string]*control.Turn) (jobs []job) {
	bySource := map[string][]item{}
	for _, id := range w.order() {
		f := w.files[id]
		for _, a := range f.wanted(w.now) {
			best := f.Candidates(a)
			if len(best) == 0 {
				w.vanished(f, a)
				continue
			}
			from := w.from(best)
			bySource[from.Source] = append(bySource[from.Source], newItem(f, a, from, turns[from.Source]))
		}
	}
	// A server's jobs follow one another: what one centre has published is
	// fetched, and so inserted, before the next centre's is begun. Credit keeps
	// a slow server from taking all that is fetched at once.
	byServer := map[string][]*control.Turn{}
	var servers []string
	for source, items := range bySource {
		lead(turns[source], items)
	}
	for _, t := range inOrder(turns) {
		if len(bySource[t.Source]) == 0 {
			continue
		}
		if byServer[t.Server] == nil {
			servers = append(servers, t.Server)
		}
		byServer[t.Server] = append(byServer[t.Server], t)
	}
	for _, server := range servers {
		jobs = append(jobs, p.share(byServer[server], clock(server, turns), bySource, credits[server])...)
	}
	return jobs
}

// inOrder are all sources, those of the highest priority first.
func inOrder(turns map[string]*control.Turn) []*control.Turn {
	out := make([]*control.Turn, 0, len(turns))
	for _, t := range turns {
		out = append(out, t)
	}
	slices.SortFunc(out, func(a, b *control.Turn) int {
		return cmp.Or(cmp.Compare(b.Priority, a.Priority), cmp.Compare(a.Source, b.Source))
	})
	return out
}

// clock is the turn of the last job that was given at a server.
func clock(server string, turns map[string]*control.Turn) (last int64) {
	for _, t := range turns {
		if t.Server == server && t.Last != nil {
			last = max(last, *t.Last)
		}
	}
	return last
}

// share makes jobs of what a server's sources have, which take turns, as far
// as its credit goes.
func (p *Planner) share(sources []*control.Turn, clock int64, bySource map[string][]item, credit int) (jobs []job) {
	for ; credit > 0; credit-- {
		t := next(sources, clock, func(source string) bool { return len(bySource[source]) > 0 })
		if t == nil {
			break
		}
		items := bySource[t.Source]
		arrange(items, t.Jobs%aged == aged-1)
		n := p.cut(items, credit)
		jobs = append(jobs, job{server: t.Server, source: t.Source, items: items[:n]})
		bySource[t.Source] = items[n:]
		clock = t.Give(clock)
		lead(t, items[n:])
	}
	return jobs
}

// lead lets a source's turn come by the priority of the file that it gives first.
func lead(t *control.Turn, items []item) {
	if t == nil || len(items) == 0 {
		return
	}
	t.Priority = 0
	for _, it := range items {
		t.Priority = max(t.Priority, it.priority)
	}
}

// next is the source whose turn it is, of those that wait: the one that is due first,
// and of several the one that was served longest ago. Nil: none waits.
func next(sources []*control.Turn, clock int64, waits func(source string) bool) (first *control.Turn) {
	for _, t := range sources {
		if !waits(t.Source) {
			continue
		}
		if first == nil || before(t, first, clock) {
			first = t
		}
	}
	return first
}

func before(t, other *control.Turn, clock int64) bool {
	if a, b := t.Due(clock), other.Due(clock); a != b {
		return a < b
	}
	switch {
	case t.Last == nil || other.Last == nil:
		return t.Last == nil && other.Last != nil
	default:
		return *t.Last < *other.Last
	}
}

// arrange puts a source's files into the order in which jobs are made of them: by
// priority, by lane, a replay after the other, and by size, so that like sizes go
// together; or those first that have waited longest.
func arrange(items []item, byAge bool) {
	slices.SortStableFunc(items, func(x, y item) int {
		if byAge {
			return cmp.Or(x.a.NotBefore.Compare(y.a.NotBefore), cmp.Compare(x.a.ID, y.a.ID))
		}
		return cmp.Or(cmp.Compare(y.priority, x.priority), cmp.Compare(x.a.Lane(), y.a.Lane()), cmp.Compare(x.a.Run, y.a.Run), cmp.Compare(x.hosting.Size, y.hosting.Size))
	})
}
