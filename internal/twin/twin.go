// Package twin tells which names some file systems take for one: those that differ only
// in case, or in how an accent is written (NFC or NFD).
package twin

import (
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Fold makes such names equal.
func Fold(name string) string { return norm.NFC.String(strings.ToLower(name)) }

// Finder finds the twins among the names of a directory. It keeps eight bytes of each,
// so a name may be taken for another's twin that isn't: who asks reads them again. The zero
// value has seen none.
type Finder struct {
	hashes []uint64
	sorted bool
}

// Add adds a name that it doesn't have.
func (f *Finder) Add(name string) { f.hashes, f.sorted = append(f.hashes, hash(name)), false }

// Count is how many names have a twin.
func (f *Finder) Count() (n int) {
	f.each(func(_ uint64, names int) bool { n += names; return true })
	return n
}

// First returns a question that tells whether a name is one of so many first sets of
// twins, the same ones whatever the order in which names were added.
func (f *Finder) First(most int) (is func(name string) bool) {
	first := make(map[uint64]bool, min(most, len(f.hashes)))
	f.each(func(h uint64, _ int) bool {
		first[h] = len(first) < most
		return len(first) < most
	})
	return func(name string) bool { return first[hash(name)] }
}

// each calls yield with what several names have in common, and how many have it.
func (f *Finder) each(yield func(h uint64, names int) bool) {
	if !f.sorted {
		slices.Sort(f.hashes)
		f.sorted = true
	}
	for i := 0; i < len(f.hashes); {
		next := i + 1
		for next < len(f.hashes) && f.hashes[next] == f.hashes[i] {
			next++
		}
		if next-i > 1 && !yield(f.hashes[i], next-i) {
			return
		}
		i = next
	}
}

// hash is FNV-1a of the folded name. Names in ASCII, as most are, take no memory for it.
func hash(name string) uint64 {
	const offset, prime = 14695981039346656037, 1099511628211
	h, ascii := uint64(offset), true
	for i := range len(name) {
		ascii = ascii && name[i] < utf8.RuneSelf
	}
	if !ascii {
		name = Fold(name)
	}
	for i := range len(name) {
		c := name[i]
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		h = (h ^ uint64(c)) * prime
	}
	return h
}
