package listing_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tributary/internal/blob"
	"tributary/internal/listing"
)

func collect(t *testing.T, next listing.Next) (all []listing.Entry) {
	t.Helper()
	for {
		e, err := next()
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, e)
	}
}

func store(t *testing.T) *blob.Dir {
	t.Helper()
	s, err := blob.NewDir(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// put writes a listing into a blob and returns its name.
func put(t *testing.T, s blob.Store, h listing.Head, base, all []listing.Entry) (string, listing.Sum) {
	t.Helper()
	w, err := s.Create(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	from := listing.Of(base)
	if h.Base == "" {
		from = nil
	}
	sum, err := listing.Write(w, h, from, listing.Of(all))
	if err != nil {
		t.Fatal(err)
	}
	ref, err := w.Commit()
	if err != nil {
		t.Fatal(err)
	}
	return ref.SHA256, sum
}

func random(rng *rand.Rand, n int) []listing.Entry {
	var all []listing.Entry
	for range rng.IntN(n) {
		e := listing.Entry{Directory: []string{"add", "delete", "edit"}[rng.IntN(3)], Name: fmt.Sprint("n", rng.IntN(n)), Size: int64(rng.IntN(3)) - 1}
		if rng.IntN(4) > 0 {
			t := time.Date(1+rng.IntN(3)*4000, 1, 2, 3, 4, 5, rng.IntN(2)*1000, time.UTC)
			e.ModTime = &t
		}
		if rng.IntN(4) == 0 {
			e.Note = "not_zip"
		}
		all = append(all, e)
	}
	slices.SortFunc(all, listing.Compare)
	return all
}

func once(all []listing.Entry) []listing.Entry {
	return slices.CompactFunc(slices.Clone(all), func(a, b listing.Entry) bool { return listing.Compare(a, b) == 0 })
}

// TestAListingIsReadAsItWasWritten holds that whatever is written is read again, whole or
// as a difference from whatever else, each entry once, and that two listings have one
// digest exactly if they show the same.
func TestAListingIsReadAsItWasWritten(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	s := store(t)
	digests := map[string]string{}
	for i := range 200 {
		base, all := random(rng, 1+i/2), random(rng, 1+i/2)
		whole, sum := put(t, s, listing.Head{Source: "s", Poll: fmt.Sprint(i)}, nil, base)
		if d, err := listing.Digest(listing.Of(base)); err != nil || d != sum {
			t.Fatalf("the listing alone has %+v, written it has %+v: %v", d, sum, err)
		}
		if want := int64(len(once(base))); sum.Entries != want {
			t.Fatalf("%d entries, want %d", sum.Entries, want)
		}
		name, sum := put(t, s, listing.Head{Source: "s", Poll: fmt.Sprint(i), Base: whole}, once(base), all)
		for name, want := range map[string][]listing.Entry{whole: base, name: all} {
			r, err := listing.Open(t.Context(), s, name)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(once(want), collect(t, r.Next)); d != "" {
				t.Fatalf("round %d (- want, + got):\n%s", i, d)
			}
			if err := r.Close(); err != nil {
				t.Error(err)
			}
		}
		shown := fmt.Sprintf("%+v", lines(once(all)))
		if before, ok := digests[sum.Digest]; ok && before != shown {
			t.Fatalf("two listings have one digest: %s and %s", before, shown)
		}
		digests[sum.Digest] = shown
	}
	texts := map[string]bool{}
	for _, text := range digests {
		if texts[text] {
			t.Fatal("one listing has two digests")
		}
		texts[text] = true
	}
}

func lines(all []listing.Entry) (out []string) {
	for _, e := range all {
		out = append(out, fmt.Sprint(e.Directory, e.Name, e.Size, e.ModTime, e.Note))
	}
	return out
}

// TestDiffer holds that the changes are those entries that one listing has alone.
func TestDiffer(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range 200 {
		a, b := once(random(rng, 30)), once(random(rng, 30))
		var got, want []listing.Change
		if err := listing.Differ(listing.Of(a), listing.Of(b), func(c listing.Change) error { got = append(got, c); return nil }); err != nil {
			t.Fatal(err)
		}
		for i, side := range [][]listing.Entry{a, b} {
			for _, e := range side {
				if !slices.ContainsFunc([][]listing.Entry{b, a}[i], func(o listing.Entry) bool { return listing.Compare(e, o) == 0 }) {
					want = append(want, listing.Change{Came: i == 1, Entry: e})
				}
			}
		}
		slices.SortFunc(want, func(a, b listing.Change) int { return listing.Compare(a.Entry, b.Entry) })
		if d := cmp.Diff(want, got); d != "" {
			t.Fatalf("changes (- want, + got):\n%s", d)
		}
	}
}

// TestWhatCantBeWritten holds that entries out of order, and those that would break a
// line, are refused.
func TestWhatCantBeWritten(t *testing.T) {
	for name, all := range map[string][]listing.Entry{
		"out of order":  {{Name: "b"}, {Name: "a"}},
		"a line's end":  {{Name: "a\nb"}},
		"a tab":         {{Name: "a\tb"}},
		"a tab, noted":  {{Name: "a", Note: "x\ty"}},
		"a line's end,": {{Name: "a", Directory: "add\n"}},
	} {
		if _, err := listing.Write(io.Discard, listing.Head{}, nil, listing.Of(all)); err == nil {
			t.Errorf("%s is written", name)
		}
	}
}

// TestADamagedListingSaysSo holds that no byte of a blob, or of the one from which it
// differs, can change or lack without an error that names it.
func TestADamagedListingSaysSo(t *testing.T) {
	s := store(t)
	base := once(random(rand.New(rand.NewPCG(5, 6)), 100))
	whole, _ := put(t, s, listing.Head{Source: "s", Poll: "1"}, nil, base)
	name, _ := put(t, s, listing.Head{Source: "s", Poll: "2", Base: whole}, base, base[1:])
	for _, victim := range []string{whole, name} {
		path := filepath.Join(s.Path(), victim[:2], victim)
		right, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		wrong := bytes.Clone(right)
		wrong[len(wrong)/2] ^= 1
		for _, bad := range [][]byte{wrong, right[:len(right)-1], {}} {
			if err := os.Chmod(path, 0o600); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, bad, 0o600); err != nil {
				t.Fatal(err)
			}
			if _, err := listing.Open(t.Context(), s, name); !errors.Is(err, blob.ErrDamaged) || !strings.Contains(err.Error(), victim) {
				t.Errorf("of a damaged blob %s: %v", victim, err)
			}
		}
		if err := os.WriteFile(path, right, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Remove(t.Context(), whole); err != nil {
		t.Fatal(err)
	}
	if _, err := listing.Open(t.Context(), s, name); !blob.Unusable(err) || !strings.Contains(err.Error(), whole) {
		t.Errorf("of a missing blob: %v", err)
	}
}

// TestAnotherBlobIsNoListing holds that what is whole and no listing is refused by name.
func TestAnotherBlobIsNoListing(t *testing.T) {
	s := store(t)
	ref, err := blob.Put(t.Context(), s, strings.NewReader("PK\x03\x04"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := listing.Open(t.Context(), s, ref.SHA256); err == nil || errors.Is(err, blob.ErrDamaged) || !strings.Contains(err.Error(), ref.SHA256) {
		t.Errorf("of another blob: %v", err)
	}
	other, _ := put(t, s, listing.Head{Poll: "1"}, nil, nil)
	twice, _ := put(t, s, listing.Head{Poll: "2", Base: other}, nil, nil)
	thrice, _ := put(t, s, listing.Head{Poll: "3", Base: twice}, nil, nil)
	if _, err := listing.Open(t.Context(), s, thrice); err == nil || !strings.Contains(err.Error(), twice) {
		t.Errorf("of a difference from a difference: %v", err)
	}
	unfit, _ := put(t, s, listing.Head{Poll: "4", Base: other}, []listing.Entry{{Name: "a"}}, nil)
	r, err := listing.Open(t.Context(), s, unfit)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if _, err := r.Next(); err == nil || errors.Is(err, io.EOF) {
		t.Errorf("a difference that doesn't fit is read: %v", err)
	}
}
