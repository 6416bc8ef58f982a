package why

// Described is a verdict with what it means.
type Described struct {
	Verdict Verdict
	Means   string
}

// Verdicts lists all verdicts, in the order in which files meet them.
func Verdicts() []Described {
	return []Described{
		{SourceUnknown, "There is no source of that name."},
		{Held, "A person holds the file: nothing of it begins until it is released."},
		{NoSource, "No source could show the file: none is of its centre, and none hosts that centre's files."},
		{OutsideDirectories, "Only the directories add, edit and delete below a source's base are listed."},
		{Ignored, "The last complete listing showed the name, and it is no file of ours: a directory, a link, not a zip, or listed twice."},
		{Filtered, "A filter of the source excludes the file."},
		{WouldBeRefused, "Not listed so far; once it is, it is not taken: its name breaks a rule, or the source may not show files of its centre."},
		{SourceRemoved, "The source was removed: nobody lists it or fetches from it."},
		{SourceUndefined, "How the source is reached is not known yet: the role schedule has to store it, as after control restore."},
		{SourceMaintenance, "The source is in maintenance: it is neither listed nor fetched from until a person resumes it, or its maintenance ends."},
		{SourceSuspended, "The source is suspended since its polls failed: it is only probed."},
		{SourceClosed, "The source is outside of its window: it is neither listed nor fetched from until that opens."},
		{CentreInactive, "The centre of the source is not active, so the source is not polled."},
		{NeverPolled, "No poll of the source has ended yet."},
		{ListingFailed, "The source was never listed to its end, and what came of its polls did not show the file."},
		{Postponed, "The last listing showed more new files than one poll, or the polls of one day, take up, this one perhaps among them: later polls take the rest."},
		{NotListed, "The source's listings don't show the file."},
		{PolledOnDemand, "The source's listings don't show the file, and it is polled again only when a person asks."},
		{NameRefused, "The file's name breaks a rule of the profile."},
		{CentreNotHostedHere, "The source may not show files of that centre."},
		{EntryRefused, "The file can't be fetched as the source shows it, such as a size or a time that nobody can have."},
		{Gone, "The source has ceased to show the file before it was fetched."},
		{Unsettled, "The file has not looked the same for long enough yet."},
		{Announced, "A poll has found the file, and plan has not taken it up yet."},
		{WaitsForOwnSource, "The producing centre's own source is still being polled, and comes first."},
		{DuplicateHosting, "Another source shows a file of the same name and size, which is taken from there."},
		{DivergentHosting, "Another source shows the file in another size, and its word counts."},
		{SameBytes, "Another file of the centre shows the same bytes, and the profile has such files not loaded."},
		{BehindEarlier, "An earlier version of the file, or a replay of it, is under way and is finished first."},
		{NextAttempt, "An attempt to fetch it has failed; the next one has its time."},
		{DiskLow, "Nothing is fetched while the disk is low."},
		{Throttled, "The server has asked to be left alone for a while (Retry-After)."},
		{CreditUsed, "The server has as many sessions as it is allowed."},
		{Queued, "It waits for its turn to be requested."},
		{Requested, "A job asks for it, and no member has begun with the job."},
		{Downloading, "A member works on the job that asks for it."},
		{WaitsForUnzip, "It is fetched, and unzip has not looked at it yet."},
		{WaitsForValidate, "It is unzipped, and some of its documents are not judged yet."},
		{BlobDamaged, "Its stored bytes are damaged or gone, and are fetched again first."},
		{WaitsForBatch, "All its documents are judged; the batch that they belong to is not complete."},
		{WaitsForInsertion, "Its batch is released, and the warehouse has not applied it to its end."},
		{InsertionStopped, "Insertion has stopped at a record until a person decides."},
		{FailedRetried, "It failed, and is tried again by itself."},
		{Failed, "It failed for good."},
		{Cancelled, "It was given up before it was inserted, as where its source was removed."},
		{CancelledByHand, "A person has ended what was under way of it; a new version, or a replay, begins anew."},
		{Quarantined, "Work on it, or on one of its documents, crashed or outran its time again and again: there is a dead letter."},
		{Rejected, "Some of its documents, or all of them, were refused; the others are loaded."},
		{Unloaded, "Somebody had its documents taken out of the warehouse."},
		{Loaded, "Its documents are in the warehouse."},
		{LoadedWithFindings, "Its documents are in the warehouse, and checks of the data found something in some of them."},
		{Replaying, "A replay, or a retry of a dead letter, processes it again."},
	}
}
