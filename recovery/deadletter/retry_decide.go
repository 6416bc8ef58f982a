package deadletter

import (
	"fmt"
	"strconv"
	"time"

	"tributary/producers/plan"
	"tributary/schemas"
	"tributary/sql/control"
)

// retrying decides about dead letters of some files.
type retrying struct {
	*plan.World
	options  RetryOptions
	now      time.Time
	known    map[string]control.DeadLetter // by the letter's key
	deaths   map[string]int                // by lineage
	retries  map[int64]bool                // acquisitions that are retries
	verdicts map[control.VerdictKey]string
	bad      map[string]string // by archive that was looked at: what keeps its bytes from being used, if anything; nil: none was yet

	made     map[int64]*control.Acquisition // new ones, by the acquisition that is retried
	fresh    []*control.Acquisition
	letters  []retried
	archives map[string]bool // whose stored bytes are needed
}

// retried is a letter with the acquisition that retries it.
type retried struct {
	control.DeadLetter
	by *control.Acquisition
}

func decided(l *Letter) control.DeadLetter {
	return control.DeadLetter{ID: l.Key, Place: l.ID, Stage: l.Stage, Class: l.Class, Cause: l.Error, Lineage: l.Lineage(), File: l.File, Document: l.Document}
}

// letter decides about one letter.
func (r *retrying) letter(l *Letter) Retried {
	out := Retried{Letter: l, Deaths: r.deaths[l.Lineage()]}
	var dead *control.Acquisition
	if out.Refused = r.decidedBefore(l, out.Deaths); out.Refused == "" {
		dead, out.Refused = r.end(l)
	}
	if out.Refused != "" {
		return out
	}
	f := r.File(l.File)
	if f.Held() {
		out.Refused = "its file is " + f.Said() + "; release it first: tributary files release " + f.Subject()
		return out
	}
	by, refused := r.shared(f, dead)
	if by == nil && refused == "" {
		if refused = r.passed(l, f, dead); refused == "" {
			by, refused = r.request(f, dead)
			out.Documents = dead.Documents
		}
	}
	if out.Refused = refused; refused != "" {
		return out
	}
	out.Attempt = by.Attempt
	d := decided(l)
	d.Deaths, d.Forced, d.Retry = out.Deaths, r.options.Force, control.Decision{By: r.options.By, Reason: r.options.Reason, At: r.now}
	r.letters = append(r.letters, retried{d, by})
	r.Tell(letterEvent(l, "replayed", by.Attempt, d.Retry, r.now))
	// The same letter may come twice, written by two members.
	r.known[l.Key] = control.DeadLetter{ID: l.Key, Acquisition: -1, Attempt: by.Attempt, Retry: d.Retry, Became: control.LetterUnderWay, State: control.LetterUnderWay}
	return out
}

// decidedBefore refuses what asks for nothing, what was decided about before,
// and what dies again and again.
func (r *retrying) decidedBefore(l *Letter, deaths int) string {
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
		return fmt.Sprintf("it was retried already, %s: attempt %d went through", said(k.Retry), k.Attempt)
	case known && k.Became == control.LetterOrdered:
		return fmt.Sprintf("it was retried already, %s: its document was ordered again as attempt %d, which has a letter of its own if it died too", said(k.Retry), k.Attempt)
	case known && k.Became == control.LetterUnderWay:
		return fmt.Sprintf("it was retried already, %s: attempt %d is under way", said(k.Retry), k.Attempt)
	case known && k.Became != "" && !r.options.Force:
		return fmt.Sprintf("it was retried already, %s: attempt %d has ended as %s; --force retries it once more", said(k.Retry), k.Attempt, k.Became)
	case known && k.State == control.LetterDropped && !r.options.Force:
		return fmt.Sprintf("it was dropped %s: %s; --force retries it all the same", said(k.Drop), k.Drop.Reason)
	case r.options.MaxDeaths > 0 && deaths >= r.options.MaxDeaths && !r.options.Force:
		return fmt.Sprintf("it was retried %d times and died each time of the same cause: find that first; --force retries it once more", deaths)
	}
	return ""
}

