//go:build synctests

package sim

import (
	"archive/zip"
	"bytes"
	"fmt"
	"math/rand/v2"
	"time"

	"tributary/schemas"
)

// What must become of a file.
const (
	classGood    = "good"    // its last version's valid documents are loaded
	classCorrupt = "corrupt" // no archive
	classBadSum  = "bad sum" // the checksum beside it is of other bytes
	classEmpty   = "empty"   // no documents in it
	classGone    = "gone"    // it is taken away: loaded, or gone
	className    = "name"    // its name breaks the convention
	classDrip    = "drip"    // its server claims gigabytes, and sends a byte now and then, until it is taken away
)

// scene is what a seed draws: a corpus on servers, and members.
type scene struct {
	files      []*sceneFile
	limits     map[string]int // by server
	members    map[string]int // by role
	partitions int32
	brokers    int
	protocol   string
	static     bool
	commits    time.Duration // between commits of offsets
	early      bool          // batches are released in parts
}

// sceneFile is a file of the corpus.
type sceneFile struct {
	class, action, name, centre string
	sources                     []string // where it is hosted, its own first
	versions                    []version
	ownCorrupt                  bool // its own source serves damaged bytes
	sum                         bool // a checksum lies beside it
	slow                        time.Duration
	appears, changes, leaves    time.Duration
}

func (f *sceneFile) id() string { return schemas.FileID(f.action, f.name) }

// version is one state of a file.
type version struct {
	bytes []byte
	docs  []sceneDoc
}

// sceneDoc is a document of a version.
type sceneDoc struct {
	entry string
	valid bool
	sha   string
}

// sources of the scene, by server; the centre runs the source of its name.
func sceneSources() map[string]string {
	return map[string]string{"coast": "one.example:22", "alps": "one.example:22", "north": "two.example:22"}
}

func centreSource(centre string) string {
	return map[string]string{"Coast": "coast", "Alps": "alps", "North": "north"}[centre]
}

func drawScene(rng *rand.Rand) *scene {
	sc := &scene{
		limits:     map[string]int{"one.example:22": 1 + rng.IntN(3), "two.example:22": 1 + rng.IntN(2)},
		members:    map[string]int{"download": 1 + rng.IntN(3), "unzip": 1 + rng.IntN(2), "validate": 1 + rng.IntN(2), "plan": 1 + rng.IntN(2), "sequence": 1, "insert": 1 + rng.IntN(2), "tracker": 1, "history": 1, "poll": 1 + rng.IntN(2), "publish": 1 + rng.IntN(2)},
		partitions: int32(1 + rng.IntN(4)), brokers: 1, protocol: "classic",
	}
	if rng.IntN(4) == 0 {
		sc.protocol = "consumer"
	}
	sc.static = rng.IntN(6) == 0
	sc.commits = []time.Duration{10 * time.Millisecond, 500 * time.Millisecond}[rng.IntN(2)]
	centres := []string{"Coast", "North", "Alps"}
	for i := range 3 + rng.IntN(8) {
		sc.files = append(sc.files, drawFile(rng, centres[rng.IntN(3)], i))
	}
	return sc
}

// drawEarly says whether batches are released in parts, apart from all else that is drawn.
func drawEarly(seed uint64) bool { return rand.New(rand.NewPCG(seed, 0x6561726c79)).IntN(2) == 0 }

// drawDrips are files of hostile servers, drawn apart from all else: none in two
// seeds of three.
func drawDrips(seed uint64) (out []*sceneFile) {
	rng := rand.New(rand.NewPCG(seed, 0x6472697073))
	if rng.IntN(3) > 0 {
		return nil
	}
	centre := []string{"Coast", "North", "Alps"}[rng.IntN(3)]
	for i := range 1 + rng.IntN(3) {
		date := time.Date(2025, 5, 1+i, 0, 0, 0, 0, time.UTC)
		out = append(out, &sceneFile{class: classDrip, action: schemas.Actions()[rng.IntN(3)], centre: centre, name: centre + "_" + date.Format("02012006") + ".zip",
			sources: []string{centreSource(centre)}, versions: []version{{bytes: []byte("P")}}, appears: time.Duration(rng.IntN(10)) * time.Second, leaves: time.Duration(60+rng.IntN(30)) * time.Second})
	}
	return out
}

