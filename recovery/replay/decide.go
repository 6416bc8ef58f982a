package replay

import (
	"cmp"
	"fmt"
	"time"

	"tributary/producers/plan"
	"tributary/schemas"
	"tributary/sql/control"
)

// decision decides about items of a replay.
type decision struct {
	*plan.World
	now       time.Time
	codec     *schemas.Codec
	run       *control.ReplayRun
	others    []control.OtherReplay                                  // in the order of their numbers
	lost      map[string]bool                                        // versions whose bytes are not stored
	documents func(*control.Acquisition) ([]control.Document, error) // of an attempt
	naming    func(entry string) (exception, message string)         // what is wrong with a document's name; nil: nothing is known of it

	verdicts  []control.Document // known ones, of new attempts
	extracted int                // documents announced
}

// item decides about one item: it makes a new attempt, refuses it, or puts it
// off while its file is under way.
func (r *decision) item(i *control.ReplayItem) (*control.Acquisition, error) {
	f := r.File(i.File)
	refuse := func(name, message string) (*control.Acquisition, error) {
		i.Refusal, i.Message = name, message
		return nil, nil
	}
	putOff := func(message string) (*control.Acquisition, error) {
		i.NotBefore, i.Message = r.now.Add(busyPause), message
		return nil, nil
	}
	before, after := r.beside(i)
	switch {
	case f == nil:
		return refuse("unknown_file", "control does not know the file: it is another installation's")
	case f.Centre == "":
		return refuse("zip_name", "its name was refused, so nothing of it was ever asked for")
	case f.Held():
		return refuse(plan.HeldByHand, "the file is "+f.Said()+"; release it (tributary files release "+f.Subject()+"), and replay it then")
	case r.run.Shadow != "": // a shadow is in nobody's way, and nobody in its
	case busy(f):
		return putOff(busyWith(f))
	case before > 0:
		return putOff(fmt.Sprintf("replay %[1]d, which was asked for before, is to process the file first; to go on without it: tributary replay stop %[1]d", before))
	case after > 0:
		return refuse("overtaken", fmt.Sprintf("replay %d, which was asked for later, has had this version processed meanwhile: its results count", after))
	}
	if r.run.Phase == schemas.FromDownload {
		best := f.Candidates(&control.Acquisition{})
		switch {
		case len(best) > 0:
		case f.Postponed():
			return refuse("source_unavailable", "no source of it is available now: replay it later")
		default:
			return refuse("gone", "no source shows it any more; replay it from unzip to use the stored bytes")
		}
		return r.Fetch(f, r.run.ID, best[0]), nil
	}
	was := brought(f, i.Archive)
	switch {
	case was == nil:
		return refuse("no_version", "nothing of it was ever accepted: replay it from download")
	case r.lost[i.Archive]:
		return refuse("no_bytes", "its stored bytes are not there: put them back as the blob "+i.Archive+", or replay it from download")
	}
	if r.run.Phase == schemas.FromUnzip {
		return r.restart(f, was), nil
	}
	judged := judgedFrom(f, was)
	if judged == nil {
		return refuse("not_unzipped", "no attempt had all documents of its archive judged: replay it from unzip")
	}
	docs, err := r.documents(judged)
	if err != nil {
		return nil, err
	}
	if len(docs) == 0 || len(docs) < int(judged.Documents) {
		return refuse("not_unzipped", fmt.Sprintf("control has kept %d of the %d documents of attempt %d: replay it from unzip", len(docs), judged.Documents, judged.Attempt))
	}
	return r.rejudge(f, was, judged, docs)
}

// beside returns the first earlier replay that is still to process an item's file,
// and the last later one that had its version processed; 0: none. Of two runs of a
// version the one with the higher number counts for the warehouse, and the later
// attempt for the tracker: so a later replay's attempt must be the later one.
func (r *decision) beside(i *control.ReplayItem) (before, after int64) {
	for _, o := range r.others {
		switch {
		case o.File != i.File:
		case o.Number < r.run.Number && before == 0:
			before = o.Number
		case o.Number > r.run.Number && o.Archive == i.Archive:
			after = o.Number
		}
	}
	return before, after
}

// busyWith says what a replay of the file waits for.
func busyWith(f *plan.File) string {
	for _, a := range f.Acquisitions {
		switch {
		case a.State == control.Ended:
		case a.State == control.Wanted && f.Postponed():
			return "the file is to be fetched, and no source of it is available now: make one available, or remove it"
		case a.State == control.Wanted:
			return "the file is to be fetched"
		default:
			return "the file is under way: " + a.State
		}
	}
	return ""
}

// busy tells whether something of the file is under way, or waits for that.
func busy(f *plan.File) bool {
	for _, a := range f.Acquisitions {
		if a.State != control.Ended {
			return true
		}
	}
	return false
}

