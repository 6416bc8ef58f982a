package profiles

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"tributary/test/corpus/ledger"
)

// Oracle is what must be seen. Everything is lines of words with a | between
// them, - for what is not there, sorted.
type Oracle struct {
	Files     []string // action/name, phase, status, exception of a bad name
	Documents []string // action/name/document, phase, status
	Errors    []string // action/name/document, exception, line or -: these, and perhaps more of the same document
	Tables    map[string][]string
}

// content is what a claim is about.
type content struct {
	network string
	day     string
	station *station
	seen    *observation
}

// Oracle computes what must be seen after so many sessions, with the reference
// list loaded or not.
func (c *Corpus) Oracle(sessions int, reference bool) Oracle {
	o := Oracle{Tables: map[string][]string{}}
	var docs []*ledger.Document
	made, about := map[*doc]*ledger.Document{}, map[*ledger.Claim]content{}
	last := map[string]*upload{}
	for _, u := range c.uploads {
		if u.session > sessions {
			continue
		}
		last[u.file()] = u
		if u.bad != "" {
			continue
		}
		for _, d := range u.docs {
			l := &ledger.Document{Archive: u.sha, Fails: d.fault != "", Version: ledger.Version{FileDate: u.date.Format(time.DateOnly),
				DocDate: d.date.Format(time.DateOnly), DocInc: d.part, Action: u.action, File: u.name, Document: d.name, Upload: u.times}}
			d.claims(l, about)
			made[d] = l
			docs = append(docs, l)
			if d.fault == "" && d.kind == "report" {
				o.add("report", place(l), d.network, d.date.Format(time.DateOnly), "A. Šmid")
			}
		}
	}
	failed := o.rows(ledger.Judge(docs), about, reference)
	for _, u := range last {
		o.end(u, made, failed)
	}
	for _, list := range o.Tables {
		slices.Sort(list)
	}
	slices.Sort(o.Files)
	slices.Sort(o.Documents)
	slices.Sort(o.Errors)
	return o
}

func (o *Oracle) add(table string, words ...string) {
	o.Tables[table] = append(o.Tables[table], strings.Join(words, "|"))
}

// place names a version of a document.
func place(d *ledger.Document) string { return d.Name() + "|" + d.Archive }

// claims are those that the document makes.
func (d *doc) claims(to *ledger.Document, about map[*ledger.Claim]content) {
	for i, s := range d.stations {
		c := &ledger.Claim{Type: "station", Key: d.network + " " + s.code, Line: firstLine + i, Content: fmt.Sprintf("%q", []any{s})}
		about[c] = content{network: d.network, station: &d.stations[i]}
		to.Claims = append(to.Claims, c)
	}
	for i, x := range d.observations {
		on := d.date.Format(time.DateOnly)
		c := &ledger.Claim{Type: "observation", Key: strings.Join([]string{d.network, on, x.at, x.station, x.quantity}, " "), Line: firstLine + i,
			Content: fmt.Sprintf("%q", []string{x.at, x.station, x.quantity, word(x.value), word(x.quality)})}
		about[c] = content{network: d.network, day: on, seen: &d.observations[i]}
		to.Claims = append(to.Claims, c)
	}
}

func word(s *string) string {
	if s == nil {
		return "-"
	}
	return *s
}

func truth(b bool) string { return strconv.FormatBool(b) }

// rows says what every table must hold, and returns which documents have open
// errors, and of which line.
func (o *Oracle) rows(claims []*ledger.Claim, about map[*ledger.Claim]content, reference bool) map[*ledger.Document][]string {
	stations := map[string]*station{}
	for _, c := range claims {
		if x := about[c]; c.Current && x.station != nil {
			stations[x.network+" "+x.station.code] = x.station
		}
	}
	failed, counts := map[*ledger.Document][]string{}, map[string]int{}
	found := func(c *ledger.Claim, test, level string) {
		x, subject := about[c], ""
		if x.seen != nil {
			subject = x.seen.quantity
		}
		o.add("finding", test, level, place(c.Doc), strconv.Itoa(c.Line), x.network, c.Type, subject)
		counts[strings.Join([]string{x.network, c.Type, subject, test, level}, "|")]++
		if level == "error" {
			failed[c.Doc] = append(failed[c.Doc], fmt.Sprintf("%s|%d", test, c.Line))
		}
	}
	climate, network := map[string]*climateRow{}, map[string]map[string]int{}
	for _, c := range claims {
		x := about[c]
		if network[x.network] == nil {
			network[x.network] = map[string]int{}
		}
		o.claim(c, x)
		if c.Finding != "" && !c.Doc.Withdrawn {
			found(c, c.Finding, ledger.Level(c.Finding))
		}
		if !c.Current {
			continue
		}
		network[x.network][c.Type]++
		if x.seen == nil {
			continue
		}
		climateOf(climate, x)
		at := stations[x.network+" "+x.seen.station]
		switch {
		case at == nil:
			found(c, "station_unknown", "error")
		case !slices.ContainsFunc(at.sensors, func(s sensor) bool { return s.quantity == x.seen.quantity }):
			found(c, "sensor_missing", "warn")
		}
		if reference && outOfRange(x.seen) {
			found(c, "value_out_of_range", "warn")
		}
	}
	for key, row := range climate {
		o.add("climate", key, row.String())
	}
	levels := map[string]int{}
	for key, n := range counts {
		o.add("finding_count", key, strconv.Itoa(n))
		words := strings.Split(key, "|")
		levels[words[0]+words[len(words)-1]] += n
	}
	for name, n := range network {
		o.add("network", name, fmt.Sprintf("%d|%d|%d|%d|%d", n["station"], n["observation"], levels[name+"error"], levels[name+"warn"], levels[name+"info"]))
	}
	return failed
}

