package corpus

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/unicode"

	"tributary/internal/archive"
)

func generate(t *testing.T, o Options) *Corpus {
	t.Helper()
	c, err := Generate(o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// seeds is of how many seeds something is tried: with -short of a third.
func seeds(n uint64) uint64 {
	if testing.Short() {
		return n / 3
	}
	return n
}

// tree is the hash and the time of every file below dir.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		sum := sha256.Sum256(b)
		rel, err := filepath.Rel(dir, path)
		out[filepath.ToSlash(rel)] = hex.EncodeToString(sum[:]) + " " + info.ModTime().UTC().String()
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func write(t *testing.T, c *Corpus) string {
	t.Helper()
	dir := t.TempDir()
	if err := c.Write(dir); err != nil {
		t.Fatal(err)
	}
	return dir
}

func shapes() []Options {
	return []Options{{Seed: 1, Shape: Demo}, {Seed: 1, Shape: Small}, {Seed: 1, Shape: Faults}, {Seed: 1, Shape: Bench, Zips: 12},
		{Seed: 1, Shape: Big, BigBytes: 3e6, BigEntries: 600}}
}

func TestSameSeedSameBytes(t *testing.T) {
	for _, o := range append(shapes(), Options{Seed: 1, Shape: Whole, Zips: 70}) {
		t.Run(o.Shape, func(t *testing.T) {
			a, b := generate(t, o), generate(t, o)
			if d := cmp.Diff(tree(t, write(t, a)), tree(t, write(t, b))); d != "" {
				t.Errorf("two corpora of one seed differ: %s", d)
			}
			if d := cmp.Diff(a.Oracle, b.Oracle); d != "" {
				t.Errorf("two oracles of one seed differ: %s", d)
			}
			o.Seed++
			if d := cmp.Diff(tree(t, write(t, a)), tree(t, write(t, generate(t, o)))); d == "" {
				t.Error("another seed gives the same corpus")
			}
		})
	}
}

func TestUnknownShape(t *testing.T) {
	if _, err := Generate(Options{Shape: "round"}); err == nil || !strings.Contains(err.Error(), `"round"`) {
		t.Fatalf("got %v, want an error that names the shape", err)
	}
}

// The archive reader must find each file to be what the oracle says of it.
func TestArchivesEndAsTheOracleSays(t *testing.T) {
	for _, o := range append(shapes(), Options{Seed: 1, Shape: Whole, Zips: 70}) {
		t.Run(o.Shape, func(t *testing.T) {
			c := generate(t, o)
			dir := write(t, c)
			documents := map[string]bool{}
			for _, d := range c.Oracle.Documents {
				documents[d.Action+"/"+d.File+"/"+d.Document] = true
			}
			for i, f := range c.files {
				want := c.Oracle.Files[i]
				for _, host := range f.hosts {
					names, size, sum, err := scan(filepath.Join(dir, host, f.action, f.name))
					if f.centre != "" && (size != want.Size || sum != want.SHA256) {
						t.Errorf("%s: size %d hash %s, the oracle says %d %s", f.name, size, sum, want.Size, want.SHA256)
					}
					if want.Phase == "unzip" {
						var refused *archive.RefusedError
						if !errors.As(err, &refused) {
							t.Errorf("%s: got %v, want it refused", f.name, err)
						} else if refused.Exception != want.Message && !slices.Contains(want.Exceptions, refused.Exception) {
							t.Errorf("%s: got %s, want %s", f.name, refused.Exception, want.Message)
						}
						continue
					}
					if err != nil {
						t.Errorf("%s: %v", f.name, err)
					}
					if f.centre == "" {
						continue
					}
					if len(names) != want.Documents {
						t.Errorf("%s: %d documents, the oracle says %d", f.name, len(names), want.Documents)
					}
					for _, name := range names {
						if !documents[f.action+"/"+f.name+"/"+name] {
							t.Errorf("%s: the oracle says nothing of %s", f.name, name)
						}
					}
				}
			}
		})
	}
}

// scan verifies an archive and returns its documents, its size and its hash.
func scan(path string) ([]string, int64, string, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, 0, "", err
	}
	sum := sha256.Sum256(b)
	hash, size := hex.EncodeToString(sum[:]), int64(len(b))
	a, err := archive.Open(bytes.NewReader(b), size, archive.DefaultLimits())
	if err != nil {
		return nil, size, hash, err
	}
	if err := a.Verify(context.Background()); err != nil {
		return nil, size, hash, err
	}
	var names []string
	for _, m := range a.Members() {
		if m.Document {
			names = append(names, m.Name)
		}
	}
	return names, size, hash, nil
}

// content reads one document of a zip as UTF-8.
func content(t *testing.T, path, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	a, err := archive.Open(bytes.NewReader(b), int64(len(b)), archive.DefaultLimits())
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range a.Members() {
		if m.Name != name {
			continue
		}
		r, err := archive.OpenMember(bytes.NewReader(b), m)
		if err != nil {
			t.Fatal(err)
		}
		raw, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		switch {
		case bytes.HasPrefix(raw, []byte{0xff, 0xfe}):
			raw, err = unicode.UTF16(unicode.LittleEndian, unicode.ExpectBOM).NewDecoder().Bytes(raw)
		case bytes.Contains(raw[:60], []byte(latin1)):
			raw, err = charmap.ISO8859_1.NewDecoder().Bytes(raw)
		}
		if err != nil {
			t.Fatal(err)
		}
		return raw
	}
	t.Fatalf("%s has no %s", path, name)
	return nil
}

// Everything that a warehouse would hold, read from the written XML by applying
// documents one after another in the oracle's order, must be the oracle's rows.
// So order, rows and bytes are judged against one another.
func TestAppliedInOrderGivesTheRows(t *testing.T) {
	for _, o := range shapes() {
		t.Run(o.Shape, func(t *testing.T) {
			c := generate(t, o)
			dir := write(t, c)
			hosts := map[string]string{}
			for _, f := range c.files {
				hosts[f.action+"/"+f.name] = f.hosts[0]
			}
			specimens, runs := map[string]bool{}, map[string][]string{}
			for _, p := range c.Oracle.Order {
				if !p.Loads {
					continue
				}
				path := filepath.Join(dir, hosts[p.Action+"/"+p.File], p.Action, p.File)
				apply(t, content(t, path, p.Document), p, specimens, runs)
			}
			var want, got []string
			for _, s := range c.Oracle.Specimens {
				want = append(want, s.Centre+" "+s.SpecimenID)
			}
			for s := range specimens {
				got = append(got, s)
			}
			slices.Sort(want)
			slices.Sort(got)
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("specimens: %s", d)
			}
			values := 0
			for _, rows := range runs {
				values += len(rows)
			}
			if len(runs) != c.Oracle.Counts.Runs || values != c.Oracle.Counts.Measurements {
				t.Errorf("%d runs with %d values, the oracle says %+v", len(runs), values, c.Oracle.Counts)
			}
			if o.Shape == Big {
				return
			}
			rows := map[string][]string{}
			for _, m := range c.Oracle.Measurements {
				id := identity(m.Run)
				rows[id] = append(rows[id], line(m))
			}
			for _, r := range c.Oracle.Runs {
				if _, there := runs[identity(r)]; !there {
					t.Errorf("run %s is not in the documents", identity(r))
				}
				want, got := rows[identity(r)], runs[identity(r)]
				slices.Sort(want)
				slices.Sort(got)
				if d := cmp.Diff(want, got); d != "" {
					t.Errorf("values of %s: %s", identity(r), d)
				}
			}
		})
	}
}

