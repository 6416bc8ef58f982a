//go:build synctests

package sim

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"strconv"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"tributary/internal/document"
	"tributary/internal/stage/sink"
	"tributary/schemas"
)

// warehouse is the model of insert: one position after another, and the rows
// that follow from the set of versions.
type warehouse struct {
	database
	next     int64
	applied  []*schemas.DocumentOrdered
	versions map[string][]*claimed // by file
}

// claimed is a version in the warehouse.
type claimed struct {
	archive  string
	rankTime time.Time
	ordinal  int32
	loaded   map[string]string // by entry: sha256 of the document
	all      map[string]bool
	complete bool
}

func (v *claimed) below(o *claimed) bool {
	if !v.rankTime.Equal(o.rankTime) {
		return v.rankTime.Before(o.rankTime)
	}
	return v.ordinal < o.ordinal
}

func newWarehouse(s *sim) *warehouse {
	return &warehouse{database: newDatabase(s, "warehouse"), next: 1, versions: map[string][]*claimed{}}
}

// prepare reads the documents of a batch and compares them with what they
// should be.
func (w *warehouse) prepare(p *proc) func(context.Context, []sink.Range) error {
	store := w.s.blobs.by(p)
	return func(ctx context.Context, batch []sink.Range) error {
		var failed error
		w.s.each(batch, func(_ sink.Range, _ *kgo.Record, m schemas.Message) {
			o, ok := m.Body.(*schemas.DocumentOrdered)
			if !ok || o.What != schemas.PositionDocument || o.Result != schemas.Valid || failed != nil {
				return
			}
			h := sha256.New()
			failed = document.Read(ctx, store, o.DocumentRef, nil, func(r io.Reader) error {
				_, err := io.Copy(h, r)
				return err
			})
			if failed != nil {
				return
			}
			if got := hex.EncodeToString(h.Sum(nil)); got != o.DocumentRef.SHA256 {
				w.s.violate("L2", "%s of %s is loaded with other bytes than were announced", o.Entry, o.FileName)
			}
		})
		return failed
	}
}

// apply applies the next positions, ignores lower ones and reports a gap.
func (w *warehouse) apply(batch []sink.Range) {
	w.s.each(batch, func(_ sink.Range, _ *kgo.Record, m schemas.Message) {
		o, ok := m.Body.(*schemas.DocumentOrdered)
		switch {
		case !ok, o.Position < w.next:
			return
		case o.Position > w.next:
			w.s.violate("L3", "position %d follows %d", o.Position, w.next-1)
			return
		}
		w.next++
		w.applied = append(w.applied, o)
		w.take(o)
		if o.What == schemas.PositionDocument && o.Result == schemas.Valid {
			w.put(w.outcome(o))
		}
		w.s.tracef("insert", "position %d: %s %s/%s", o.Position, o.What, o.FileName, o.Entry)
	})
}

// take adds what a position says to the rows.
func (w *warehouse) take(o *schemas.DocumentOrdered) {
	switch o.What {
	case schemas.PositionDocument:
		v := w.version(o)
		v.all[o.Entry] = true
		if o.Result == schemas.Valid {
			v.loaded[o.Entry] = o.DocumentRef.SHA256
		}
	case schemas.PositionVersion:
		w.version(o).complete = true
	}
}

// outcome tells the log that a document is loaded.
func (w *warehouse) outcome(o *schemas.DocumentOrdered) schemas.Message {
	return schemas.Message{ID: schemas.EventID("insert", schemas.LiveRun, strconv.FormatInt(o.Position, 10), "outcome"), Topic: schemas.StatusChangedTopic,
		Key: o.File, Stage: "insert", Time: time.Now(), Body: &schemas.StatusChanged{Scope: o.Scope, FileRef: o.FileRef, DocumentRef: o.DocumentRef.Named(),
			Entity: schemas.EntityDocument, Attempt: o.Attempt, Outcome: o.Download + "/" + o.Unzip, Phase: string(schemas.Overview), Status: string(schemas.Done), Position: o.Position}}
}

