//go:build synctests

package sim

import (
	"cmp"
	"slices"
	"strconv"
	"time"

	"tributary/internal/chain"
	"tributary/schemas"
)

// release gives the documents of complete batches their positions, and where batches
// are released early, what is complete of others.
func (c *control) release() {
	defer c.releaseParts()
	for again := true; again; {
		again = false
		for _, b := range c.batches {
			if !b.released && c.ready(b) {
				c.releaseBatch(b)
				again = true
				break
			}
		}
	}
	for _, x := range c.sessions {
		if !x.ended && c.sessionOver(x) {
			x.ended, x.over = true, time.Now()
			if time.Since(c.given) < heartbeat && !slices.ContainsFunc(c.batches, func(b *batch) bool { return b.session == x }) {
				continue // nothing of it is in the order
			}
			c.position++
			c.ordered(&schemas.DocumentOrdered{Position: c.position, What: schemas.PositionSession, Number: int64(x.number), Scope: schemas.Scope{Session: x.id, Run: schemas.LiveRun}})
		}
	}
}

// found says that all that a session's polls announced is taken up.
func (c *control) found(x *csession) bool {
	for _, q := range x.polls {
		if q.state != "ended" {
			return false
		}
	}
	for _, f := range c.order {
		for _, k := range f.looks {
			if k.session == x {
				return false
			}
		}
	}
	return true
}

func (c *control) sessionOver(x *csession) bool {
	if !c.found(x) {
		return false
	}
	for _, b := range c.batches {
		if b.session == x && !b.released {
			return false
		}
	}
	return true
}

func (c *control) ready(b *batch) bool {
	if b.session != nil && (!c.turn(b) || !c.found(b.session)) {
		return false
	}
	if time.Since(b.opened) > releaseLimit {
		return b.session != nil || slices.ContainsFunc(b.acqs, func(a *acq) bool { return a.state == ended })
	}
	return len(b.acqs) > 0 && !slices.ContainsFunc(b.acqs, func(a *acq) bool { return a.state != ended })
}

// item is a document in the order of its batch.
type item struct {
	a *acq
	v *verdict
}

// turn says that no other session's batch of the domain comes before this one: the one
// that has begun comes first, then those of earlier sessions.
func (c *control) turn(b *batch) bool {
	return b.number > 0 || !slices.ContainsFunc(c.batches, func(o *batch) bool {
		return o.domain == b.domain && o.session != nil && !o.released && (o.number > 0 || o.session.number < b.session.number)
	})
}

// releaseParts releases what is complete of batches that are not.
func (c *control) releaseParts() {
	for _, b := range c.batches {
		if c.s.scene.early && b.session != nil && !b.released && c.turn(b) && slices.ContainsFunc(b.acqs, complete) {
			c.give(b)
			c.s.tracef("control", "a part of batch %d of %s is out, up to position %d", b.number, b.domain, c.position)
		}
	}
}

// complete says that a version has no positions yet, and could have them.
func complete(a *acq) bool { return a.state == ended && a.result == "inserted" && !a.ordered }

func (c *control) releaseBatch(b *batch) {
	b.released = true
	for _, a := range slices.Clone(b.acqs) {
		if a.state != ended {
			late := c.openBatch(nil, b.domain)
			a.batch = late
			late.acqs = append(late.acqs, a)
		}
	}
	c.give(b)
	if b.documents > 0 {
		c.position++
		c.ordered(&schemas.DocumentOrdered{Position: c.position, What: schemas.PositionBatchEnd, Domain: b.domain, Number: b.number, Late: b.session == nil, Documents: b.documents, Scope: schemas.Scope{Run: schemas.LiveRun, Centre: b.domain}})
	}
	c.s.tracef("control", "batch %d of %s is out: %d documents, up to position %d", b.number, b.domain, b.documents, c.position)
}

// give gives the documents of a batch that are complete their positions, then what
// their versions withdraw; its number comes with its first part.
func (c *control) give(b *batch) {
	if b.number == 0 {
		c.numbers[b.domain]++
		b.number = c.numbers[b.domain]
	}
	var items []item
	var versions []*acq
	for _, a := range b.acqs {
		if !complete(a) {
			continue
		}
		a.ordered = true
		versions = append(versions, a)
		for _, v := range a.verdicts() {
			items = append(items, item{a, v})
		}
	}
	b.documents += int32(len(items))
	slices.SortFunc(items, c.byOrderKey)
	for _, it := range items {
		o := c.of(b, it.a)
		v := it.v.body
		o.What, o.DocumentRef, o.DocumentName, o.Result, o.Exception = schemas.PositionDocument, v.DocumentRef, v.DocumentName, v.Result, v.Exception
		c.position++
		o.Position = c.position
		c.ordered(o)
	}
	for _, a := range versions {
		o := c.of(b, a)
		o.What, o.Archive, o.Documents = schemas.PositionVersion, a.download, a.documents
		c.position++
		o.Position = c.position
		c.ordered(o)
	}
}

// of is a position of a version, still without its number.
func (c *control) of(b *batch, a *acq) *schemas.DocumentOrdered {
	listed := a.rankTime
	name, _ := c.s.shared.profile.ParseZip(a.file.name, c.s.shared.centres)
	return &schemas.DocumentOrdered{Scope: schemas.Scope{Run: schemas.LiveRun, Centre: b.domain, Source: a.source}, FileRef: a.file.ref(),
		Domain: b.domain, Number: b.number, Late: b.session == nil, Attempt: a.attempt, Download: a.download, Unzip: a.unzip,
		FileDate: name.Date.Format(time.DateOnly), FileInc: name.Increment, RankOwn: true, RankTime: &listed, RankOrdinal: a.ordinal}
}

// byOrderKey is section 6 of the design: kind, file date and increment,
// document date and increment, action, file name, document name, version.
func (c *control) byOrderKey(x, y item) int {
	file := func(i item) schemas.DocumentOrdered { return *c.of(i.a.batch, i.a) }
	fx, fy := file(x), file(y)
	return cmp.Or(
		cmp.Compare(c.stratum(x.v.body.Kind, x.a.file.action), c.stratum(y.v.body.Kind, y.a.file.action)),
		cmp.Compare(fx.FileDate, fy.FileDate), cmp.Compare(fx.FileInc, fy.FileInc),
		cmp.Compare(x.v.body.DocDate, y.v.body.DocDate), cmp.Compare(x.v.body.DocInc, y.v.body.DocInc),
		cmp.Compare(schemas.ActionOrder(fx.Action), schemas.ActionOrder(fy.Action)),
		cmp.Compare(fx.FileName, fy.FileName), cmp.Compare(x.v.body.Entry, y.v.body.Entry), cmp.Compare(x.v.body.Archive, y.v.body.Archive))
}

// stratum is the order of kinds, and of deletions the other way round.
func (c *control) stratum(kind, action string) int {
	k := c.s.shared.profile.KindOrder(kind)
	if action == schemas.Delete {
		return 100 - k
	}
	return k
}

// ordered puts a position into the outbox, which names the one before it.
func (c *control) ordered(o *schemas.DocumentOrdered) {
	o.Previous = chain.Start
	if c.previous != (chain.Digest{}) {
		o.Previous = c.previous.String()
	}
	c.put(schemas.Message{ID: schemas.EventID("sequence", schemas.LiveRun, strconv.FormatInt(o.Position, 10), "ordered"),
		Topic: schemas.DocumentOrderedTopic, Key: o.Domain, Stage: "sequence", Time: time.Now(), Body: o})
	c.previous, c.given = chain.Of(c.outbox[len(c.outbox)-1].rec.Value), time.Now()
}
