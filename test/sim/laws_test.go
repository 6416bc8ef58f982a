//go:build synctests

package sim

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"tributary/internal/kafka"
	"tributary/schemas"
)

// laws checks everything once a run has ended.
func (s *sim) laws() {
	s.lawL1()
	s.lawL2(s.warehouse.current)
	s.lawL3(s.warehouse.applied)
	s.lawChain(s.history.log)
	s.lawHeartbeat(s.history.log)
	s.lawL4()
	s.lawL5()
	s.lawL6(s.history.log)
	s.lawL7()
	s.lawL9()
	s.lawL11()
}

// pending is what is not done yet, in words (L8).
func (s *sim) pending() (out []string) {
	out = s.toCome()
	c := s.control
	c.mu.Lock()
	defer c.mu.Unlock()
	if !s.polledSince() {
		out = append(out, "no session has listed everything since the last change")
	}
	for _, x := range c.sessions {
		if !x.ended {
			out = append(out, fmt.Sprintf("session %d is open", x.number))
		}
	}
	for id := range c.jobs {
		out = append(out, id+" is outstanding")
	}
	for _, f := range c.order {
		for _, k := range f.looks {
			out = append(out, fmt.Sprintf("look %d of %s at %s is not taken up", k.look, f.name, k.source))
		}
		for _, a := range f.acqs {
			switch {
			case a.state != ended:
				out = append(out, fmt.Sprintf("%s is %s (attempt %d)", f.name, a.state, a.attempt))
			case a.result == "inserted" && !a.ordered:
				out = append(out, f.name+" is not ordered")
			case !a.retryAt.IsZero() && s.curable(f):
				out = append(out, f.name+" is to be tried again after "+a.exception)
			}
		}
	}
	if n := len(c.outbox); n > 0 {
		out = append(out, fmt.Sprintf("%d events in control's outbox", n))
	}
	s.warehouse.mu.Lock()
	defer s.warehouse.mu.Unlock()
	if n := len(s.warehouse.outbox); n > 0 {
		out = append(out, fmt.Sprintf("%d events in the warehouse's outbox", n))
	}
	if s.warehouse.next <= c.position {
		out = append(out, fmt.Sprintf("position %d of %d is not applied", s.warehouse.next, c.position))
	}
	if len(out) == 0 {
		out = s.behind()
	}
	slices.Sort(out)
	return out
}

// toCome are the files that are to appear, to change or to go.
func (s *sim) toCome() (out []string) {
	now := time.Since(s.begun)
	for _, f := range s.scene.files {
		if f.class != className && (now < s.paced(f.appears) || now < s.paced(f.changes) || now < s.paced(f.leaves)) {
			out = append(out, f.name+" has not come")
		}
	}
	return out
}

// settledAt is when faults have stopped and files change no more.
func (s *sim) settledAt() time.Time {
	settled := s.scene.settled()
	if !s.noFaults {
		settled = max(settled, faultPhase)
	}
	return s.begun.Add(s.paced(settled))
}

// curable says that a failed file must come through in the end.
func (s *sim) curable(f *cfile) bool {
	for _, x := range s.scene.files {
		if x.id() == f.id {
			return x.class == classGood
		}
	}
	return false
}

// polledSince says that, since faults stopped and files changed, every source
// was listed completely, twice, so that what is gone is known.
func (s *sim) polledSince() bool {
	since := s.settledAt()
	times := map[string]int{}
	for _, q := range s.control.polls {
		if q.complete && q.session.opened.After(since) {
			times[q.source]++
		}
	}
	for source := range sceneSources() {
		if times[source] < 2 {
			return false
		}
	}
	return true
}

// behind says which projection has not reached the log's end.
func (s *sim) behind() (out []string) {
	for group, db := range map[string]*database{"tracker": &s.tracker.database, "history": &s.history.database} {
		topics := topicsOf()
		if group == "tracker" {
			topics = []string{schemas.StatusChangedTopic}
		}
		db.mu.Lock()
		for _, topic := range topics {
			for id := range s.partitionsOf(topic) {
				end := s.cluster.PartitionInfo(kafka.TopicName(prefix, topic), id)
				if end == nil {
					continue
				}
				if at := db.offsets[fmt.Sprintf("%s %s/%d", group, topic, id)]; at < end.HighWatermark {
					out = append(out, fmt.Sprintf("%s is at %d of %d of %s/%d", group, at, end.HighWatermark, topic, id))
				}
			}
		}
		db.mu.Unlock()
	}
	return out
}

