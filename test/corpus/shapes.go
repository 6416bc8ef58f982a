package corpus

import "fmt"

// source adds a source and a centre that uses it.
func (c *Corpus) source(id, of, protocol, fault string) {
	c.Sources = append(c.Sources, Source{ID: id, Centre: of, Protocol: protocol, Fault: fault})
}

// demo is what a coordination centre's morning looks like.
func (c *Corpus) demo() {
	names := []string{"Bcm", "Gmc", "H", "Ics", "J", "Tcp", "Wtsi"}
	ids := []string{"bcm", "gmc", "harwell", "ics", "jax", "tcp", "wtsi"}
	for i, name := range names {
		c.source(ids[i], name, []string{SFTP, FTP}[i%2], "")
		c.centre(name, ids[i])
	}
	// Biat has no source of its own: Ics hosts its files.
	c.centre("Biat", "ics")
	c.centres[6].written = "WTSI"
	for i := range 56 {
		at := c.centres[i%len(c.centres)]
		f := c.next(at)
		if i < len(documentFaults())*2+16 && i >= 16 && f.action == add && i%2 == 0 {
			c.spoilt(at, f, documentFaults()[(i-16)/2%len(documentFaults())])
		}
		if i == 9 {
			f.docs[len(f.docs)-1].encoding = latin1
		}
		if i == 10 {
			f.docs[len(f.docs)-1].encoding = utf16
		}
		if i == 11 {
			// Hosted by its own centre and by another: the own one is taken.
			f.hosts = append(f.hosts, "bcm")
		}
	}
	for i := range 5 {
		c.faulty(c.centres[(i+2)%7], fileFaults()[i])
	}
	c.sameName(c.centres[2])
	c.threeHosts("harwell")
}

// sameName sends an edit under the very name of an addition.
func (c *Corpus) sameName(at *centre) {
	first := c.fresh(at, 2, true)
	f := &file{action: edit, centre: first.centre, date: first.date, inc: first.inc, name: first.name, hosts: first.hosts, expect: first.expect}
	c.files = append(c.files, f)
	d := f.doc(experimentKind)
	for _, r := range first.docs[1].runs {
		d.runs = append(d.runs, c.revised(r))
	}
}

// threeHosts sends one file of a centre whose own source truncates it and whose
// first mirror refuses to send it; good is the source that does.
func (c *Corpus) threeHosts(good string) {
	c.source("ccpcz", "Ccpcz", FaultySFTP, Truncate)
	c.source("kmpc", "Kmpc", FaultySFTP, Refuse)
	at := c.centre("Ccpcz", "ccpcz")
	f := c.fresh(at, 3, true)
	f.hosts, f.expect = []string{"ccpcz", "kmpc", good}, []string{good}
	c.centres = c.centres[:len(c.centres)-1] // what is added later comes from good sources
}

func (c *Corpus) small() {
	c.source("harwell", "H", SFTP, "")
	c.source("ics", "Ics", FTP, "")
	a, b := c.centre("H", "harwell"), c.centre("Ics", "ics")
	c.fresh(a, 3, true)
	f := c.fresh(b, 3, true)
	c.spoilt(b, f, docInvalid)
	c.fresh(a, 2, true)
	c.change(a)
	f = c.fresh(b, 2, true)
	c.spoilt(b, f, docUnknown)
	c.drop(a)
	c.faulty(b, zipCRC)
	c.faulty(a, namePattern)
}

// faults has every fault once, and what looks like one and is none.
func (c *Corpus) faults() {
	c.source("harwell", "H", SFTP, "")
	c.source("ics", "Ics", FTP, "")
	c.source("wtsi", "Wtsi", SFTP, "")
	c.centre("H", "harwell")
	c.centre("Ics", "ics")
	c.centre("Wtsi", "wtsi").written = "WTSI"
	for _, at := range c.centres {
		for range 3 {
			c.fresh(at, 3, true)
		}
	}
	for i, fault := range documentFaults() {
		at := c.centres[i%len(c.centres)]
		c.spoilt(at, c.fresh(at, 2, true), fault)
	}
	for variant := range 3 {
		at := c.centres[variant]
		f := c.fresh(at, 2, true)
		c.spoilt(at, f, docInvalid)
		f.docs[len(f.docs)-1].variant = variant
	}
	for i, fault := range fileFaults() {
		c.faulty(c.centres[i%len(c.centres)], fault)
	}
	for i, encoding := range []string{latin1, utf16} {
		f := c.fresh(c.centres[i], 3, true)
		f.docs[0].encoding, f.docs[2].encoding = encoding, encoding
	}
	for _, at := range c.centres {
		c.change(at)
		c.drop(at)
	}
	c.sameName(c.centres[0])
}

func (c *Corpus) bench(n int) {
	names := []string{"Bcm", "Gmc", "H", "Ics"}
	for i, name := range names {
		id := fmt.Sprintf("bench%d", i+1)
		c.source(id, name, SFTP, "")
		c.centre(name, id)
	}
	for i := range n {
		at := c.centres[i%len(c.centres)]
		at.specimens = nil // so that a zip refers to its own specimens, and states stay small
		c.fresh(at, 3, true)
		at.runs = nil
	}
}