// brought is the acquisition by which a version has its rank, the greatest if
// it has several; nil if it was never accepted.
func brought(f *plan.File, archive string) *control.Acquisition {
	var best *control.Acquisition
	for _, a := range f.Acquisitions {
		if archive != "" && a.SHA256 == archive && a.RankOrdinal != nil && (best == nil || compareRanks(a, best) >= 0) {
			best = a
		}
	}
	return best
}

// judgedFrom is the newest acquisition of a version of which all documents were
// judged; nil if there is none. What a shadow has judged counts for nothing.
func judgedFrom(f *plan.File, was *control.Acquisition) *control.Acquisition {
	var newest *control.Acquisition
	for _, a := range f.Acquisitions {
		if a.SHA256 == was.SHA256 && a.State == control.Ended && a.Result == control.Complete {
			newest = a
		}
	}
	return newest
}

func compareRanks(a, b *control.Acquisition) int {
	own := func(a *control.Acquisition) int {
		if a.RankOwn != nil && *a.RankOwn {
			return 1
		}
		return 0
	}
	at := func(a *control.Acquisition) time.Time {
		if a.RankTime == nil {
			return time.Time{}
		}
		return *a.RankTime
	}
	return cmp.Or(cmp.Compare(own(a), own(b)), at(a).Compare(at(b)), cmp.Compare(*a.RankOrdinal, *b.RankOrdinal))
}

// again makes an attempt of a version whose bytes were accepted before. The file
// shows it unless it shows another version, of which the attempt is returned then.
// A shadow's is never shown.
func (r *decision) again(f *plan.File, was *control.Acquisition) (a *control.Acquisition, t *control.Attempt, repeats int32) {
	a, t = r.Reuse(f, r.run.ID, was)
	if a.SHA256 != f.CurrentSHA256 || r.run.Shadow != "" {
		return a, t, f.CurrentAttempt // it goes on showing the version that it has now
	}
	f.CurrentAttempt = a.Attempt
	return a, t, 0
}

// restart makes an attempt that begins with the stored bytes.
func (r *decision) restart(f *plan.File, was *control.Acquisition) *control.Acquisition {
	a, t, repeats := r.again(f, was)
	r.Tell(r.Finished(f, a, t), r.Reused(f, a, t, repeats))
	return a
}

// rejudge makes an attempt of documents that are known: their contents are
// judged again, or, from upload, their verdicts are taken as they are.
func (r *decision) rejudge(f *plan.File, was, judged *control.Acquisition, docs []control.Document) (*control.Acquisition, error) {
	a, t, repeats := r.again(f, was)
	a.Unzip, a.Documents, t.Unzip = judged.Unzip, int32(len(docs)), judged.Unzip
	a.Download, t.Download = judged.Download, judged.Download
	r.Tell(r.Reused(f, a, t, repeats), r.Accepted(f, a, t))
	for _, d := range docs {
		_, body, err := r.codec.DecodeBody(d.Body)
		if err != nil {
			return nil, fmt.Errorf("document %s of %s: %w", d.Entry, f.Subject(), err)
		}
		v, ok := body.(*schemas.DocumentValidated)
		if !ok {
			return nil, fmt.Errorf("document %s of %s is a %T", d.Entry, f.Subject(), body)
		}
		v.Scope = schemas.Scope{Run: a.Run, Centre: a.Domain, Source: t.Source}
		v.Attempt, v.Download, v.Unzip = a.Attempt, a.Download, a.Unzip
		if r.run.Phase == schemas.FromXSD {
			exception, message := r.refusal(v, judged)
			r.Tell(extractedMessage(f, v, exception, message, r.now), namedEvent(f, a, v, exception, message, r.now))
			r.extracted++
			continue
		}
		kept, err := r.codec.EncodeBody(schemas.DocumentValidatedTopic, v)
		if err != nil {
			return nil, err
		}
		d.Run, d.Attempt, d.Download, d.Unzip, d.Body = a.Run, a.Attempt, a.Download, a.Unzip, kept
		r.verdicts = append(r.verdicts, d)
		r.Tell(judgedEvent(f, a, v, judged, r.now))
	}
	if r.run.Phase == schemas.FromXSD {
		// Should documents get lost, the archive is unzipped again.
		a.State = control.Extracted
		r.Finished(f, a, t)
		return a, nil
	}
	now := r.now
	a.State, a.Result, a.EndedAt = control.Ended, control.Complete, &now
	return a, nil
}

// refusal is what is wrong with the name of a document that ended for it: a
// name is judged when its archive is unzipped, and not again.
func (r *decision) refusal(v *schemas.DocumentValidated, judged *control.Acquisition) (exception, message string) {
	if v.Phase != string(schemas.XMLName) {
		return "", ""
	}
	if r.naming != nil {
		if exception, message = r.naming(v.Entry); exception == v.Exception {
			return exception, message
		}
	}
	return v.Exception, fmt.Sprintf("its name was refused when its archive was unzipped (attempt %d)", judged.Attempt)
}
