package corpus

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// plan is a fortnight, a line each.
func plan(t *testing.T, seed uint64) (*Corpus, []Delivery, []string) {
	t.Helper()
	c := generate(t, Options{Seed: seed, Shape: Demo})
	all, err := c.Fortnight()
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, d := range all {
		lines = append(lines, fmt.Sprint(d.At, d.Kind, d.Source, d.Upload.Action, d.Upload.File, d.Upload.SHA256))
	}
	return c, all, lines
}

// A fortnight follows from its seed, has each kind of delivery in its first week,
// and each file once, but for those that are corrected.
func TestFortnight(t *testing.T) {
	_, _, first := plan(t, 1)
	_, _, again := plan(t, 1)
	if d := cmp.Diff(first, again); d != "" {
		t.Errorf("the same seed, another fortnight: %s", d)
	}
	for seed := range seeds(12) {
		c, all, _ := plan(t, seed)
		early, uploads, times := map[string]int{}, map[string]int{}, 0
		for i, d := range all {
			path := d.Source + "/" + d.Upload.Action + "/" + d.Upload.File
			if d.At < 0 || d.At >= Fortnight || i > 0 && d.At < all[i-1].At {
				t.Errorf("seed %d: %s comes at %s", seed, path, d.At)
			}
			if d.At < Fortnight/2 {
				early[d.Kind]++
			}
			if uploads[path] != d.Upload.Times {
				t.Errorf("seed %d: upload %d of %s comes in the place of upload %d", seed, d.Upload.Times, path, uploads[path])
			}
			uploads[path]++
			times += d.Upload.Times
		}
		for _, kind := range []string{OnTime, Late, Broken, Corrected, Withdrawn} {
			if early[kind] == 0 {
				t.Errorf("seed %d: nothing is %s in the first week", seed, kind)
			}
		}
		if times == 0 {
			t.Errorf("seed %d: nothing that was broken comes again", seed)
		}
		paths := map[string]bool{}
		for _, f := range c.files {
			if path := f.hosts[0] + "/" + f.action + "/" + f.name; paths[path] {
				t.Errorf("seed %d: two files are %s", seed, path)
			} else {
				paths[path] = true
			}
		}
	}
}

// What is written one by one is what is written at once.
func TestDeliveriesAreTheCorpus(t *testing.T) {
	c, all, _ := plan(t, 2)
	one := t.TempDir()
	delivered := map[string]bool{}
	for _, d := range all {
		delivered[d.Upload.Action+"/"+d.Upload.File] = true
	}
	for _, u := range c.Uploads() {
		if !delivered[u.Action+"/"+u.File] {
			if err := c.WriteUploads(one, []Upload{u}); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, d := range all {
		if err := c.WriteUploads(one, []Upload{d.Upload}); err != nil {
			t.Fatal(err)
		}
	}
	if d := cmp.Diff(tree(t, write(t, c)), tree(t, one)); d != "" {
		t.Error(d)
	}
}
