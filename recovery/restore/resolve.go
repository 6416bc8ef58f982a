package restore

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"tributary/internal/pg"
	"tributary/schemas"
	"tributary/sql/control"
)

// open tells whether more may come of a session.
func (x *session) open() bool { return x.closed == nil && x.end == 0 }

// goesOn tells of a batch that has no end whether more may come of it: its session has
// not ended. Else it was cut off.
func (s *state) goesOn(b *batch) bool {
	x := s.sessions[b.session]
	return x != nil && x.open()
}

// closing is what was ordered of a batch that has no end, since it was released in
// part, or its last positions were lost with control's outbox: the positions that end
// what is there of it, and it, unless it goes on.
func (s *state) closing(b *batch) []*schemas.DocumentOrdered {
	var out []*schemas.DocumentOrdered
	give := func(o schemas.DocumentOrdered) {
		s.last++
		o.Position = s.last
		out = append(out, &o)
	}
	for _, key := range slices.SortedFunc(maps.Keys(b.begun), func(x, y versionKey) int {
		return cmp.Or(cmp.Compare(x.file, y.file), cmp.Compare(x.run, y.run), cmp.Compare(x.attempt, y.attempt))
	}) {
		x, t := b.begun[key], s.file(key.file).attempts[key.attemptKey]
		if b.versions[key] != nil || t == nil || t.accepted == nil || int64(len(x.documents)) < t.accepted.Rows {
			continue // told already, or some of its documents are missing: they are ordered once they are read again
		}
		v := *x.DocumentOrdered
		v.What, v.DocumentRef, v.DocumentName = schemas.PositionVersion, schemas.DocumentRef{Archive: v.Archive}, schemas.DocumentName{}
		v.Result, v.Phase, v.Exception, v.Documents = "", "", "", int32(len(x.documents))
		give(v)
		b.versions[key] = out[len(out)-1]
	}
	if s.goesOn(b) {
		return out
	}
	give(schemas.DocumentOrdered{Scope: schemas.Scope{Run: b.run, Session: b.session, Centre: b.domain}, What: schemas.PositionBatchEnd,
		Batch: b.id, Domain: b.domain, Number: b.number, Late: b.late, Documents: int32(b.documents)})
	b.end = s.last
	return out
}

// versionsOrdered are the versions that were ordered, each as a whole.
func (s *state) versionsOrdered() map[versionKey]*ordered {
	out := map[versionKey]*ordered{}
	for _, b := range s.batches {
		for key, v := range b.versions {
			out[key] = &ordered{v, b.id}
		}
	}
	return out
}

type ordered struct {
	*schemas.DocumentOrdered
	batch string
}

