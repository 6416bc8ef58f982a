package plan

import (
	"fmt"
	"strconv"
	"time"

	"github.com/google/uuid"

	"tributary/recovery/deadletter"
	"tributary/schemas"
	"tributary/sql/control"
)

// replaying decides about dead letters of some files.
type replaying struct {
	*world
	ReplayOptions
	known    map[string]control.DeadLetter // by the letter's key
	deaths   map[string]int                // by lineage
	replays  map[int64]bool                // acquisitions that are replays
	verdicts map[control.VerdictKey]string
	bad      map[string]string // by archive that was looked at: what keeps its bytes from being used, if anything; nil: none was yet

	made     map[int64]*control.Acquisition // new ones, by the acquisition that is replayed
	fresh    []*control.Acquisition
	letters  []replayed
	archives map[string]bool // whose stored bytes are needed
}

// replayed is a letter with the acquisition that replays it.
type replayed struct {
	control.DeadLetter
	by *control.Acquisition
}

func decided(l *deadletter.Letter) control.DeadLetter {
	return control.DeadLetter{ID: l.Key, Place: l.ID, Stage: l.Stage, Class: l.Class, Cause: l.Error, Lineage: l.Lineage(), File: l.File, Document: l.Document}
}

// letter decides about one letter.
func (r *replaying) letter(l *deadletter.Letter) Replayed {
	out := Replayed{Letter: l, Deaths: r.deaths[l.Lineage()]}
	var dead *control.Acquisition
	if out.Refused = r.decidedBefore(l, out.Deaths); out.Refused == "" {
		dead, out.Refused = r.end(l)
	}
	if out.Refused != "" {
		return out
	}
	f := r.files[l.File]
	by, refused := r.shared(f, dead)
	if by == nil && refused == "" {
		if refused = r.passed(l, f, dead); refused == "" {
			by, refused = r.request(l, f, dead)
			out.Documents = dead.Documents
		}
	}
	if out.Refused = refused; refused != "" {
		return out
	}
	out.Attempt = by.Attempt
	d := decided(l)
	d.Deaths, d.Forced, d.Replay = out.Deaths, r.Force, control.Decision{By: r.By, Reason: r.Reason, At: r.now}
	r.letters = append(r.letters, replayed{d, by})
	r.out = append(r.out, letterEvent(l, "replayed", by.Attempt, d.Replay, r.now))
	// The same letter may come twice, written by two members.
	r.known[l.Key] = control.DeadLetter{ID: l.Key, Acquisition: -1, Attempt: by.Attempt, Replay: d.Replay, Became: control.LetterUnderWay, State: control.LetterUnderWay}
	return out
}

// decidedBefore refuses what asks for nothing, what was decided about before,
// and what dies again and again.
func (r *replaying) decidedBefore(l *deadletter.Letter, deaths int) string {
	k, known := r.known[l.Key]
	said := func(d control.Decision) string {
		return fmt.Sprintf("by %s at %s", d.By, d.At.Format(time.RFC3339))
	}
	switch {
	case l.Problem != "":
		return "its record cannot be read, so it asks for nothing; what control had requested and has not seen is requested again by itself"
	case l.Job > 0:
		return fmt.Sprintf("it is a job of %d files, each of which was requested again alone", l.Job)
	case l.File == "":
		return "its record names no file"
	case known && k.Became == control.LetterCompleted:
		return fmt.Sprintf("it was replayed already, %s: attempt %d went through", said(k.Replay), k.Attempt)
	case known && k.Became == control.LetterOrdered:
		return fmt.Sprintf("it was replayed already, %s: its document was ordered again as attempt %d, which has a letter of its own if it died too", said(k.Replay), k.Attempt)
	case known && k.Became == control.LetterUnderWay:
		return fmt.Sprintf("it was replayed already, %s: attempt %d is under way", said(k.Replay), k.Attempt)
	case known && k.Became != "" && !r.Force:
		return fmt.Sprintf("it was replayed already, %s: attempt %d has ended as %s; --force replays it once more", said(k.Replay), k.Attempt, k.Became)
	case known && k.State == control.LetterDropped && !r.Force:
		return fmt.Sprintf("it was dropped %s: %s; --force replays it all the same", said(k.Drop), k.Drop.Reason)
	case r.MaxDeaths > 0 && deaths >= r.MaxDeaths && !r.Force:
		return fmt.Sprintf("it was replayed %d times and died each time of the same cause: find that first; --force replays it once more", deaths)
	}
	return ""
}

