package controltest

import (
	"tributary/schemas"
	"tributary/sql/control"
)

// Machine is the life of one kind of row of control: which states it has, and
// which steps between them decisions take. The docs draw it
// (docs/explanation/states.md), and tests let no other step through. Restoring
// control writes rows in the states that the topics tell, and takes no steps.
type Machine struct {
	Name  string // of what lives, in the singular
	Table string // without the schema
	State string // the state as an SQL expression over a row called r
	Steps []Step
}

// Step is a step of a machine. Old is empty where a row is written for the first
// time. Why names what decides it.
type Step struct{ Old, New, Why string }

// States are those of the machine, in the order in which its steps name them.
func (m Machine) States() []string {
	var all []string
	seen := map[string]bool{"": true}
	for _, s := range m.Steps {
		for _, state := range []string{s.Old, s.New} {
			if !seen[state] {
				seen[state] = true
				all = append(all, state)
			}
		}
	}
	return all
}

// Machines are the lives of what control decides about.
func Machines() []Machine {
	return []Machine{sourceStates(), pollStates(), lookStates(), acquisitionStates(), documentStates(), jobStates(), batchStates(), sessionStates(), runStates(), damageStates(), doneStates()}
}

func sourceStates() Machine {
	const ordered, removed, again = "the configuration or a person says so", "the configuration has it no more, or a person removed it", "it is declared or added again"
	return Machine{"source", "source", "r.state", []Step{
		{"", control.SourceAvailable, "it is declared or added"},
		{"", control.SourceMaintenance, ordered},
		{control.SourceAvailable, control.SourceSuspended, "its polls failed too often"},
		{control.SourceSuspended, control.SourceAvailable, "a probe succeeds, a person resumes it, or it is reached in another way"},
		{control.SourceAvailable, control.SourceMaintenance, ordered + ", or when it is due can't be computed"},
		{control.SourceMaintenance, control.SourceAvailable, ordered + ", or its end has come"},
		{control.SourceSuspended, control.SourceMaintenance, ordered},
		{control.SourceAvailable, control.SourceRemoved, removed},
		{control.SourceSuspended, control.SourceRemoved, removed},
		{control.SourceMaintenance, control.SourceRemoved, removed},
		{control.SourceRemoved, control.SourceAvailable, again},
		{control.SourceRemoved, control.SourceMaintenance, again},
	}}
}

func pollStates() Machine {
	return Machine{"poll", "poll", "r.state", []Step{
		{"", "due", "a session opens, and its source is due"},
		{"due", "running", "a member takes it, under its server's credit"},
		{"running", "due", "it failed in a way that is tried again"},
		{"running", "complete", "the listing was read to its end"},
		{"running", "minimal", "all was read that may show new files; directories whose time says that none came were passed over"},
		{"running", "broken_off", "a part of the listing was read"},
		{"running", "failed", "nothing was listed"},
		{"due", "failed", "its source was removed, is in maintenance, or outside of its window"},
	}}
}

func lookStates() Machine {
	return Machine{"look", "look", "r.class", []Step{
		{"", "unsettled", "a listing shows a file, or one that has changed, that may still grow"},
		{"", "announced", "a listing shows it settled"},
		{"", "rejected", "its name breaks a rule"},
		{"unsettled", "announced", "it has not changed for as long as it takes to settle"},
		{"unsettled", "superseded", "the file has changed meanwhile"},
		{"unsettled", "gone", "listings show the file no more"},
		{"unsettled", "rejected", "its name breaks a rule"},
		{"announced", "waiting", "the own sources of the file's centre are still being listed"},
		{"announced", "taken", "the file is to be fetched"},
		{"announced", "duplicate", "what it shows is known, or is being fetched"},
		{"announced", "superseded", "the file's own source shows other bytes, which count"},
		{"announced", "rejected", "its source may not host the file, or its announcement can't be read"},
		{"waiting", "taken", "the own sources have been listed, and had no newer one"},
		{"waiting", "duplicate", "an own source showed the same"},
		{"waiting", "superseded", "an own source shows other bytes, which count"},
		{"waiting", "rejected", "its source may not host the file"},
		{"rejected", "unsettled", "it is listed again, and the rule lets it in now"},
		{"rejected", "announced", "it is listed again, and the rule lets it in now"},
	}}
}

func acquisitionStates() Machine {
	return Machine{"acquisition", "acquisition", "r.state", []Step{
		{"", control.Wanted, "a look is taken, a failed one is due again, a person replays or retries, a blob is healed"},
		{"", control.Queued, "an earlier acquisition of the file has not ended"},
		{"", control.Received, "a replay begins with stored bytes"},
		{"", control.Extracted, "a replay begins with known documents"},
		{"", control.Ended, "a replay has nothing to wait for, or a person holds the file"},
		{control.Queued, control.Wanted, "the one before has ended"},
		{control.Wanted, control.Requested, "it is put into a job"},
		{control.Requested, control.Wanted, "the download failed and another attempt is allowed, or nobody answers"},
		{control.Requested, control.Received, "the first download's outcome is accepted"},
		{control.Requested, control.Extracted, "unzip's outcome was there before the download's, and both are accepted"},
		{control.Requested, control.Ended, "the file is duplicate, cancelled, or was tried as often as allowed"},
		{control.Received, control.Wanted, "the archive is damaged, and is fetched again"},
		{control.Received, control.Extracted, "unzip's outcome is accepted"},
		{control.Received, control.Ended, "unzip failed, or a person ends it"},
		{control.Extracted, control.Ended, "its last document has ended, or a person ends it"},
		{control.Wanted, control.Ended, "nothing hosts it any more, it is not to be tried again, or a person ends it"},
		{control.Queued, control.Ended, "the acquisition before brought what it was to bring, or a person ends both"},
	}}
}