func (w *warehouse) version(o *schemas.DocumentOrdered) *claimed {
	for _, v := range w.versions[o.File] {
		if v.archive == o.Archive && v.ordinal == o.RankOrdinal {
			return v
		}
	}
	v := &claimed{archive: o.Archive, ordinal: o.RankOrdinal, loaded: map[string]string{}, all: map[string]bool{}}
	if o.RankTime != nil {
		v.rankTime = *o.RankTime
	}
	w.versions[o.File] = append(w.versions[o.File], v)
	return v
}

// current are the documents of a file that count: of each the greatest
// version's, unless a greater complete one lacks it.
func (w *warehouse) current(file string) map[string]string {
	out := map[string]string{}
	best := map[string]*claimed{}
	for _, v := range w.versions[file] {
		for entry, sha := range v.loaded {
			if b := best[entry]; b == nil || b.below(v) {
				best[entry], out[entry] = v, sha
			}
		}
	}
	for entry, b := range best {
		for _, v := range w.versions[file] {
			if v.complete && b.below(v) && !v.all[entry] {
				delete(out, entry)
			}
		}
	}
	return out
}

// tracker is the model of the tracker: what is known of each thing, merged.
type tracker struct {
	database
	shown map[string]shown // by file, attempt, outcome and document
	said  map[string]bool  // every step that was told of
}

// shown is where a thing stands.
type shown struct{ phase, status int }

func (a shown) rank() int {
	if a.status >= schemas.Cancelled.ID() {
		return 1000 + a.phase*10 + a.status // failed and cancelled stay
	}
	return a.phase*10 + a.status
}

func newTracker(s *sim) *tracker {
	return &tracker{database: newDatabase(s, "tracker"), shown: map[string]shown{}, said: map[string]bool{}}
}

func (t *tracker) apply(batch []sink.Range) {
	t.s.each(batch, func(_ sink.Range, _ *kgo.Record, m schemas.Message) {
		if e, ok := m.Body.(*schemas.StatusChanged); ok && e.Phase != "" {
			t.merge(e)
		}
	})
}

// merge adds what an event tells; the order of events does not matter.
func (t *tracker) merge(e *schemas.StatusChanged) {
	t.said[said(e.File, e.Attempt, e.Outcome, e.Document, schemas.Phase(e.Phase), schemas.Status(e.Status))] = true
	key := e.File + " " + strconv.Itoa(int(e.Attempt)) + " " + e.Outcome + " " + e.Document
	now := shown{schemas.Phase(e.Phase).ID(), schemas.Status(e.Status).ID()}
	if now.rank() > t.shown[key].rank() {
		t.shown[key] = now
	}
}

// history is the model of the history: every record once.
type history struct {
	database
	counts map[string]map[int32]int64 // by topic and partition
	raw    map[string]int             // repeats, by event id
	log    []logged
}

// logged is a record of the log, as the laws want it.
type logged struct {
	topic string
	m     schemas.Message
	rec   *kgo.Record
}

func newHistory(s *sim) *history {
	return &history{database: newDatabase(s, "history"), counts: map[string]map[int32]int64{}, raw: map[string]int{}}
}

func (h *history) apply(batch []sink.Range) {
	h.s.each(batch, func(r sink.Range, rec *kgo.Record, m schemas.Message) {
		if h.counts[r.Topic] == nil {
			h.counts[r.Topic] = map[int32]int64{}
		}
		h.counts[r.Topic][r.Partition]++
		h.raw[m.ID+" "+r.Topic]++
		h.log = append(h.log, logged{r.Topic, m, rec})
	})
}

func topicsOf() []string {
	return []string{schemas.FileDiscoveredTopic, schemas.DownloadRequestedTopic, schemas.DownloadFinishedTopic, schemas.UnzipFinishedTopic,
		schemas.DocumentExtractedTopic, schemas.DocumentValidatedTopic, schemas.DocumentOrderedTopic, schemas.StatusChangedTopic}
}