// end finds the acquisition that the letter ended, or what it was about, and
// refuses a letter whose end is not what control accepted.
func (r *retrying) end(l *Letter) (*control.Acquisition, string) {
	f := r.File(l.File)
	t := r.Attempt(l.Run, l.File, l.Attempt)
	if f == nil || t == nil {
		return nil, fmt.Sprintf("control knows no attempt %d of its file: it is another installation's", l.Attempt)
	}
	a := f.Acquisition(t.Acquisition)
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

func (r *retrying) verdict(l *Letter, attempt int32, download, unzip string) control.VerdictKey {
	return control.VerdictKey{Outcome: control.Outcome{Run: l.Run, File: l.File, Attempt: attempt, Download: download, Unzip: unzip}, Document: l.Document}
}

// shared is the retry of the same attempt that is under way already, if any:
// it has all its documents. Anything else under way is waited for.
func (r *retrying) shared(f *plan.File, dead *control.Acquisition) (*control.Acquisition, string) {
	if by := r.made[dead.ID]; by != nil {
		return by, ""
	}
	for _, b := range f.Acquisitions {
		switch {
		case b.State == control.Ended:
		case b.ID > dead.ID && r.retries[b.ID] && b.SHA256 == dead.SHA256:
			return b, ""
		default:
			return nil, fmt.Sprintf("its file is under way (attempt %d): try again when that has ended", b.Attempt)
		}
	}
	return nil, ""
}

// passed refuses a letter that later attempts have left behind.
func (r *retrying) passed(l *Letter, f *plan.File, dead *control.Acquisition) string {
	for _, b := range f.Acquisitions {
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
			return fmt.Sprintf("it died again in attempt %d: retry that dead letter", b.Attempt)
		}
		if l.Stage == Insert {
			return fmt.Sprintf("its document was ordered again as attempt %d, which has a letter of its own if it died too", b.Attempt)
		}
		return fmt.Sprintf("attempt %d has been through with the same bytes since", b.Attempt)
	}
	return ""
}

// request makes the new attempt.
func (r *retrying) request(f *plan.File, dead *control.Acquisition) (*control.Acquisition, string) {
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
	if dead.SHA256 == "" || r.options.Fetch {
		best := f.Candidates(&control.Acquisition{})
		switch {
		case len(best) > 0:
		case f.Postponed():
			return nil, "no source of its file is available now: try again later"
		default:
			return nil, "no source shows its file any more"
		}
		a = r.fetch(f, dead, best[0])
	} else {
		a = r.reuse(f, dead)
	}
	for _, other := range f.Acquisitions {
		if other.RetryAt != nil { // this replaces trying it again
			other.RetryAt, other.Changed = nil, true
		}
	}
	r.made[dead.ID] = a
	r.fresh = append(r.fresh, a)
	return a, ""
}

// fetch makes an attempt that fetches the file, in a job of its own.
func (r *retrying) fetch(f *plan.File, dead *control.Acquisition, from control.Hosting) *control.Acquisition {
	a := r.Fetch(f, dead.Run, from)
	a.Alone = true
	if dead.SHA256 != "" && f.CurrentSHA256 == dead.SHA256 {
		f.CurrentSHA256 = "" // the same bytes are to be taken, not recognised
	}
	return a
}

// reuse makes an attempt of the bytes that the dead one had brought: they are
// accepted once more.
func (r *retrying) reuse(f *plan.File, dead *control.Acquisition) *control.Acquisition {
	a, t := r.Reuse(f, dead.Run, dead)
	f.Acceptances++
	ordinal := f.Acceptances
	a.RankOrdinal = &ordinal
	f.CurrentSHA256, f.CurrentAttempt = a.SHA256, a.Attempt
	r.Tell(r.Finished(f, a, t), r.Reused(f, a, t, 0))
	return a
}

// letterEvent tells who decided what about a dead letter, and why. It changes
// nothing of where things stand: not even the source, since the new attempt may
// have another.
func letterEvent(l *Letter, what string, attempt int32, d control.Decision, now time.Time) schemas.Message {
	return plan.Status(schemas.EventID(plan.Stage, l.Run, l.Key, what, strconv.Itoa(int(attempt)), d.At.Format(time.RFC3339Nano)), l.File, l.Subject(), now, &schemas.StatusChanged{
		Scope:   schemas.Scope{Run: l.Run, Centre: l.Centre},
		FileRef: schemas.FileRef{File: l.File, FileName: l.FileName, Action: l.Action}, Entity: schemas.EntityDownload, Attempt: attempt, Note: "dead_letter_" + what,
		Attributes: map[string]string{"dead_letter": l.ID, "stage": l.Stage, "class": l.Class, "document": l.Entry, "by": d.By, "reason": d.Reason,
			"attempt": strconv.Itoa(int(l.Attempt))},
	})
}