// acquisitions resolves the attempts of a file into its processes. What has
// ended stays so. What has not is read from download.finished again, where that
// still has it; else it is wanted again, as a new attempt. Tries are the
// attempts of each process.
func (s *state) acquisitions(f *file, versions map[versionKey]*ordered, now time.Time, retry time.Duration) (out []*control.Acquisition, attempts []control.Attempt, tries [][]*attempt) {
	keys := slices.SortedFunc(maps.Keys(f.attempts), func(x, y attemptKey) int { return cmp.Compare(x.attempt, y.attempt) })
	var open *control.Acquisition // whose next attempt follows
	for _, key := range keys {
		t := f.attempts[key]
		if t.said == nil || schemas.IsShadow(key.run) { // a shadow's results are not brought back: it is made again
			continue
		}
		a := open
		if a == nil || a.Run != key.run || pg.Value(a.Session) != t.said.Session {
			a = &control.Acquisition{Run: key.run, File: f.id, Session: pointer(t.said.Session), Domain: f.name.Centre, NotBefore: now, Tried: map[string]control.Tried{}}
			out, tries = append(out, a), append(tries, nil)
		}
		tries[len(tries)-1] = append(tries[len(tries)-1], t)
		a.Source, a.Look, a.Size, open = t.said.Source, t.said.Look, t.said.FileSize, nil
		a.Attempt, a.Result, a.Phase, a.Exception, a.Message = key.attempt, "", "", "", ""
		if t.announced {
			a.State, a.Attempt = control.Wanted, 0 // it is numbered again
			continue
		}
		row := control.Attempt{Run: key.run, File: f.id, Attempt: key.attempt, Acquisition: int64(len(out)), Source: t.said.Source, Look: t.said.Look, Job: nobody}
		if v := versions[versionKey{f.id, key}]; v != nil {
			a.State, a.Result, a.Batch = control.Ended, control.Complete, &v.batch
			a.SHA256, a.Download, a.Unzip, a.Documents = v.Archive, v.Download, v.Unzip, v.Documents
			own, ordinal := v.RankOwn, v.RankOrdinal
			a.RankOwn, a.RankTime, a.RankOrdinal = &own, v.RankTime, &ordinal
		} else if j := t.judged; j != nil && t.accepted == nil {
			row.Download, row.Unzip, _ = strings.Cut(j.Outcome, "/")
			switch j.Note {
			case "duplicate":
				a.State, a.Result, a.SHA256, a.Download = control.Ended, control.Duplicate, j.Archive, row.Download
			case schemas.NotTried:
				a.State, a.Attempt, open = control.Wanted, 0, a
			default:
				a.State, a.Result, a.Phase, a.Exception, a.Message = control.Ended, j.Status, j.Phase, j.Exception, j.Message
				open = a // where a next attempt was announced, it had not ended
			}
		} else if t.finished {
			a.State = control.Requested // what was brought is read again
		} else {
			a.State, a.Attempt, open = control.Wanted, 0, a
		}
		row.Download, row.Unzip = cmp.Or(row.Download, a.Download), cmp.Or(row.Unzip, a.Unzip)
		attempts = append(attempts, row)
	}
	for i, a := range out {
		a.ID = int64(i + 1)
		if a.State == control.Ended {
			a.EndedAt = &now
			if i == len(out)-1 && a.Run == schemas.LiveRun && f.due(a) {
				at := now.Add(retry)
				a.RetryAt = &at
			}
			continue
		}
		if a.Run != schemas.LiveRun { // the replay requests it again
			a.State, a.Result, a.EndedAt, a.Message = control.Ended, string(schemas.Cancelled), &now, lostReplay
		}
	}
	for i, a := range out {
		if a.Run != schemas.LiveRun && a.SHA256 == "" { // what it begins with was told, and is what was chosen
			t := tries[i][len(tries[i])-1]
			a.SHA256, a.Attempt = t.archive, t.attempt
		}
	}
	oneAtATime(out)
	return out, attempts, tries
}

// mendable tells the failures that plan tries again after a while.
func mendable(phase, exception string) bool {
	return phase == string(schemas.Download) || phase == string(schemas.ZipMD5) || exception == "corrupted_at_producer"
}

// oneAtATime lets all but the first unfinished process of a file wait.
func oneAtATime(all []*control.Acquisition) {
	busy := false
	for _, a := range all {
		if a.State == control.Ended {
			continue
		}
		if busy {
			a.State, a.Attempt = control.Queued, 0
		}
		busy = true
	}
}

// shown is the version that a file shows: the last that was accepted and has
// ended, in the newest attempt of it. A replay of an older version, whose rank
// is an older one, is not it. acceptances is how many there were.
func shown(all []*control.Acquisition, attempts []control.Attempt) (sha string, attempt, acceptances int32) {
	for _, a := range all {
		newer := a.Run == schemas.LiveRun || a.SHA256 == sha || a.RankOrdinal != nil && *a.RankOrdinal > acceptances
		if a.RankOrdinal != nil {
			acceptances = max(acceptances, *a.RankOrdinal)
		}
		if a.State == control.Ended && a.Result == control.Complete && newer {
			sha, attempt = a.SHA256, a.Attempt
		}
	}
	// Archives that were fetched and refused were accepted too.
	for _, t := range attempts {
		if a := all[t.Acquisition-1]; t.Run == schemas.LiveRun && t.Unzip != "" && t.Unzip != schemas.Unzipped && t.Attempt > attempt && len(t.Download) == 64 && a.State == control.Ended {
			sha, attempt = t.Download, t.Attempt
			acceptances++
		}
	}
	return sha, attempt, acceptances
}

// class says what became of a look.
func (f *file) class(k lookKey, l *look) string {
	if f.name.Exception != "" {
		return "rejected"
	}
	if l.passed != "" {
		return l.passed
	}
	for _, t := range f.attempts {
		if t.said != nil && t.run == schemas.LiveRun && (t.said.Source == k.source && t.said.Look >= k.look || l.status != nil && t.said.Session != "" && t.said.Session == l.status.Session) {
			return "taken"
		}
	}
	if l.event == nil {
		return "unsettled"
	}
	return "announced"
}

// number parses what an event tells people as a number.
func number(text string) float64 {
	n, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return 0
	}
	return max(n, 0)
}

func pointer(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// nobody is the job of attempts whose job is not known any more.
const nobody = "00000000-0000-0000-0000-000000000000"
