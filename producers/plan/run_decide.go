package plan

import (
	"cmp"
	"fmt"
	"time"

	"github.com/google/uuid"

	"tributary/schemas"
	"tributary/sql/control"
)

// rerunning decides about items of a replay.
type rerunning struct {
	*world
	run       *control.ReplayRun
	lost      map[string]bool                                        // versions whose bytes are not stored
	documents func(*control.Acquisition) ([]control.Document, error) // of an attempt
	naming    func(entry string) (exception, message string)         // what is wrong with a document's name; nil: nothing is known of it

	verdicts  []control.Document // known ones, of new attempts
	extracted int                // documents announced
}

// item decides about one item: it makes a new attempt, refuses it, or puts it
// off while its file is under way.
func (r *rerunning) item(i *control.ReplayItem) (*control.Acquisition, error) {
	f := r.files[i.File]
	refuse := func(name, message string) (*control.Acquisition, error) {
		i.Refusal, i.Message = name, message
		return nil, nil
	}
	switch {
	case f == nil:
		return refuse("unknown_file", "control does not know the file: it is another installation's")
	case f.Centre == "":
		return refuse("zip_name", "its name was refused, so nothing of it was ever asked for")
	case f.busy() && r.run.Shadow == "": // a shadow is in nobody's way, and nobody in its
		i.NotBefore, i.Message = r.now.Add(runBusy), f.busyWith()
		return nil, nil
	}
	var a *control.Acquisition
	if r.run.Phase == schemas.FromDownload {
		best := f.candidates(&control.Acquisition{})
		switch {
		case len(best) > 0:
		case f.postponed():
			return refuse("source_unavailable", "no source of it is available now: replay it later")
		default:
			return refuse("gone", "no source shows it any more; replay it from unzip to use the stored bytes")
		}
		a = r.refetch(f, best[0])
		f.add(a)
		return a, nil
	}
	was := f.brought(i.Archive)
	switch {
	case was == nil:
		return refuse("no_version", "nothing of it was ever accepted: replay it from download")
	case r.lost[i.Archive]:
		return refuse("no_bytes", "its stored bytes are not there: put them back as the blob "+i.Archive+", or replay it from download")
	}
	if r.run.Phase == schemas.FromUnzip {
		a = r.restart(f, was)
	} else {
		judged := f.judged(was)
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
		if a, err = r.rejudge(f, was, judged, docs); err != nil {
			return nil, err
		}
	}
	f.add(a)
	return a, nil
}

