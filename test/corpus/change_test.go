package corpus

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestAdd(t *testing.T) {
	c := generate(t, Options{Seed: 3, Shape: Demo})
	dir := write(t, c)
	before, old := tree(t, dir), c.Oracle
	if err := c.Add(9); err != nil {
		t.Fatal(err)
	}
	if err := c.Write(dir); err != nil {
		t.Fatal(err)
	}
	after := tree(t, dir)
	for path, sum := range before {
		if after[path] != sum {
			t.Errorf("%s changed", path)
		}
	}
	if n := len(after) - len(before); n != 9 {
		t.Errorf("%d files more, want 9", n)
	}
	if len(c.Oracle.Files) != len(old.Files)+9 || len(c.Oracle.Documents) <= len(old.Documents) {
		t.Errorf("%d files and %d documents, before %d and %d", len(c.Oracle.Files), len(c.Oracle.Documents), len(old.Files), len(old.Documents))
	}
	if d := cmp.Diff(old.Order, c.Oracle.Order[:len(old.Order)]); d != "" {
		t.Errorf("the first session's order changed: %s", d)
	}
	for _, p := range c.Oracle.Order[len(old.Order):] {
		if p.Session != 2 {
			t.Errorf("%+v is not of session 2", p)
		}
	}
}

// What a late file with an old date says about known keys must not show.
func TestStaleLoses(t *testing.T) {
	c := generate(t, Options{Seed: 3, Shape: Small})
	old := c.Oracle
	if err := c.Add(1); err != nil {
		t.Fatal(err)
	}
	f := c.files[len(c.files)-1]
	if len(f.docs) != 2 || len(f.docs[0].specimens) == 0 || len(f.docs[1].runs) == 0 {
		t.Fatalf("%s says nothing", f.name)
	}
	if d := cmp.Diff(old.Specimens, c.Oracle.Specimens); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(old.Measurements, c.Oracle.Measurements); d != "" {
		t.Error(d)
	}
}

func TestReupload(t *testing.T) {
	c := generate(t, Options{Seed: 3, Shape: Demo})
	dir := write(t, c)
	name := c.Reuploadable()
	before, old := tree(t, dir), c.Oracle
	if err := c.Reupload(add, name); err != nil {
		t.Fatal(err)
	}
	if err := c.Write(dir); err != nil {
		t.Fatal(err)
	}
	var changed []string
	after := tree(t, dir)
	for path, sum := range after {
		if before[path] != sum {
			changed = append(changed, path)
		}
	}
	if len(changed) != 1 || len(after) != len(before) {
		t.Errorf("changed: %v, %d files before, %d after", changed, len(before), len(after))
	}
	if len(c.Oracle.Documents) != len(old.Documents)-1 {
		t.Errorf("%d documents, want one less than %d", len(c.Oracle.Documents), len(old.Documents))
	}
	if c.Oracle.Counts.Runs >= old.Counts.Runs {
		t.Errorf("%d runs, want fewer than %d", c.Oracle.Counts.Runs, old.Counts.Runs)
	}
	if cmp.Equal(old.Measurements, c.Oracle.Measurements) {
		t.Error("no value differs")
	}
	if err := c.Reupload(add, "no such file"); err == nil {
		t.Error("an unknown file was uploaded again")
	}
}

// The demo must have what it promises to show.
func TestDemoContents(t *testing.T) {
	for seed := range seeds(20) {
		c := generate(t, Options{Seed: seed, Shape: Demo})
		actions, phases := map[string]int{}, map[string]int{}
		three := false
		for _, f := range c.Oracle.Files {
			actions[f.Action]++
			if f.Status == "failed" {
				phases[f.Phase]++
			}
		}
		for _, f := range c.files {
			three = three || len(f.hosts) == 3
		}
		failed := 0
		for _, n := range phases {
			failed += n
		}
		if n := len(c.Oracle.Files); n < 55 || n > 70 {
			t.Errorf("seed %d: %d files", seed, n)
		}
		if n := len(c.Oracle.Documents); n < 160 || n > 240 {
			t.Errorf("seed %d: %d documents", seed, n)
		}
		if failed < 8 || failed > 16 || len(phases) < 5 {
			t.Errorf("seed %d: failures %v", seed, phases)
		}
		if actions[edit] < 3 || actions[remove] < 3 || !three {
			t.Errorf("seed %d: %v, three hosts: %t", seed, actions, three)
		}
	}
}

func TestEveryFaultIsThere(t *testing.T) {
	c := generate(t, Options{Seed: 5, Shape: Faults})
	var files, documents []string
	for _, f := range c.files {
		files = append(files, f.fault)
		for _, d := range f.docs {
			documents = append(documents, d.fault)
		}
	}
	for _, fault := range fileFaults() {
		if _, is := endOf(fault); !is || !slices.Contains(files, fault) {
			t.Errorf("no file with %s, or no end for it", fault)
		}
	}
	for _, fault := range documentFaults() {
		if _, is := endOfDocument(fault); is == (fault == docUnknown) || !slices.Contains(documents, fault) {
			t.Errorf("no document with %s, or no end for it", fault)
		}
	}
}

// No two documents may fight for a key with equal claims: two additions in one
// corpus that say different things would make the oracle a matter of taste.
func TestNoAmbiguity(t *testing.T) {
	for _, o := range shapes() {
		for seed := range seeds(5) {
			o.Seed = seed
			c := generate(t, o)
			names, added := map[string]bool{}, map[string]string{}
			for _, f := range c.files {
				if names[f.action+"/"+f.name] {
					t.Errorf("%s seed %d: two files %s/%s", o.Shape, seed, f.action, f.name)
				}
				names[f.action+"/"+f.name] = true
				inFile := map[string]bool{}
				for _, d := range f.docs {
					if inFile[d.name] {
						t.Errorf("%s seed %d: two documents %s in %s", o.Shape, seed, d.name, f.name)
					}
					inFile[d.name] = true
					if !loads(f, d) {
						continue
					}
					var keys []string
					for _, s := range d.specimens {
						keys = append(keys, specimenKey(f.centre, s.id))
					}
					for _, r := range d.runs {
						keys = append(keys, runKey(f.centre, r))
					}
					for _, k := range keys {
						if inFile[k] {
							t.Errorf("%s seed %d: %q twice in %s", o.Shape, seed, k, f.name)
						}
						inFile[k] = true
						if other, there := added[k]; there && f.action == add {
							t.Errorf("%s seed %d: %q added by %s and %s", o.Shape, seed, k, f.name, other)
						}
						if f.action == add {
							added[k] = f.name
						} else if _, there := added[k]; !there {
							t.Errorf("%s seed %d: %s of %q, which was never added", o.Shape, seed, f.action, k)
						}
					}
				}
			}
		}
	}
}