func drawFile(rng *rand.Rand, centre string, i int) *sceneFile {
	date := time.Date(2024, 3, 1+i, 0, 0, 0, 0, time.UTC)
	f := &sceneFile{class: classGood, action: schemas.Actions()[rng.IntN(3)], centre: centre,
		name: centre + "_" + date.Format("02012006") + ".zip", sources: []string{centreSource(centre)}, sum: rng.IntN(4) == 0}
	switch rng.IntN(20) {
	case 0:
		f.class = classCorrupt
	case 1:
		f.class = classBadSum
	case 2:
		f.class = classEmpty
	case 3:
		f.class, f.leaves = classGone, time.Duration(1+rng.IntN(15))*time.Second
	case 4:
		f.class, f.name = className, centre+"-"+date.Format("2006")+".zip"
	}
	if rng.IntN(3) > 0 {
		f.appears = time.Duration(rng.IntN(20)) * time.Second
		if f.leaves > 0 {
			f.leaves += f.appears
		}
	}
	if rng.IntN(6) == 0 {
		f.slow = time.Duration(5+rng.IntN(40)) * time.Second
		if f.class != classGood { // what nothing can cure is tried again and again
			f.slow = min(f.slow, 8*time.Second)
		}
	}
	versions := 1
	switch {
	case f.class != classGood:
	case rng.IntN(4) == 0:
		versions, f.changes = 2, f.appears+time.Duration(2+rng.IntN(15))*time.Second
	case rng.IntN(4) == 0:
		for s := range sceneSources() {
			if s != f.sources[0] && (len(f.sources) == 1 || s < f.sources[1]) {
				f.sources = append(f.sources[:1], s)
			}
		}
		f.ownCorrupt = rng.IntN(2) == 0
	}
	docs := 1 + rng.IntN(3)
	bad := rng.IntN(3 * docs)
	for v := range versions {
		f.versions = append(f.versions, drawVersion(f, date, max(1, docs-v*rng.IntN(2)), bad, v))
	}
	return f
}

// drawVersion builds the archive of a version. Which documents are bad does
// not change between versions.
func drawVersion(f *sceneFile, date time.Time, docs, bad, n int) version {
	var v version
	switch f.class {
	case classCorrupt:
		v.bytes = []byte("this is no archive, though it says that it is one: " + f.name)
		return v
	case classEmpty:
		docs = 0
	}
	var packed bytes.Buffer
	w := zip.NewWriter(&packed)
	for d := range docs {
		kind := []string{"stations", "report"}[d%2]
		entry := fmt.Sprintf("%s-%s-%s-%d.xml", kind, f.centre, date.Format("20060102"), d+1)
		text := documentText(kind, f.centre, date, n)
		if d == bad {
			switch d % 3 {
			case 0:
				text = text[:len(text)-12] // not well-formed
			case 1:
				entry = "letter-" + entry
			default:
				text = []byte("<other/>")
			}
		}
		e, err := w.Create(entry)
		if err == nil {
			_, err = e.Write(text)
		}
		if err != nil {
			panic(err) // it writes to memory
		}
		v.docs = append(v.docs, sceneDoc{entry: entry, valid: d != bad, sha: refOf(text).SHA256})
	}
	if docs <= 0 {
		e, err := w.Create("readme.txt")
		if err == nil {
			_, err = e.Write([]byte("nothing today"))
		}
		if err != nil {
			panic(err) // it writes to memory
		}
	}
	if err := w.Close(); err != nil {
		panic(err) // it writes to memory
	}
	v.bytes = packed.Bytes()
	return v
}

func documentText(kind, centre string, date time.Time, n int) []byte {
	if kind == "stations" {
		return fmt.Appendf(nil, "<?xml version=\"1.0\"?>\n<stations network=%q>\n<station code=\"%d\" height=\"3\"><title>version %d</title></station>\n</stations>\n", centre, date.Day(), n)
	}
	return fmt.Appendf(nil, "<?xml version=\"1.0\"?>\n<report network=%q day=%q observer=\"version %d\">\n<o at=\"12:00:00\" station=\"1\" quantity=\"rain\"/>\n</report>\n", centre, date.Format(time.DateOnly), n)
}
