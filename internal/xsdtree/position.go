package xsdtree

// Position is a place between the children of an element in a document: it
// tells what may come next. A content model of XML Schema leaves no doubt about
// which of its parts an element belongs to, so one place is enough; only where
// counts within counts are ambiguous, as in (a+){2}, it may take a way that
// ends too early. Positions are not for several goroutines at once.
type Position struct {
	at    *frame
	steps *int
	lost  bool
}

// frame is a particle that is being gone through, within others.
type frame struct {
	p     *particle
	done  int    // iterations that are complete
	next  int    // of a sequence: the part that is next
	used  []bool // of an all: the parts that were there
	outer *frame
}

// Begin returns the place before the first child. Steps is how much work may be
// spent on this position, and on others that share it: a schema with thousands
// of alternatives and a document with many children could take very long. It
// returns nil where the schema can't tell, that is where e is Open.
func (e *Element) Begin(steps *int) *Position {
	if e.Open != "" {
		return nil
	}
	p := &Position{steps: steps}
	if e.model != nil {
		p.at = &frame{p: &particle{kind: sequence, min: 1, max: 1, parts: []*particle{e.model}}}
	}
	return p
}

// Next goes past a child of that name and returns its declaration. If it isn't
// allowed here, or the steps are used up, it returns nil and stays.
func (p *Position) Next(namespace, name string) *Element {
	var found *Element
	var to *frame
	p.visitNext(func(e *Element, after *frame) bool {
		if e.Name != name || e.Namespace != namespace {
			return true
		}
		found, to = e, after
		return false
	})
	if p.lost || found == nil {
		return nil
	}
	p.at = to
	return found
}

// Expected returns the elements that may come next, each once and in schema
// order, and whether the parent may end here. It returns false for ok if the
// steps are used up.
func (p *Position) Expected() (next []*Element, end, ok bool) {
	seen := make(map[*Element]bool)
	end = p.visitNext(func(e *Element, _ *frame) bool {
		if !seen[e] {
			seen[e] = true
			next = append(next, e)
		}
		return true
	})
	return next, end, !p.lost
}

// visitNext shows visit the elements that may come next, with the place after each,
// until it returns false. It reports whether the parent may end.
func (p *Position) visitNext(visit func(*Element, *frame) bool) (end bool) {
	w := &walk{visit: visit, steps: p.steps}
	if !p.lost {
		end = w.resume(p.at)
	}
	p.lost = p.lost || w.lost
	return end
}

// walk is one look ahead. Its methods return whether, without another element,
// what they are about is complete.
type walk struct {
	visit   func(*Element, *frame) bool
	steps   *int
	stopped bool
	lost    bool
}

// spend takes a step and reports whether to go on.
func (w *walk) spend() bool {
	if *w.steps <= 0 {
		w.lost, w.stopped = true, true
	}
	*w.steps--
	return !w.stopped
}

// resume goes on after an element, which completed what f stands at.
func (w *walk) resume(f *frame) bool {
	if f == nil {
		return true
	}
	if !w.spend() {
		return false
	}
	complete := true
	switch f.p.kind {
	case sequence:
		complete = w.parts(f.p, f.done, f.next, f.outer)
	case all:
		complete = w.unused(f)
	case one, choice, wildcard:
	}
	return complete && w.again(f.p, f.done+1, f.outer)
}

// again goes on where an iteration of p is complete, as the done-th.
func (w *walk) again(p *particle, done int, outer *frame) bool {
	if w.stopped {
		return false
	}
	empty := false
	if p.max == Unbounded || done < p.max {
		empty = w.iterate(p, done, outer)
	}
	if done < p.min && !empty {
		return false
	}
	return w.resume(outer)
}

// enter shows what may begin p. It reports whether p may be passed over.
func (w *walk) enter(p *particle, outer *frame) bool {
	if p.max == 0 {
		return true
	}
	return w.iterate(p, 0, outer) || p.min == 0
}

// iterate shows what may begin one more iteration of p, and reports whether the
// iteration may be empty.
func (w *walk) iterate(p *particle, done int, outer *frame) bool {
	if !w.spend() {
		return false
	}
	switch p.kind {
	case one:
		if !w.visit(p.element, &frame{p: p, done: done, outer: outer}) {
			w.stopped = true
		}
		return false
	case sequence:
		return w.parts(p, done, 0, outer)
	case choice:
		empty := len(p.parts) == 0
		f := &frame{p: p, done: done, outer: outer}
		for _, part := range p.parts {
			if w.enter(part, f) {
				empty = true
			}
			if w.stopped {
				return false
			}
		}
		return empty
	case all:
		return w.unused(&frame{p: p, done: done, used: make([]bool, len(p.parts)), outer: outer})
	case wildcard:
	}
	return true
}

// parts shows what may begin a sequence from its i-th part on.
func (w *walk) parts(p *particle, done, i int, outer *frame) bool {
	for ; i < len(p.parts); i++ {
		if !w.enter(p.parts[i], &frame{p: p, done: done, next: i + 1, outer: outer}) || w.stopped {
			return false
		}
	}
	return true
}

// unused shows the parts of an all that were not there yet.
func (w *walk) unused(f *frame) bool {
	empty := true
	for i, part := range f.p.parts {
		if f.used[i] {
			continue
		}
		*w.steps -= len(f.used) / 16 // of the copy
		used := append([]bool(nil), f.used...)
		used[i] = true
		if !w.enter(part, &frame{p: f.p, done: f.done, used: used, outer: f.outer}) {
			empty = false
		}
		if w.stopped {
			return false
		}
	}
	return empty
}