func documentStates() Machine {
	return Machine{"document", "document", "r.result", []Step{
		{"", schemas.Valid, "validation accepted it; its position loads it"},
		{"", schemas.FailedEnd, "it breaks a rule; its position says which"},
		{"", schemas.Quarantined, "its processing died too often; its position says so"},
	}}
}

func jobStates() Machine {
	return Machine{"job", "job", "CASE WHEN r.remaining > 0 THEN 'outstanding' ELSE 'done' END", []Step{
		{"", "outstanding", "files of a server are requested together, under its credit"},
		{"outstanding", "done", "its last file has an outcome; the row is deleted, and the credit returned"},
	}}
}

func batchStates() Machine {
	return Machine{"batch", "batch", "CASE WHEN r.released_at IS NOT NULL THEN 'released' WHEN r.number IS NOT NULL THEN 'begun' ELSE 'open' END", []Step{
		{"", "open", "a file of a domain is found, or ends after its batch was released"},
		{"open", "begun", "the profile releases early: what is complete gets its positions, and the batch its number"},
		{"open", "released", "all its files have ended; its documents get their positions"},
		{"begun", "released", "all its files have ended; the rest of its documents get their positions"},
	}}
}

func sessionStates() Machine {
	return Machine{"session", "session", `CASE WHEN r.closed_at IS NOT NULL THEN 'closed' WHEN r.end_position IS NOT NULL THEN 'ended'
		WHEN r.polls_ended_at IS NOT NULL THEN 'polled' ELSE 'polling' END`, []Step{
		{"", "polling", "sources are due, or one round is asked for"},
		{"polling", "polled", "its last poll has ended"},
		{"polled", "closed", "no poll of it has failed, nothing of what they found comes into the order, and a position was given lately"},
		{"polled", "ended", "its batches are released; its end gets a position"},
		{"ended", "closed", "the warehouse has applied that position"},
	}}
}

func runStates() Machine {
	return Machine{"run", "replay", "r.state", []Step{
		{"", control.ReplayRunning, "a person asks for a replay"},
		{control.ReplayRunning, control.ReplayStopped, "a person stops it"},
		{control.ReplayStopped, control.ReplayRunning, "a person resumes it"},
		{control.ReplayRunning, control.ReplayDone, "everything chosen has ended, and the warehouse has applied what came of it"},
	}}
}

func damageStates() Machine {
	return Machine{"damaged blob", "blob_damage", "r.state", []Step{
		{"", control.DamageFound, "whoever reads it finds other bytes, or none"},
		{control.DamageFound, control.DamageFetching, "a hosting shows those bytes; an acquisition fetches them"},
		{control.DamageFound, control.DamageLost, "no source shows those bytes"},
		{control.DamageFound, control.DamageHealed, "its bytes are there again"},
		{control.DamageFetching, control.DamageFetched, "they were fetched"},
		{control.DamageFetching, control.DamageFound, "they were not, and others may show them"},
		{control.DamageFetched, control.DamageHealed, "who waited for it has been told"},
		{control.DamageHealed, control.DamageFound, "it is damaged once more"},
		{control.DamageLost, control.DamageFound, "somebody needs it, and it is looked for again"},
		{control.DamageLost, control.DamageHealed, "its bytes were brought by a new version"},
	}}
}

func doneStates() Machine {
	const otherwise = "the source shows another look that is inserted, or defines another done_with"
	return Machine{"done-with action", "done_with", "r.state", []Step{
		{"", control.DoneDue, "all of the file is inserted as the source shows it, and the source defines done_with"},
		{control.DoneDue, control.DoneShown, "nobody has ordered to act there: it would be done"},
		{control.DoneShown, control.DoneDue, "a person orders to act, or " + otherwise},
		{control.DoneDue, control.DoneActing, "it is begun: it may be done at any moment"},
		{control.DoneDue, control.DoneLeft, "what is there is not what was inserted"},
		{control.DoneActing, control.DoneDone, "it is done, or was already when it was begun again"},
		{control.DoneActing, control.DoneDue, "the server refuses it, and is asked again after a pause; or something of the file is under way again"},
		{control.DoneActing, control.DoneLeft, "what is there is not what was inserted"},
		{control.DoneActing, control.DoneShown, "the order to act was taken back, and nothing was done"},
		{control.DoneLeft, control.DoneDue, otherwise},
		{control.DoneDone, control.DoneDue, otherwise},
	}}
}