// busyWith says what a replay of the file waits for.
func (f *fileWorld) busyWith() string {
	for _, a := range f.acquisitions {
		switch {
		case a.State == control.Ended:
		case a.State == control.Wanted && f.postponed():
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
func (f *fileWorld) busy() bool {
	for _, a := range f.acquisitions {
		if a.State != control.Ended {
			return true
		}
	}
	return false
}

// brought is the acquisition by which a version has its rank, the greatest if
// it has several; nil if it was never accepted.
func (f *fileWorld) brought(archive string) *control.Acquisition {
	var best *control.Acquisition
	for _, a := range f.acquisitions {
		if archive != "" && a.SHA256 == archive && a.RankOrdinal != nil && (best == nil || compareRanks(a, best) >= 0) {
			best = a
		}
	}
	return best
}

// judged is the newest acquisition of a version of which all documents were
// judged; nil if there is none. What a shadow has judged counts for nothing.
func (f *fileWorld) judged(was *control.Acquisition) *control.Acquisition {
	var newest *control.Acquisition
	for _, a := range f.acquisitions {
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

// refetch makes an attempt that fetches the file.
func (r *rerunning) refetch(f *fileWorld, from control.Hosting) *control.Acquisition {
	f.Attempts++
	a := &control.Acquisition{Run: r.run.ID, File: f.ID, Domain: f.Centre, Source: from.Source, Look: from.Look, Size: from.Size,
		State: control.Wanted, NotBefore: r.now, Attempt: f.Attempts}
	t := &control.Attempt{Run: a.Run, File: f.ID, Attempt: a.Attempt, Source: from.Source, Look: from.Look}
	r.out = append(r.out, pendingEvent(f, a, t, "announced", from.Server, from.ModTime, nil, r.now))
	return a
}

// again makes an attempt of a version whose bytes were accepted before. It has
// that version's rank; the file shows it unless it shows another version. A
// shadow's is never shown.
func (r *rerunning) again(f *fileWorld, was *control.Acquisition) (*control.Acquisition, *control.Attempt, int32) {
	f.Attempts++
	a := &control.Acquisition{Run: r.run.ID, File: f.ID, Domain: f.Centre, Source: was.Source, Look: was.Look, Size: was.Size,
		NotBefore: r.now, Attempt: f.Attempts, Download: was.Download, SHA256: was.SHA256}
	ranked(a, was)
	t := &control.Attempt{Run: a.Run, File: f.ID, Attempt: a.Attempt, Source: was.Source, Look: was.Look, Job: uuid.Nil.String(), Download: a.Download, Changed: true}
	if before := r.attempts[control.AttemptKey{Run: was.Run, File: f.ID, Attempt: was.Attempt}]; before != nil {
		t.Source, t.Look = before.Source, before.Look
	}
	r.attempts[control.AttemptKey{Run: t.Run, File: t.File, Attempt: t.Attempt}] = t
	var repeats int32
	if a.SHA256 == f.CurrentSHA256 && r.run.Shadow == "" {
		f.CurrentAttempt = a.Attempt
	} else {
		repeats = f.CurrentAttempt // it goes on showing the version that it has now
	}
	return a, t, repeats
}

// restart makes an attempt that begins with the stored bytes.
func (r *rerunning) restart(f *fileWorld, was *control.Acquisition) *control.Acquisition {
	a, t, repeats := r.again(f, was)
	a.State = control.Received
	m := broughtMessage(f, a, t, r.now)
	r.remember(a, m)
	r.out = append(r.out, m, broughtEvent(f, a, t, repeats, r.now))
	return a
}

// remember keeps the event that is repeated when the attempt goes silent.
func (r *rerunning) remember(a *control.Acquisition, m schemas.Message) {
	if rec, err := r.codec.Encode(m); err == nil { // an event that cannot be encoded fails the outbox, too
		a.LastEvent, a.LastHeaders = rec.Value, rec.Headers
	}
}

// rejudge makes an attempt of documents that are known: their contents are
// judged again, or, from upload, their verdicts are taken as they are.
func (r *rerunning) rejudge(f *fileWorld, was, judged *control.Acquisition, docs []control.Document) (*control.Acquisition, error) {
	a, t, repeats := r.again(f, was)
	a.Unzip, a.Documents, t.Unzip = judged.Unzip, int32(len(docs)), judged.Unzip
	a.Download, t.Download = judged.Download, judged.Download
	r.out = append(r.out, broughtEvent(f, a, t, repeats, r.now), acceptedEvent(f, a, t, a.Download+"/"+a.Unzip, r.now))
	for _, d := range docs {
		_, body, err := r.codec.DecodeBody(d.Body)
		if err != nil {
			return nil, fmt.Errorf("document %s of %s: %w", d.Entry, f.subject(), err)
		}
		v, ok := body.(*schemas.DocumentValidated)
		if !ok {
			return nil, fmt.Errorf("document %s of %s is a %T", d.Entry, f.subject(), body)
		}
		v.Scope = schemas.Scope{Run: a.Run, Centre: a.Domain, Source: t.Source}
		v.Attempt, v.Download, v.Unzip = a.Attempt, a.Download, a.Unzip
		if r.run.Phase == schemas.FromXSD {
			exception, message := r.refusal(v, judged)
			r.out = append(r.out, extractedMessage(f, v, exception, message, r.now), namedEvent(f, a, v, exception, message, r.now))
			r.extracted++
			continue
		}
		kept, err := r.codec.EncodeBody(schemas.DocumentValidatedTopic, v)
		if err != nil {
			return nil, err
		}
		d.Run, d.Attempt, d.Download, d.Unzip, d.Body = a.Run, a.Attempt, a.Download, a.Unzip, kept
		r.verdicts = append(r.verdicts, d)
		r.out = append(r.out, judgedEvent(f, a, v, judged, r.now))
	}
	if r.run.Phase == schemas.FromXSD {
		// Should documents get lost, the archive is unzipped again.
		a.State = control.Extracted
		r.remember(a, broughtMessage(f, a, t, r.now))
		return a, nil
	}
	now := r.now
	a.State, a.Result, a.EndedAt = control.Ended, control.Complete, &now
	return a, nil
}

// refusal is what is wrong with the name of a document that ended for it: a
// name is judged when its archive is unzipped, and not again.
func (r *rerunning) refusal(v *schemas.DocumentValidated, judged *control.Acquisition) (exception, message string) {
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
