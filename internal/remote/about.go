package remote

// About says what a connector can, in words for people: docs/reference/connectors.md is
// made of it. Words in backquotes are keys of a source that its row has, or what the
// protocol calls them.
type About struct {
	Reads    string // what is read
	Listings string // the kinds of listings that are understood
	Times    string // how exact the times of files are
	LogsIn   string // how it says who asks
	Trust    string // how it is known that the server is the right one
	Resumes  string // when a transfer that was cut goes on
	Checks   string // what says, beside size and time, that the bytes are whole
	Sessions string // what one session does at a time
	Versions string // what tells versions of a file, or of a listing, apart beside size and time
	Besides  string // what else is to be known of it
}
