// Package corpus generates zips of documents as the centres of the IMPC send
// them, good and bad, together with an oracle: what must have become of every
// file, document and row once all has been ingested.
//
// A corpus is a function of its options, byte for byte. The oracle is computed
// from the intended content by a model of its own (oracle.go), a few maps in
// which the greatest version of a key wins; it shares no code with the pipeline
// that it judges.
//
// The package is used by tests, by benchmarks and by the demo.
package corpus

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
)

// The shapes that Generate knows.
const (
	Demo   = "demo"   // some 60 zips with 200 documents of several centres, some faulty
	Small  = "small"  // 8 zips of two centres, one of each thing that matters
	Faults = "faults" // one zip of every fault, among good ones
	Bench  = "bench"  // Options.Zips zips of three documents of a few kB
	Whole  = "whole"  // Options.Zips zips with everything at once: faults, actions, content, findings
	Big    = "big"    // a document of Options.BigBytes, and a zip of Options.BigEntries entries
)

// Options says which corpus to generate. Seed and Shape are enough.
type Options struct {
	Seed       uint64
	Shape      string
	Zips       int   // number of zips: Bench 2,000 if 0, Whole 300
	BigBytes   int64 // Big: size of the large document, 200 MB if 0
	BigEntries int   // Big: entries of the wide zip, 60,000 if 0; one in thirty is a document
}

// The protocols of sources, and the faults of the server behind FaultySFTP.
const (
	SFTP       = "sftp"
	FTP        = "ftp"
	FaultySFTP = "faulty-sftp"

	Truncate = "truncate" // lists and describes files rightly, but sends only a part
	Refuse   = "refuse"   // lists files, but refuses to send them
)

// Source is one place that hosts files. Its tree lies in the folder of its ID,
// in add, edit and delete; a folder without files is not made, except add.
type Source struct {
	ID       string
	Centre   string // who runs it
	Protocol string // SFTP, FTP or FaultySFTP
	Fault    string // Truncate or Refuse, for FaultySFTP
}

// Corpus is a generated corpus. It is not safe for concurrent use.
type Corpus struct {
	Sources []Source
	Oracle  Oracle // of all that was generated, added and uploaded again so far

	rng     *rand.Rand
	files   []*file
	centres []*centre // in order of creation, those that good files come from
	session int
	order   []Position
	big     bool
	rich    bool   // what is made has all that the schemas express, and breaks rules for data
	faulted int    // faults made
	olds    int    // files dated before all others
	lists   *lists // if they are loaded
}

// Hosts lists the centres whose files a source shows beside its own centre's, by
// name.
func (c *Corpus) Hosts(source string) []string {
	own := ""
	for _, s := range c.Sources {
		if s.ID == source {
			own = s.Centre
		}
	}
	found := map[string]bool{}
	for _, f := range c.files {
		if f.centre != own && f.centre != "" && slices.Contains(f.hosts, source) {
			found[f.centre] = true
		}
	}
	return slices.Sorted(maps.Keys(found))
}

// Generate makes the corpus of o. It writes nothing.
func Generate(o Options) (*Corpus, error) {
	c := &Corpus{rng: rand.New(rand.NewPCG(o.Seed, 0x7472696275746172)), session: 1}
	switch o.Shape {
	case Demo:
		c.demo()
	case Small:
		c.small()
	case Faults:
		c.faults()
	case Bench:
		if o.Zips <= 0 {
			o.Zips = 2000
		}
		c.bench(o.Zips)
	case Whole:
		if o.Zips <= 0 {
			o.Zips = 300
		}
		c.whole(o.Zips)
	case Big:
		if o.BigBytes <= 0 {
			o.BigBytes = 200e6
		}
		if o.BigEntries <= 0 {
			o.BigEntries = 60000
		}
		c.bigOnes(o.BigBytes, o.BigEntries)
	default:
		return nil, fmt.Errorf("corpus: unknown shape %q: use %s, %s, %s, %s, %s or %s", o.Shape, Demo, Small, Faults, Bench, Whole, Big)
	}
	if err := c.finish(c.files); err != nil {
		return nil, err
	}
	return c, nil
}

// finish renders what is new, so that sizes and hashes are known, and computes
// the oracle of everything.
func (c *Corpus) finish(changed []*file) error {
	for _, f := range changed {
		if err := f.measure(); err != nil {
			return fmt.Errorf("corpus: %s/%s: %w", f.action, f.name, err)
		}
	}
	c.order = append(c.order, orderOf(changed, c.session)...)
	c.Oracle = judge(c.files, c.big, c.lists)
	c.Oracle.Order = c.order
	return nil
}

// Add makes n more good files for the centres at hand, as the next session will
// find them: new data, edits and deletions dated after all others, and one file
// dated before all others, whose data must lose against what is there.
func (c *Corpus) Add(n int) error {
	if len(c.centres) == 0 {
		return fmt.Errorf("corpus: this shape has no centre to add files to")
	}
	c.session++
	before := len(c.files)
	for i := range n {
		at := c.centres[i%len(c.centres)]
		if i == 0 {
			c.stale(at)
			continue
		}
		c.next(at)
	}
	return c.finish(c.files[before:])
}

// Reupload gives the file of this name and action other bytes, as its centre
// would by uploading it again: its last document is missing, and the values of
// the others differ. It must be a good file of at least two documents.
func (c *Corpus) Reupload(action, name string) error {
	for _, f := range c.files {
		if f.name != name || f.action != action {
			continue
		}
		if f.fault != "" || len(f.docs) < 2 {
			return fmt.Errorf("corpus: %s/%s is faulty or has fewer than two documents", action, name)
		}
		for _, d := range f.docs {
			if d.fault != "" {
				return fmt.Errorf("corpus: %s/%s has a faulty document", action, name)
			}
		}
		c.session++
		f.again()
		f.docs = f.docs[:len(f.docs)-1]
		for _, d := range f.docs {
			c.revise(d)
		}
		return c.finish([]*file{f})
	}
	return fmt.Errorf("corpus: there is no file %s/%s", action, name)
}

// Reuploadable names a file that Reupload takes, in the action add, whose last
// document is one of experiments. It is empty if there is none.
func (c *Corpus) Reuploadable() string {
	for _, f := range c.files {
		if f.fault != "" || f.action != add || len(f.docs) < 2 || f.docs[len(f.docs)-1].kind != experimentKind {
			continue
		}
		good := true
		for _, d := range f.docs {
			good = good && d.fault == ""
		}
		if good {
			return f.name
		}
	}
	return ""
}
