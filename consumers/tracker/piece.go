package tracker

import (
	"errors"
	"fmt"
	"maps"

	"github.com/google/uuid"

	"tributary/internal/stage/sink"
	"tributary/schemas"
)

// piece is a part of the log, summed up.
type piece struct {
	fold   *fold
	bad    []unreadable
	ranges map[int32]sink.Range // without their records
	n      int
}

// sum sums up what was read. The records are needed no longer then.
func (s *build) sum(ranges []sink.Range) (*piece, error) {
	f, bad, err := foldOf(s.codec, ranges)
	var named *sink.RecordError
	if errors.Is(err, schemas.ErrUnknownSchema) && errors.As(err, &named) {
		return nil, fmt.Errorf("record %d of partition %d of %s was written by a newer version: use that: %w", named.Offset, named.Partition, s.log.name, err)
	}
	if err != nil {
		return nil, err
	}
	p := &piece{fold: f, bad: bad, ranges: map[int32]sink.Range{}}
	for _, r := range ranges {
		p.n += len(r.Records)
		r.Records = nil
		p.ranges[r.Partition] = r
	}
	return p, nil
}

// and adds the piece that follows in the log, which is not to be used afterwards.
func (p *piece) and(o *piece) *piece {
	if p == nil {
		return o
	}
	p.fold.join(o.fold)
	p.bad, p.n = append(p.bad, o.bad...), p.n+o.n
	for partition, r := range o.ranges {
		if before, ok := p.ranges[partition]; ok {
			r.From = before.From
		}
		p.ranges[partition] = r
	}
	return p
}

// join adds what other events say, in a fold that is not to be used afterwards.
func (f *fold) join(o *fold) {
	joinStates(f.centres, o.centres)
	joinStates(f.sources, o.sources)
	joinStates(f.sessions, o.sessions)
	joinStates(f.tasks, o.tasks)
	joinStates(f.batches, o.batches)
	joinStates(f.replays, o.replays)
	joinStates(f.names, o.names)
	joinStates(f.files, o.files)
	joinStates(f.hostings, o.hostings)
	joinStates(f.versions, o.versions)
	joinStates(f.attempts, o.attempts)
	joinStates(f.documents, o.documents)
	joinStates(f.qualities, o.qualities)
	maps.Copy(f.revisions, o.revisions)
	maps.Copy(f.ordered, o.ordered)
	for id, x := range o.exceptions {
		x.first = earliest(f.exceptions[id].first, x.first)
		f.exceptions[id] = x
	}
}

func joinStates[T any, P adder[T]](to, from map[uuid.UUID]P) {
	for id, s := range from {
		if known, ok := to[id]; ok {
			known.add((*T)(s))
		} else {
			to[id] = s
		}
	}
}

// size is how many things the fold speaks of, of those that there are many of.
func (f *fold) size() int {
	return len(f.names) + len(f.files) + len(f.hostings) + len(f.versions) + len(f.attempts) + len(f.documents)
}
