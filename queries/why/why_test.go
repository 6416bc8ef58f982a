package why

import (
	"strings"
	"testing"
	"time"

	"tributary/internal/profile"
	"tributary/producers/plan"
	"tributary/schemas"
	"tributary/sql/control"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func ptr[T any](v T) *T { return &v }

// seen are the facts of a file of the centre H that the source own shows, and that
// plan has taken up as the given acquisition.
func seen(x control.Fetch) Facts {
	f := unseen()
	f.File = &control.KnownFile{File: control.File{ID: "f", Name: f.Name, Action: "add", Centre: "H"}}
	f.Look = &control.LastLook{Source: "own", State: "present", Look: 1, Class: "taken", Size: 10, ListedAt: noon, Session: ptr(int64(7)), SessionOpened: ptr(noon)}
	f.Hostings = []control.Hosting{{Source: "own", Server: "host:22", SourceCentre: "H", Present: true, Settled: true, State: "available", Size: 10}}
	x.ID, x.Source, x.Look, x.Attempt = 5, "own", 1, 1
	if x.Run == "" {
		x.Run = schemas.LiveRun
	}
	f.Fetches = []control.Fetch{x}
	if x.State == control.Wanted {
		f.From = &f.Hostings[0]
		f.Credit = control.CreditUse{Limit: 2, Free: 1}
	}
	return f
}

// unseen are the facts of the same file that the source never showed.
func unseen() Facts {
	f := Facts{Now: noon.Add(time.Hour), Name: "H.2026-01-02.1.impc.zip", Action: "add", Centre: "H", SourceID: "own",
		Limits: Limits{Settle: 30 * time.Second, PollCutoff: 10 * time.Minute, ReleaseLimit: 30 * time.Minute, LateLimit: time.Minute}}
	f.Source = &Source{Standing: control.Standing{Source: control.Source{ID: "own", Centre: "H", State: "available", Definition: `{"id": "own"}`}}}
	done := control.ListedPoll{Session: 7, State: "complete", EndedAt: ptr(noon)}
	f.Source.Listings = control.Listings{CentreActive: true, Ended: &done, Complete: &done, NextDue: ptr(noon.Add(2 * time.Hour))}
	return f
}

// complete are the facts of a file whose documents are all judged.
func complete(documents, rejected, quarantined int64) Facts {
	f := seen(control.Fetch{Acquisition: control.Acquisition{State: control.Ended, Result: control.Complete, Documents: int32(documents), SHA256: "0123456789abcdef", EndedAt: ptr(noon)},
		Judged: documents, Rejected: rejected, Quarantined: quarantined})
	f.Now = noon.Add(10 * time.Minute)
	f.Batch = &control.BatchStanding{Domain: "H", OpenedAt: noon, Session: ptr(int64(7)), SessionOpened: ptr(noon), PollsEnded: true}
	f.Applied = ptr(int64(40))
	return f
}

func released(f Facts) Facts {
	f.Batch.Number, f.Batch.ReleasedAt, f.Batch.LastPosition = ptr(int64(3)), ptr(noon.Add(time.Minute)), ptr(int64(40))
	return f
}

func with(f Facts, change func(*Facts)) Facts { change(&f); return f }

func ended(result, phase, exception, message string) control.Fetch {
	return control.Fetch{Acquisition: control.Acquisition{State: control.Ended, Result: result, Phase: phase, Exception: exception, Message: message, EndedAt: ptr(noon)}}
}

func fetch(state string) control.Fetch {
	return control.Fetch{Acquisition: control.Acquisition{State: state, NotBefore: noon, SHA256: "sha", Documents: 3}, NewsAt: noon}
}

// cases are facts, and what is said about them: the verdict, and what else must be
// told, wherever.
func cases() []struct {
	name  string
	facts Facts
	want  Verdict
	told  []string
} {
	state := func(s string) func(*Facts) { return func(f *Facts) { f.Source.State = s } }
	class := func(c string) Facts {
		return with(seen(control.Fetch{}), func(f *Facts) { f.Look.Class, f.Fetches = c, nil })
	}
	other := control.Hosting{Source: "other", SourceCentre: "Ics", Present: true, Settled: true, State: "available", Size: 11}
	resting := func(s string) Facts {
		return with(seen(fetch(control.Wanted)), func(f *Facts) { f.From, f.Source.State, f.Hostings[0].State = nil, s, s })
	}
	tracked := &Tracked{Phase: "overview", Status: "done", Run: schemas.LiveRun, Attempt: 1, Documents: 2, Expected: 2, Rows: 12, First: ptr(int64(38)), Final: ptr(int64(39)), Ended: true, Last: noon}
	return []struct {
		name  string
		facts Facts
		want  Verdict
		told  []string
	}{
		{"no such source", with(unseen(), func(f *Facts) { f.Source = nil }), SourceUnknown, []string{"no source own", "Look for its name"}},
		{"nobody could show it", with(unseen(), func(f *Facts) { f.Source, f.SourceID = nil, "" }), NoSource, []string{"none is of the centre H"}},
		{"a person holds it", with(seen(ended("cancelled", "unzip", plan.HeldByHand, "")), func(f *Facts) {
			f.File.Hold = control.Hold{HeldAt: ptr(noon), HeldBy: "ann", HeldWhy: "odd weights"}
		}), Held, []string{"held by ann: odd weights", "ended so, in unzip", "files release add/H.2026"}},
		{"a person has cancelled it", seen(ended("cancelled", "download", plan.CancelledByHand, "cancelled by ann: a test")), CancelledByHand, []string{"cancelled by ann: a test", "not tried again", "in download"}},
		{"another directory", with(unseen(), func(f *Facts) { f.Action, f.Outside = "", "archive" }), OutsideDirectories, []string{"archive/H.2026", "add, edit and delete"}},
		{"a directory of that name", with(unseen(), func(f *Facts) {
			f.Source.Ignored = control.Ignored{Directory: "add", Name: f.Name, Reason: "directory"}
		}), Ignored, []string{"it is a directory", "rule: directory"}},
		{"a filter excludes it", with(unseen(), func(f *Facts) { f.Source.Filter = "exclude: add/*" }), Filtered, []string{"rule: exclude: add/*", "test-filter own"}},
		{"a filter excluded it", with(unseen(), func(f *Facts) {
			f.Source.Ignored = control.Ignored{Directory: "add", Name: f.Name, Reason: "filtered", Rule: "exclude: old*"}
		}), Ignored, []string{"excluded it then (exclude: old*)", "rule: filtered"}},
		{"it is too young", with(unseen(), func(f *Facts) {
			f.Source.Ignored = control.Ignored{Directory: "add", Name: f.Name, Reason: control.TooYoung, Rule: "min_age: 1h"}
		}), Ignored, []string{"changed more lately", ": min_age: 1h", "rule: too_young", "once it is old enough"}},
		{"it is too large", with(unseen(), func(f *Facts) {
			f.Source.Ignored = control.Ignored{Directory: "add", Name: f.Name, Reason: control.TooLarge, Rule: "max_size: 1GiB"}
		}), Ignored, []string{": max_size: 1GiB", "rule: too_large", "set max_size of the source"}},
		{"there is a later one", with(unseen(), func(f *Facts) {
			f.Source.Ignored = control.Ignored{Directory: "add", Name: f.Name, Reason: control.NotLatest, Rule: "H.2026-01-03.1.impc.zip"}
		}), Ignored, []string{"there is a later one: H.2026-01-03.1.impc.zip", "rule: not_latest", "take latest_only out"}},
		{"another version of it is left", with(class("announced"), func(f *Facts) {
			f.Source.Ignored = control.Ignored{Directory: "add", Name: f.Name, Reason: control.NoDoneFile, Rule: "H.2026-01-02.1.impc.done"}
		}), Announced, []string{"shows another version, which is left", "H.2026-01-02.1.impc.done", "rule: no_done_file"}},
		{"another name looks like it", with(class("announced"), func(f *Facts) {
			f.Source.Twins = control.Twins{"edit": {Names: 2, First: [][]string{{f.Name, "x"}}}, "add": {Names: 2, First: [][]string{{f.Name, "h.2026-01-02.1.impc.zip"}}}}
		}), Announced, []string{`name_twin: own shows "add/h.2026-01-02.1.impc.zip" beside it`, "both are taken"}},
		{"and that one is ignored", with(unseen(), func(f *Facts) {
			f.Action = ""
			f.Source.Twins = control.Twins{"add": {Names: 2, First: [][]string{{"caf\u00e9", f.Name}}}}
		}), NotListed, []string{`own shows "add/caf\u00e9" beside it`}},
		{"not a zip", with(unseen(), func(f *Facts) { f.Name, f.Bad = "readme.txt", &profile.NameError{Exception: "zip_name_extension"} }), WouldBeRefused, []string{"does not end in .zip", "rule: not_zip"}},
		{"not a zip, and the list is cut off", with(unseen(), func(f *Facts) {
			f.Name, f.Bad = "a", &profile.NameError{Exception: "zip_name_extension"}
			f.Source.Listings.Ignored, f.Source.Listings.Kept = 1005, 1000
		}), WouldBeRefused, []string{"passed over 1005 entries, of which the names of the first 1000 are kept"}},
		{"a bad name", with(unseen(), func(f *Facts) { f.Bad = &profile.NameError{Exception: "zip_name_date", Message: "no such day"} }), WouldBeRefused, []string{"never listed by own, and would be refused: no such day", "rule: zip_name_date"}},
		{"a bad name, anywhere", with(unseen(), func(f *Facts) {
			f.Source, f.SourceID, f.Bad = nil, "", &profile.NameError{Exception: "zip_name_date", Message: "no such day"}
		}), WouldBeRefused, []string{"never listed, and would be refused: no such day"}},
		{"not to be shown there", with(unseen(), func(f *Facts) { f.Source.Refusal = "write hosts: [J]" }), WouldBeRefused, []string{"write hosts: [J]", "rule: centre_not_hosted_here"}},
		{"removed", with(unseen(), state("removed")), SourceRemoved, []string{"the source was removed", "tributary sources history own"}},
		{"undefined", with(unseen(), func(f *Facts) { f.Source.Definition = control.Undefined }), SourceUndefined, []string{"role schedule"}},
		{"in maintenance for a while", with(unseen(), func(f *Facts) { f.Source.State, f.Source.MaintainedUntil = "maintenance", ptr(noon.Add(time.Hour)) }), SourceMaintenance, []string{"ends by itself at 2026-03-01 13:00:00Z"}},
		{"outside of its window", with(unseen(), func(f *Facts) {
			f.Source.Opens, f.Source.Closes = ptr(f.Now.Add(time.Hour)), ptr(f.Now.Add(2*time.Hour))
		}), SourceClosed, []string{"the window opens at", "tributary sources show own"}},
		{"within its window", with(unseen(), func(f *Facts) {
			f.Source.Opens, f.Source.Closes = ptr(f.Now.Add(-time.Hour)), ptr(f.Now.Add(time.Hour))
		}), NotListed, nil},
		{"in maintenance", with(unseen(), state("maintenance")), SourceMaintenance, []string{"tributary sources resume own"}},
		{"suspended", with(unseen(), func(f *Facts) {
			f.Source.State, f.Source.SuspendedAt, f.Source.SuspendedWhy = "suspended", ptr(noon), "10 polls failed"
		}), SourceSuspended, []string{"10 polls failed", "12:00:00Z own is suspended"}},
		{"the centre rests", with(unseen(), func(f *Facts) { f.Source.Listings.CentreActive = false }), CentreInactive, []string{"centre H is not active"}},
		{"never polled", with(unseen(), func(f *Facts) {
			f.Source.Listings = control.Listings{CentreActive: true, Open: &control.ListedPoll{State: "running", Session: 8, StartedAt: ptr(noon)}}
		}), NeverPolled, []string{"12:00:00Z own is being polled (session 8)"}},
		{"failed", with(unseen(), func(f *Facts) {
			f.Source.Listings.Complete, f.Source.Listings.Ended = nil, &control.ListedPoll{State: "failed", Session: 8, Exception: "login_failed", Message: "no", EndedAt: ptr(noon)}
		}), ListingFailed, []string{"the last poll failed with login_failed: no", "polled again from 2026-03-01 14:00:00Z"}},
		{"broken off", with(unseen(), func(f *Facts) {
			f.Source.Listings.Complete, f.Source.Listings.Ended = nil, &control.ListedPoll{State: "broken_off", Session: 8, Exception: "poll_timed_out", EndedAt: ptr(noon)}
		}), ListingFailed, []string{"broke off with poll_timed_out"}},
		{"polled on demand", with(unseen(), func(f *Facts) { f.Source.OnDemand = true }), PolledOnDemand, []string{"polled on demand only", "tributary sources poll own"}},
		{"postponed", with(unseen(), func(f *Facts) { f.Source.Listings.Ended.Postponed = 4711 }), Postponed, []string{"left 4711 new or changed files", "poll.max_new"}},
		{"postponed to the next day", with(unseen(), func(f *Facts) {
			f.Source.Listings.Ended.Postponed, f.Source.Listings.Ended.StoppedBy = 3, control.BytesPerDay
			f.Source.Definition = `{"time_zone": "Asia/Tokyo"}`
		}), Postponed, []string{"left 3 new or changed files to polls from 2026-03-01 15:00:00Z on", "max_bytes_per_day"}},
		{"not there, and polled minimally since", with(unseen(), func(f *Facts) {
			f.Source.Listings.Ended, f.Source.Listings.Minimal = &control.ListedPoll{State: "minimal", Session: 9, EndedAt: ptr(noon)}, 2
		}), NotListed, []string{"last complete listing was at 2026-03-01 12:00:00Z", "since then 2 polls of it passed over directories"}},
		{"not there, and polled minimally for long", with(unseen(), func(f *Facts) {
			f.Source.Listings.Ended, f.Source.Listings.Complete, f.Source.Listings.Minimal = &control.ListedPoll{State: "minimal", Session: 900, EndedAt: ptr(noon)}, nil, 500
			f.Source.Directories.Complete = noon.Add(-time.Hour)
		}), NotListed, []string{"last complete listing was at 2026-03-01 11:00:00Z"}},
		{"postponed by a minimal poll", with(unseen(), func(f *Facts) { f.Source.Listings.Ended = &control.ListedPoll{State: "minimal", Postponed: 5} }), Postponed, []string{"left 5 new or changed files"}},
		{"not there", unseen(), NotListed, []string{"last complete listing was at 2026-03-01 12:00:00Z"}},
		{"not there, by the tracker", with(unseen(), func(f *Facts) {
			f.Source.Complete = &CompleteListing{At: noon, Session: 7, Listed: "12", Ignored: "3"}
		}), NotListed, []string{"listed completely (session 7): 12 files, and 3 entries passed over"}},
		{"not there, and the last poll failed", with(unseen(), func(f *Facts) {
			f.Source.Listings.Ended = &control.ListedPoll{State: "failed", Session: 8, Exception: "connection_refused", EndedAt: ptr(noon)}
		}), NotListed, []string{"the last poll of own failed (session 8): connection_refused"}},
		{"a name refused", with(class("rejected"), func(f *Facts) {
			f.File.Centre, f.File.Exception, f.File.Message, f.Bad = "", "zip_name_pattern", "call it otherwise", &profile.NameError{Exception: "zip_name_pattern"}
		}), NameRefused, []string{"rule zip_name_pattern: call it otherwise"}},
		{"a name refused that is right by now", with(class("rejected"), func(f *Facts) { f.File.Centre, f.File.Exception = "", "zip_name_centre" }), NameRefused, []string{"by this configuration the name is right"}},
		{"not hosted here", with(class("rejected"), func(f *Facts) { f.Source.Refusal = "write hosts: [J]" }), CentreNotHostedHere, []string{"write hosts: [J]"}},
		{"an impossible entry", with(class("rejected"), func(f *Facts) { f.File.Exception, f.File.Message = "entry_refused", "the year 20000" }), EntryRefused, []string{"entry_refused: the year 20000"}},
		{"an impossible entry, told by the tracker", with(class("rejected"), func(f *Facts) {
			f.Hosted = &Hosted{State: "gone", Note: "size_invalid", Message: "-1 bytes"}
		}), EntryRefused, []string{"size_invalid: -1 bytes"}},
		{"gone", with(class("gone"), func(f *Facts) { f.Look.State, f.Hosted = "gone", &Hosted{State: "gone", Changed: noon} }), Gone, []string{"12:00:00Z own no longer shows it"}},
		{"too young", class("unsettled"), Unsettled, []string{"for 30s", "from 2026-03-01 12:00:30Z on"}},
		{"too young, in maintenance", with(class("unsettled"), state("maintenance")), SourceMaintenance, nil},
		{"announced", with(class("announced"), func(f *Facts) { f.Look.AnnouncedAt = ptr(noon) }), Announced, []string{"12:00:00Z it was announced"}},
		{"not begun", class(""), Announced, nil},
		{"not known to control any more", with(class(""), func(f *Facts) { f.Tracked = tracked }), Loaded, []string{"2 documents with 12 rows"}},
		{"behind the own source", with(class("waiting"), func(f *Facts) { f.Look.OwnPolling = "first" }), WaitsForOwnSource, []string{"own source first", "until 2026-03-01 12:10:00Z"}},
		{"behind the own source, which is listed", class("waiting"), WaitsForOwnSource, []string{"plan takes it up next"}},
		{"another shows the same", with(class("duplicate"), func(f *Facts) { f.Hostings = append(f.Hostings, other) }), DuplicateHosting, []string{"since other shows it with the same size"}},
		{"another shows it otherwise", with(class("superseded"), func(f *Facts) {
			f.Hostings = append(f.Hostings, other)
			f.Fetches = seen(fetch(control.Received)).Fetches
			f.Fetches[0].Source = "other"
		}), DivergentHosting, []string{"other shows it with 11 bytes", "waits_for_unzip: "}},
		{"behind an earlier version", with(seen(fetch(control.Received)), func(f *Facts) {
			next := fetch(control.Queued)
			next.ID, next.Look, next.Source, next.Run = 6, 2, "own", schemas.LiveRun
			f.Fetches = append([]control.Fetch{next}, f.Fetches...)
		}), BehindEarlier, []string{"an earlier version of it", "waits_for_unzip: "}},
		{"the next attempt", with(seen(fetch(control.Wanted)), func(f *Facts) {
			x := &f.Fetches[0]
			x.NotBefore, x.Exception, x.Message, x.Tried = noon.Add(2*time.Hour), "connection_reset", "by peer", map[string]control.Tried{"own": {Attempts: 2}}
		}), NextAttempt, []string{"from 2026-03-01 14:00:00Z on", "connection_reset: by peer", "tried 2 times at own"}},
		{"no room", with(seen(fetch(control.Wanted)), func(f *Facts) {
			f.Fetches[0].NotBefore, f.Fetches[0].Tried = noon.Add(2*time.Hour), map[string]control.Tried{"own": {NoRoom: 3}}
		}), NextAttempt, []string{"the room for it, 3 times"}},
		{"the disk is low", with(seen(fetch(control.Wanted)), func(f *Facts) { f.Dormant = "5 MB are left" }), DiskLow, []string{"5 MB are left"}},
		{"wanted from an undefined source", with(seen(fetch(control.Wanted)), func(f *Facts) { f.Source.Definition = control.Undefined }), SourceUndefined, nil},
		{"behind nothing, since the time is over", with(complete(2, 0, 0), func(f *Facts) { f.Batch.Unfinished, f.Batch.OpenedAt = 1, noon.Add(-time.Hour) }), WaitsForBatch, []string{"whose time is over"}},
		{"no session is free", with(seen(fetch(control.Wanted)), func(f *Facts) {
			f.Credit = control.CreditUse{Limit: 4, By: []control.Use{{Source: "own", Jobs: 2, Polls: 1}, {Source: "s2", DuePolls: 2}}}
		}), CreditUsed, []string{"the server host:22 allows 4", "(2 jobs of own, a poll of own, 2 polls that are due of s2)"}},
		{"the server has asked to be left alone", with(seen(fetch(control.Wanted)), func(f *Facts) { f.Left = noon.Add(2 * time.Hour) }), Throttled, []string{"throttled by the server host:22", "until 2026-03-01 14:00:00Z"}},
		{"queued at a server with a pace", with(seen(fetch(control.Wanted)), func(f *Facts) { f.Pace = "server host:22: 2MiB a second" }), Queued, []string{"throttled by what sources say of how fast it is asked (throttle): server host:22: 2MiB a second"}},
		{"queued", with(seen(fetch(control.Wanted)), func(f *Facts) { f.Queue = control.Queue{Before: 12, All: 10_001} }), Queued, []string{"behind 12 other files of it; in all more than 10000 files wait so", "1 of 2 sessions free"}},
		{"wanted from a source in maintenance", resting("maintenance"), SourceMaintenance, []string{"tributary sources resume own"}},
		{"wanted from a source that is suspended", resting("suspended"), SourceSuspended, nil},
		{"wanted from one that is closed", resting("closed"), SourceClosed, nil},
		{"wanted from another that is closed", with(resting("closed"), func(f *Facts) { f.Hostings[0].Source, f.Source.State = "other", "available" }), SourceClosed, []string{"other is outside of its window"}},
		{"wanted from a source that was removed", resting("removed"), SourceRemoved, nil},
		{"wanted from where it changes", with(resting("available"), func(f *Facts) { f.Hostings[0].Settled = false }), Unsettled, []string{"in another version"}},
		{"wanted from another that rests", with(resting("suspended"), func(f *Facts) { f.Hostings[0].Source, f.Source.State = "other", "available" }), SourceSuspended, []string{"other is suspended", "sources show other"}},
		{"wanted from where it may not be shown", with(resting("available"), func(f *Facts) { f.Hostings[0].Present, f.Hostings[0].Refused = false, true }), CentreNotHostedHere, nil},
		{"wanted from nowhere", with(resting("available"), func(f *Facts) { f.Hostings[0].Present = false }), Gone, nil},
		{"queued, and several show it", with(seen(fetch(control.Wanted)), func(f *Facts) {
			first, next := f.Hostings[0], other
			first.Preference, next.Preference = 5, 8
			next.Reputation = control.Reputation{Tries: 4, Good: 3, Corrupt: 1, Bytes: 4000, Seconds: 2}
			f.Choice = []control.Hosting{first, next}
		}), Queued, []string{"1. of 2 to be asked for it is own: ", "preference 5; nothing was fetched of late", "2. of 2 to be asked for it is other: preference 8; 75% of the fetches of late brought the right bytes, 25% corrupt ones, at 2.0 kB/s"}},
		{"requested", with(seen(fetch(control.Requested)), func(f *Facts) {
			x := &f.Fetches[0]
			x.Job, x.JobServer, x.JobFiles, x.JobSince = ptr("j1"), ptr("host:22"), ptr(5), ptr(noon)
		}), Requested, []string{"requested at 2026-03-01 12:00:00Z", "the job is j1, with 5 files"}},
		{"requested, and no job asks", seen(fetch(control.Requested)), Requested, []string{"is gone"}},
		{"downloading", with(seen(fetch(control.Requested)), func(f *Facts) {
			x := &f.Fetches[0]
			x.Job, x.JobServer, x.JobFiles, x.JobSince, x.Holder = ptr("j1"), ptr("host:22"), ptr(5), ptr(noon), ptr("host/1")
		}), Downloading, []string{"host/1 works on the job j1"}},
		{"to be unzipped", seen(fetch(control.Received)), WaitsForUnzip, []string{"12:00:00Z attempt 1 had its last news"}},
		{"to be validated", with(seen(fetch(control.Extracted)), func(f *Facts) { f.Fetches[0].Judged = 1 }), WaitsForValidate, []string{"judge 2 of 3 documents"}},
		{"damaged", with(seen(fetch(control.Received)), func(f *Facts) {
			f.Damage = &control.Damage{SHA256: "sha", State: "fetching", Problem: "3 bytes too few"}
		}), BlobDamaged, []string{"3 bytes too few", "is fetching"}},
		{"healed", with(seen(fetch(control.Received)), func(f *Facts) { f.Damage = &control.Damage{SHA256: "sha", State: "healed"} }), WaitsForUnzip, nil},
		{"failed, and tried again", with(seen(ended("failed", "download", "connection_reset", "by peer")), func(f *Facts) { f.Fetches[0].RetryAt = ptr(noon.Add(2 * time.Hour)) }), FailedRetried, []string{"in download with connection_reset: by peer; it is tried again at 2026-03-01 14:00:00Z"}},
		{"failed since the source rests", with(seen(ended("failed", "download", "source_unavailable", "")), func(f *Facts) { f.Source.State, f.Hostings[0].State = "maintenance", "maintenance" }), SourceMaintenance, nil},
		{"failed for good", seen(ended("failed", "unzip", "zip_bomb", "too much")), Failed, []string{"in unzip with zip_bomb: too much"}},
		{"gone before it was fetched", seen(ended("failed", "download", "gone", "no source shows it")), Gone, []string{"no source shows it"}},
		{"given up", seen(ended("cancelled", "download", "source_removed", "it is no longer configured")), Cancelled, []string{"source_removed: it is no longer configured"}},
		{"dead at download", seen(ended("failed", "download", "quarantined", "it crashed")), Quarantined, []string{"by download", "tributary dlq retry --where file=H.2026-01-02.1.impc.zip"}},
		{"documents dead at validate", complete(2, 2, 2), Quarantined, []string{"by validate"}},
		{"all documents refused", complete(2, 2, 0), Rejected, []string{"2 of 2 documents of add/H.2026-01-02.1.impc.zip were refused"}},
		{"behind an earlier batch", with(complete(2, 0, 0), func(f *Facts) { f.Batch.Earlier, f.Batch.EarlierOpened = ptr(int64(6)), ptr(noon.Add(time.Minute)) }), WaitsForBatch, []string{"which waits for the centre's batch of session 6; until 2026-03-01 12:31:00Z"}},
		{"behind other files", with(complete(2, 0, 0), func(f *Facts) { f.Batch.Unfinished = 3 }), WaitsForBatch, []string{"which waits for 3 other files of it", "until 2026-03-01 12:30:00Z"}},
		{"in a part that is out", with(complete(2, 0, 0), func(f *Facts) { f.Batch.Unfinished, f.Batch.Number, f.Fetches[0].Ordered = 3, ptr(int64(5)), true }), WaitsForBatch, []string{"which waits for 3 other files of it", "as a part of batch 5 of H"}},
		{"behind looks", with(complete(2, 0, 0), func(f *Facts) { f.Batch.Looks = 4 }), WaitsForBatch, []string{"taken up 4 files that the session found"}},
		{"behind polls", with(complete(2, 0, 0), func(f *Facts) { f.Batch.PollsEnded, f.Batch.Polls, f.Batch.Polling = false, 2, "slow" }), WaitsForBatch, []string{"such as that of slow"}},
		{"behind nothing", complete(2, 0, 0), WaitsForBatch, []string{"which nothing keeps"}},
		{"in a late batch", with(complete(2, 0, 0), func(f *Facts) { f.Batch.Session = nil }), WaitsForBatch, []string{"late batch of H, which is released at 2026-03-01 12:01:00Z"}},
		{"in no batch", with(complete(2, 0, 0), func(f *Facts) { f.Batch = nil }), WaitsForBatch, nil},
		{"to be inserted", with(released(complete(2, 0, 0)), func(f *Facts) { f.Applied = ptr(int64(31)) }), WaitsForInsertion, []string{"ends at position 40, and the warehouse has applied up to 31", "batch 3 of H was released"}},
		{"insertion has stopped", with(released(complete(2, 0, 0)), func(f *Facts) { f.Applied, f.Stopped = ptr(int64(31)), "position 32 is missing" }), InsertionStopped, []string{"position 32 is missing"}},
		{"insertion has stopped, in a batch", with(complete(2, 0, 0), func(f *Facts) { f.Stopped = "position 32 is missing" }), WaitsForBatch, []string{"position 32 is missing"}},
		{"loaded, and the tracker is behind", released(complete(2, 0, 0)), Loaded, []string{"the tracker has not told of all"}},
		{"loaded", with(released(complete(2, 0, 0)), func(f *Facts) { f.Tracked = tracked }), Loaded, []string{"2 documents with 12 rows, at positions 38 to 39", "by the live run, attempt 1"}},
		{"loaded, and gone since", with(released(complete(2, 0, 0)), func(f *Facts) {
			f.Tracked, f.Look.State, f.Hosted = tracked, "gone", &Hosted{State: "gone", Changed: noon.Add(time.Hour)}
		}), Loaded, []string{"13:00:00Z own no longer shows it"}},
		{"fetched again for nothing", with(released(complete(2, 0, 0)), func(f *Facts) {
			again := ended("duplicate", "", "", "")
			again.ID, again.Run, again.SHA256, again.Attempt, again.Source, again.Look = 9, schemas.LiveRun, f.Fetches[0].SHA256, 2, "own", 2
			f.Fetches, f.Tracked, f.Look.Look = append([]control.Fetch{again}, f.Fetches...), tracked, 2
		}), Loaded, []string{"brought the bytes that the file shows already (attempt 2)", "own showed it otherwise before, 1 time"}},
		{"the bytes of another file", seen(ended("duplicate", "", "", plan.SameBytes+"add/first.zip")), SameBytes, []string{"it holds the same bytes as add/first.zip"}},
		{"some documents refused", with(released(complete(2, 1, 0)), func(f *Facts) {
			part := *tracked
			part.Failed, part.Failures = 1, []Failure{{Document: "d.xml", Phase: "xsd", Exception: "xsd_invalid", Message: "no", Line: ptr(int32(3))}}
			f.Tracked = &part
		}), Rejected, []string{"1 of 2 documents of add/H.2026-01-02.1.impc.zip was refused; the warehouse has 1 of them", "document d.xml, in xsd: line 3: xsd_invalid: no"}},
		{"findings", with(released(complete(2, 0, 0)), func(f *Facts) {
			part := *tracked
			part.Failed, part.Found, part.Phase, part.Status, part.Failures = 1, 1, "data", "failed", []Failure{{Document: "d.xml", Phase: "data", Exception: "specimen_unknown", Message: "no"}}
			f.Tracked = &part
		}), LoadedWithFindings, []string{"2 documents with 12 rows", "1 of them has findings", "document d.xml, in data: specimen_unknown: no"}},
		{"a document dead at insert", with(released(complete(2, 0, 0)), func(f *Facts) {
			part := *tracked
			part.Failed, part.Quarantined, part.Phase, part.Status = 1, 1, "upload", "failed"
			f.Tracked = &part
		}), Quarantined, []string{"by insert"}},
		{"to be unloaded", with(released(complete(2, 0, 0)), func(f *Facts) {
			f.Unload = &control.Operation{RequestedBy: "ann", Reason: "wrong mice", Archive: "0123456789abcdef"}
		}), Unloaded, []string{"as ann asked: it waits", "ann asked for it: wrong mice"}},
		{"unloaded", with(released(complete(2, 0, 0)), func(f *Facts) { f.Unload = &control.Operation{RequestedBy: "ann", Position: 40} }), Unloaded, []string{"was taken out of the warehouse at position 40"}},
		{"replayed", with(seen(fetch(control.Received)), func(f *Facts) { f.Fetches[0].Run, f.Fetches[0].Replay = "r", ptr(int64(3)) }), Replaying, []string{"by replay 3", "waits_for_unzip: "}},
		{"retried", with(seen(fetch(control.Received)), func(f *Facts) { f.Fetches[0].Run, f.Fetches[0].Letter = "r", "validate:2:17" }), Replaying, []string{"dead letter validate:2:17"}},
		{"chosen by replays", with(released(complete(2, 0, 0)), func(f *Facts) {
			f.Tracked = tracked
			f.Replays = []control.ReplayOf{{Number: 6, Phase: "xsd", Item: "waiting", State: "running", Message: "its file is under way"}, {Number: 5, Phase: "xsd", Item: "waiting", State: "running", Held: "other profile"},
				{Number: 4, Phase: "unzip", Item: "waiting", State: "stopped"}, {Number: 3, Phase: "xsd", Item: "refused", Message: "no version"}, {Number: 2, Phase: "xsd", Shadow: "try", Item: "requested"}}
		}), Loaded, []string{"replay 6 from xsd is to process it again, and waits: its file is under way", "is held: other profile", "tributary replay resume 4", "replay 3 from xsd refused it: no version", "into the shadow try processed it"}},
		{"a shadow's run is no concern", with(released(complete(2, 0, 0)), func(f *Facts) {
			shadow := fetch(control.Received)
			shadow.ID, shadow.Run = 9, "00000000-0000-8000-8000-000000000000"
			f.Fetches, f.Tracked = append([]control.Fetch{shadow}, f.Fetches...), tracked
		}), Loaded, nil},
		{"healing", with(released(complete(2, 0, 0)), func(f *Facts) {
			heal := fetch(control.Wanted)
			heal.ID, heal.Heals, heal.Run = 9, "abc", schemas.LiveRun
			f.Fetches, f.Tracked = append([]control.Fetch{heal}, f.Fetches...), tracked
		}), Loaded, []string{"the blob abc is damaged"}},
		{"known to the tracker alone", with(unseen(), func(f *Facts) { f.Tracked, f.SourceID, f.Source = tracked, "", nil }), Loaded, []string{"control does not know the file"}},
	}
}

// text is all that an answer tells.
func text(t *testing.T, a Answer) string {
	t.Helper()
	var b strings.Builder
	if err := a.WriteText(&b); err != nil {
		t.Fatal(err)
	}
	return strings.Join(strings.Fields(b.String()), " ")
}

// Each verdict has facts that lead to it, and is said in one sentence.
func TestJudge(t *testing.T) {
	reached := map[Verdict]bool{}
	for _, c := range cases() {
		t.Run(c.name, func(t *testing.T) {
			a := Judge(c.facts)
			reached[a.Verdict] = true
			if a.Verdict != c.want {
				t.Errorf("verdict %s, want %s: %s", a.Verdict, c.want, a.Sentence)
			}
			if a.Sentence == "" || !strings.HasSuffix(a.Sentence, ".") || strings.Contains(a.Sentence, "%!") {
				t.Errorf("it is no sentence: %q", a.Sentence)
			}
			said := text(t, a)
			for _, want := range c.told {
				if !strings.Contains(said, want) {
					t.Errorf("it does not tell %q:\n%s", want, said)
				}
			}
		})
	}
	for _, v := range Verdicts() {
		if !reached[v.Verdict] {
			t.Errorf("no facts lead to %s", v.Verdict)
		}
		delete(reached, v.Verdict)
	}
	for v := range reached {
		t.Errorf("%s is not described", v)
	}
}

// Judging changes nothing of the facts: whoever has them may judge them again.
func TestJudgeIsPure(t *testing.T) {
	for _, c := range cases() {
		if first, again := text(t, Judge(c.facts)), text(t, Judge(c.facts)); first != again {
			t.Errorf("%s: first\n%s\nthen\n%s", c.name, first, again)
		}
	}
}
