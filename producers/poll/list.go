package poll

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"tributary/internal/listing"
	"tributary/internal/remote"
	"tributary/producers/sources"
	"tributary/schemas"
	"tributary/sql/control"
)

// counts are what people are told of a poll.
type counts struct {
	tally
	listed, gone int
	left         int             // what the listing shows that is new and not taken, beside what is listed
	ripen        int             // of what is left, what is old enough one day
	brokenOff    bool            // the listing, before its end
	waiting      control.Waiting // left to the next polls
	taken        control.Taken
	ignored      ignored
	twins        twins
	refused      refused
	kept         kept
	checksums    bool          // the listing shows checksums beside files
	window       bool          // what is listed is a part of what is there: nothing is concluded from what it lacks
	passing      *passing      // nil: nothing is passed over, nor known of for the next polls
	trace        *remote.Trace // of the session; nil: there was none
	clock        *clockwork    // of the server; nil: nothing was asked of it
}

// found tells whether the listing showed anything new, changed or gone, or leaves
// something of that to the next.
func (c counts) found() bool {
	return c.fresh > 0 || c.changed > 0 || c.unsettled > 0 || c.gone > 0 || c.waiting.Entries > 0
}

// tally counts entries by what they say.
type tally struct {
	fresh, changed, unsettled, rejected, notHosted int
	came, grow                                     actions // where something is fresh, and where unsettled
	largest                                        int64   // size of the largest of what is new or changed, as listed
}

func (t *tally) add(o tally) {
	t.largest = max(t.largest, o.largest)
	t.fresh, t.changed, t.unsettled, t.rejected = t.fresh+o.fresh, t.changed+o.changed, t.unsettled+o.unsettled, t.rejected+o.rejected
	t.notHosted += o.notHosted
	t.came, t.grow = t.came|o.came, t.grow|o.grow
}

// storeError marks an error of our own database, which is no outcome of the
// source's.
type storeError struct{ err error }

func (e *storeError) Error() string { return e.err.Error() }
func (e *storeError) Unwrap() error { return e.err }

var (
	errTooMany     = errors.New("the source lists more entries than poll.max_entries allows")
	errTooLong     = errors.New("the names that the source lists are longer together than poll.max_listing_bytes allows")
	errTimedOut    = errors.New("the listing took longer than poll.timeout")
	errUnrecorded  = errors.New("recording what the listing shows took longer than poll.timeout: what was recorded stays, and the next poll goes on with the rest; raise poll.timeout if so many files are meant to be there")
	errBaseMissing = errors.New("the source's base directory does not exist: nothing is concluded")
	errSeen        = errors.New("the base directory is there")
)

// chunk is how many entries go to the database at once.
const chunk = 2000

// listed is a source's listing under way. It holds a chunk of entries at a time:
// names that come again are found by the temporary table.
type listed struct {
	s       *Poller
	poll    polled
	conn    *pgxpool.Conn
	c       *counts
	storing context.Context
	rows    []control.Entry
	others  []listing.Entry // that are no files of ours
	entries int             // seen so far, in all directories
	bytes   int64           // of their names
	missing []string        // directories that are not there
	sample  sample
}

// list streams the three action directories, but for those that it passes over, into
// the temporary table, and returns those that are not there. What was listed is stored also when the poll's time
// is up: only then can the poll be recorded as broken off.
func (s *Poller) list(ctx, storing context.Context, p polled, cfg remote.Config, conn *pgxpool.Conn, c *counts) (missing []string, err error) {
	l := &listed{s: s, poll: p, conn: conn, c: c, storing: storing, rows: make([]control.Entry, 0, chunk)}
	c.clock = s.clockwork(p)
	defer func() { c.clock.ended = s.deps.Now() }()
	cfg.Known, cfg.Trace, cfg.Clock = l.known, c.trace, c.clock.session
	if p.source.LatestOnly { // by names, which are read while it lists
		if err := s.deps.Centres.Renew(storing); err != nil {
			return nil, &storeError{err}
		}
	}
	session, err := s.deps.Dial(ctx, cfg)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w: %w", errBaseMissing, err)
	}
	if err != nil {
		return nil, err
	}
	defer session.Close()
	c.passing = s.pass(ctx, session, p)
	for _, action := range schemas.Actions() {
		if c.passing.passes(action) {
			continue
		}
		if err := c.trace.Do("list", func() (string, error) { return l.directory(ctx, session, action) }); err != nil {
			return nil, errors.Join(err, l.flush())
		}
	}
	if len(l.missing) == len(schemas.Actions()) {
		if err := c.trace.Do("list", func() (string, error) { return base(ctx, session) }); err != nil {
			return nil, err
		}
	}
	if !p.Passed {
		if err := c.trace.Do("sample", func() (string, error) { return l.sample.read(ctx, session) }); err != nil {
			return nil, errors.Join(err, l.flush())
		}
	}
	return l.missing, l.flush()
}

// directory lists one of the action directories, and says what it found.
func (l *listed) directory(ctx context.Context, session remote.Session, action string) (string, error) {
	before := l.entries
	over, err := l.c.passing.list(ctx, session, action, func(e remote.Entry) error { return l.add(action, e) })
	if over {
		return action + ": as it was, says the server", nil
	}
	if errors.Is(err, fs.ErrNotExist) {
		l.missing = append(l.missing, action)
		return action + ": not there, counts as empty", nil
	}
	return fmt.Sprintf("%s: %d entries", action, l.entries-before), err
}