// claim is every claim with what it says, whether or not it holds.
func (o *Oracle) claim(c *ledger.Claim, x content) {
	state := []string{place(c.Doc), truth(c.Gone), truth(c.Current)}
	if s := x.station; s != nil {
		o.add("station", append(state, x.network, s.code, word(nonEmpty(s.title)), s.height, word(nonEmpty(s.opened)))...)
		for _, e := range s.sensors {
			o.add("sensor", append(state, s.code, e.quantity, e.model)...)
		}
		return
	}
	s := x.seen
	o.add("observation", append(state, x.network, x.day, s.at, s.station, s.quantity, word(s.value), word(s.quality))...)
}

func outOfRange(s *observation) bool {
	if s.value == nil {
		return false
	}
	v, err := strconv.ParseFloat(*s.value, 64)
	bounds := map[string][2]float64{"temperature": {-90, 60}, "pressure": {850, 1090}, "rain": {0, 1900}, "wind": {0, 115}}[s.quantity]
	return err == nil && (v < bounds[0] || v > bounds[1])
}

// climateRow is a row of the context.
type climateRow struct {
	n           int
	first, last string
	values      []*observation
}

func climateOf(rows map[string]*climateRow, x content) {
	key := strings.Join([]string{x.network, x.seen.station, x.seen.quantity}, "|")
	r := rows[key]
	if r == nil {
		r = &climateRow{first: x.day, last: x.day}
		rows[key] = r
	}
	r.n++
	r.first, r.last = min(r.first, x.day), max(r.last, x.day)
	if x.seen.value != nil {
		r.values = append(r.values, x.seen)
	}
}

// String is the row without its key.
func (r *climateRow) String() string {
	lowest, highest := "-", "-"
	if len(r.values) > 0 {
		slices.SortFunc(r.values, func(a, b *observation) int {
			x, _ := strconv.ParseFloat(*a.value, 64) // what the generator wrote
			y, _ := strconv.ParseFloat(*b.value, 64)
			return int(x*10) - int(y*10)
		})
		lowest, highest = *r.values[0].value, *r.values[len(r.values)-1].value
	}
	return fmt.Sprintf("%d|%s|%s|%s|%s", r.n, r.first, r.last, lowest, highest)
}

// end is that of a file and its documents, as its last upload has them.
func (o *Oracle) end(u *upload, made map[*doc]*ledger.Document, failed map[*ledger.Document][]string) {
	if u.bad != "" {
		o.Files = append(o.Files, u.file()+"|zip_name|failed|"+u.bad)
		return
	}
	order := []string{"xml_name", "xsd", "upload", "data", "overview"}
	phase := "overview"
	for _, d := range u.docs {
		name := u.file() + "/" + d.name
		at := "overview"
		switch {
		case strings.HasPrefix(d.fault, "document_name"):
			at = "xml_name"
		case d.fault == "xsd_invalid", d.fault == "xml_not_well_formed":
			at = "xsd"
		case d.fault != "":
			at = "upload"
		case len(failed[made[d]]) > 0:
			at = "data"
		}
		if slices.Index(order, at) < slices.Index(order, phase) {
			phase = at
		}
		o.Documents = append(o.Documents, name+"|"+at+"|"+status(at))
		if d.fault != "" {
			line := "-"
			if at == "xsd" {
				line = strconv.Itoa(d.faultLine)
			}
			o.Errors = append(o.Errors, name+"|"+d.fault+"|"+line)
		}
		for _, f := range failed[made[d]] {
			o.Errors = append(o.Errors, name+"|"+f)
		}
	}
	o.Files = append(o.Files, u.file()+"|"+phase+"|"+status(phase)+"|-")
}

func status(phase string) string {
	if phase == "overview" {
		return "done"
	}
	return "failed"
}
