//go:build synctests

package sim

import (
	"fmt"
	"maps"
	"slices"

	"tributary/schemas"
)

// outgoing is a batch as its positions tell of it.
type outgoing struct {
	domain    string
	number    int64
	late      bool
	parts     int
	documents int32
	ended     bool
}

// lawParts is the part of L3 that is about parts of batches: a part holds whole
// versions, each with its withdrawal; a session's batch is not interrupted by another
// session's of its domain; it has one end, behind all of it, that counts all of it; and
// where batches are released whole, each has one part.
func (s *sim) lawParts(applied []*schemas.DocumentOrdered) {
	batches := map[string]*outgoing{}
	begun := map[string]*outgoing{} // of sessions, by domain
	var in *outgoing                // whose part is read
	open := map[string]int32{}      // documents of the part, of versions that lack their withdrawal
	withdraws := false              // the part has come to its withdrawals
	end := func() {
		for _, version := range slices.Sorted(maps.Keys(open)) {
			s.violate("L3", "a part of batch %d of %s has documents of %s, and not what it withdraws", in.number, in.domain, version)
		}
		in, withdraws = nil, false
		clear(open)
	}
	for _, o := range applied {
		key := fmt.Sprint(o.Domain, " ", o.Number)
		b := batches[key]
		switch o.What {
		case schemas.PositionDocument, schemas.PositionVersion:
			if b == nil {
				b = &outgoing{domain: o.Domain, number: o.Number, late: o.Late}
				batches[key] = b
				if !b.late && begun[o.Domain] != nil {
					s.violate("L3", "batch %d of %s begins in the midst of batch %d", o.Number, o.Domain, begun[o.Domain].number)
				}
				if !b.late {
					begun[o.Domain] = b
				}
			}
			if in != b || withdraws && o.What == schemas.PositionDocument {
				end()
				in = b
				b.parts++
			}
			if b.ended {
				s.violate("L3", "position %d of batch %d of %s comes behind its end", o.Position, o.Number, o.Domain)
			}
			s.inPart(o, b, open)
			withdraws = o.What == schemas.PositionVersion
		case schemas.PositionBatchEnd:
			end()
			if b == nil && o.Documents == 0 {
				continue // an operation's
			}
			if b == nil || b.ended || b.documents != o.Documents {
				s.violate("L3", "the end of batch %d of %s with %d documents does not follow them once: %+v", o.Number, o.Domain, o.Documents, b)
				continue
			}
			b.ended = true
			if begun[o.Domain] == b {
				delete(begun, o.Domain)
			}
		default:
			end()
		}
	}
	end()
	for _, key := range slices.Sorted(maps.Keys(batches)) {
		if b := batches[key]; !b.ended || b.parts > 1 && (b.late || !s.scene.early) {
			s.violate("L3", "batch %s has %d parts, and its end is there: %t", key, b.parts, b.ended)
		}
	}
}

// inPart takes a document or a withdrawal of a part.
func (s *sim) inPart(o *schemas.DocumentOrdered, b *outgoing, open map[string]int32) {
	version := fmt.Sprint(o.FileName, " ", o.Run, " ", o.Attempt, " ", o.Archive)
	if o.What == schemas.PositionDocument {
		open[version]++
		b.documents++
		return
	}
	if open[version] != o.Documents {
		s.violate("L3", "%s withdraws what its %d documents do not show, where %d of them come before", version, o.Documents, open[version])
	}
	delete(open, version)
}
