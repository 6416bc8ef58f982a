package tracker

import (
	"bytes"
	"encoding/binary"
	"strings"

	"github.com/google/uuid"

	"tributary/schemas"
	trackersql "tributary/sql/tracker"
)

// target is the schema that a fold is written to, and what its writer knows of
// the rows there.
type target interface {
	// schema is its name.
	schema() string
	// begin begins a write.
	begin()
	// perhaps are those of some ids that the schema may have rows of.
	perhaps(keys [][16]byte) [][16]byte
	// fresh tells whether a table surely had no row before this write.
	fresh(table string, id uuid.UUID) bool
	// found notes that a table had a row before this write.
	found(table string, id uuid.UUID)
	// added notes that there are rows from now on.
	added(ids ...[16]byte)
	// lock ends a query for rows that will be written.
	lock() string
}

// rowsFound are the ids of rows, by table, that a write has found.
type rowsFound struct {
	old map[string]map[uuid.UUID]bool
}

// begin forgets what the last write found.
func (r *rowsFound) begin() { r.old = map[string]map[uuid.UUID]bool{} }

func (r *rowsFound) fresh(table string, id uuid.UUID) bool { return !r.old[table][id] }

func (r *rowsFound) found(table string, id uuid.UUID) {
	m := r.old[table]
	if m == nil {
		m = map[uuid.UUID]bool{}
		r.old[table] = m
	}
	m[id] = true
}

// sharedTarget is a target that others write too. Every row is looked for before it is
// written, so what was not found is new, unless somebody else adds it meanwhile: then
// its key refuses it, and the whole write is made again.
type sharedTarget struct{ rowsFound }

func (*sharedTarget) schema() string                     { return trackersql.Schema }
func (*sharedTarget) perhaps(keys [][16]byte) [][16]byte { return keys }
func (*sharedTarget) added(...[16]byte)                  {}
func (*sharedTarget) lock() string                       { return "FOR NO KEY UPDATE" }

// soleTarget is a target that was empty and that nobody else writes, so that its
// writer knows which rows there may be. A row that is new is copied straight into
// its table, and is neither looked up nor locked. In a log most things begin and
// end close together, so that nearly all rows are new.
type soleTarget struct {
	rowsFound

	name string
	seen *idSet
}

func newSoleTarget(schema string) *soleTarget { return &soleTarget{name: schema, seen: newIDSet()} }

func (t *soleTarget) schema() string { return t.name }

func (t *soleTarget) perhaps(keys [][16]byte) [][16]byte {
	var out [][16]byte
	for _, k := range keys {
		if t.seen.has(k) {
			out = append(out, k)
		}
	}
	return out
}

func (t *soleTarget) added(ids ...[16]byte) {
	for _, id := range ids {
		t.seen.add(id)
	}
}

// lock is empty: nobody else is there.
func (*soleTarget) lock() string { return "" }

// oldRows notes that there may be rows of these ids, though nobody looked.
func (s *store) oldRows(table string, rows [][]any) {
	for _, row := range rows {
		s.target.found(table, row[0].([16]byte)) //nolint:forcetypeassert // every row begins with its id
	}
}

// split tells which of some ids are those of new rows, and which may be there.
func (s *store) split(table string, ids [][16]byte) (fresh, old []int) {
	for i, id := range ids {
		if !s.target.fresh(table, id) {
			old = append(old, i)
			continue
		}
		s.target.added(id)
		fresh = append(fresh, i)
	}
	return fresh, old
}

// sumNew sums up the documents of attempts that are new, as sumDocuments does
// in the database: all that is known of them is at hand.
func (f *fold) sumNew(attempts map[string]string) map[uuid.UUID]children {
	out := map[uuid.UUID]children{}
	first := map[uuid.UUID]*document{}
	firstID := map[uuid.UUID]uuid.UUID{}
	for id, d := range f.documents {
		if accepted, ok := attempts[d.Download]; !ok || accepted != d.Outcome {
			continue
		}
		download := uuid.MustParse(d.Download)
		c, known := out[download]
		is := d.shownRow()
		c.Known++
		if is.Status == failed {
			c.Failed++
			if c.Failed == 1 || earlier(is, d, id, c.FirstFailed, first[download], firstID[download]) {
				c.FirstFailed, first[download], firstID[download] = is, d, id
			}
		}
		is = is.rolledUp()
		if is.Status < done || (is.Status == done && is.Phase < schemas.Overview.ID()) {
			c.Open++
		}
		if least := is.Phase*10 + is.Status; !known || least < c.LeastPhase*10+c.LeastStatus {
			c.LeastPhase, c.LeastStatus = is.Phase, is.Status
		}
		out[download] = c
	}
	return out
}

// earlier says whether a failed document comes before another.
func earlier(a shown, ad *document, aid uuid.UUID, b shown, bd *document, bid uuid.UUID) bool {
	if a.Phase != b.Phase {
		return a.Phase < b.Phase
	}
	if c := strings.Compare(ad.Entry, bd.Entry); c != 0 {
		return c < 0
	}
	return bytes.Compare(aid[:], bid[:]) < 0
}

// idSet tells which ids were added, and of a few others that they may have
// been: a Bloom filter of 16 MB. Of ten million ids it is wrong about one in
// a hundred. Ids that follow from names are as good as hashes.
type idSet struct{ bits []uint64 }

const idSetBits = 1 << 27

func newIDSet() *idSet { return &idSet{bits: make([]uint64, idSetBits/64)} }

func (s *idSet) places(id uuid.UUID) [4]uint64 {
	a, b := binary.LittleEndian.Uint64(id[:]), binary.LittleEndian.Uint64(id[8:])|1
	var out [4]uint64
	for i := range out {
		out[i] = (a + uint64(i)*b) % idSetBits
	}
	return out
}

func (s *idSet) add(id uuid.UUID) {
	for _, p := range s.places(id) {
		s.bits[p/64] |= 1 << (p % 64)
	}
}

func (s *idSet) has(id uuid.UUID) bool {
	for _, p := range s.places(id) {
		if s.bits[p/64]&(1<<(p%64)) == 0 {
			return false
		}
	}
	return true
}