// base looks whether the base directory is there: each directory may be missing
// because that is. An empty base is a listing, a missing one is none.
func base(ctx context.Context, session remote.Session) (string, error) {
	err := session.List(ctx, "", func(remote.Entry) error { return errSeen })
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", fmt.Errorf("%w: %w", errBaseMissing, err)
	case err != nil && !errors.Is(err, errSeen):
		return "", err
	}
	return "base directory: there", nil
}

// add takes an entry of a directory.
func (l *listed) add(action string, e remote.Entry) error {
	l.entries++
	l.bytes += int64(len(e.Name))
	if most := l.poll.source.MaxEntries; most > 0 && l.entries > most {
		return &crowdedError{most}
	}
	if l.entries > l.s.cfg.MaxEntries {
		return errTooMany
	}
	if l.bytes > int64(l.s.cfg.MaxListingBytes) {
		return errTooLong
	}
	name := KeptName(e.Name)
	reason, rule := l.unwanted(action, name, e)
	// A line that can't be read may be of a file that is there.
	l.c.window = l.c.window || e.Unreadable && isZip(e.Name)
	l.c.checksums = l.c.checksums || isChecksum(e.Name)
	if !l.poll.Passed && rule == "" {
		l.sample.consider(action, e)
	}
	if reason != "" {
		other := shownOther(action, name, reason, e)
		l.c.ignored.add(control.Ignored{Directory: action, Name: name, Reason: reason, Rule: rule, Shown: seen(other, e.Precision)})
		return l.addOther(other)
	}
	row := control.Entry{File: schemas.FileID(action, name), Action: action, Name: name, Size: e.Size, Invalid: e.Invalid, Message: remote.Clean(e.Message), Precision: milliseconds(e.Precision), Yearless: e.Yearless, Known: e.Known, Attributes: e.Attributes}
	if l.poll.source.LatestOnly {
		sources.ReadName(&row, l.s.deps.Profile, l.s.deps.Centres)
	}
	l.c.clock.shows(e)
	switch t := e.ModTime.UTC().Truncate(time.Microsecond); {
	case e.ModTime.IsZero():
	case t.Year() >= 1 && t.Year() <= 9999:
		row.ModTime = &t
	case row.Invalid == "":
		row.Invalid, row.Message = entryRefused, "its time is in the year "+strconv.Itoa(t.Year())+": years from 1 to 9999 can be stored"
	}
	l.rows = append(l.rows, row)
	if len(l.rows) == chunk {
		return l.flush()
	}
	return nil
}

// seen is what is shown of an entry beside its name, exact to precision.
func seen(e listing.Entry, precision time.Duration) control.Seen {
	as := control.Seen{Size: e.Size}
	if e.ModTime != nil {
		by := e.ModTime.Add(time.Duration(milliseconds(precision)) * time.Millisecond)
		as.ChangedBy = &by
	}
	return as
}

// shownOther is an entry that is no file of ours, as a listing keeps it. What a directory
// has as its size and time changes with what is in it, and says nothing.
func shownOther(action, name, reason string, e remote.Entry) listing.Entry {
	other := listing.Entry{Directory: action, Name: name, Size: max(e.Size, -1), Note: reason}
	if t := e.ModTime.UTC().Truncate(time.Microsecond); !e.ModTime.IsZero() && t.Year() >= 1 && t.Year() <= 9999 {
		other.ModTime = &t
	}
	if e.Kind == remote.Dir {
		other.Size, other.ModTime = -1, nil
	}
	return other
}

// addOther takes an entry that is no file of ours.
func (l *listed) addOther(other listing.Entry) error {
	if l.others = append(l.others, other); len(l.others) == chunk {
		return l.flush()
	}
	return nil
}

// flush stores the entries at hand. One that the database refuses is stored as
// invalid, without what it says beside its name.
func (l *listed) flush() error {
	rows := l.rows
	l.rows = l.rows[:0]
	if len(rows) == 0 {
		return l.flushOthers()
	}
	err := isolate(rows, l.store, func(e control.Entry, cause error) error {
		e.Size, e.ModTime, e.Attributes, e.Invalid, e.Message = -1, nil, nil, entryRefused, refusal(cause)
		err := l.store([]control.Entry{e})
		if dataError(err) {
			l.c.refused.add(e.Action, e.Name, err)
			return nil
		}
		return err
	})
	if err != nil {
		return &storeError{err}
	}
	return l.flushOthers()
}

// flushOthers stores what was shown beside files.
func (l *listed) flushOthers() error {
	others := l.others
	l.others = l.others[:0]
	if len(others) == 0 {
		return nil
	}
	if err := control.StorePassedOver(l.storing, l.conn, others); err != nil {
		return &storeError{err}
	}
	return nil
}

func (l *listed) store(rows []control.Entry) error {
	repeated, err := control.StoreListing(l.storing, l.conn, rows)
	if err != nil {
		return err
	}
	l.c.listed += len(rows) - len(repeated)
	l.c.twins.add(rows, repeated)
	for _, e := range repeated {
		l.c.ignored.add(control.Ignored{Directory: e.Action, Name: e.Name, Reason: "repeated", Shown: control.Seen{Size: -1}})
		l.others = append(l.others, listing.Entry{Directory: e.Action, Name: e.Name, Size: e.Size, ModTime: e.ModTime, Note: "repeated"})
	}
	return nil
}