// end finds the acquisition that the letter ended, or what it was about, and
// refuses a letter whose end is not what control accepted.
func (r *replaying) end(l *deadletter.Letter) (*control.Acquisition, string) {
	f := r.files[l.File]
	t := r.attempts[control.AttemptKey{Run: l.Run, File: l.File, Attempt: l.Attempt}]
	if f == nil || t == nil {
		return nil, fmt.Sprintf("control knows no attempt %d of its file: it is another installation's", l.Attempt)
	}
	a := f.byID(t.Acquisition)
	if a == nil {
		return nil, "control does not know what it belongs to"
	}
	if schemas.IsShadow(a.Run) {
		return nil, "it died in a shadow, of which nothing is live: its attempt has failed there, as tributary replay compare tells; drop this letter"
	}
	if a.Run != schemas.LiveRun {
		return nil, "it died in a replay run, which never does anything twice: replay its file in a new one, with tributary replay --from, and drop this letter"
	}
	accepted := ""
	switch l.Stage {
	case "download":
		accepted = t.Download
	case "unzip":
		if accepted = t.Unzip; t.Download != l.Download {
			accepted = "another download"
		}
	case "validate":
		accepted = r.verdicts[r.verdict(l, t.Attempt, l.Download, l.Unzip)]
	case "insert":
		return a, ""
	}
	switch accepted {
	case schemas.Quarantined:
		return a, ""
	case "":
		return nil, "control has not read its end yet: try again in a moment"
	}
	return nil, fmt.Sprintf("control accepted another outcome of attempt %d (%s): nothing waits for this one", t.Attempt, accepted)
}

func (r *replaying) verdict(l *deadletter.Letter, attempt int32, download, unzip string) control.VerdictKey {
	return control.VerdictKey{Run: l.Run, File: l.File, Attempt: attempt, Download: download, Unzip: unzip, Document: l.Document}
}

// shared is the replay of the same attempt that is under way already, if any:
// it has all its documents. Anything else under way is waited for.
func (r *replaying) shared(f *fileWorld, dead *control.Acquisition) (*control.Acquisition, string) {
	if by := r.made[dead.ID]; by != nil {
		return by, ""
	}
	for _, b := range f.acquisitions {
		switch {
		case b.State == control.Ended:
		case b.ID > dead.ID && r.replays[b.ID] && b.SHA256 == dead.SHA256:
			return b, ""
		default:
			return nil, fmt.Sprintf("its file is under way (attempt %d): try again when that has ended", b.Attempt)
		}
	}
	return nil, ""
}

// passed refuses a letter that later attempts have left behind.
func (r *replaying) passed(l *deadletter.Letter, f *fileWorld, dead *control.Acquisition) string {
	for _, b := range f.acquisitions {
		brought := b.Result == control.Complete || b.Result == control.Duplicate && dead.SHA256 == ""
		if b.ID <= dead.ID || !brought || b.Run != schemas.LiveRun && b.SHA256 != dead.SHA256 { // a replay run may have replayed an older version
			continue
		}
		if dead.SHA256 == "" {
			return fmt.Sprintf("attempt %d has brought the file since", b.Attempt)
		}
		if b.SHA256 != dead.SHA256 {
			return fmt.Sprintf("attempt %d has brought a newer version of the file since, which replaces this one", b.Attempt)
		}
		if r.verdicts[r.verdict(l, b.Attempt, b.Download, b.Unzip)] == schemas.Quarantined {
			return fmt.Sprintf("it died again in attempt %d: replay that dead letter", b.Attempt)
		}
		if l.Stage == deadletter.Insert {
			return fmt.Sprintf("its document was ordered again as attempt %d, which has a letter of its own if it died too", b.Attempt)
		}
		return fmt.Sprintf("attempt %d has been through with the same bytes since", b.Attempt)
	}
	return ""
}

// request makes the new attempt.
func (r *replaying) request(l *deadletter.Letter, f *fileWorld, dead *control.Acquisition) (*control.Acquisition, string) {
	if dead.SHA256 != "" {
		r.archives[dead.SHA256] = true
		why, looked := r.bad[dead.SHA256]
		if r.bad != nil && !looked { // what was refused a moment ago is not any more
			why = "its stored bytes have not been looked at, since something was decided about its file meanwhile: try again"
		}
		if why != "" {
			return nil, why
		}
	}
	var a *control.Acquisition
	if dead.SHA256 == "" || r.Fetch {
		best := f.candidates(&control.Acquisition{})
		switch {
		case len(best) > 0:
		case f.postponed():
			return nil, "no source of its file is available now: try again later"
		default:
			return nil, "no source shows its file any more"
		}
		a = r.fetch(f, dead, best[0])
	} else {
		a = r.reuse(l, f, dead)
	}
	for _, other := range f.acquisitions {
		if other.RetryAt != nil { // this replaces trying it again
			other.RetryAt, other.Changed = nil, true
		}
	}
	r.made[dead.ID] = a
	r.fresh = append(r.fresh, a)
	f.acquisitions = append(f.acquisitions, a) // a second one of the same file must wait for it
	return a, ""
}

