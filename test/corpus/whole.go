package corpus

import (
	"fmt"
	"slices"
	"time"
)

// whole has every fault, every action on known and unknown keys, everything
// that the schemas express, and data that breaks the checks here and there.
func (c *Corpus) whole(n int) {
	c.rich = true
	names := []string{"Bcm", "Gmc", "H", "Ics", "J", "Wtsi"}
	ids := []string{"bcm", "gmc", "harwell", "ics", "jax", "wtsi"}
	for i, name := range names {
		c.source(ids[i], name, []string{SFTP, FTP}[i%2], "")
		c.centre(name, ids[i])
	}
	c.centre("Biat", "ics") // hosted by another
	c.centres[5].written = "WTSI"
	for _, at := range c.centres {
		c.fresh(at, 3, true)
		c.fresh(at, 2, true)
	}
	c.threeHosts("harwell")
	faults := append(append([]string{}, fileFaults()...), documentFaults()...)
	for i := 0; len(c.files) < n; i++ {
		at := c.centres[i%len(c.centres)]
		if len(at.specimens) < 6 || len(at.runs) < 6 {
			c.fresh(at, 2, true)
			continue
		}
		switch x := c.rng.IntN(100); {
		case x < 40:
			f := c.fresh(at, 1+c.rng.IntN(4), true)
			if c.rng.IntN(12) == 0 {
				f.docs[c.rng.IntN(len(f.docs))].encoding = pick(c, latin1, utf16)
			}
			if c.rng.IntN(9) == 0 {
				f.others = 3
			}
		case x < 50:
			c.unknownToo(at, c.change(at))
		case x < 57:
			c.unknownToo(at, c.drop(at))
		case x < 60:
			c.orphan(at)
		case x < 72:
			c.resubmit(at)
		case x < 76:
			c.old(at)
		case x < 78:
			c.sameName(at)
		case x < 82:
			c.early(at)
		default:
			fault := faults[c.faulted%len(faults)]
			c.faulted++
			if _, is := endOf(fault); is {
				c.faulty(at, fault)
			} else {
				c.spoilt(at, c.fresh(at, 2, true), fault)
			}
		}
	}
}

// unknownToo lets a file speak about keys that nobody knows, too.
func (c *Corpus) unknownToo(at *centre, f *file) {
	for _, d := range f.docs {
		switch {
		case c.rng.IntN(2) == 0:
		case d.kind == specimenKind:
			d.specimens = append(d.specimens, c.specimen(at))
		default:
			d.runs = append(d.runs, c.experiment(at, at.specimens[0].id))
		}
	}
}

// orphan deletes a specimen and leaves what refers to it.
func (c *Corpus) orphan(at *centre) {
	f := c.open(at, remove)
	victim := c.rng.IntN(len(at.specimens))
	f.doc(specimenKind).specimens = []*specimen{at.specimens[victim]}
	at.specimens = append(append([]*specimen{}, at.specimens[:victim]...), at.specimens[victim+1:]...)
}

// resubmit adds again what is known: some of it as it is, some otherwise. What
// was deleted may come back by it.
func (c *Corpus) resubmit(at *centre) {
	f := c.open(at, add)
	d := f.doc(specimenKind)
	for n, i := range c.some(len(at.specimens), 4) {
		s := *at.specimens[i]
		if n%2 == 1 {
			s.litter += "s"
		}
		d.specimens = append(d.specimens, &s)
		at.specimens[i] = &s
	}
	e := f.doc(experimentKind)
	for n, i := range c.some(len(at.runs), 4) {
		if n%2 == 1 {
			at.runs[i] = c.revised(at.runs[i])
		}
		e.runs = append(e.runs, at.runs[i])
	}
}

