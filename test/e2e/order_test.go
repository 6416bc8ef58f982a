package e2e

import (
	"cmp"
	"fmt"
	"maps"
	"path/filepath"
	"slices"

	"tributary/schemas"
	"tributary/test/corpus"
)

// placed is a position of document.ordered, as far as law L3 speaks of it.
type placed struct {
	Position        int64
	What            string
	Session, Domain string
	Number          int64 // of the batch in its domain
	Late            bool
	Action          string
	File            string `json:"file_name"`
	Document        string `json:"entry"`
	ID              string `json:"document"`
	Archive         string
	Run             string
	Attempt         int32
	Result, Phase   string // what it was judged before it was ordered, and in which phase last
	Documents       int32  // of a version or a batch

	Loads bool `json:"-"` // the warehouse holds it as loaded
}

// expected says that the oracle has a place for it: documents that failed before they
// were ordered have none.
func (p placed) expected() bool {
	judged := p.Phase == string(schemas.XMLName) || p.Phase == string(schemas.XSD)
	return p.What == schemas.PositionDocument && (p.Result == schemas.Valid || !judged)
}

func (p placed) batch() string { return fmt.Sprintf("batch %d of %s", p.Number, p.Domain) }

func (p placed) version() string {
	return fmt.Sprintf("%s/%s %s %s %d", p.Action, p.File, p.Archive, p.Run, p.Attempt)
}

// releaseWhole has the profile's batches released whole from here on.
func (s *system) releaseWhole() {
	s.t.Helper()
	s.edit(filepath.Join(s.ownProfile(), "profile.yaml"), "release: early", "release: whole")
	s.whole = true
}

// inOrder checks that the order is what law L3 promises of what the oracle knows:
// see disorder.
func (s *system) inOrder(log []placed) {
	s.t.Helper()
	type loaded struct{ Position int64 }
	loads := map[int64]bool{}
	for _, d := range sql[loaded](s, "warehouse", "SELECT position FROM warehouse.document WHERE state = 'loaded'") {
		loads[d.Position] = true
	}
	for i := range log {
		log[i].Loads = loads[log[i].Position]
	}
	wrong, parts := disorder(s.corpus.Oracle.Order, s.whole, log)
	for i, w := range wrong {
		if i == 20 {
			s.t.Errorf("order of insertion: %d more", len(wrong)-i)
			break
		}
		s.t.Errorf("order of insertion: %s", w)
	}
	s.t.Logf("batches have %d parts in all", parts)
}

// disorder says where the log of the order is not what law L3 promises of the documents
// that the oracle has. Positions have no gap. Each session has one batch in each domain,
// which holds just what the oracle has of them; no other batch of a session begins in its
// midst; batches begin by their numbers; the end of each comes once, behind all of it,
// and counts it. A batch goes out in parts, or in one if batches are whole. Each part is
// sorted as the oracle is, and holds whole versions with what they withdraw.
//
// Where a part ends the log says: a part is a run of positions of one batch, documents
// and then, for each version that they are of, its withdrawal.
func disorder(oracle []corpus.Position, whole bool, log []placed) (wrong []string, parts int) {
	o := &orderLaw{whole: whole, sessions: sessionsOf(log), places: map[string]place{}, batches: map[string]*batchSeen{}, begun: map[string]string{}, numbers: map[string]int64{}}
	for i, p := range oracle {
		o.places[placeOf(p.Session, p.Centre, p.Action, p.File, p.Document)] = place{rank: i, loads: p.Loads}
	}
	for i, p := range log {
		if p.Position != int64(i+1) {
			o.say("position %d is the %dth", p.Position, i+1)
		}
		switch p.What {
		case schemas.PositionDocument, schemas.PositionVersion:
			o.takes(p)
		case schemas.PositionBatchEnd:
			o.leave()
			o.ends(p)
		default:
			o.leave()
		}
	}
	o.leave()
	for _, name := range slices.Sorted(maps.Keys(o.batches)) {
		if b := o.batches[name]; !b.ended {
			o.say("%s has no end", name)
		} else if whole && b.parts > 1 {
			o.say("%s has %d parts, and batches are released whole", name, b.parts)
		}
		parts += o.batches[name].parts
	}
	for _, key := range slices.Sorted(maps.Keys(o.places)) {
		if !o.places[key].seen {
			o.say("%s is missing", key)
		}
	}
	return o.wrong, parts
}

// orderLaw judges the log of the order, position by position.
type orderLaw struct {
	whole    bool
	sessions map[string]int
	places   map[string]place
	batches  map[string]*batchSeen
	begun    map[string]string // the batch of a session that has begun and not ended, by domain
	numbers  map[string]int64  // of the batch that began last, by domain
	part     *partRead         // nil: none is being read
	wrong    []string
}