func (s *sim) partitionsOf(topic string) int32 {
	if topic == schemas.DocumentOrderedTopic {
		return 1
	}
	return s.scene.partitions
}

// checkOffsets compares the history with the log's ends, while the broker
// still runs.
func (s *sim) checkOffsets() {
	s.observe(func(ctx context.Context, client *kgo.Client) {
		ends, err := endOffsets(ctx, client, topicsOf())
		if err != nil {
			s.violate("sim", "%v", err)
			return
		}
		var wrong []string
		for range 60 { // what was tried again just now may be on its way
			if wrong = s.history.compare(ends); len(wrong) == 0 {
				return
			}
			time.Sleep(500 * time.Millisecond) // of virtual time
		}
		s.violate("L6", "%s", strings.Join(wrong, "; "))
	})
}

// endOffsets returns where the logs of topics end, by partition. Topics go by
// their logical names.
func endOffsets(ctx context.Context, client *kgo.Client, topics []string) (map[string]map[int32]int64, error) {
	out := map[string]map[int32]int64{}
	for _, t := range topics {
		out[t] = map[int32]int64{}
		ends, err := kadm.NewClient(client).ListEndOffsets(ctx, kafka.TopicName(prefix, t))
		if err = errors.Join(err, ends.Error()); err != nil {
			return nil, err
		}
		ends.Each(func(o kadm.ListedOffset) { out[t][o.Partition] = o.Offset })
	}
	return out, nil
}

