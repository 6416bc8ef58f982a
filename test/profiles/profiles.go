// Package profiles holds a second profile, of weather stations (the folder
// weather), and generates a corpus for it with an oracle: what must have become
// of every file, document and row. The profile keeps the first one honest, and
// is the example of docs/how-to/write-a-profile.md.
package profiles

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"time"
)

// Corpus is a generated corpus of the weather profile, brought in sessions.
type Corpus struct {
	uploads []*upload
	rng     *rand.Rand
	session int
	taken   map[string]bool // places of observations
}

// upload is one zip, as it was uploaded at one time.
type upload struct {
	session              int
	source, action, name string
	network              string // empty if the name is bad
	date                 time.Time
	docs                 []*doc
	bad                  string // exception of a bad name
	times                int    // uploads of the same file before
	bytes                []byte
	sha                  string
}

// doc is one XML of a zip.
type doc struct {
	name         string
	kind         string // stations or report
	network      string // as it is written in it
	date         time.Time
	part         int
	stations     []station
	observations []observation
	fault        string // exception; empty for a good one
	zone         string // behind the day, which the schema forbids
	faultLine    int
}

type station struct {
	code, title, height, opened string
	sensors                     []sensor
}

type sensor struct{ quantity, model string }

type observation struct {
	at, station, quantity string
	value, quality        *string
}

// Sources are the folders that Write makes, with the network that runs each.
// Alps has none of its own: North hosts its files.
func Sources() map[string]string { return map[string]string{"coast": "Coast", "north": "North"} }

// Hosts are the networks whose files a source shows beside its own.
func Hosts() map[string]string { return map[string]string{"north": "Alps"} }

// Quantities is the profile's reference list, as a CSV file.
const Quantities = "quantity,unit,lowest,highest\ntemperature,°C,-90,60\npressure,hPa,850,1090\nrain,mm,0,1900\nwind,m/s,0,115\n"

// Weather makes the corpus of a seed.
func Weather(seed uint64) (*Corpus, error) {
	c := &Corpus{rng: rand.New(rand.NewPCG(seed, 0x77656174686572)), session: 1, taken: map[string]bool{}}
	for _, n := range []struct{ network, source string }{{"Coast", "coast"}, {"North", "north"}, {"Alps", "north"}} {
		c.days(n.network, n.source)
	}
	c.faults()
	c.session = 2
	c.later()
	times := map[string]int{}
	for _, u := range c.uploads {
		u.times = times[u.file()]
		times[u.file()]++
		if err := u.pack(); err != nil {
			return nil, fmt.Errorf("profiles: %s: %w", u.file(), err)
		}
	}
	return c, nil
}

// Write puts what a session, from 1, brings below dir, one folder per source.
func (c *Corpus) Write(dir string, session int) error {
	for source := range Sources() {
		if err := os.MkdirAll(filepath.Join(dir, source, "add"), 0o755); err != nil {
			return fmt.Errorf("profiles: %w", err)
		}
	}
	for _, u := range c.uploads {
		if u.session != session {
			continue
		}
		path := filepath.Join(dir, u.source, u.action, u.name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return fmt.Errorf("profiles: %w", err)
		}
		if err := os.WriteFile(path, u.bytes, 0o644); err != nil {
			return fmt.Errorf("profiles: %w", err)
		}
		at := day(1).AddDate(0, 0, u.times)
		if err := os.Chtimes(path, at, at); err != nil {
			return fmt.Errorf("profiles: %w", err)
		}
	}
	return nil
}

func (u *upload) file() string { return u.action + "/" + u.name }

func day(n int) time.Time { return time.Date(2024, 3, n, 0, 0, 0, 0, time.UTC) }

func ptr(s string) *string { return &s }

// open begins a zip of a network.
func (c *Corpus) open(network, source, action string, n int) *upload {
	u := &upload{session: c.session, source: source, action: action, network: network, date: day(n),
		name: fmt.Sprintf("%s_%s.zip", network, day(n).Format("02012006"))}
	c.uploads = append(c.uploads, u)
	return u
}

// doc appends a document about a day to u.
func (u *upload) doc(kind string, n int) *doc {
	part := 1
	for _, d := range u.docs {
		if d.kind == kind && d.date.Equal(day(n)) {
			part++
		}
	}
	d := &doc{kind: kind, network: u.network, date: day(n), part: part}
	d.name = fmt.Sprintf("%s-%s-%s-%d.xml", kind, u.network, day(n).Format("20060102"), part)
	u.docs = append(u.docs, d)
	return d
}

// observe makes n observations that nobody has made.
func (c *Corpus) observe(d *doc, n int, at ...string) {
	bounds := map[string][2]int{"temperature": {-30, 40}, "pressure": {900, 1080}, "rain": {0, 90}, "wind": {0, 50}}
	for len(d.observations) < n {
		o := observation{at: fmt.Sprintf("%02d:00:00", 3*c.rng.IntN(8)), station: at[c.rng.IntN(len(at))],
			quantity: []string{"temperature", "pressure", "rain", "wind"}[c.rng.IntN(4)], quality: ptr("ok")}
		place := fmt.Sprint(d.network, d.date, o.at, o.station, o.quantity)
		if c.taken[place] {
			continue
		}
		c.taken[place] = true
		b := bounds[o.quantity]
		o.value = ptr(fmt.Sprintf("%d.%d", b[0]+c.rng.IntN(b[1]-b[0]), 1+c.rng.IntN(9)))
		switch c.rng.IntN(9) {
		case 0:
			o.value, o.quality = nil, ptr("missing")
		case 1:
			o.quality = nil
		}
		d.observations = append(d.observations, o)
	}
}

// pack makes the bytes of a zip; equal ones each time.
func (u *upload) pack() error {
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, d := range u.docs {
		w, err := z.CreateHeader(&zip.FileHeader{Name: d.name, Method: zip.Deflate, Modified: u.date})
		if err != nil {
			return err
		}
		if _, err := w.Write(d.render()); err != nil {
			return err
		}
	}
	if err := z.Close(); err != nil {
		return err
	}
	sum := sha256.Sum256(b.Bytes())
	u.bytes, u.sha = b.Bytes(), hex.EncodeToString(sum[:])
	return nil
}
