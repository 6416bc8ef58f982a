package corpus

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// The ways in which a centre delivers.
const (
	OnTime    = "on time"   // in the morning
	Late      = "late"      // in the afternoon or the evening
	Broken    = "broken"    // an archive or a document that is refused
	Corrected = "corrected" // an edit, or again under its name what was broken the day before
	Withdrawn = "withdrawn" // experiments and a specimen are deleted
)

// fortnightDays is how many days a fortnight has.
const fortnightDays = 14

// Fortnight is how long the deliveries of Corpus.Fortnight take.
const Fortnight = fortnightDays * 24 * time.Hour

// Delivery is an upload of a fortnight.
type Delivery struct {
	At     time.Duration // since the beginning of the fortnight
	Kind   string        // OnTime, Late, Broken, Corrected or Withdrawn
	Source string        // where it is put
	Upload Upload
}

// delivered is a Delivery of a file before uploads are made of it.
type delivered struct {
	at    time.Duration
	kind  string
	file  *file
	times int // uploads of the same file before
}

// Fortnight makes what the centres at hand deliver in fourteen days, each once a
// day, and what some of them correct; the seed says what. The first seven days
// have each kind. Deliveries come in the order of their times; WriteUploads puts
// them where they belong, one by one. The oracle is of the end of the fortnight.
func (c *Corpus) Fortnight() ([]Delivery, error) {
	if len(c.centres) < 5 {
		return nil, fmt.Errorf("corpus: a fortnight needs five centres or more, and this shape has %d", len(c.centres))
	}
	c.session++
	before := len(c.files)
	var all []delivered
	repair := make([]*file, len(c.centres)) // what each centre has to correct
	for d := range fortnightDays {
		for i, at := range c.centres {
			if f := repair[i]; f != nil {
				repair[i] = nil
				if err := f.mend(); err != nil {
					return nil, err
				}
				all = append(all, delivered{c.daytime(d, 6), Corrected, f, 1})
			}
			one, mendable := c.deliver(at, d, i)
			if mendable {
				repair[i] = one.file
			}
			all = append(all, one)
		}
	}
	if err := c.finish(c.files[before:]); err != nil {
		return nil, err
	}
	slices.SortStableFunc(all, func(a, b delivered) int { return cmp.Compare(a.at, b.at) })
	out := make([]Delivery, len(all))
	for i, d := range all {
		out[i] = Delivery{At: d.at, Kind: d.kind, Source: d.file.hosts[0], Upload: d.file.asUpload(d.times)}
	}
	return out, nil
}

// deliver makes what a centre brings on a day, and says whether it can correct it.
func (c *Corpus) deliver(at *centre, d, i int) (one delivered, mendable bool) {
	morning, afternoon := c.daytime(d, 8), c.daytime(d, 15)
	draw := c.rng.IntN(20)
	if d == 1+i%5 && i < 5 { // each kind is there, whatever is drawn
		draw = []int{19, 16, 14, 11, 18}[i]
	}
	switch {
	case draw == 19 && len(at.runs) > 3 && len(at.specimens) > 4:
		return delivered{morning, Withdrawn, c.drop(at), 0}, false
	case draw >= 18 && len(at.runs) > 3:
		return delivered{morning, Corrected, c.change(at), 0}, false
	case draw >= 16:
		f := c.fresh(at, 2, true)
		c.spoilt(at, f, pick(c, docInvalid, docMalformed, docDoctype))
		return delivered{morning, Broken, f, 0}, true
	case draw >= 14:
		return delivered{morning, Broken, c.faulty(at, pick(c, zipTruncated, zipCRC, zipEncrypted, zipHTML, namePattern, zipNested)), 0}, false
	case draw >= 11:
		return delivered{afternoon, Late, c.fresh(at, 2+c.rng.IntN(3), true), 0}, false
	}
	return delivered{morning, OnTime, c.fresh(at, 2+c.rng.IntN(3), true), 0}, false
}

// daytime is a time of a day of the fortnight, within an hour and a half.
func (c *Corpus) daytime(d, hour int) time.Duration {
	return time.Duration(d*24+hour)*time.Hour + time.Duration(c.rng.IntN(90))*time.Minute
}

// mend makes the next upload of a file whose documents are spoilt: they aren't.
func (f *file) mend() error {
	if err := f.measure(); err != nil {
		return fmt.Errorf("corpus: %s/%s: %w", f.action, f.name, err)
	}
	f.again()
	for _, d := range f.docs {
		d.fault = ""
	}
	return nil
}