// place is that of a document in the oracle's order.
type place struct {
	rank        int
	loads, seen bool
}

// batchSeen is what the log has told of a batch.
type batchSeen struct {
	session   string
	documents int32
	parts     int
	ended     bool
}

// partRead is the part of a batch that is being read.
type partRead struct {
	batch     string
	last      int              // rank of the document before; -1: there is none
	withdraws bool             // its documents are over
	open      map[string]int32 // documents of versions whose withdrawal has not come
}

func placeOf(session int, centre, action, file, document string) string {
	return fmt.Sprintf("%s/%s/%s of session %d, %s", action, file, document, session, centre)
}

// sessionsOf numbers sessions as they brought something that the oracle knows.
func sessionsOf(log []placed) map[string]int {
	out := map[string]int{}
	for _, p := range log {
		if p.expected() && out[p.Session] == 0 {
			out[p.Session] = len(out) + 1
		}
	}
	return out
}

func (o *orderLaw) say(format string, args ...any) {
	o.wrong = append(o.wrong, fmt.Sprintf(format, args...))
}

// takes takes a document or a withdrawal of a part.
func (o *orderLaw) takes(p placed) {
	b := o.batchOf(p)
	if o.part != nil && (o.part.batch != p.batch() || o.part.withdraws && p.What == schemas.PositionDocument) {
		o.leave()
	}
	if o.part == nil {
		o.part = &partRead{batch: p.batch(), last: -1, open: map[string]int32{}}
		b.parts++
	}
	if p.What == schemas.PositionVersion {
		if n := o.part.open[p.version()]; n != p.Documents {
			o.say("position %d withdraws for %d documents of %s, and its part has %d", p.Position, p.Documents, p.version(), n)
		}
		delete(o.part.open, p.version())
		o.part.withdraws = true
		return
	}
	b.documents++
	o.part.open[p.version()]++
	if p.expected() {
		o.ranks(p)
	}
}

// ranks finds the document's place in the oracle's order, which must be behind that of
// the one before in its part.
func (o *orderLaw) ranks(p placed) {
	key := placeOf(o.sessions[p.Session], p.Domain, p.Action, p.File, p.Document)
	at, is := o.places[key]
	switch {
	case !is:
		o.say("position %d is %s, for which the oracle has no place", p.Position, key)
		return
	case at.seen:
		o.say("position %d is %s again", p.Position, key)
	case at.rank < o.part.last:
		o.say("position %d, %s, belongs before the one before it in its part", p.Position, key)
	case at.loads != p.Loads:
		o.say("position %d, %s: it loads: %t, the oracle says %t", p.Position, key, p.Loads, at.loads)
	}
	at.seen = true
	o.places[key] = at
	o.part.last = at.rank
}

// batchOf is the batch of a position, which may begin with it.
func (o *orderLaw) batchOf(p placed) *batchSeen {
	name := p.batch()
	b := o.batches[name]
	if b == nil {
		b = &batchSeen{session: p.Session}
		o.batches[name] = b
		if begun := o.begun[p.Domain]; begun != "" && !p.Late {
			o.say("%s begins at position %d in the midst of %s", name, p.Position, begun)
		}
		if p.Number <= o.numbers[p.Domain] {
			o.say("%s begins at position %d, behind batch %d", name, p.Position, o.numbers[p.Domain])
		}
		o.numbers[p.Domain] = p.Number
		if !p.Late {
			o.begun[p.Domain] = name
		}
	}
	if b.ended {
		o.say("position %d comes behind the end of its batch, %s", p.Position, name)
	}
	if b.session != p.Session {
		o.say("position %d is of another session than the rest of %s", p.Position, name)
	}
	return b
}

// ends takes the end of a batch; one of an operation has no documents.
func (o *orderLaw) ends(p placed) {
	b := o.batches[p.batch()]
	if b == nil && p.Documents == 0 {
		o.numbers[p.Domain] = cmp.Or(p.Number, o.numbers[p.Domain])
		return
	}
	if b == nil || b.ended || b.documents != p.Documents {
		o.say("position %d ends %s with %d documents, where it is %+v", p.Position, p.batch(), p.Documents, b)
		return
	}
	b.ended = true
	if o.begun[p.Domain] == p.batch() {
		delete(o.begun, p.Domain)
	}
}

// leave ends the part that is being read.
func (o *orderLaw) leave() {
	if o.part == nil {
		return
	}
	for _, version := range slices.Sorted(maps.Keys(o.part.open)) {
		o.say("a part of %s has documents of %s, and not what it withdraws", o.part.batch, version)
	}
	o.part = nil
}