// fetch makes an attempt that fetches the file, in a job of its own.
func (r *replaying) fetch(f *fileWorld, dead *control.Acquisition, from control.Hosting) *control.Acquisition {
	f.Attempts++
	a := &control.Acquisition{Run: dead.Run, File: f.ID, Domain: dead.Domain, Source: from.Source, Look: from.Look, Size: from.Size,
		State: control.Wanted, NotBefore: r.now, Attempt: f.Attempts, Alone: true}
	if dead.SHA256 != "" && f.CurrentSHA256 == dead.SHA256 {
		f.CurrentSHA256 = "" // the same bytes are to be taken, not recognised
	}
	t := &control.Attempt{Run: a.Run, File: f.ID, Attempt: a.Attempt, Source: from.Source, Look: from.Look}
	r.out = append(r.out, pendingEvent(f, a, t, "announced", from.Server, from.ModTime, nil, r.now))
	return a
}

// reuse makes an attempt of the bytes that the dead one had brought: they are
// accepted once more.
func (r *replaying) reuse(l *deadletter.Letter, f *fileWorld, dead *control.Acquisition) *control.Acquisition {
	was := r.attempts[control.AttemptKey{Run: dead.Run, File: f.ID, Attempt: dead.Attempt}]
	f.Attempts++
	f.Acceptances++
	f.CurrentSHA256, f.CurrentAttempt = dead.SHA256, f.Attempts
	ordinal := f.Acceptances
	a := &control.Acquisition{Run: dead.Run, File: f.ID, Domain: dead.Domain, Source: dead.Source, Look: dead.Look, Size: dead.Size,
		State: control.Received, NotBefore: r.now, Attempt: f.Attempts, Download: dead.Download, SHA256: dead.SHA256,
		RankOwn: dead.RankOwn, RankTime: dead.RankTime, RankOrdinal: &ordinal}
	t := &control.Attempt{Run: a.Run, File: f.ID, Attempt: a.Attempt, Source: a.Source, Look: a.Look, Job: uuid.Nil.String(), Download: a.Download, Changed: true}
	if was != nil {
		t.Source, t.Look = was.Source, was.Look
	}
	r.attempts[control.AttemptKey{Run: t.Run, File: t.File, Attempt: t.Attempt}] = t
	m := refinishedMessage(f, a, t, l, r.now)
	if rec, err := r.codec.Encode(m); err == nil { // an event that cannot be encoded fails the outbox, too
		a.LastEvent, a.LastHeaders = rec.Value, rec.Headers
	}
	r.out = append(r.out, m, refinishedEvent(f, a, t, l, r.now))
	return a
}

// refinishedMessage is the outcome of a download whose bytes are taken from the
// store.
func refinishedMessage(f *fileWorld, a *control.Acquisition, t *control.Attempt, l *deadletter.Letter, now time.Time) schemas.Message {
	return schemas.Message{
		ID:    schemas.EventID(stageName, a.Run, l.Key, schemas.DownloadFinishedTopic, strconv.Itoa(int(t.Attempt))),
		Topic: schemas.DownloadFinishedTopic, Key: f.ID, Stage: stageName, Subject: f.subject(), Time: now,
		Body: &schemas.DownloadFinished{
			Scope: schemas.Scope{Run: a.Run, Centre: a.Domain, Source: t.Source}, FileRef: f.ref(), Attempt: t.Attempt, Look: t.Look,
			Result: schemas.Fetched, Outcome: a.Download, SHA256: a.SHA256, Size: a.Size, Last: true,
		},
	}
}

// refinishedEvent tells the same to the log.
func refinishedEvent(f *fileWorld, a *control.Acquisition, t *control.Attempt, l *deadletter.Letter, now time.Time) schemas.Message {
	body := f.download(a, t)
	body.Phase, body.Status, body.Outcome, body.Note = string(schemas.ZipMD5), string(schemas.Done), a.Download, "replayed"
	body.Archive, body.SHA256, body.RequestedAt = a.SHA256, a.SHA256, &now
	return status(schemas.EventID(stageName, a.Run, l.Key, "reused", strconv.Itoa(int(t.Attempt))), f.ID, f.subject(), now, body)
}

// letterEvent tells who decided what about a dead letter, and why. It changes
// nothing of where things stand: not even the source, since the new attempt may
// have another.
func letterEvent(l *deadletter.Letter, what string, attempt int32, d control.Decision, now time.Time) schemas.Message {
	return status(schemas.EventID(stageName, l.Run, l.Key, what, strconv.Itoa(int(attempt)), d.At.Format(time.RFC3339Nano)), l.File, l.Subject(), now, &schemas.StatusChanged{
		Scope:   schemas.Scope{Run: l.Run, Centre: l.Centre},
		FileRef: schemas.FileRef{File: l.File, FileName: l.FileName, Action: l.Action}, Entity: schemas.EntityDownload, Attempt: attempt, Note: "dead_letter_" + what,
		Attributes: map[string]string{"dead_letter": l.ID, "stage": l.Stage, "class": l.Class, "document": l.Entry, "by": d.By, "reason": d.Reason,
			"attempt": strconv.Itoa(int(l.Attempt))},
	})
}