func str(s *string) string {
	if s == nil {
		return "-"
	}
	return "=" + *s
}

func identity(r Run) string {
	return strings.Join([]string{r.Centre, r.Kind, r.Pipeline, str(r.ExperimentID), str(r.ProcedureID), str(r.SequenceID), str(r.ColonyID),
		str(r.FromLIMS), str(r.LastUpdated), strings.Join(r.Specimens, ",")}, " ")
}

func line(m Measurement) string {
	seq := "-"
	if m.SequenceID != nil {
		seq = fmt.Sprintf("=%d", *m.SequenceID)
	}
	return strings.Join([]string{m.Kind, m.ParameterID, seq, str(m.Increment), str(m.Unit), str(m.Value), str(m.Status)}, " ")
}

// node is any element.
type node struct {
	XMLName xml.Name
	Attrs   []xml.Attr `xml:",any,attr"`
	Nodes   []node     `xml:",any"`
	Text    string     `xml:",chardata"`
}

func (n node) attr(name string) *string {
	for _, a := range n.Attrs {
		if a.Name.Local == name {
			return &a.Value
		}
	}
	return nil
}

func (n node) each(name string, do func(node)) {
	for _, x := range n.Nodes {
		if x.XMLName.Local == name {
			do(x)
		}
	}
}