// observe looks at the broker for a minute at most, as nobody's member.
func (s *sim) observe(look func(context.Context, *kgo.Client), opts ...kgo.Opt) {
	client, err := s.newProc("sim", "sim").client(opts...)
	if err != nil {
		s.violate("sim", "%v", err)
		return
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	look(ctx, client)
}

// compare returns where the history does not have each record once, up to the
// offset that it says it has, which is no less than the given end.
func (h *history) compare(ends map[string]map[int32]int64) (wrong []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for topic, ids := range ends {
		for id, end := range ids {
			n, at := h.counts[topic][id], h.offsets[fmt.Sprintf("history %s/%d", topic, id)]
			if n != at || at < end {
				wrong = append(wrong, fmt.Sprintf("history has %d records of %s/%d, up to %d; the log has %d", n, topic, id, at, end))
			}
		}
	}
	slices.Sort(wrong)
	return wrong
}

// lawL1: every file is in exactly one class, and the right one.
func (s *sim) lawL1() {
	for _, f := range s.scene.files {
		c := s.control.files[f.id()]
		if c == nil {
			if f.class != classGone && f.class != classDrip {
				s.violate("L1", "%s was never seen", f.name)
			}
			continue
		}
		got := "rejected by its name"
		if c.bad == "" && len(c.acqs) == 0 {
			s.violate("L1", "%s has no class: it was listed, and nothing followed", f.name)
			continue
		}
		if c.bad == "" {
			got = s.classOf(c)
		}
		want := map[string][]string{
			classGood: {"inserted"}, classCorrupt: {"failed"}, classBadSum: {"failed"}, classEmpty: {"failed"}, classDrip: {"failed", "gone"},
			classGone: {"inserted", "gone", "failed"}, className: {"rejected by its name"},
		}[f.class]
		if !slices.Contains(want, got) {
			s.violate("L1", "%s (%s) is %s, not %s", f.name, f.class, got, strings.Join(want, " or "))
		}
	}
}

// classOf is the class of the bytes that a file shows.
func (s *sim) classOf(f *cfile) string {
	for i := len(f.acqs) - 1; i >= 0; i-- {
		a := f.acqs[i]
		if a.result == "duplicate" {
			a = f.currentAcq
		}
		if a.state == ended {
			return a.result
		}
		if s.curable(f) {
			break // else it failed, and is tried again for as long as it is there
		}
	}
	return "pending"
}

// lawL2: what is loaded is what the sources show in the end, once. current are
// the documents that count of a file, by entry, with their hashes.
func (s *sim) lawL2(current func(file string) map[string]string) {
	for _, f := range s.scene.files {
		got := current(f.id())
		want := map[string]string{}
		// What was taken away is loaded as a whole, or not at all.
		if f.class == classGood || f.class == classGone && len(got) > 0 {
			for _, d := range f.versions[len(f.versions)-1].docs {
				if d.valid {
					want[d.entry] = d.sha
				}
			}
		}
		for entry, sha := range want {
			if got[entry] == "" {
				s.violate("L2", "%s of %s is not loaded", entry, f.name)
			} else if got[entry] != sha {
				s.violate("L2", "%s of %s is loaded in another version", entry, f.name)
			}
		}
		for entry := range got {
			if want[entry] == "" {
				s.violate("L2", "%s of %s is loaded, and should not be", entry, f.name)
			}
		}
	}
}

// lawL3: positions have no gap, batches begin in the order of their numbers, and each
// part of a batch is sorted by the order key.
func (s *sim) lawL3(applied []*schemas.DocumentOrdered) {
	s.lawParts(applied)
	numbers := map[string]int64{}
	var last *schemas.DocumentOrdered
	seen := map[string]int64{}
	for i, o := range applied {
		if o.Position != int64(i+1) {
			s.violate("L3", "position %d is applied as the %dth", o.Position, i+1)
		}
		if begun := fmt.Sprint(o.Domain, " ", o.Number); o.Domain != "" && numbers[begun] == 0 {
			// A batch in which nothing was complete has a number and no positions.
			if o.Number < numbers[o.Domain] {
				s.violate("L3", "batch %d of %s begins behind batch %d", o.Number, o.Domain, numbers[o.Domain])
			}
			numbers[o.Domain], numbers[begun] = o.Number, o.Number
		}
		if o.What != schemas.PositionDocument {
			last = nil
			continue
		}
		key := fmt.Sprintf("%s %s %d", o.Document, o.Archive, o.RankOrdinal)
		if before := seen[key]; before > 0 {
			s.violate("L2", "%s of %s has two positions, %d and %d", o.Entry, o.FileName, before, o.Position)
		}
		seen[key] = o.Position
		if o.Kind == "" {
			continue // its name says nothing to order it by, and it loads nothing
		}
		if last != nil && last.Domain == o.Domain && last.Number == o.Number && s.after(last, o) {
			s.violate("L3", "%s of %s comes before %s of %s", last.Entry, last.FileName, o.Entry, o.FileName)
		}
		last = o
	}
}

// after says that x belongs behind y.
func (s *sim) after(x, y *schemas.DocumentOrdered) bool {
	kinds := func(o *schemas.DocumentOrdered) int { return s.control.stratum(o.Kind, o.Action) }
	return cmp.Or(cmp.Compare(kinds(x), kinds(y)), cmp.Compare(x.FileDate, y.FileDate), cmp.Compare(x.DocDate, y.DocDate), cmp.Compare(x.DocInc, y.DocInc),
		cmp.Compare(schemas.ActionOrder(x.Action), schemas.ActionOrder(y.Action)), cmp.Compare(x.FileName, y.FileName), cmp.Compare(x.Entry, y.Entry)) > 0
}

// lawL4: what the log says of one outcome of one attempt does not contradict
// itself, and the tracker shows the end of everything that was accepted.
func (s *sim) lawL4() {
	for _, f := range s.control.order {
		for _, a := range f.acqs {
			if a.result != "inserted" {
				continue
			}
			for _, v := range a.verdicts() {
				key := fmt.Sprintf("%s %d %s/%s %s", f.id, a.attempt, a.download, a.unzip, v.body.Document)
				got := s.tracker.shown[key]
				want := shown{schemas.Overview.ID(), schemas.Done.ID()}
				if v.body.Result != schemas.Valid {
					want = shown{schemas.Phase(v.body.Phase).ID(), schemas.Failed.ID()}
				}
				s.told(f, a, v)
				if got != want {
					s.violate("L4", "%s of %s, attempt %d, is shown at phase %d, status %d, not at %d, %d", v.body.Entry, f.name, a.attempt, got.phase, got.status, want.phase, want.status)
				}
			}
		}
	}
}

// told checks that the log tells every step of a document that was accepted:
// what was acknowledged late may be done again, but may not be missing.
func (s *sim) told(f *cfile, a *acq, v *verdict) {
	judged := schemas.Done
	if v.body.Result != schemas.Valid {
		judged = schemas.Failed
	}
	named := schemas.Done
	if v.body.Phase == string(schemas.XMLName) {
		named = schemas.Failed
	}
	outcome := a.download + "/" + a.unzip
	steps := []string{
		said(f.id, a.attempt, a.download, "", schemas.ZipMD5, schemas.Done),
		said(f.id, a.attempt, outcome, "", schemas.Unzip, schemas.Done),
		said(f.id, a.attempt, outcome, v.body.Document, schemas.XMLName, named),
	}
	if named == schemas.Done {
		steps = append(steps, said(f.id, a.attempt, outcome, v.body.Document, schemas.XSD, judged))
	}
	for _, step := range steps {
		if !s.tracker.said[step] {
			s.violate("L4", "the log does not tell of %s, attempt %d of %s: %s", v.body.Entry, a.attempt, f.name, step)
		}
	}
}

// said names what an event tells.
func said(file string, attempt int32, outcome, document string, phase schemas.Phase, st schemas.Status) string {
	return fmt.Sprintf("%s %d %s %s %s %s", file, attempt, outcome, document, phase, st)
}

// lawL6: every event that the log holds is in the history; what an archive
// holds was judged, each document once; ids tell events apart.
func (s *sim) lawL6(log []logged) {
	distinct := map[string]string{}
	for _, l := range log {
		if l.topic != schemas.DocumentExtractedTopic && l.topic != schemas.DocumentValidatedTopic && l.topic != schemas.UnzipFinishedTopic {
			continue
		}
		text := identity(l.m)
		if old, ok := distinct[l.m.ID]; ok && old != text {
			s.violate("L6", "two events share the id %s: %s and %s", l.m.ID, old, text)
		}
		distinct[l.m.ID] = text
	}
}

// identity is what a repeat has in common with the first.
func identity(m schemas.Message) string {
	switch b := m.Body.(type) {
	case *schemas.DocumentExtracted:
		return fmt.Sprint(b.Document, b.Attempt, b.Archive, b.DocumentRef.SHA256)
	case *schemas.DocumentValidated:
		return fmt.Sprint(b.Document, b.Attempt, b.Archive, b.Outcome)
	case *schemas.UnzipFinished:
		return fmt.Sprint(b.File, b.Attempt, b.SHA256, b.Outcome, b.Documents)
	}
	return m.ID
}

// lawL9: no session is left open, and none was over its server's limit, which
// each server says as it happens.
func (s *sim) lawL9() {
	for _, v := range s.servers {
		if n := len(v.open); n > 0 {
			s.violate("L9", "%d sessions at %s are left open", n, v.name)
		}
	}
}

// gone checks L10: what is concluded to be gone was missing from a complete
// listing.
func (s *sim) gone(q *poll, f *cfile) {
	v := s.servers[sceneSources()[q.source]]
	v.mu.Lock()
	_, there := v.files[q.source+"/"+f.action+"/"+f.name]
	v.mu.Unlock()
	s.tracef("control", "%s is gone from %s", f.name, q.source)
	if there {
		s.violate("L10", "%s is concluded to be gone from %s, where it is", f.name, q.source)
	}
}

// What a file may take that shares no server with a slow one.
const (
	isolation = 8 * time.Second
	// heldUp is for those slow ones that have all places of a member until they are
	// detached: no server has more than three sessions here.
	heldUp = (3 + downloadsAtOnce - 1) / downloadsAtOnce * (detachAfter + time.Second)
	// joining is for the groups that a file passes while its members join: one
	// that joins makes the others of its group wait, some 5 s each for download
	// and for who reads its outcome: with the group protocol consumer the others
	// learn of it at their next heartbeat, for which the broker's default is every
	// 5 s. (Seed 1034737411 met both.) It counts for what is begun by joined.
	joining = 10 * time.Second
	joined  = 15 * time.Second
)

// lawL11: where nothing goes wrong, a slow file delays no file of another
// server beyond the stated bound, also if it claims gigabytes and never ends.
func (s *sim) lawL11() {
	if !s.noFaults {
		return
	}
	slow := map[string]bool{}
	for _, f := range s.scene.files {
		for _, source := range f.sources {
			slow[sceneSources()[source]] = slow[sceneSources()[source]] || f.slow > 0 || f.class == classDrip
		}
	}
	for _, f := range s.control.order {
		anySlow := false
		for source := range f.hostings { // where one is damaged the others are asked
			anySlow = anySlow || slow[sceneSources()[source]]
		}
		for _, a := range f.acqs {
			bound := isolation + heldUp
			if a.begun.Sub(s.begun) < joined {
				bound += joining
			}
			if took := a.over.Sub(a.begun); !anySlow && a.result == "inserted" && took > bound {
				s.violate("L11", "%s took %v, more than %v, though nothing at its server is slow", f.name, took, bound)
			}
		}
	}
}