// old is a file dated before all others.
func (c *Corpus) old(at *centre) {
	c.olds++
	date := time.Date(2023, 1, c.olds, 0, 0, 0, 0, time.UTC)
	f := &file{action: pick(c, add, edit, remove), centre: at.name, date: date, inc: 1, name: zipName(at.written, date, 1), hosts: []string{at.source}, expect: []string{at.source}}
	c.files = append(c.files, f)
	d := f.doc(specimenKind)
	for _, i := range c.some(len(at.specimens), 3) {
		s := *at.specimens[i]
		s.litter = pick(c, s.litter, "old")
		d.specimens = append(d.specimens, &s)
	}
	e := f.doc(experimentKind)
	for _, i := range c.some(len(at.runs), 2) {
		e.runs = append(e.runs, at.runs[i])
	}
}

// early sends experiments on a specimen that comes in the centre's next file.
func (c *Corpus) early(at *centre) {
	s := c.specimen(at)
	f := c.open(at, add)
	e := f.doc(experimentKind)
	for range 1 + c.rng.IntN(3) {
		r := c.experiment(at, s.id)
		e.runs = append(e.runs, r)
		at.runs = append(at.runs, r)
	}
	if c.rng.IntN(4) == 0 {
		return // or never
	}
	c.open(at, add).doc(specimenKind).specimens = []*specimen{s}
	at.specimens = append(at.specimens, s)
}

// Again uploads n files again, as Reupload does; of the last one the document
// that it has is broken, so that what it had before goes on to hold.
func (c *Corpus) Again(n int) error {
	c.session++
	var changed []*file
	for _, i := range c.rng.Perm(len(c.files)) {
		f := c.files[i]
		if len(changed) == n {
			break
		}
		if f.fault != "" || len(f.docs) < 2 || len(f.hosts) > 1 || !clean(f) {
			continue
		}
		f.again()
		if len(changed) == n-1 {
			f.docs[len(f.docs)-1].fault = docInvalid
		} else {
			f.docs = f.docs[:len(f.docs)-1]
		}
		for _, d := range f.docs {
			c.revise(d)
		}
		changed = append(changed, f)
	}
	if len(changed) < n {
		return fmt.Errorf("corpus: only %d files can be uploaded again, not %d", len(changed), n)
	}
	return c.finish(changed)
}

func clean(f *file) bool {
	for _, d := range f.docs {
		if d.fault != "" {
			return false
		}
	}
	return true
}

// again keeps what f has as an earlier upload and begins the next with copies.
func (f *file) again() {
	f.old = append(f.old, earlier{docs: f.docs, sha256: f.sha256, size: f.size})
	docs := make([]*document, len(f.docs))
	for i, d := range f.docs {
		copied := *d
		copied.specimens = append([]*specimen{}, d.specimens...)
		copied.runs = append([]*run{}, d.runs...)
		docs[i] = &copied
	}
	f.docs = docs
	f.uploads++
}

// upload is f as it was uploaded for the nth time, from 0.
func (f *file) upload(n int) *file {
	out := *f
	if n < len(f.old) {
		out.docs, out.sha256, out.size = f.old[n].docs, f.old[n].sha256, f.old[n].size
	}
	out.uploads = n
	return &out
}

// Unload takes the last version of n files away again, as people do by command:
// of one that was uploaded several times, and then of others, of each action if
// there are as many. It returns what is to be unloaded.
func (c *Corpus) Unload(n int) ([]Upload, error) {
	var picked []*file
	want := []func(*file) bool{
		func(f *file) bool { return f.uploads > 0 && clean(f) },
		func(f *file) bool { return f.action == edit },
		func(f *file) bool { return f.action == remove },
		func(f *file) bool { return f.action == add },
	}
	for i := range n {
		for _, k := range c.rng.Perm(len(c.files)) {
			f := c.files[k]
			if _, bad := endOf(f.fault); !bad && want[min(i, 3)](f) && !slices.Contains(picked, f) {
				picked = append(picked, f)
				break
			}
		}
	}
	if len(picked) < n {
		return nil, fmt.Errorf("corpus: only %d files can be unloaded, not %d", len(picked), n)
	}
	var out []Upload
	for _, f := range picked {
		f.gone = append(f.gone, f.uploads)
		out = append(out, Upload{Action: f.action, File: f.name, Centre: f.centre, Times: f.uploads, SHA256: f.sha256, of: f})
	}
	return out, c.finish(nil)
}