func apply(t *testing.T, b []byte, p Position, specimens map[string]bool, runs map[string][]string) {
	t.Helper()
	var root node
	dec := xml.NewDecoder(bytes.NewReader(b))
	dec.CharsetReader = func(_ string, r io.Reader) (io.Reader, error) { return r, nil } // recoded already
	if err := dec.Decode(&root); err != nil {
		t.Fatalf("%s: %v", p.Document, err)
	}
	root.each("centre", func(centre node) {
		if at := centre.attr("centreID"); *at != p.Centre {
			t.Errorf("%s of %s: centreID %s", p.Document, p.Centre, *at)
		}
		for _, x := range centre.Nodes {
			switch x.XMLName.Local {
			case "mouse", "embryo":
				id := p.Centre + " " + *x.attr("specimenID")
				if p.Action == remove {
					delete(specimens, id)
				} else {
					specimens[id] = true
				}
			default:
				r := Run{Centre: p.Centre, Kind: x.XMLName.Local, Pipeline: *centre.attr("pipeline"), ExperimentID: x.attr("experimentID"), SequenceID: x.attr("sequenceID"),
					ColonyID: x.attr("colonyID"), FromLIMS: x.attr("fromLIMS"), LastUpdated: x.attr("lastUpdated")}
				x.each("specimenID", func(s node) { r.Specimens = append(r.Specimens, s.Text) })
				var rows []string
				x.each("procedure", func(y node) {
					r.ProcedureID = y.attr("procedureID")
					rows = values(y)
				})
				if p.Action == remove {
					delete(runs, identity(r))
				} else {
					runs[identity(r)] = rows
				}
			}
		}
	})
}

func values(procedure node) []string {
	var out []string
	for _, x := range procedure.Nodes {
		kind := map[string]string{simple: "simple", ontology: "ontology", series: "series", metadata: "metadata"}[x.XMLName.Local]
		if kind == "" {
			continue
		}
		m := Measurement{Kind: kind, ParameterID: *x.attr("parameterID"), Unit: x.attr("unit")}
		seq := "-"
		if s := x.attr("sequenceID"); s != nil {
			seq = "=" + *s
		}
		x.each("parameterStatus", func(y node) { m.Status = ptr(y.Text) })
		n := len(out)
		for _, y := range x.Nodes {
			if y.XMLName.Local == "value" || y.XMLName.Local == "term" {
				m.Value, m.Increment = ptr(y.Text), y.attr("incrementValue")
				out = append(out, strings.Replace(line(m), " - ", " "+seq+" ", 1))
			}
		}
		if len(out) == n {
			out = append(out, strings.Replace(line(m), " - ", " "+seq+" ", 1))
		}
	}
	return out
}
